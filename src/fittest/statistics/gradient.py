"""Whether a circle's gradient in the first updates decides its fate (paper, Fig. 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.fitness import logistic_slope
from fittest.intervals import SEED, quiet, wilson
from fittest.statistics.fates import RULE, histogram
from fittest.statistics.selection import on_axes

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "update",
    "survived",
    "bin_low",
    "bin_high",
    "gradient",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_circles",
    "method",
)

_BINS = 10
_RESAMPLES = 400  # each is a fit


def gradient(survival: xr.Dataset) -> pd.DataFrame:
    """Return survival against the gradient of a circle's signal in the first updates.

    The gradient of update i is (S_k(i) - S_k(i-1)) / S_k(0).

    Parameters
    ----------
    survival
        Survival table of an experiment without axes (`gather_survival`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`, by the rule `RULE` at every horizon. For each `update`: `logistic_slope`,
        the log-odds of survival per standard deviation of gradient, and `rate`, the survival rate
        in tenths of the gradient (`gradient` is the tenth's mean). For the last update:
        `histogram`, the share of the circles of each fate (`survived`) in a bin.

    Raises
    ------
    ValueError
        Where the table varies an axis.
    """
    table = on_axes(survival)
    rows: list[dict[str, Any]] = []
    for horizon in table["horizon"].values:
        flag = table["survived"].sel(rule=RULE, horizon=horizon).transpose("trial", "frequency")
        fate = np.where(flag.values >= 0, flag.values, np.nan)
        where = {"rule": RULE, "horizon": int(horizon)}
        for update in table["update"].values:
            x = table["gradient"].sel(update=update).transpose("trial", "frequency").values
            at = {**where, "update": int(update)}
            rows.append({**at, **_slope(x, fate)})
            rows += [{**at, **row} for row in _rates(x, fate)]
        rows += [{**at, **row} for row in histogram(x, fate)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _slope(x: np.ndarray, fate: np.ndarray) -> dict[str, Any]:
    """Return the logistic slope, its interval over trials: trials are the clusters here."""
    found = logistic_slope(
        x,
        fate,
        np.ones_like(fate),
        rng=np.random.default_rng(SEED),
        resamples=_RESAMPLES,
    )
    return {
        "statistic": "logistic_slope",
        "estimate": found.estimate,
        "low": found.low,
        "high": found.high,
        "baseline": 0.0,
        "n_trials": found.n_embeddings,
        "n_circles": found.n_circles,
        "method": "logistic regression of survival, log-odds per standard deviation of gradient "
        f"over all circles; percentile bootstrap over trials, {_RESAMPLES} resamples",
    }


def _rates(x: np.ndarray, fate: np.ndarray) -> list[dict[str, Any]]:
    """Return the survival rate in each tenth of the gradient."""
    trial, _ = np.nonzero(~np.isnan(x) & ~np.isnan(fate))
    x, y = (a[~np.isnan(x) & ~np.isnan(fate)] for a in (x, fate))
    rows = []
    with quiet():
        edges = np.unique(np.quantile(x, np.linspace(0, 1, _BINS + 1))) if len(x) else np.empty(0)
    which = np.searchsorted(edges[1:-1], x, side="right")
    for i in np.unique(which):
        some = which == i
        count, n = int(y[some].sum()), int(some.sum())
        low, high = wilson(np.array(count), np.array(n))
        rows.append(
            {
                "statistic": "rate",
                "bin_low": edges[i],
                "bin_high": edges[min(i + 1, len(edges) - 1)],
                "gradient": x[some].mean(),
                "estimate": count / n,
                "low": float(low),
                "high": float(high),
                "baseline": y.mean(),
                "n_trials": len(np.unique(trial[some])),
                "n_circles": n,
                "method": "survival rate of the circles in a tenth of the gradient; Wilson, which "
                "takes the circles of a trial for independent; baseline: rate of all circles",
            }
        )
    return rows
