"""Where a relation changes: the best split of an axis into two segments, each with its own fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fittest.intervals import RESAMPLES, interval, quiet

LEAST_VALUES = 3
"""Fewest values of x in a segment: through two, every line passes."""


def change_point(
    x: np.ndarray,
    cells: Sequence[np.ndarray],
    rng: np.random.Generator,
    *,
    lines: bool = True,
    resamples: int = RESAMPLES,
) -> tuple[float, float, float]:
    """Return the first x of the second segment of a two-segment least-squares fit of y against x.

    The segments need not meet: a jump is what is looked for. Every split that leaves each segment
    `LEAST_VALUES` values of x is tried, and the one with the least sum of squares is taken.

    Parameters
    ----------
    x
        Increasing, shape (value,).
    cells
        For each x the y of its trials, all finite; a value without a trial is left out.
    rng
        Draws the resamples of trials within each value.
    lines
        Whether a segment is a line; otherwise a constant.
    resamples
        How many.

    Returns
    -------
    (float, float, float)
        Estimate, and its 95% percentile interval. NaN where there are too few values or y does not
        vary; the interval also where a value has a single trial.
    """
    used = [(value, np.asarray(cell)) for value, cell in zip(x, cells, strict=True) if len(cell)]
    values = np.array([value for value, _ in used], dtype=float)
    if len(values) < 2 * LEAST_VALUES or np.ptp(np.concatenate([cell for _, cell in used])) == 0:
        return np.nan, np.nan, np.nan
    n = np.array([len(cell) for _, cell in used], dtype=float)
    # Around their means, so that no sum of squares is a difference of large numbers.
    mean = float(np.concatenate([cell for _, cell in used]).mean())
    observed = [cell[None] - mean for _, cell in used]
    drawn = [(cell - mean)[rng.integers(0, len(cell), (resamples, len(cell)))] for _, cell in used]
    first, places = (
        values[best_split(values - values.mean(), n, *_moments(some), lines=lines)]
        for some in (observed, drawn)
    )
    low, high = interval(places, int(n.min()))
    return float(first[0]), float(low), float(high)


def _moments(cells: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return sums of y and of y² of each value: shape (resample, value) each."""
    return (
        np.stack([cell.sum(axis=1) for cell in cells], axis=1),
        np.stack([(cell**2).sum(axis=1) for cell in cells], axis=1),
    )


def best_split(
    x: np.ndarray, n: np.ndarray, sums: np.ndarray, squares: np.ndarray, *, lines: bool
) -> np.ndarray:
    """Return where the second segment of the best two-segment fit begins: shape (resample,).

    Parameters
    ----------
    x, n
        Values and their numbers of trials, shape (value,).
    sums, squares
        Sums of y and y² over the trials of each value, shape (resample, value).
    lines
        As for `change_point`.
    """
    splits = np.arange(LEAST_VALUES, len(x) - LEAST_VALUES + 1)
    parts: list[Any] = [n, n * x, n * x**2, sums, sums * x, squares]
    totals = [np.cumsum(part, axis=-1) for part in parts]
    before = [total[..., splits - 1] for total in totals]
    after = [total[..., -1:] - some for total, some in zip(totals, before, strict=True)]
    residual = _residual(*before, lines=lines) + _residual(*after, lines=lines)
    return splits[residual.argmin(axis=-1)]


def _residual(
    n: Any, x: Any, xx: Any, y: np.ndarray, xy: np.ndarray, yy: np.ndarray, *, lines: bool
) -> np.ndarray:
    """Return the sum of squares that a fit leaves, from sums over a segment."""
    with quiet():
        left = yy - y**2 / n
        return left - (xy - x * y / n) ** 2 / (xx - x**2 / n) if lines else left
