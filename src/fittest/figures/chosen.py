"""Which two circles of a trial stand for all in a figure."""

from __future__ import annotations

import numpy as np
import xarray as xr

RULE = "relative"


def chosen_circles(trial: xr.Dataset, rule: str = RULE) -> list[int]:
    """Return the dead circle that began strongest and the survivor that ended strongest.

    Parameters
    ----------
    trial
        `signal` (step, frequency) and `survived` (frequency, rule) of one trial.
    rule
        Of survival.

    Returns
    -------
    list
        Their frequencies; without one where every circle, or none, survives.
    """
    survived = trial["survived"].sel(rule=rule).values == 1
    k = trial["frequency"].values
    chosen = []
    for group, order in ((~survived, trial["signal"][0]), (survived, trial["signal"][-1])):
        if group.any():
            chosen.append(int(k[group][np.argmax(order.values[group])]))
    return chosen
