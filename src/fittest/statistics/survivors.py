"""How many circles survive, how dead the dead are, and whether one circle is ever enough (Sec. 1).

An undefined number is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.statistics.outcomes import share
from fittest.statistics.selection import by_embedding, decay_rate, known
from fittest.statistics.units import mean_over_units, over_units

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

SOLVED = 0.99
"""A trial has solved the task where its test accuracy is at least this."""


def survivors(survival: xr.Dataset, timeline: xr.Dataset) -> pd.DataFrame:
    """Return how many circles survive, by every rule.

    Parameters
    ----------
    survival
        Survival table of an experiment that varies the embedding, or nothing.
    timeline
        Its timeline, for the number of circles at each step.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. Statistics at each horizon: `share_3_to_5`, `share_single` (among trials
        that solved the task), `dead_ratio` (median of S now over S at step 0 of the dead). At each
        step of the timeline, as horizon: `circles`, how many would survive if training ended there.
    """
    survival, timeline = by_embedding(survival), by_embedding(timeline)
    rows: list[dict[str, Any]] = []
    for rule in survival["rule"].values:
        for horizon in survival["horizon"].values:
            at = survival.sel(rule=rule, horizon=horizon)
            where = {"rule": str(rule), "horizon": int(horizon)}
            rows += [row | where for row in _at_horizon(at, (1 - decay_rate(survival)) ** horizon)]
        rows += _over_time(timeline.sel(rule=rule), str(rule))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _at_horizon(at: xr.Dataset, decayed: float) -> list[dict[str, Any]]:
    circles = known(at["circles"], "embedding", "trial")
    solved = at["test_accuracy"].transpose("embedding", "trial").values >= SOLVED
    dims = ("embedding", "trial", "frequency")
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = (at["signal"].transpose(*dims) / at["initial_signal"].transpose(*dims)).values
    dead = np.where(known(at["survived"], *dims) == 0, ratio, np.nan)
    median = over_units(dead)
    return [
        {
            "statistic": "share_3_to_5",
            **_share((circles >= 3) & (circles <= 5), ~np.isnan(circles)),
            "method": "share of trials with 3 to 5 circles; Wilson",
        },
        {
            "statistic": "share_single",
            **_share(circles == 1, ~np.isnan(circles) & solved),
            "method": f"share with one circle among trials with test accuracy of at least {SOLVED};"
            " Wilson",
        },
        {
            "statistic": "dead_ratio",
            **median,
            "baseline": decayed,
            "n_circles": int((~np.isnan(dead)).sum()),
            "method": "median over dead circles of signal over signal at step 0; "
            f"{median['text']}; baseline: what weight decay alone leaves",
        },
    ]


def _share(some: np.ndarray, among: np.ndarray) -> dict[str, Any]:
    """Return the share of trials, shape (embedding, trial), that are `some` among some."""
    sizes = {"n_embeddings": int(among.any(axis=1).sum()), "n_trials": int(among.sum())}
    return share(int((some & among).sum()), int(among.sum())) | sizes


def _over_time(timeline: xr.Dataset, rule: str) -> list[dict[str, Any]]:
    found = mean_over_units(known(timeline["circles"], "embedding", "trial", "step"))
    method = f"mean circles a trial if training ended here; {found.pop('text')}"
    table = pd.DataFrame({"horizon": timeline["step"].values, **found})
    table = table.assign(statistic="circles", rule=rule, method=method)
    return table.to_dict("records")
