"""Intervals: Wilson's for shares, and the percentile bootstrap over independent units."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.random import Generator

TAIL = 0.025
"""Share of a distribution beyond each end of a 95% interval."""

SEED = 2405_17420
"""Seed of every bootstrap and permutation: a number must not depend on when it was computed."""

RESAMPLES = 2000
"""Resamples of a bootstrap, where nothing else is said."""

_Z = NormalDist().inv_cdf(1 - TAIL)


def wilson(count: np.ndarray, trials: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the Wilson 95% interval of a share: float64 arrays, NaN where there are no trials.

    `count` (successes) and `trials` (attempts) are of shapes that broadcast.
    """
    # Written out: importing statsmodels takes longer than most jobs, and a test holds it to that.
    n = np.asarray(trials, dtype=np.float64)
    n = np.where(n > 0, n, np.nan)
    share = np.asarray(count, dtype=np.float64) / n
    middle = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2)) / (1 + _Z**2 / n)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


def resample(n: int, rng: Generator, resamples: int) -> np.ndarray:
    """Return how often n draws with replacement take each of n units: shape (resamples, n)."""
    if n == 0:
        return np.zeros((resamples, 0), dtype=np.int64)
    return rng.multinomial(n, np.full(n, 1 / n), size=resamples)


def interval(drawn: np.ndarray, n: int | np.ndarray) -> tuple[Any, Any]:
    """Return the percentile interval over axis 0 of a bootstrap over n units, NaN if n < 2.

    Undefined resamples are left out, but where they are more than the share beyond an end of the
    interval, that end could be anywhere: NaN.
    """
    known = (np.asarray(n) >= 2) & (np.isnan(drawn).mean(axis=0) <= TAIL)
    with quiet():
        low, high = np.nanquantile(drawn, (TAIL, 1 - TAIL), axis=0)
    return np.where(known, low, np.nan)[()], np.where(known, high, np.nan)[()]


@contextmanager
def quiet() -> Iterator[None]:
    """Silence what numpy, scipy and statsmodels say of undefined results: here those are NaN."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def at_least_wilson(
    low: np.ndarray | float, high: np.ndarray | float, count: np.ndarray, trials: np.ndarray
) -> tuple[Any, Any]:
    """Return a share's bootstrap interval, widened to Wilson's over its trials where that is wider.

    Where all groups of trials have a share of 0, or all of 1, a bootstrap over the groups has no
    width, however few they are. A bootstrap interval that is missing stays missing.
    """
    wilson_low, wilson_high = wilson(count, trials)
    return np.minimum(low, wilson_low)[()], np.maximum(high, wilson_high)[()]
