"""Statistics of trainings of the very same trials in several ways: early agreement, later fates.

A way is an arithmetic or an engine. Ways round differently, so a trial's two lives agree closely at
first and may part later; then what must agree is the distribution of outcomes.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.course import RULE
from fittest.intervals import interval, resample, wilson
from fittest.survival import MISSING

COLUMNS = (
    "statistic",
    "way",
    "other",
    "horizon",
    "decile",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_circles",
    "method",
)

TOLERANCES = {100: 1e-4, 300: 1e-3}
"""Step → largest distance up to it at which two ways still agree: max_k |ΔS_k| / max_k S_k."""

PARTED = 0.01
"""Relative difference of a survivor's signal from which two trainings have parted."""

CALM, VIOLENT = 1e-5, 1e-2
"""Training loss (nats) below which a trial has settled, and above which it has left again."""

DECILES = 10
_RESAMPLES = 2000
_SEED = 2405_17420


def comparison(course: xr.Dataset, survival: xr.Dataset) -> pd.DataFrame:
    """Return how the ways of an experiment agree.

    Parameters
    ----------
    course
        Its course table (`fittest.course.gather_course`).
    survival
        Its survival table, with the ways as dimension `protocol` or `engine`.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. Of each way: `circles`, `rate_of_decile`, `violent_events`,
        `violent_event_step`. Of each pair, `way` and `other`: `early_distance`, `early_agreement`,
        `parted`, `parting_step`, `survivor_distance`, `circles_difference`, `same_survivors`,
        `same_fate`, `decile_difference`. Survival is that of the paper's rule, `relative`.
    """
    survival = survival.rename({str(course.attrs["along"]): "way"}).sel(rule=RULE)
    survival = survival.sel(way=course["way"].values)
    rows: list[dict[str, Any]] = []
    for way in course["way"].values:
        rows += _violence(course.sel(way=way), str(way))
    for i in range(course.sizes["pair"]):
        rows += _distances(course.isel(pair=i))
    for horizon in survival["horizon"].values:
        rows += _outcomes(survival.sel(horizon=horizon), int(horizon))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def deciles(initial: np.ndarray) -> np.ndarray:
    """Return the decile, 0 … 9, of each initial signal among all: the shape given."""
    edges = np.quantile(initial, np.arange(1, DECILES) / DECILES)
    return np.searchsorted(edges, initial, side="right")


def _violence(one: xr.Dataset, way: str) -> list[dict[str, Any]]:
    """Return how many trials left a settled state violently, and when."""
    loss, steps = one["train_loss"].values, one["step"].values
    settled = np.maximum.accumulate(loss < CALM, axis=1)
    left = settled & (loss > VIOLENT)
    events = left.any(axis=1)
    n, last = int(settled[:, -1].sum()), int(steps[-1])
    where = {"way": way, "horizon": last, "n_trials": n}
    rows = [
        {
            "statistic": "violent_events",
            **where,
            **_share(int(events.sum()), n),
            "method": f"share of the trials whose training loss fell below {CALM:g} in which it "
            f"then rose above {VIOLENT:g} (at recorded steps); Wilson",
        }
    ]
    if events.any():
        first = steps[left[events].argmax(axis=1)]
        rows.append(
            {
                "statistic": "violent_event_step",
                **where,
                "n_trials": int(events.sum()),
                "estimate": float(np.median(first)),
                "low": int(first.min()),
                "high": int(first.max()),
                "method": f"first recorded step above {VIOLENT:g}: median, least and most over "
                "the trials with one",
            }
        )
    return rows


def _distances(pair: xr.Dataset) -> list[dict[str, Any]]:
    """Return how far the two ways of a pair are apart, early and late."""
    steps = pair["step"].values
    n, last = pair.sizes["trial"], int(steps[-1])
    names = {"way": str(pair["first"].values), "other": str(pair["second"].values)}
    rows = []
    for until, tolerance in TOLERANCES.items():
        # A trial that diverges in one way only is not a number, and does not agree.
        most = pair["distance"].values[:, steps <= until].max(axis=1)
        where = {**names, "horizon": min(until, last), "n_trials": n}
        spread = "median, least and most over trials of the largest distance up to the step"
        rows += [
            {
                "statistic": "early_distance",
                **where,
                "estimate": float(np.median(most)),
                "low": float(most.min()),
                "high": float(most.max()),
                "method": f"{spread}: max_k |ΔS_k| / max_k S_k",
            },
            {
                "statistic": "early_agreement",
                **where,
                **_share(int((most <= tolerance).sum()), n),
                "method": f"share of trials whose distance stays within {tolerance:g}; Wilson",
            },
        ]
    late = pair["survivor_distance"].values
    parted = late > PARTED
    ever = parted.any(axis=1)
    rows.append(
        {
            "statistic": "parted",
            **names,
            "horizon": last,
            "n_trials": n,
            **_share(int(ever.sum()), n),
            "method": f"share of trials in which a survivor of the first way ever differs by more "
            f"than {PARTED:g} of its signal; Wilson",
        }
    )
    if ever.any():
        first = steps[parted[ever].argmax(axis=1)]
        rows.append(
            {
                "statistic": "parting_step",
                **names,
                "horizon": last,
                "n_trials": int(ever.sum()),
                "estimate": float(np.median(first)),
                "low": int(first.min()),
                "high": int(first.max()),
                "method": "first such step: median, least and most over the trials that parted",
            }
        )
    end = late[np.isfinite(late[:, -1]), -1]
    if len(end):
        rows.append(
            {
                "statistic": "survivor_distance",
                **names,
                "horizon": last,
                "n_trials": len(end),
                "estimate": float(np.median(end)),
                "low": float(end.min()),
                "high": float(end.max()),
                "method": "at the last step, largest relative difference of signal among a "
                "trial's survivors: median, least and most over trials",
            }
        )
    return rows


def _outcomes(at: xr.Dataset, horizon: int) -> list[dict[str, Any]]:
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
                **_mean(count),
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
                    **_share(int(chosen.sum()), len(chosen)),
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
    rng = np.random.default_rng(_SEED)
    difference = b.sum(axis=1) - a.sum(axis=1)
    # Under the hypothesis that ways do not matter, a trial's two lives may be exchanged.
    signs = rng.choice([-1, 1], size=(_RESAMPLES, len(a)))
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
            **_mean(difference),
            "baseline": 0.0,
            "p_value": _p_value(np.abs(signs @ difference), abs(difference.sum())),
            "method": "mean of second minus first; percentile bootstrap over trials; p value by "
            "exchanging the two within trials",
        },
        {
            "statistic": "same_survivors",
            **_share(int(same_set.sum()), len(a)),
            "baseline": np.mean(chance_set) if chance_set else np.nan,
            "method": f"share of trials with the very same survivors; Wilson; {shifted}",
        },
        {
            "statistic": "same_fate",
            **_mean(same_fate),
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


def _share(count: int, n: int) -> dict[str, float]:
    low, high = wilson(np.array(count), np.array(n))
    return {"estimate": count / n if n else np.nan, "low": float(low), "high": float(high)}


def _mean(values: np.ndarray) -> dict[str, float]:
    """Return a mean over trials with its bootstrap interval."""
    times = resample(len(values), np.random.default_rng(_SEED), _RESAMPLES)
    low, high = interval(times @ values / len(values), len(values))
    return {"estimate": float(np.mean(values)), "low": float(low), "high": float(high)}
