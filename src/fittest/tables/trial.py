"""One trial at full time resolution (paper, Figs. 1, 2, 3)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.errors import FileError
from fittest.files import describe
from fittest.fourier import token_increment
from fittest.survival import MISSING
from fittest.tables.survival import survival_of
from fittest.trajectories import open_trajectories
from fittest.trajectory_schema import SCHEMA, STORED


def gather_trial(paths: Iterable[Path], thresholds: Survival, trial: int = 0) -> xr.Dataset:
    """Return one trial at full time resolution, with its fate at the last step (paper, Figs. 2, 3).

    `paths` is the one file of the block that the trial is the first of: its embedding is stored at
    several steps.
    """
    (path,) = paths
    t = open_trajectories(path)
    if int(t["trial"][0]) != trial:
        raise FileError(f"{path} does not begin with trial {trial}: give the block that does")
    last = [int(t["step"][-1])]
    fate = survival_of(t, thresholds, last)[["survived"]]
    out = t.drop_vars(["initial_embedding", "train_pair", "pair"]).isel(trial=0)
    out = out.drop_vars([name for name in out.variables if SCHEMA[str(name)].only == STORED])
    p = int(t.attrs["p"])
    increments = [token_increment(int(k), p) for k in t["frequency"].values]
    out["token_increment"] = (
        "frequency",
        np.array([MISSING if x is None else x for x in increments], dtype=np.int64),
        describe("token increment between neighbours on the circle; -1 where gcd(k, p) > 1"),
    )
    for name, variable in fate.isel(trial=0, horizon=0).variables.items():
        out[name] = variable
    return out.assign_attrs(t.attrs)
