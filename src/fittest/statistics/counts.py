"""How many circles survive along an axis, and whether the number rises or falls with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from fittest.intervals import RESAMPLES, SEED, interval, quiet, resample
from fittest.survival import MISSING

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "axis",
    "value",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_values",
    "n_least",
    "method",
)

_KNOWN = {"trial", "frequency", "horizon", "rule", "update"}


def counts(survival: xr.Dataset) -> pd.DataFrame:
    """Return the number of circles at every value of an experiment's axis, and its trend.

    Parameters
    ----------
    survival
        Survival table of an experiment that varies one numeric axis (`gather_survival`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. For every rule and horizon: `circles` at each `value`, and `spearman`
        over all trials. Where the axis starts at 0, `spearman_positive` leaves that value out.

    Raises
    ------
    ValueError
        Where the table varies several axes, or none.
    """
    axes = sorted(set(map(str, survival["circles"].dims)) - _KNOWN)
    if len(axes) != 1:
        raise ValueError(f"counts are along one axis, and the table varies {axes or 'none'}")
    (axis,) = axes
    values = survival[axis].values.astype(float)
    rows: list[dict[str, Any]] = []
    for rule in survival["rule"].values:
        for horizon in survival["horizon"].values:
            at = survival["circles"].sel(rule=rule, horizon=horizon).transpose(axis, "trial").values
            cells = [row[row != MISSING] for row in at]
            where = {"rule": str(rule), "horizon": int(horizon), "axis": axis}
            rows += [
                {"statistic": "circles", **where, "value": value, **_mean(cell)}
                for value, cell in zip(values, cells, strict=True)
                if len(cell)
            ]
            rows.append({"statistic": "spearman", **where, **spearman(values, cells)})
            if values.min() == 0:
                some = values > 0
                rest = [cell for cell, kept in zip(cells, some, strict=True) if kept]
                found = spearman(values[some], rest)
                rows.append({"statistic": "spearman_positive", **where, **found})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def spearman(values: np.ndarray, cells: list[np.ndarray]) -> dict[str, Any]:
    """Return Spearman's rank correlation of value and count over trials, with its interval.

    The values are the design's and stay; a resample draws trials within each of them. NaN where
    there is one value, or every trial has as many circles.

    Parameters
    ----------
    values
        Shape (value,).
    cells
        For each value the counts of its trials.
    """
    pairs = zip(np.asarray(values, dtype=float), map(np.asarray, cells), strict=True)
    used = [(value, cell) for value, cell in pairs if len(cell)]
    x = np.concatenate([np.full(len(cell), value) for value, cell in used]) if used else np.empty(0)
    y = np.concatenate([cell for _, cell in used]) if used else np.empty(0)
    rho = p_value = low = high = np.nan
    with quiet():
        if len(used) > 1 and len(x) > 2:
            rho, p_value = stats.spearmanr(x, y)
        if np.isfinite(rho):
            rng = np.random.default_rng(SEED)
            drawn = np.concatenate(
                [cell[rng.integers(0, len(cell), (RESAMPLES, len(cell)))] for _, cell in used],
                axis=1,
            )
            rank_x = stats.zscore(stats.rankdata(x))
            rank_y = stats.zscore(stats.rankdata(drawn, axis=1), axis=1)
            least = min(len(cell) for _, cell in used)
            low, high = interval(rank_y @ rank_x / len(x), least)
    return {
        "estimate": float(rho),
        "low": float(low),
        "high": float(high),
        "baseline": 0.0,
        "p_value": float(p_value),
        "n_trials": len(x),
        "n_values": len(used),
        "n_least": min((len(cell) for _, cell in used), default=0),
        "method": "Spearman rank correlation of value and number of circles over trials; "
        f"percentile bootstrap over trials within each value, {RESAMPLES} resamples",
    }


def _mean(cell: np.ndarray) -> dict[str, Any]:
    times = resample(len(cell), np.random.default_rng(SEED), RESAMPLES)
    low, high = interval(times @ cell / len(cell), len(cell))
    return {
        "estimate": float(np.mean(cell)),
        "low": float(low),
        "high": float(high),
        "n_trials": len(cell),
        "n_values": 1,
        "n_least": len(cell),
        "method": f"mean circles a trial; percentile bootstrap over trials, {RESAMPLES} resamples",
    }
