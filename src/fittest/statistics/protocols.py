"""What each protocol gives: whether it learns, how many circles it ends with, what they follow.

A protocol here is a draw of the MLP, an activation and an arithmetic; the paper's text and the
numbers it prints leave several possible.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from fittest import fitness
from fittest.cells import REDRAWN
from fittest.intervals import SEED, interval, quiet
from fittest.statistics.estimates import BOOTSTRAP, draws, mean, median, share
from fittest.survival import MISSING

COLUMNS = (
    "statistic",
    "protocol",
    "mlp",
    "activation",
    "arithmetic",
    "rule",
    "horizon",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_circles",
    "method",
)

LEARNED = 0.99
"""Test accuracy from which a trial has learned."""


def protocols(survival: xr.Dataset) -> pd.DataFrame:
    """Return what each protocol gives, by every survival rule at every horizon it was trained to.

    Parameters
    ----------
    survival
        Survival table of an experiment that varies the protocol only (`gather_survival`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`; `mlp`, `activation` and `arithmetic` say what the protocol is. `learns`,
        `test_loss` (median), `circles`, `share_3_to_5`, and `pearson`, the correlation of initial
        signal and survival rate over the circles of the embedding that all trials share.

    Raises
    ------
    ValueError
        Where the table varies another axis than the protocol.
    """
    if "protocol" not in survival["circles"].dims:
        survival = survival.expand_dims("protocol")
    known = {"protocol", "trial", "frequency", "horizon", "rule", "update"}
    other = sorted(set(map(str, survival.dims)) - known)
    if other:
        raise ValueError(f"protocols are compared, and the table varies {', '.join(other)}")
    shared = str(survival["embedding"].values) != REDRAWN
    rows: list[dict[str, Any]] = []
    for name, values in protocol_values(survival).items():
        one = survival.sel(protocol=name)
        what = {"protocol": name, **described(values)}
        for horizon in one["horizon"].values[one["horizon"].values <= values["steps"]]:
            at = one.sel(horizon=horizon)
            where = {**what, "horizon": int(horizon)}
            rows += [{**where, **row} for row in _scores(at)]
            for rule in at["rule"].values:
                found = _survivors(at.sel(rule=rule), shared)
                rows += [{**where, "rule": str(rule), **row} for row in found]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def protocol_values(table: xr.Dataset) -> dict[str, Mapping[str, Any]]:
    """Return the values of each protocol of a table, by name, in the order of the table."""
    values = json.loads(table.attrs["protocol"])
    names = list(map(str, np.atleast_1d(table["protocol"].values)))
    return dict.fromkeys(names, values) if len(names) == 1 else {n: values[n] for n in names}


def described(values: Mapping[str, Any]) -> dict[str, str]:
    """Return a protocol's draw of the MLP, activation and arithmetic with form of the loss."""
    return {
        "mlp": str(values["init"]["mlp"]),
        "activation": str(values["activation"]),
        "arithmetic": f"{values['arithmetic']} {values['loss']}",
    }


def _scores(at: xr.Dataset) -> list[dict[str, Any]]:
    """Return whether trials learn. One that diverged has no number, and has not learned."""
    accuracy, loss = at["test_accuracy"].values, at["test_loss"].values.astype(np.float64)
    return [
        {
            "statistic": "learns",
            **share(int((accuracy >= LEARNED).sum()), len(accuracy)),
            "method": f"share of trials of test accuracy ≥ {LEARNED:g}; Wilson",
        },
        {
            "statistic": "test_loss",
            **median(np.where(np.isfinite(loss), loss, np.inf)),
            "method": f"median test loss (nats), one that diverged beyond all others; {BOOTSTRAP}",
        },
    ]


def _survivors(at: xr.Dataset, shared: bool) -> list[dict[str, Any]]:
    """Return counts, and what survival follows, by one rule at one horizon."""
    counts = at["circles"].values
    counts = counts[counts != MISSING]
    few = int(((counts >= 3) & (counts <= 5)).sum())
    rows = [
        {
            "statistic": "circles",
            **mean(counts.astype(float)),
            "method": f"mean circles a trial, over those that did not diverge; {BOOTSTRAP}",
        },
        {
            "statistic": "share_3_to_5",
            **share(few, len(counts)),
            "method": "share of trials with 3 to 5 circles, over those that did not diverge; "
            "Wilson",
        },
    ]
    return [*rows, {"statistic": "pearson", **_correlation(at)}] if shared else rows


def _correlation(at: xr.Dataset) -> dict[str, Any]:
    """Return Pearson's r of initial signal and survival rate, its interval over trials."""
    flags = at["survived"].transpose("trial", "frequency").values
    flags = flags[(flags != MISSING).all(axis=1)].astype(np.float64)
    n = len(flags)
    signal = at["initial_signal"].mean("trial").values.astype(np.float64)
    with quiet():  # where every trial diverged
        rate = flags.mean(axis=0)
    rng = np.random.default_rng(SEED)
    found, _, _ = fitness.within_correlation(signal[None], rate[None], n_trials=n, rng=rng)
    low = high = np.nan
    if np.isfinite(found.estimate):
        with quiet():
            drawn = draws(flags, rng).mean(axis=1)
            r = stats.zscore(drawn, axis=1) @ stats.zscore(signal) / len(signal)
        low, high = interval(r, n)
    return {
        "estimate": found.estimate,
        "low": float(low),
        "high": float(high),
        "baseline": found.baseline,
        "p_value": found.p_value,
        "n_trials": n,
        "n_circles": len(signal),
        "method": "Pearson r of initial signal and survival rate over the circles of the one "
        f"embedding; {BOOTSTRAP}, the embedding fixed; baseline, p value: permutations of circles",
    }
