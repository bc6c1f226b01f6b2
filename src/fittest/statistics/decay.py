"""Training without weight decay: whether every circle stays, and whether it generalises (Fig. 10).

Where nothing decays, the rule `relative` finds no survivor; the claim is by `retained`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.statistics.estimates import BOOTSTRAP, mean, share
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
    "n_trials",
    "method",
)


def decay(survival: xr.Dataset) -> pd.DataFrame:
    """Return what becomes of trials without weight decay, at every horizon.

    Parameters
    ----------
    survival
        Survival table of an experiment that varies weight decay only (`gather_survival`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. `share_all_stay` by every rule, and mean `test_accuracy`. No rows where
        the design has no weight decay of 0.
    """
    if "weight_decay" not in survival["circles"].dims:
        survival = survival.expand_dims("weight_decay")
    none = survival.isel(weight_decay=survival["weight_decay"].values == 0)
    rows: list[dict[str, Any]] = []
    for at in (none.sel(horizon=h) for h in none["horizon"].values if none.sizes["weight_decay"]):
        where = {"horizon": int(at["horizon"])}
        flags = at["survived"].isel(weight_decay=0).transpose("rule", "trial", "frequency").values
        for rule, flag in zip(at["rule"].values, flags, strict=True):
            # A circle that diverged, or does not exist, makes all of its trial missing.
            known = flag[(flag != MISSING).all(axis=1)]
            rows.append(
                {
                    "statistic": "share_all_stay",
                    "rule": str(rule),
                    **where,
                    **share(int(known.all(axis=1).sum()), len(known)),
                    "method": "share of trials without weight decay in which all circles survive; "
                    "Wilson",
                }
            )
        accuracy = at["test_accuracy"].values.astype(np.float64).ravel()
        rows.append(
            {
                "statistic": "test_accuracy",
                **where,
                **mean(accuracy[np.isfinite(accuracy)]),
                # Guessing among p answers.
                "baseline": 1 / int(survival["p"]),
                "method": f"mean test accuracy of trials without weight decay; {BOOTSTRAP}; "
                "baseline: one of p answers at random",
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))
