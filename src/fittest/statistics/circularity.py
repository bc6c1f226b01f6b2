"""Initial circularity against dimension, and whether it decides survival (paper, Fig. 11)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.intervals import RESAMPLES, SEED, interval, quiet, resample
from fittest.statistics.decision import auc_over_time
from fittest.statistics.fates import histogram
from fittest.statistics.selection import on_axes

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "d",
    "survived",
    "bin_low",
    "bin_high",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_values",
    "n_least",
    "n_circles",
    "method",
)


def circularity(survival: xr.Dataset) -> pd.DataFrame:
    """Return initial circularity against d, and as a predictor of survival at the largest d.

    Parameters
    ----------
    survival
        Survival table of an experiment that varies d (`gather_survival`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. At step 0: `circularity`, the mean at each `d`, whose baseline is what
        algebra gives for many N(0, 1) entries, d/(d + p); `identity_gap`, the largest distance of
        mean and baseline over d; and `expected_gap`, that from (d + 1)/(d + p - 1), which algebra
        gives for few. For every rule and horizon at the largest d: `auc`, and `histogram`,
        the share of the circles of each fate in a bin.

    Raises
    ------
    ValueError
        Where the table varies another axis.
    """
    table = on_axes(survival, "d").sortby("d")
    values = table["d"].values.astype(float)
    p = float(table["p"])
    circles = table["circularity"].transpose("d", "trial", "frequency").values
    with quiet():
        means = np.nanmean(circles, axis=-1)  # of each trial, (d, trial)
    rows: list[dict[str, Any]] = [
        {"rule": "", "horizon": 0, **row} for row in _means(values, means, p)
    ]
    last = circles[-1]
    for rule in table["rule"].values:
        for horizon in table["horizon"].values:
            flag = table["survived"].isel(d=-1).sel(rule=rule, horizon=horizon)
            flags = flag.transpose("trial", "frequency").values
            found = auc_over_time(last[:, None], flags, rng=np.random.default_rng(SEED))
            where = {"rule": str(rule), "horizon": int(horizon), "d": values[-1]}
            auc = {
                "statistic": "auc",
                "estimate": float(found.auc[0]),
                "low": float(found.low[0]),
                "high": float(found.high[0]),
                "baseline": found.baseline,
                "n_trials": int(found.n_trials[0]),
                "n_circles": int((flags >= 0).sum()),
                "method": "mean over trials of ROC AUC of circularity among a trial's circles; "
                "percentile bootstrap over trials",
            }
            shares = histogram(last, np.where(flags >= 0, flags, np.nan))
            rows += [{**where, **row} for row in (auc, *shares)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _means(values: np.ndarray, means: np.ndarray, p: float) -> list[dict[str, Any]]:
    """Return the mean at each d and its largest distances from algebra; means are (d, trial)."""
    rows, gaps, drawn = [], [], []
    for d, some in zip(values, means, strict=True):
        some = some[np.isfinite(some)]
        n = len(some)
        if not n:
            continue
        # E|F_k·u|² along u = Re F_k/|Re F_k| is p(d + 1)/2, and of every other bin p: the ratio of
        # expectations is (d + 1)/(d + p - 1), and d/(d + p) its limit.
        algebra = np.array([d / (d + p), (d + 1) / (d + p - 1)])
        again = resample(n, np.random.default_rng(SEED), RESAMPLES) @ some / n
        gaps.append(np.abs(some.mean() - algebra))
        drawn.append(np.abs(again[:, None] - algebra))
        low, high = interval(again, n)
        rows.append(
            {
                "statistic": "circularity",
                "d": d,
                "estimate": some.mean(),
                "low": float(low),
                "high": float(high),
                "baseline": algebra[0],
                "n_trials": n,
                "n_values": 1,
                "n_least": n,
                "method": "mean over circles and trials; percentile bootstrap over trials, "
                f"{RESAMPLES} resamples; baseline: d/(d + p)",
            }
        )
    sizes = [row["n_trials"] for row in rows]
    for i, (name, formula) in enumerate(
        (("identity_gap", "d/(d + p)"), ("expected_gap", "(d + 1)/(d + p - 1)"))
    ):
        estimate = low = high = np.nan
        if sizes:
            estimate = np.max(gaps, axis=0)[i]
            low, high = interval(np.max(drawn, axis=0)[:, i], min(sizes))
        rows.append(
            {
                "statistic": name,
                "estimate": estimate,
                "low": float(low),
                "high": float(high),
                "baseline": 0.0,
                "n_trials": sum(sizes),
                "n_values": len(sizes),
                "n_least": min(sizes, default=0),
                "method": f"largest distance over d of mean circularity from {formula}; percentile "
                f"bootstrap over trials within each d, {RESAMPLES} resamples",
            }
        )
    return rows
