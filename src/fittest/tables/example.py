"""One trial's differential equations: paths and coefficients (paper, Figs. 9, 15, 16)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.dynamics import KINDS, fit
from fittest.files import FLAG, describe
from fittest.flow import rollout
from fittest.forecasts import left_data, mean, r_squared
from fittest.survival import RULES, survived
from fittest.tables.early import early_signals
from fittest.tables.fits import closed_path, fit_coordinate
from fittest.trajectories import SCHEMA, open_trajectories

_FREQUENCY = SCHEMA["frequency"].units


def gather_example(paths: Iterable[Path], thresholds: Survival) -> xr.Dataset:
    """Return the fits of each kind to the first trial of a file, and the paths that they tell.

    Parameters
    ----------
    paths
        The one trajectory file.
    thresholds
        Of the survival rules.

    Returns
    -------
    xarray.Dataset
        `signal` (step, frequency); `rollout` and `closed_form` (fit, step, frequency), the latter
        missing for Lotka–Volterra; A as `coefficient` (fit, frequency, source), of Lotka–Volterra
        its linear part, and b as `constant`; `survived` at the last step trained.
    """
    (path,) = paths
    t = open_trajectories(path).isel(trial=[0])
    early = early_signals(t).isel(trial=0)
    x = early.values.astype(np.float64)
    start, steps = x[0], len(x) - 1
    models = [fit(x, kind) for kind in KINDS]
    rolled = np.stack([rollout(model, start, steps) for model in models])
    closed = np.stack([closed_path(model, start, steps) for model in models])
    explained = [mean(r_squared(model.change(x[:-1]), np.diff(x, axis=0))) for model in models]
    left = [left_data(path, x) if np.isfinite(x).all() else None for path in rolled]
    last = t.isel(step=-1)
    flags = survived(
        last["signal"].values,
        t["signal"].isel(step=0).values,
        last["mean_signal"].values,
        thresholds,
    )
    k = t["frequency"]
    unit = SCHEMA["signal"].units
    path_dims = ("fit", "step", "frequency")
    with np.errstate(over="ignore"):  # a rollout may be beyond single precision
        rolled, closed = rolled.astype(np.float32), closed.astype(np.float32)
    return xr.Dataset(
        {
            "signal": (("step", "frequency"), early.values, SCHEMA["signal"].attributes),
            "rollout": (path_dims, rolled, describe("signal that the rollout tells", unit)),
            "closed_form": (path_dims, closed, describe("signal that the closed form tells", unit)),
            "coefficient": (
                ("fit", "frequency", "source"),
                np.stack([model.linear for model in models]),
                describe("what the source does to the circle: entry of A", "1/step"),
            ),
            "constant": (
                ("fit", "frequency"),
                np.stack([model.constant for model in models]),
                describe("entry of b", f"{unit}/step"),
            ),
            "r_squared": (
                "fit",
                np.array(explained),
                describe("R² of the change of a signal in one step, mean over circles"),
            ),
            "left_step": (
                "fit",
                np.array([np.nan if at is None else at for at in left]),
                describe(
                    "step at which the rollout is beyond ten times the largest signal; NaN if "
                    "never",
                    "step",
                ),
            ),
            "survived": (
                ("frequency", "rule"),
                flags[0],
                describe("circle survived at the last step trained", **FLAG),
            ),
            "trained_step": ((), int(last["step"]), describe("last step trained", "step")),
        },
        coords={
            "fit": fit_coordinate(),
            "step": early["step"],
            "frequency": k,
            "source": ("source", k.values, describe("circle that acts", _FREQUENCY)),
            "rule": ("rule", list(RULES), describe("survival rule")),
            "trial": t["trial"].isel(trial=0),
        },
        attrs=t.attrs,
    )
