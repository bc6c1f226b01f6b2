"""Survival rates over the trials of a cell, with their intervals."""

from __future__ import annotations

import xarray as xr

from fittest.files import describe
from fittest.intervals import wilson
from fittest.survival import MISSING


def survival_rates(table: xr.Dataset) -> xr.Dataset:
    """Return the survival rate of every circle over the trials of its cell.

    Parameters
    ----------
    table
        A survival table (`fittest.tables.survival.gather_survival`).

    Returns
    -------
    xarray.Dataset
        Over the table's axes, `frequency`, `horizon` and `rule`: `survived_count`, `trials` (those
        in which the circle exists), `rate` and its Wilson 95% interval; and over axes and
        `frequency` the mean `initial_signal`.
    """
    flag = table["survived"]
    count = (flag == 1).sum("trial")
    trials = (flag != MISSING).sum("trial")
    low, high = wilson(count.values, trials.values)
    initial = table["initial_signal"].mean("trial")
    interval = "end of the Wilson 95% interval of the rate"
    return xr.Dataset(
        {
            "survived_count": (
                count.dims,
                count.values,
                describe("trials in which the circle survived"),
            ),
            "trials": (count.dims, trials.values, describe("trials in which the circle exists")),
            "rate": (count.dims, (count / trials).values, describe("survival rate")),
            "rate_low": (count.dims, low, describe(f"lower {interval}")),
            "rate_high": (count.dims, high, describe(f"upper {interval}")),
            "initial_signal": (
                initial.dims,
                initial.values,
                describe("initial signal, mean over trials", "embedding unit"),
            ),
        },
        coords=flag.coords,
        attrs=table.attrs,
    ).drop_vars("trial")
