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
        algebra gives for N(0, 1) entries, d/(d + p); `identity_gap`, the largest distance of mean
        and baseline over d. For every rule and horizon at the largest d: `auc`, and `histogram`,
        the share of the circles of each fate in a bin.

    Raises
    ------
    ValueError
        Where the table varies another axis.
    """
    table = on_axes(survival, "d").sortby("d")
    values = table["d"].values.astype(float)
    identity = values / (values + float(table["p"]))
    circles = table["circularity"].transpose("d", "trial", "frequency").values
    with quiet():
        means = np.nanmean(circles, axis=-1)  # of each trial, (d, trial)
    rows: list[dict[str, Any]] = [
        {"rule": "", "horizon": 0, **row} for row in _means(values, means, identity)
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


def _means(values: np.ndarray, means: np.ndarray, identity: np.ndarray) -> list[dict[str, Any]]:
    """Return the mean at each d and the largest gap; means of shape (d, trial)."""
    rows, gaps, drawn = [], [], []
    for value, some, baseline in zip(values, means, identity, strict=True):
        some = some[np.isfinite(some)]
        n = len(some)
        if not n:
            continue
        again = resample(n, np.random.default_rng(SEED), RESAMPLES) @ some / n
        gaps.append(abs(some.mean() - baseline))
        drawn.append(np.abs(again - baseline))
        low, high = interval(again, n)
        rows.append(
            {
                "statistic": "circularity",
                "d": value,
                "estimate": some.mean(),
                "low": float(low),
                "high": float(high),
                "baseline": baseline,
                "n_trials": n,
                "n_values": 1,
                "n_least": n,
                "method": "mean over circles and trials; percentile bootstrap over trials, "
                f"{RESAMPLES} resamples; baseline: d/(d + p)",
            }
        )
    sizes = [row["n_trials"] for row in rows]
    ends = interval(np.max(drawn, axis=0), min(sizes)) if sizes else (np.nan, np.nan)
    gap = {
        "statistic": "identity_gap",
        "estimate": max(gaps, default=np.nan),
        "low": float(ends[0]),
        "high": float(ends[1]),
        "baseline": 0.0,
        "n_trials": sum(sizes),
        "n_values": len(sizes),
        "n_least": min(sizes, default=0),
        "method": "largest distance over d of mean circularity from d/(d + p); percentile "
        f"bootstrap over trials within each d, {RESAMPLES} resamples",
    }
    return [*rows, gap]
