"""What a short run is worth: agreement of survivors at a horizon with those at the last.

An undefined number is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special, stats

from fittest.intervals import quiet
from fittest.statistics.selection import by_embedding, known
from fittest.statistics.units import mean_over_units

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "against",
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

_MEANING = {
    "same_fate": "share of circles with the same fate",
    "same_survivors": "share of trials with the very same survivors",
    "jaccard": "survivors at both over survivors at either, mean over trials",
    "precision": "share of the early survivors that survive, mean over trials",
    "recall": "share of the last survivors that are early survivors, mean over trials",
}


def agreement(survival: xr.Dataset) -> pd.DataFrame:
    """Return how well survival at each horizon agrees with survival at the last, by every rule.

    Parameters
    ----------
    survival
        Survival table of an experiment that varies the embedding, or nothing.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`; `against` is the last horizon. Statistics: the keys of `_MEANING`. Empty
        where there is one horizon.
    """
    survival = by_embedding(survival)
    horizons = survival["horizon"].values
    rows: list[dict[str, Any]] = []
    for rule in survival["rule"].values:
        fate = known(
            survival["survived"].sel(rule=rule), "horizon", "embedding", "trial", "frequency"
        )
        for early, horizon in zip(fate[:-1], horizons[:-1], strict=True):
            where = {"rule": str(rule), "horizon": int(horizon), "against": int(horizons[-1])}
            rows += [row | where for row in _agreement(early, fate[-1])]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _agreement(early: np.ndarray, late: np.ndarray) -> list[dict[str, Any]]:
    """Compare fates of shape (embedding, trial, circle), NaN where missing."""
    # A trial with a circle whose fate is missing, as one that diverged, cannot be compared whole.
    existing = ~np.isnan(late).all(axis=(0, 1))
    early, late = early[..., existing], late[..., existing]
    there = ~np.isnan(early + late).any(axis=-1)
    found, chance = measures(early == 1, late == 1), chances(early == 1, late == 1)
    rows = []
    for name, meaning in _MEANING.items():
        values = np.where(there, found[name], np.nan)
        mean = mean_over_units(values)
        # The baseline of the trials that the mean is of, and no others.
        with quiet():
            baseline = float(np.nanmean(np.where(np.isnan(values), np.nan, chance[name])))
        rows.append(
            {
                "statistic": name,
                **mean,
                "baseline": baseline,
                "n_circles": int(mean["n_trials"]) * int(existing.sum()),
                "method": f"{meaning}; {mean['text']}; baseline: expected where each trial's "
                "circles, as many as survive, are drawn at random",
            }
        )
    return rows


def measures(early: np.ndarray, late: np.ndarray) -> dict[str, np.ndarray]:
    """Return agreement of two sets of survivors in each trial.

    `early` and `late` are bool, shape (…, circle); each measure is of shape (…), NaN where
    undefined: the Jaccard index of two empty sets, precision of none, recall of none.
    """
    both, either = (early & late).sum(axis=-1), (early | late).sum(axis=-1)
    with np.errstate(invalid="ignore"):
        return {
            "same_fate": (early == late).mean(axis=-1),
            "same_survivors": (early == late).all(axis=-1).astype(float),
            "jaccard": both / either,
            "precision": both / early.sum(axis=-1),
            "recall": both / late.sum(axis=-1),
        }


def chances(early: np.ndarray, late: np.ndarray) -> dict[str, np.ndarray]:
    """Return the measures' expectation where each set is drawn at random, as many as it has.

    The number in both is then hypergeometric. Shapes as for `measures`.
    """
    circles = early.shape[-1]
    a, b = early.sum(axis=-1)[..., None], late.sum(axis=-1)[..., None]
    both = np.arange(circles + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = stats.hypergeom(circles, a, b).pmf(both)
        # Impossible numbers in both have no weight, and may divide by zero.
        jaccard = np.where(weight > 0, both / (a + b - both), 0)
        a, b = a[..., 0], b[..., 0]
        return {
            "same_fate": (a * b + (circles - a) * (circles - b)) / circles**2,
            "same_survivors": np.where(a == b, 1 / special.comb(circles, a), 0),
            "jaccard": (weight * jaccard).sum(axis=-1),
            "precision": b / circles,
            "recall": a / circles,
        }
