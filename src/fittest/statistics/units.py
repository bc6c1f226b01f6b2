"""Means and medians of an experiment of shared embeddings, with intervals over embeddings.

Trials of one embedding start from the same signals and are not independent. So the bootstrap
resamples embeddings; where there is one embedding only, it resamples trials. A missing number is
NaN and left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fittest.intervals import RESAMPLES, SEED, interval, quiet, resample


def independent(values: np.ndarray) -> tuple[np.ndarray, str]:
    """Return the independent units of an experiment on the first axis, and what they are.

    Parameters
    ----------
    values
        Shape (embedding, trial, …), NaN where missing.

    Returns
    -------
    (numpy.ndarray, str)
        Shape (unit, n, …) and `embeddings` or `trials`; units without any number are left out.
    """
    values = np.asarray(values, dtype=np.float64)
    several = len(values) > 1
    units = values if several else values.reshape(-1, 1, *values.shape[2:])
    known = ~np.isnan(units.reshape(len(units), -1)).all(axis=1)
    return units[known], "embeddings" if several else "trials"


def mean_over_units(values: np.ndarray) -> dict[str, Any]:
    """Return the mean over all trials with its 95% interval.

    Parameters
    ----------
    values
        Shape (embedding, trial, …): one number a trial, for each place on the axes that follow.

    Returns
    -------
    dict
        `estimate`, `low`, `high`, `n_embeddings`, `n_trials` (in which the number is defined), each
        of the shape of the axes that follow; and the method's `text`.
    """
    units, name = independent(values)
    known = ~np.isnan(units)
    sums, counts = np.where(known, units, 0).sum(axis=1), known.sum(axis=1)
    flat = (len(units), math.prod(sums.shape[1:]))
    times = resample(len(units), np.random.default_rng(SEED), RESAMPLES).astype(np.float64)
    with quiet():
        estimate = sums.sum(axis=0) / counts.sum(axis=0)
        drawn = (times @ sums.reshape(flat)) / (times @ counts.reshape(flat))
        low, high = interval(drawn.reshape(RESAMPLES, *sums.shape[1:]), (counts > 0).sum(axis=0))
    whole = ~np.isnan(np.asarray(values, dtype=np.float64))
    return {
        "estimate": estimate,
        "low": low,
        "high": high,
        "n_embeddings": whole.any(axis=1).sum(axis=0),
        "n_trials": whole.sum(axis=(0, 1)),
        "text": f"percentile bootstrap over {name}, {RESAMPLES} resamples",
    }


def over_units(
    values: np.ndarray, statistic: Callable[[np.ndarray], Any] = np.median
) -> dict[str, Any]:
    """Return a statistic, the median by default, of all numbers with its 95% interval.

    Parameters
    ----------
    values
        Shape (embedding, trial, …): any number of numbers a trial.
    statistic
        From the numbers that are there, shape (n,), to one.

    Returns
    -------
    dict
        As `mean_over_units`, each a single number.
    """
    units, name = independent(values)
    rows = [unit[~np.isnan(unit)] for unit in units]
    n = len(rows)
    estimate = low = high = np.nan
    if rows:
        estimate = float(statistic(np.concatenate(rows)))
    if n > 1:
        chosen = np.random.default_rng(SEED).integers(0, n, (RESAMPLES, n))
        drawn = [statistic(np.concatenate([rows[i] for i in some])) for some in chosen]
        low, high = interval(np.array(drawn), n)
    shape = np.shape(values)
    missing = np.isnan(np.asarray(values, dtype=np.float64)).reshape(*shape[:2], -1)
    whole = ~np.all(missing, axis=2)
    return {
        "estimate": estimate,
        "low": low,
        "high": high,
        "n_embeddings": int(whole.any(axis=1).sum()),
        "n_trials": int(whole.sum()),
        "text": f"percentile bootstrap over {name}, {RESAMPLES} resamples",
    }
