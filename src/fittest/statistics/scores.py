"""How good predicted probabilities of survival are: AUC, Brier score, log loss, calibration.

Rows are circles of trials. Each score comes with an interval that resamples groups of rows; the
predictions themselves stay. An undefined number is NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from fittest.intervals import RESAMPLES, SEED, interval, quiet, resample


def within_auc(probability: np.ndarray, outcome: np.ndarray, trial: np.ndarray) -> np.ndarray:
    """Return the ROC AUC among each trial's rows: shape (trial,), NaN where all share a fate.

    Parameters
    ----------
    probability, outcome
        Shape (row,); the outcome is 0 or 1.
    trial
        Shape (row,): 0, 1, 2, … which trial a row belongs to.
    """
    out = np.full(trial.max(initial=-1) + 1, np.nan)
    for i in range(len(out)):
        rows = trial == i
        out[i] = auc(probability[rows], outcome[rows])
    return out


def auc(probability: np.ndarray, outcome: np.ndarray) -> float:
    """Return the ROC AUC, in its Mann-Whitney form; ties count half."""
    alive = outcome == 1
    n_alive, n_dead = int(alive.sum()), int((~alive).sum())
    if not n_alive or not n_dead or np.isnan(probability).any():
        return float("nan")
    wins = stats.rankdata(probability)[alive].sum() - n_alive * (n_alive + 1) / 2
    return float(wins / (n_alive * n_dead))


def pooled_auc(
    probability: np.ndarray, outcome: np.ndarray, group: np.ndarray
) -> tuple[float, float, float]:
    """Return the ROC AUC over all rows with its 95% interval over groups.

    `group` is 0, 1, 2, …, shape (row,). The AUC counts, over pairs of a survivor and a dead circle,
    how often the survivor was the likelier; counted once for each pair of groups, it is a weighted
    sum for any resample.
    """
    alive = outcome == 1
    n = int(group.max(initial=-1)) + 1
    if np.isnan(probability).any() or not n:
        return (float("nan"),) * 3
    wins, pairs = np.zeros((n, n)), np.zeros((n, n))
    dead = [np.sort(probability[~alive & (group == g)]) for g in range(n)]
    for a in range(n):
        mine = probability[alive & (group == a)]
        for b in range(n):
            below = np.searchsorted(dead[b], mine, "left") + np.searchsorted(dead[b], mine, "right")
            wins[a, b], pairs[a, b] = below.sum() / 2, len(mine) * len(dead[b])
    times = resample(n, np.random.default_rng(SEED), RESAMPLES).astype(np.float64)
    with quiet():
        drawn = ((times @ wins) * times).sum(axis=1) / ((times @ pairs) * times).sum(axis=1)
        low, high = interval(drawn, n)
        return float(wins.sum() / pairs.sum()), float(low), float(high)


def mean_score(values: np.ndarray, group: np.ndarray) -> tuple[float, float, float]:
    """Return the mean of values, shape (n,), NaN left out, with its 95% interval over groups."""
    there = ~np.isnan(values)
    n = int(group.max(initial=-1)) + 1
    sums = np.bincount(group[there], values[there], minlength=n)
    counts = np.bincount(group[there], minlength=n)
    times = resample(n, np.random.default_rng(SEED), RESAMPLES).astype(np.float64)
    with quiet():
        low, high = interval((times @ sums) / (times @ counts), int((counts > 0).sum()))
        return float(sums.sum() / counts.sum()), float(low), float(high)


def brier(probability: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    """Return the squared error of each row's probability."""
    return (probability - outcome) ** 2


def log_loss(probability: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    """Return minus the log of the probability given to what happened, in nats, of each row."""
    given = np.where(outcome == 1, probability, 1 - probability)
    return -np.log(np.maximum(given, np.finfo(float).tiny))


SCORES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "brier": brier,
    "log_loss": log_loss,
}
"""Score of each row → function; the lower, the better."""


def bins(probability: np.ndarray, most: int = 10) -> np.ndarray:
    """Return which of `most` bins of equal count each row's probability is in, numbered from 0.

    Rows of the same probability share a bin, so there may be fewer.
    """
    edges = np.unique(np.quantile(probability, np.arange(1, most) / most))
    return np.unique(np.searchsorted(edges, probability, side="left"), return_inverse=True)[1]
