"""Which circles help or hinder which: the interactions of `dynamics` fits (paper, Sec. 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from fittest.intervals import TAIL, interval, quiet, resample


@dataclass(frozen=True)
class SignAgreement:
    """How often two trials give one interaction the same sign; NaN where undefined.

    `estimate` is that share, `low` and `high` its 95% interval (percentile bootstrap over trials).
    `baseline` is the mean, `baseline_high` the 97.5% quantile and `p_value` the one-sided p value
    of permutations. `positive` is the share of coefficients above 0 among those that are not 0:
    strictly between 0 and 1, both signs occur. `n_trials` counts trials with any such coefficient,
    `n_comparisons` the (pair of trials, interaction) compared.
    """

    estimate: float
    low: float
    high: float
    baseline: float
    baseline_high: float
    p_value: float
    positive: float
    n_trials: int
    n_comparisons: int


def nonzero_share(linear: np.ndarray, *, interactions_only: bool = False) -> float:
    """Return the share of A's entries, shape (circle, circle), that are not 0.

    With `interactions_only`, of the entries off the diagonal. NaN where there are none, or where a
    value is missing.
    """
    chosen = ~np.eye(len(linear), dtype=bool) if interactions_only else np.ones_like(linear, bool)
    values = linear[chosen]
    if not values.size or np.isnan(values).any():
        return float("nan")
    return float((values != 0).mean())


def sign_agreement(
    linear: np.ndarray, survived: np.ndarray, *, rng: Generator, resamples: int = 2000
) -> SignAgreement:
    """Return whether trials agree on which survivors help and which hinder each other.

    An interaction [i, j], i ≠ j, is compared between two trials if circles i and j survive in both
    and neither coefficient is 0. The estimate is the share of all these comparisons, over all pairs
    of trials, with the same sign.

    Chance keeps how many coefficients of a trial are above and below 0, and where, but not which
    is which: the signs of what is compared are permuted within each trial. So a surplus of one sign
    is no agreement.

    Parameters
    ----------
    linear
        A of a fit to each trial (the Lasso's), shape (trial, circle, circle), trials of one
        embedding; NaN where missing.
    survived
        Shape (trial, circle), bool or int8: 1 survived, 0 died, -1 missing.
    rng
        Draws the resamples of trials, then the permutations.
    resamples
        Number of each.

    Raises
    ------
    ValueError
        If the shapes do not agree.
    """
    linear, survived = np.asarray(linear, dtype=np.float64), np.asarray(survived)
    n, k = survived.shape if survived.ndim == 2 else (0, 0)
    if survived.ndim != 2 or linear.shape != (n, k, k):
        raise ValueError(
            f"linear {linear.shape} must be (trial, circle, circle) and survived {survived.shape} "
            "(trial, circle) of the same trials and circles"
        )
    alive = survived == 1
    pairs = alive[:, :, np.newaxis] & alive[:, np.newaxis, :] & ~np.eye(k, dtype=bool)
    signs = np.where(pairs, np.sign(np.nan_to_num(linear)), 0.0).reshape(n, k * k)
    used = signs != 0
    # Places that one trial alone has are compared with nothing, so they take no part in chance.
    shared = used & (used.sum(axis=0) >= 2)
    signs_shared = np.where(shared, signs, 0.0)
    both = _products(shared.astype(np.float64))
    compared = both.sum()
    estimate = low = high = baseline = baseline_high = p_value = positive = np.nan
    if used.any():
        positive = float((signs > 0).sum() / used.sum())
    if compared:
        same = _products(signs_shared)  # agreements less disagreements
        estimate = (1 + same.sum() / compared) / 2
        times = resample(n, rng, resamples).astype(np.float64)
        with quiet():
            drawn = np.einsum("ri,ij,rj->r", times, same, times)
            drawn = (1 + drawn / np.einsum("ri,ij,rj->r", times, both, times)) / 2
        low, high = interval(drawn, n)
        permuted = np.empty(resamples)
        for r in range(resamples):
            shuffled = np.zeros_like(signs_shared)
            for i in range(n):
                shuffled[i, shared[i]] = rng.permutation(signs_shared[i, shared[i]])
            permuted[r] = (1 + _products(shuffled).sum() / compared) / 2
        baseline, baseline_high = permuted.mean(), np.quantile(permuted, 1 - TAIL)
        # With a margin: sums of the same terms in another order differ by rounding.
        p_value = (1 + (permuted >= estimate - 1e-9).sum()) / (1 + resamples)
    return SignAgreement(
        estimate=float(estimate),
        low=float(low),
        high=float(high),
        baseline=float(baseline),
        baseline_high=float(baseline_high),
        p_value=float(p_value),
        positive=positive,
        n_trials=int(used.any(axis=1).sum()),
        n_comparisons=int(compared / 2),
    )


def _products(rows: np.ndarray) -> np.ndarray:
    """Return the products of every two rows, none with itself: shape (row, row)."""
    out = rows @ rows.T
    np.fill_diagonal(out, 0.0)
    return np.asarray(out)
