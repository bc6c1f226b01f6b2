"""Outcomes of the same trials trained in several ways: counts, rates by decile, who survived."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import xarray as xr

from fittest.intervals import RESAMPLES, SEED, interval, resample, wilson
from fittest.survival import MISSING

DECILES = 10


def deciles(initial: np.ndarray) -> np.ndarray:
    """Return the decile, 0 … 9, of each initial signal among all: the shape given."""
    edges = np.quantile(initial, np.arange(1, DECILES) / DECILES)
    return np.searchsorted(edges, initial, side="right")


def outcomes(at: xr.Dataset, horizon: int) -> list[dict[str, Any]]:
    """Return counts, rates by decile of initial signal, and their differences, at one horizon."""
    flags = at["survived"].transpose("way", "trial", "frequency").values
    initial = at["initial_signal"].transpose("way", "trial", "frequency").values[0]
    whole = (flags != MISSING).all(axis=(0, 2))  # a trial that diverged in some way has no fate
    flags, initial = flags[:, whole], initial[whole]
    ways = [str(way) for way in at["way"].values]
    n, k = flags.shape[1:]
    if not n:
        return []
    where = {"horizon": horizon, "n_trials": n, "n_circles": n * k}
    group = deciles(initial)
    circles = flags.sum(axis=2)
    rows = []
    for way, alive, count in zip(ways, flags, circles, strict=True):
        rows.append(
            {
                "statistic": "circles",
                "way": way,
                **where,
                **mean(count),
                "method": "mean circles a trial; percentile bootstrap over trials",
            }
        )
        for decile in range(DECILES):
            chosen = alive[group == decile]
            rows.append(
                {
                    "statistic": "rate_of_decile",
                    "way": way,
                    **where,
                    "decile": decile + 1,
                    "n_circles": len(chosen),
                    **share(int(chosen.sum()), len(chosen)),
                    "baseline": alive.mean(),
                    "method": "survival rate of the circles in a decile of initial signal; Wilson, "
                    "which takes circles for independent; baseline: all circles",
                }
            )
    for i, j in itertools.combinations(range(len(ways)), 2):
        names = {"way": ways[i], "other": ways[j]}
        rows += [row | names | where for row in _pair_outcomes(flags[i], flags[j], group)]
    return rows


def _pair_outcomes(a: np.ndarray, b: np.ndarray, group: np.ndarray) -> list[dict[str, Any]]:
    """Compare the fates of two ways: shape (trial, circle)."""
    rng = np.random.default_rng(SEED)
    difference = b.sum(axis=1) - a.sum(axis=1)
    # Under the hypothesis that ways do not matter, a trial's two lives may be exchanged.
    signs = rng.choice([-1, 1], size=(RESAMPLES, len(a)))
    apart = (b - a).astype(np.float64)
    sums = np.stack([(apart * (group == g)).sum(axis=1) for g in range(DECILES)], axis=1)
    sizes = np.bincount(group.ravel(), minlength=DECILES)
    with np.errstate(invalid="ignore"):
        largest = np.nanmax(np.abs(sums.sum(axis=0) / sizes))
        permuted = np.nanmax(np.abs(signs @ sums / sizes), axis=1)
    same_set, same_fate = (a == b).all(axis=1), (a == b).mean(axis=1)
    chance_set = [(a == np.roll(b, s, axis=0)).all(axis=1).mean() for s in range(1, len(a))]
    chance_fate = [(a == np.roll(b, s, axis=0)).mean() for s in range(1, len(a))]
    shifted = "baseline: against another trial"
    return [
        {
            "statistic": "circles_difference",
            **mean(difference),
            "baseline": 0.0,
            "p_value": _p_value(np.abs(signs @ difference), abs(difference.sum())),
            "method": "mean of second minus first; percentile bootstrap over trials; p value by "
            "exchanging the two within trials",
        },
        {
            "statistic": "same_survivors",
            **share(int(same_set.sum()), len(a)),
            "baseline": np.mean(chance_set) if chance_set else np.nan,
            "method": f"share of trials with the very same survivors; Wilson; {shifted}",
        },
        {
            "statistic": "same_fate",
            **mean(same_fate),
            "baseline": np.mean(chance_fate) if chance_fate else np.nan,
            "method": "share of circles with the same fate; percentile bootstrap over trials; "
            + shifted,
        },
        {
            "statistic": "decile_difference",
            "estimate": largest,
            "baseline": float(np.quantile(permuted, 0.95)),
            "p_value": _p_value(permuted, largest),
            "method": "largest difference of survival rate over the deciles of initial signal; "
            "baseline: 95% quantile, and p value, of exchanging the two within trials",
        },
    ]


def _p_value(permuted: np.ndarray, observed: float) -> float:
    # With a margin: sums of the same terms in another order differ by rounding.
    return float((1 + (permuted >= observed - 1e-9).sum()) / (1 + len(permuted)))


def share(count: int, n: int) -> dict[str, float]:
    """Return a share with its Wilson 95% interval."""
    low, high = wilson(np.array(count), np.array(n))
    return {"estimate": count / n if n else np.nan, "low": float(low), "high": float(high)}


def mean(values: np.ndarray) -> dict[str, float]:
    """Return a mean over trials with its bootstrap interval."""
    times = resample(len(values), np.random.default_rng(SEED), RESAMPLES)
    low, high = interval(times @ values / len(values), len(values))
    return {"estimate": float(np.mean(values)), "low": float(low), "high": float(high)}
