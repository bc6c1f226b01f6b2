"""Medians, means and shares over trials in groups, with intervals over what is independent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fittest.intervals import interval, quiet, resample, wilson

RESAMPLES = 2000
_SEED = 2405_17420
_Weighted = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Infinite errors are this large while quantiles are taken: between two infinities numpy finds NaN.
_BEYOND, _LARGEST = 1e300, 1e280


def median_within(groups: Sequence[np.ndarray]) -> dict[str, Any]:
    """Return the median over all trials, which are independent; the groups are the design's.

    A resample draws trials within each group. Missing values (NaN) are left out; an infinite one
    is above every other.

    Returns
    -------
    dict
        `estimate`, `low`, `high`, `n_trials` and `n_least`, the fewest trials in any group that has
        some.
    """
    known = _known(groups)
    rng = np.random.default_rng(_SEED)
    drawn = [g[rng.integers(0, len(g), (RESAMPLES, len(g)))] for g in known]
    medians = np.median(np.concatenate(drawn, axis=1), axis=1) if drawn else np.empty(0)
    return _result(known, np.median, medians, min(map(len, known), default=0))


def median_over_groups(groups: Sequence[np.ndarray]) -> dict[str, Any]:
    """Return the median over all trials, where groups are independent, and trials in one are not.

    A resample draws groups, each with all its trials: of one group there is no interval. Otherwise
    as `median_within`.
    """
    known = _known(groups)
    return _result(known, np.median, _drawn(known, _weighted_median), len(known))


def mean_over_groups(groups: Sequence[np.ndarray]) -> dict[str, Any]:
    """Return the mean over all trials, where groups are independent. As `median_over_groups`."""
    known = _known(groups)
    return _result(known, np.mean, _drawn(known, _weighted_mean), len(known))


def share_of(flags: np.ndarray) -> dict[str, Any]:
    """Return the share of flags that are 1 among those that are not missing, and Wilson's interval.

    `flags` is int8: 1 yes, 0 no, -1 missing. Keys as `median_within`, without `n_least`.
    """
    known = flags[flags >= 0]
    count = int((known == 1).sum())
    low, high = wilson(np.array(count), np.array(len(known)))
    return {
        "estimate": count / len(known) if len(known) else np.nan,
        "low": float(low),
        "high": float(high),
        "n_trials": len(known),
    }


def _known(groups: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the groups without missing values, and without groups that have no other."""
    values = (np.asarray(group, dtype=np.float64).ravel() for group in groups)
    finite = (np.clip(v[~np.isnan(v)], -_BEYOND, _BEYOND) for v in values)
    return [v for v in finite if len(v)]


def _drawn(known: list[np.ndarray], statistic: _Weighted) -> np.ndarray:
    """Return a statistic of all values for resamples of the groups; none of a single group."""
    if len(known) < 2:
        return np.empty(0)
    times = resample(len(known), np.random.default_rng(_SEED), RESAMPLES)
    values = np.concatenate(known)
    order = np.argsort(values)
    group = np.repeat(np.arange(len(known)), [len(g) for g in known])[order]
    return statistic(values[order], times[:, group])


def _weighted_median(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the median of sorted values, each taken so many times: shape (resample,)."""
    below = np.cumsum(times, axis=1)
    half = below[:, -1:] / 2
    # Of an even number the mean of the middle two: the first to reach half and to pass it.
    return (values[(below >= half).argmax(axis=1)] + values[(below > half).argmax(axis=1)]) / 2


def _weighted_mean(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    return times @ values / times.sum(axis=1)


def _result(
    known: list[np.ndarray], statistic: Callable[..., Any], drawn: np.ndarray, n_units: int
) -> dict[str, Any]:
    estimate = statistic(np.concatenate(known)) if known else np.nan
    low = high = np.nan
    if len(drawn):
        with quiet():
            low, high = interval(drawn, n_units)
    sizes = [len(group) for group in known]
    return {
        **{name: _back(v) for name, v in (("estimate", estimate), ("low", low), ("high", high))},
        "n_trials": sum(sizes),
        "n_least": min(sizes, default=0),
    }


def _back(value: float) -> float:
    # What a quantile interpolates between a number and infinity is infinite, too.
    return float(np.sign(value) * np.inf if abs(value) > _LARGEST else value)
