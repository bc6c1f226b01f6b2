"""Survival of one circle whose initial signal is raised or lowered (paper, Fig. 6 middle)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.intervals import RESAMPLES, SEED, at_least_wilson, interval, quiet, wilson
from fittest.interventions import Scale, parse_intervention
from fittest.statistics.selection import on_axes

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "frequency",
    "embedding",
    "factor",
    "distance",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_embeddings",
    "n_values",
    "n_least",
    "method",
)

_FIFTH = 0.2


def perturbation(survival: xr.Dataset) -> pd.DataFrame:
    """Return how often a circle survives whose signal was scaled, and in the outer fifths.

    The distance x of a cell is the circle's initial signal, as trained, minus the mean initial
    signal of the other circles.

    Parameters
    ----------
    survival
        Survival table of an experiment that varies embedding and intervention
        (`gather_survival`); every intervention scales the same circle.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. For every rule and horizon: `rate` at each embedding and factor;
        `top_fifth` and `bottom_fifth`, the rate over the cells whose `distance` is among the
        greatest and the least fifth of all; their `distance` is where the fifth begins.

    Raises
    ------
    ValueError
        Where the table varies another axis, or its interventions do not scale one circle.
    """
    table = on_axes(survival, "embedding", "intervention")
    found = [parse_intervention(str(text)) for text in table["intervention"].values]
    scales = [what for what in found if isinstance(what, Scale)]
    if len(scales) < len(found) or len({what.frequencies for what in scales}) != 1:
        raise ValueError(
            "a perturbation scales one circle by several factors, and the interventions are "
            f"{', '.join(what.text for what in found)}"
        )
    k = scales[0].frequencies[0]
    factors = np.array([what.factor for what in scales])
    order = np.argsort(factors, kind="stable")
    table, factors = table.isel(intervention=order), factors[order]
    initial = table["initial_signal"].mean("trial").transpose("embedding", "intervention", ...)
    others = initial.sel(frequency=initial["frequency"] != k).mean("frequency")
    x = (initial.sel(frequency=k) - others).values
    fates = table["survived"].sel(frequency=k).transpose("embedding", "intervention", "trial", ...)
    rows: list[dict[str, Any]] = []
    for rule in table["rule"].values:
        for horizon in table["horizon"].values:
            flag = fates.sel(rule=rule, horizon=horizon).values
            survived, trials = (flag == 1).sum(axis=-1), (flag >= 0).sum(axis=-1)
            where = {"rule": str(rule), "horizon": int(horizon), "frequency": k}
            rows += [
                {**where, "embedding": embedding, "factor": factor, **row}
                for (embedding, factor), row in zip(
                    ((e, f) for e in table["embedding"].values for f in factors),
                    _rates(x, survived, trials),
                    strict=True,
                )
                if row["n_trials"]
            ]
            rows += [{**where, **row} for row in _fifths(x, survived, trials)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rates(x: np.ndarray, survived: np.ndarray, trials: np.ndarray) -> list[dict[str, Any]]:
    """Return the rate of every cell, embedding by embedding."""
    low, high = wilson(survived, trials)
    with quiet():
        rate = survived / trials
        overall = survived.sum() / trials.sum()
    return [
        {
            "statistic": "rate",
            "distance": x[cell],
            "estimate": rate[cell],
            "low": low[cell],
            "high": high[cell],
            "baseline": overall,
            "n_trials": int(trials[cell]),
            "n_embeddings": 1,
            "n_values": 1,
            "n_least": int(trials[cell]),
            "method": "survival rate of the perturbed circle over the trials of the cell; Wilson; "
            "baseline: its rate over all cells",
        }
        for cell in np.ndindex(x.shape)
    ]


def _fifths(x: np.ndarray, survived: np.ndarray, trials: np.ndarray) -> list[dict[str, Any]]:
    """Return the rate in the top and the bottom fifth of x.

    A resample of embeddings has fifths of its own, as a new set of embeddings would.
    """
    x = np.where(trials > 0, x, np.nan)
    there = ~np.isnan(x).all(axis=1)
    x, survived, trials = x[there], survived[there], trials[there]
    known = ~np.isnan(x)
    n = len(x)
    chosen = np.random.default_rng(SEED).integers(0, max(n, 1), (RESAMPLES, n))
    rows = []
    for name, sign in (("top_fifth", 1), ("bottom_fifth", -1)):
        begins, count, total = (
            v[0] for v in _outer(sign * x, survived, trials, np.arange(n)[None])
        )
        _, survivors, all_trials = _outer(sign * x, survived, trials, chosen)
        with quiet():
            ends = interval(survivors / all_trials, n)
        low, high = at_least_wilson(*ends, count, total)
        rows.append(
            {
                "statistic": name,
                "distance": sign * begins,
                "estimate": count / total if total else np.nan,
                "low": float(low),
                "high": float(high),
                "baseline": survived.sum() / trials.sum() if total else np.nan,
                "n_trials": int(total),
                "n_embeddings": n,
                "n_values": int(known.any(axis=0).sum()),
                "n_least": int(trials[known].min()) if total else 0,
                "method": "survival rate of the perturbed circle over the trials of the cells in "
                "that fifth of distances; the wider at each end of a percentile bootstrap over "
                f"embeddings, {RESAMPLES} resamples, and Wilson over trials; baseline: its rate "
                "over all cells",
            }
        )
    return rows


def _outer(
    x: np.ndarray, survived: np.ndarray, trials: np.ndarray, chosen: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where the top fifth of cells begins, and the survivors and trials in it.

    `chosen` is (sample, embedding): each row a sample of embeddings; each result is (sample,).
    """
    x, survived, trials = (a[chosen].reshape(len(chosen), -1) for a in (x, survived, trials))
    with quiet():
        begins = np.nanquantile(x, 1 - _FIFTH, axis=1)
    top = x >= begins[:, None]
    return begins, (survived * top).sum(axis=1), (trials * top).sum(axis=1)
