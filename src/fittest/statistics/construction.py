"""Survival of two constructed circles against the ratio of their signals (paper, Fig. 6 right)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from fittest.intervals import RESAMPLES, SEED, at_least_wilson, interval, quiet, resample, wilson
from fittest.interventions import Construct, parse_intervention
from fittest.statistics.selection import on_axes

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "ratio",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_draws",
    "n_values",
    "n_least",
    "method",
)

CLEARLY_LARGER = 0.8
"""Greatest ratio at which the first circle is called the larger, as in the paper."""

_CLUSTERS = (
    "trials of one number draw the same two circles at every ratio: percentile bootstrap over "
    f"those draws, {RESAMPLES} resamples"
)


def construction(survival: xr.Dataset, named: xr.Dataset) -> pd.DataFrame:
    """Return how often constructed circles survive, and how often others are revived.

    Parameters
    ----------
    survival
        Survival table of an experiment that varies the intervention (`gather_survival`); every
        intervention is a `construct` of one phase.
    named
        Its table of named circles (`gather_named`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. For every rule and horizon, at each `ratio` of the second circle's
        initial signal to the first's: the rates `first`, `second` and `revived` (a trial in which a
        circle survives that was built near zero). Over ratios: `first_rate` (up to
        `CLEARLY_LARGER`), `second_spearman` of ratio and survival, and `revival_share`. `n_draws`
        counts trial numbers: trials of one number draw the same circles at every ratio.

    Raises
    ------
    ValueError
        Where the table varies another axis, or its interventions are not constructions of one
        phase.
    """
    table, named = (on_axes(t, "intervention") for t in (survival, named))
    found = [parse_intervention(str(text)) for text in table["intervention"].values]
    built_by = [what for what in found if isinstance(what, Construct)]
    if len(built_by) < len(found) or len({what.phase for what in built_by}) != 1:
        raise ValueError(
            "the interventions must be constructions of one phase, and are "
            f"{', '.join(what.text for what in found)}"
        )
    ratios = np.array([what.ratio for what in built_by])
    order = np.argsort(ratios, kind="stable")
    table, ratios = table.isel(intervention=order), ratios[order]
    named = named.sel(intervention=table["intervention"], trial=table["trial"])
    circles = named["named_frequency"].transpose("intervention", "trial", "named").values
    built = [circles[..., i, None] == table["frequency"].values for i in range(2)]
    rows: list[dict[str, Any]] = []
    for rule in table["rule"].values:
        for horizon in table["horizon"].values:
            flag = table["survived"].sel(rule=rule, horizon=horizon)
            flags = flag.transpose("intervention", "trial", "frequency").values
            where = {"rule": str(rule), "horizon": int(horizon)}
            rows += [{**where, **row} for row in _rows(flags, built, ratios)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(flags: np.ndarray, built: list[np.ndarray], ratios: np.ndarray) -> list[dict[str, Any]]:
    """Return all rows of a rule and horizon; flags of shape (ratio, trial, circle)."""
    known = np.asarray((flags >= 0).all(axis=-1) & built[0].any(axis=-1))
    alive = flags == 1
    first, second = (np.asarray((alive & chosen).any(axis=-1)) for chosen in built)
    revived = np.asarray((alive & ~(built[0] | built[1])).any(axis=-1))
    with quiet():
        chance = alive[known].mean()
    any_circle = "that of a circle taken at random"
    rows = []
    for i, ratio in enumerate(ratios):
        n = int(known[i].sum())
        sizes = {"n_trials": n, "n_draws": n, "n_values": 1, "n_least": n}
        if not n:
            continue
        with quiet():
            at_random = alive[i, known[i]].mean()
        for name, event, baseline, what in (
            ("first", first, at_random, "survival rate of the stronger circle"),
            ("second", second, at_random, "survival rate of the weaker circle"),
            ("revived", revived, 0.0, "share of trials in which another circle survives"),
        ):
            count = int((event[i] & known[i]).sum())
            low, high = wilson(np.array(count), np.array(n))
            instead = "none" if name == "revived" else any_circle
            rows.append(
                {
                    "statistic": name,
                    "ratio": ratio,
                    "estimate": count / n,
                    "low": float(low),
                    "high": float(high),
                    "baseline": baseline,
                    **sizes,
                    "method": f"{what} at this ratio; Wilson; baseline: {instead}",
                }
            )
    larger = known & (ratios <= CLEARLY_LARGER)[:, None]
    rows += [
        {
            "statistic": "first_rate",
            "baseline": chance,
            **_sizes(larger),
            **_share(first, larger),
            "method": "survival rate of the stronger circle over the trials with ratio ≤ "
            f"{CLEARLY_LARGER}; {_CLUSTERS}, no narrower than Wilson over trials; baseline: "
            f"{any_circle}",
        },
        {
            "statistic": "second_spearman",
            "baseline": 0.0,
            **_sizes(known),
            **_spearman(ratios, second, known),
            "method": "Spearman rank correlation over trials of ratio and survival of the weaker "
            f"circle, naive p value; {_CLUSTERS}",
        },
        {
            "statistic": "revival_share",
            "baseline": 0.0,
            **_sizes(known),
            **_share(revived, known),
            "method": "share of trials, over all ratios, in which a circle survives that was built "
            f"near zero; {_CLUSTERS}, no narrower than Wilson over trials; baseline: none",
        },
    ]
    return rows


def _sizes(known: np.ndarray) -> dict[str, int]:
    """Return the sample sizes of the trials known, shape (ratio, trial)."""
    each = known.sum(axis=1)
    return {
        "n_trials": int(each.sum()),
        "n_draws": int(known.any(axis=0).sum()),
        "n_values": int((each > 0).sum()),
        "n_least": int(each[each > 0].min(initial=each.max(initial=0))),
    }


def _share(event: np.ndarray, known: np.ndarray) -> dict[str, float]:
    """Return the share of the known trials with an event, shapes (ratio, trial)."""
    count, total = (event & known).sum(axis=0), known.sum(axis=0)
    count, total = count[total > 0], total[total > 0]
    if not len(total):
        return {"estimate": np.nan, "low": np.nan, "high": np.nan}
    times = resample(len(total), np.random.default_rng(SEED), RESAMPLES)
    ends = interval((times @ count) / (times @ total), len(total))
    low, high = at_least_wilson(*ends, count.sum(), total.sum())
    return {"estimate": count.sum() / total.sum(), "low": float(low), "high": float(high)}


def _spearman(ratios: np.ndarray, event: np.ndarray, known: np.ndarray) -> dict[str, float]:
    """Return the rank correlation of ratio (increasing) and event over the known trials."""
    draws = known.any(axis=0)
    event, known = (event & known)[:, draws], known[:, draws]
    rho = p_value = low = high = np.nan
    with quiet():
        if known.sum() > 2:
            x = np.broadcast_to(ratios[:, None], known.shape)[known]
            rho, p_value = stats.spearmanr(x, event[known])
        if np.isfinite(rho):
            times = resample(known.shape[1], np.random.default_rng(SEED), RESAMPLES)
            drawn = rank_correlation(times @ event.T, times @ known.T)
            low, high = interval(drawn, known.shape[1])
    return {
        "estimate": float(rho),
        "low": float(low),
        "high": float(high),
        "p_value": float(p_value),
    }


def rank_correlation(count: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """Return Spearman's rank correlation of group and event from how often it happened in each.

    Parameters
    ----------
    count, trials
        Events and trials in each group, in the groups' order: shape (…, group).
    """
    rank = trials.cumsum(axis=-1) - (trials - 1) / 2  # the mean of the ranks that a group ties at
    share = trials / trials.sum(axis=-1, keepdims=True)
    mean = (share * rank).sum(axis=-1, keepdims=True)
    rate = (count / trials.sum(axis=-1, keepdims=True)).sum(axis=-1)
    covariance = (count * (rank - mean)).sum(axis=-1) / trials.sum(axis=-1)
    variance = (share * (rank - mean) ** 2).sum(axis=-1)
    return covariance / np.sqrt(variance * rate * (1 - rate))
