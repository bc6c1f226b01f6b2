"""Whether circles collaborate: what networks do with one, two or three of them (paper, Fig. 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.intervals import RESAMPLES, SEED, interval, quiet, resample, wilson
from fittest.tables.kept import RULE

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "set",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "method",
)

CLAIM = {"one": ("one_fails", 1.0), "two": ("two_high", 0.1), "three": ("three_low", 0.1)}
"""Kept set → name of its share, and the loss (nats) that its best must be above, or below."""

WHOLE = "all"
"""What stands for the whole network where a kept set is named."""


def kept(table: xr.Dataset) -> pd.DataFrame:
    """Return how well one, two and three circles do at the last step, over trials.

    The best of a trial's kept sets is the one of least loss, among those that really hold one, two
    or three circles: for i the strongest, {strongest, i} holds one.

    Parameters
    ----------
    table
        A kept table (`fittest.tables.kept.gather_kept`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. `best_loss` of each `set`, and of the whole network (`all`): median over
        trials. Shares of trials: `one_fails` (best above 1), `two_high` (above 0.1), `three_low`
        (below 0.1), `all_three` (all of that). A trial with too few survivors for a set, or that
        diverged, is missing there; `all_three` does not hold where one of the others does not.
    """
    last = table.isel(step=-1)
    best = {name: best_loss(last.sel(set=name)) for name in table["set"].values}
    chance = float(np.log(int(table["p"])))
    where = {"rule": RULE, "horizon": int(last["step"]), "p_value": np.nan}
    rows = []
    for name, values in (*best.items(), (WHOLE, last["whole_loss"].values)):
        row = {"statistic": "best_loss", **where, "set": name, "baseline": chance}
        rows.append(row | _median(values[np.isfinite(values)]))
    right = {}
    for name, (statistic, threshold) in CLAIM.items():
        with quiet():
            held = best[name] < threshold if name == "three" else best[name] > threshold
        right[statistic] = np.where(np.isfinite(best[name]), held, np.nan)
        sign = "<" if name == "three" else ">"
        text = f"share of trials whose best kept set of {name} has a loss {sign} {threshold:g}"
        rows.append(
            {"statistic": statistic, **where, "set": name, **_share(right[statistic], text)}
        )
    together = np.stack(list(right.values()))
    refuted = (together == 0).any(axis=0)
    every = np.where(refuted, 0, together.min(axis=0))  # of what is missing in part, not known
    text = f"share of trials in which {', '.join(right)} all hold"
    rows.append({"statistic": "all_three", **where, "set": "", **_share(every, text)})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def best_loss(table: xr.Dataset) -> np.ndarray:
    """Return each trial's least loss over circles with one kept set: shape (trial,), NaN if none.

    Sets that hold fewer circles than their name says are left out.
    """
    count = table["kept"].transpose("trial", "frequency").values
    loss = table["loss"].transpose("trial", "frequency").values
    size = list(CLAIM).index(str(table["set"].values)) + 1
    loss = np.where((count == size) & np.isfinite(loss), loss, np.inf)
    least = loss.min(axis=1)
    return np.where(np.isfinite(least), least, np.nan)


def _share(flags: np.ndarray, text: str) -> dict[str, Any]:
    """Return the share of trials, of those that are known."""
    known = flags[~np.isnan(flags)]
    low, high = wilson(known.sum(), np.array(len(known)))
    return {
        "estimate": float(known.mean()) if len(known) else np.nan,
        "low": float(low),
        "high": float(high),
        "baseline": np.nan,
        "n_trials": len(known),
        "method": f"{text}, at the last step; Wilson",
    }


def _median(values: np.ndarray) -> dict[str, Any]:
    times = resample(len(values), np.random.default_rng(SEED), RESAMPLES)
    with quiet():
        drawn = np.array([np.median(np.repeat(values, each)) for each in times])
        low, high = interval(drawn, len(values))
    return {
        "estimate": float(np.median(values)) if len(values) else np.nan,
        "low": float(low),
        "high": float(high),
        "n_trials": len(values),
        "method": "least loss on all pairs over the circles of the set, at the last step: median "
        f"over trials; percentile bootstrap over trials, {RESAMPLES} resamples; baseline: "
        "guessing, log p",
    }
