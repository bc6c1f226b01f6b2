"""How fast a cost grows: the exponent of a power law, and its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

RESAMPLES = 2000


def exponent(axis: Sequence[float], cost: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the least-squares slope of log cost against log axis.

    Parameters
    ----------
    axis
        The values on the axis, two or more.
    cost
        Shape (…, values): the slope has shape (…).
    """
    x = np.log(axis) - np.mean(np.log(axis))
    return np.log(cost) @ x / (x @ x)


def exponent_interval(
    axis: Sequence[float], rounds: np.ndarray, *, seed: int = 0
) -> dict[str, float]:
    """Return the exponent of the median cost, with a 95% bootstrap interval over rounds.

    The interval says how far noise of the machine moves the slope; that the cost may be no power
    law is another matter, which is why slopes of parts of the range are reported too.

    Parameters
    ----------
    axis
        The values on the axis.
    rounds
        Cost, shape (rounds, values).

    Returns
    -------
    dict
        `exponent`, `low` and `high`.
    """
    rng = np.random.default_rng(seed)
    draws = rng.integers(0, len(rounds), (RESAMPLES, len(rounds)))
    slopes = exponent(axis, np.median(rounds[draws], axis=1))
    low, high = np.quantile(slopes, [0.025, 0.975])
    middle = exponent(axis, np.median(rounds, axis=0))
    return {"exponent": float(middle), "low": float(low), "high": float(high)}


def growth(axis: Sequence[float], rounds: np.ndarray) -> dict[str, dict[str, float]]:
    """Return the exponents over the whole range and over its upper half.

    See `exponent_interval` for the arguments. Of an odd number of values the middle one belongs to
    the upper half.
    """
    half = len(axis) // 2
    return {
        "whole": exponent_interval(axis, rounds),
        "upper_half": exponent_interval(axis[half:], rounds[:, half:]),
    }
