"""Shares, means and medians over trials as the first columns of a row: with interval and size."""

from __future__ import annotations

from typing import Any

import numpy as np

from fittest.intervals import RESAMPLES, SEED, interval, quiet, resample, wilson

BOOTSTRAP = f"percentile bootstrap over trials, {RESAMPLES} resamples"
"""How a row's `method` names the interval of a mean or median."""


def share(count: int, n: int) -> dict[str, Any]:
    """Return the share `count` of `n` trials with its Wilson interval; NaN of none."""
    low, high = wilson(np.array(count), np.array(n))
    return _row(count / n if n else np.nan, low, high, n)


def mean(values: np.ndarray) -> dict[str, Any]:
    """Return the mean over trials, shape (trial,), with its bootstrap interval; NaN of none."""
    n = len(values)
    times = resample(n, np.random.default_rng(SEED), RESAMPLES)
    estimate = float(np.mean(values)) if n else np.nan
    return _row(estimate, *interval(times @ values / max(n, 1), n), n)


def median(values: np.ndarray) -> dict[str, Any]:
    """Return the median over trials, shape (trial,), with its bootstrap interval; NaN of none.

    Infinite values are allowed, and lie beyond all others: a median that is one of them is NaN.
    """
    n = len(values)
    with quiet():  # of no trial at all
        drawn = np.median(draws(values, np.random.default_rng(SEED)), axis=1)
        estimate = float(np.median(values))
    low, high = interval(np.where(np.isfinite(drawn), drawn, np.nan), n)
    return _row(estimate if np.isfinite(estimate) else np.nan, low, high, n)


def draws(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return resamples of trials: shape (trial, …) to (RESAMPLES, trial, …)."""
    return values[rng.integers(0, max(len(values), 1), (RESAMPLES, len(values)))]


def _row(estimate: float, low: Any, high: Any, n: int) -> dict[str, Any]:
    return {"estimate": estimate, "low": float(low), "high": float(high), "n_trials": n}
