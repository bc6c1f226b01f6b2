"""Which circles survived: the three rules, and survival rates with their intervals."""

from __future__ import annotations

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.files import describe
from fittest.intervals import wilson

RULES = ("relative", "absolute", "retained")
"""The survival rules, in the order of every table. `relative` is the paper's."""

MISSING = -1
"""Value of an int8 flag where a circle or trial does not exist: missing is not dead."""


def survived(
    signal: np.ndarray, initial_signal: np.ndarray, mean_signal: np.ndarray, thresholds: Survival
) -> np.ndarray:
    """Apply the survival rules (method: Sec. 3 of the paper for `relative`, Fig. 7 for `absolute`).

    Parameters
    ----------
    signal, initial_signal
        S_k now and at step 0: shape (…, K).
    mean_signal
        Mean of S over all p DFT bins now, k = 0 and both halves included: shape (…).
    thresholds
        The design's.

    Returns
    -------
    numpy.ndarray
        Shape (…, K, 3), int8 flags in the order of `RULES`. `relative` and `absolute` are strict
        (a circle at the threshold is dead), as is `retained`. A signal that is not a number
        (training diverged) is missing, -1.
    """
    flags = np.stack(
        [
            signal > thresholds.relative * mean_signal[..., None],
            signal > thresholds.absolute,
            signal > thresholds.retained * initial_signal,
        ],
        axis=-1,
    ).astype(np.int8)
    flags[~np.isfinite(signal)] = MISSING
    return flags


def survival_rates(table: xr.Dataset) -> xr.Dataset:
    """Return the survival rate of every circle over the trials of its cell.

    Parameters
    ----------
    table
        A survival table (`fittest.tables.gather_survival`).

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
