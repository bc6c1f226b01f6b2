"""Whether initial signal decides survival: Pearson, logistic regression, counts (Fig. 6 left)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from fittest import fitness
from fittest.intervals import SEED
from fittest.statistics.selection import by_embedding
from fittest.survival import MISSING

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_embeddings",
    "n_trials",
    "n_circles",
    "method",
)


def correlation(rates: xr.Dataset, survival: xr.Dataset) -> pd.DataFrame:
    """Return whether initial signal decides survival, by every rule at every horizon (Fig. 6 left).

    Parameters
    ----------
    rates
        Survival rates of an experiment that varies the embedding (`survival_rates`).
    survival
        Its survival table, for the number of circles.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. Statistics: `pearson_within` (mean over embeddings of r within each, the
        primary figure) and `pearson_within_sd`, `pearson_pooled`, `logistic_slope`,
        `line_slope`, `line_intercept`, `circles`.
    """
    rates, survival = by_embedding(rates), by_embedding(survival)
    signal = rates["initial_signal"].transpose("embedding", "frequency").values
    n_trials = int((survival["circles"].isel(horizon=-1, rule=0) >= 0).sum())
    rows = []
    for rule in rates["rule"].values:
        for horizon in rates["horizon"].values:
            at = rates.sel(rule=rule, horizon=horizon).transpose("embedding", "frequency")
            rng = np.random.default_rng(SEED)
            pooled = fitness.pooled_correlation(
                signal, at["rate"].values, n_trials=n_trials, rng=rng
            )
            within, _, spread = fitness.within_correlation(
                signal, at["rate"].values, n_trials=n_trials, rng=rng
            )
            slope = fitness.logistic_slope(
                signal, at["survived_count"].values, at["trials"].values, rng=rng
            )
            line = fitness.least_squares(signal, at["rate"].values)
            where = {"rule": str(rule), "horizon": int(horizon)}
            sizes = {key: getattr(within, key) for key in ("n_embeddings", "n_trials", "n_circles")}
            rows += [
                {"statistic": "pearson_within", **where, **vars(within)},
                {
                    "statistic": "pearson_within_sd",
                    **where,
                    **sizes,
                    "estimate": spread,
                    "method": "standard deviation over embeddings of r within each",
                },
                {"statistic": "pearson_pooled", **where, **vars(pooled)},
                {"statistic": "logistic_slope", **where, **vars(slope)},
            ]
            rows += [
                {
                    "statistic": name,
                    **where,
                    **sizes,
                    "estimate": value,
                    "method": "least squares over all circles; slope per embedding unit of signal",
                }
                for name, value in zip(("line_slope", "line_intercept"), line, strict=True)
            ]
            rows.append(_circles(survival.sel(rule=rule, horizon=horizon)["circles"], where))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _circles(circles: xr.DataArray, where: dict) -> dict:
    """Return the mean number of circles."""
    values = circles.transpose("embedding", "trial").values
    known = values[values != MISSING]
    low, high = _mean_interval(values)
    return {
        "statistic": "circles",
        **where,
        "n_embeddings": len(values),
        "n_trials": len(known),
        "estimate": known.mean() if len(known) else np.nan,
        "low": low,
        "high": high,
        "method": "mean circles a trial; percentile bootstrap over embeddings",
    }


def _mean_interval(values: np.ndarray) -> tuple[float, float]:
    """Return the 95% bootstrap interval over rows of the mean of all known values."""
    rows = np.where(values == MISSING, np.nan, values.astype(float))
    if len(rows) < 2:
        return np.nan, np.nan
    means = np.nanmean(rows, axis=1)  # every embedding has as many trials
    result = stats.bootstrap(
        (means,),
        np.mean,
        method="percentile",
        n_resamples=2000,
        rng=np.random.default_rng(SEED),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
