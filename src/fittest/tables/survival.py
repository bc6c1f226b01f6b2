"""The survival table: who survived, by every rule at every horizon, and what it started from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.errors import FileError
from fittest.files import describe
from fittest.fourier import circularity
from fittest.gathering import gather
from fittest.survival import MISSING, RULES, survived
from fittest.trajectory_schema import SCHEMA

EARLY_UPDATES = 4
"""A survival table holds each circle's gradient at updates 1 … this many (paper, Fig. 7)."""

SCORES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy", "parameter_norm")
CORE_SECONDS = describe(
    "processor time of the trial's training, an equal share of its job's; missing if on a GPU", "s"
)
_FLAG: dict[str, Any] = {"flag_values": [0, 1], "flag_meanings": "died survived"}


def gather_survival(
    paths: Iterable[Path],
    thresholds: Survival,
    horizons: Iterable[int],
    *,
    by_engine: bool = False,
) -> xr.Dataset:
    """Return an experiment's survival table: who survived, by every rule, at every horizon.

    Parameters
    ----------
    paths
        The trajectory files of all its blocks.
    thresholds
        Of the survival rules.
    horizons
        Steps at which survival is evaluated, up to what was trained; the last step always is.
    by_engine
        Whether the engine that trained is an axis, too.

    Returns
    -------
    xarray.Dataset
        `survived`, `signal`, `initial_signal`, `gradient`, `circularity`, `circles`, and losses,
        accuracies and norm at each horizon; `core_seconds`. See docs/data-dictionary.md.
    """
    horizons = list(horizons)
    return gather(paths, lambda t: survival_of(t, thresholds, horizons), by_engine=by_engine)


def survival_of(t: xr.Dataset, thresholds: Survival, horizons: list[int]) -> xr.Dataset:
    """Return the survival table of one block."""
    last = int(t["step"][-1])
    at = sorted({h for h in horizons if h < last} | {last})
    unknown = [h for h in at if h not in t["step"].values]
    if unknown:
        raise FileError(
            f"horizon {unknown[0]} is not a step that protocol {t.attrs['protocol_name']!r} "
            "recorded: use the design that these trajectories were trained with"
        )
    later = t[["signal", "mean_signal", *SCORES]].sel(step=at)
    initial = t["signal"].isel(step=0)
    flags = survived(
        later["signal"].values,
        initial.values[:, None, :],
        later["mean_signal"].values,
        thresholds,
    )
    # A trial that diverged has no number of circles: 0 would say that all of them died.
    circles = flags.sum(axis=2, dtype=np.int16)
    circles[(flags == MISSING).any(axis=2)] = MISSING
    # Steps that were not recorded make the updates they belong to missing.
    early = t["signal"].astype(np.float64).reindex(step=np.arange(EARLY_UPDATES + 1))
    gradient = early.diff("step") / early.isel(step=0)
    out = xr.Dataset(
        {
            "core_seconds": ("trial", _core_seconds(t), CORE_SECONDS),
            "survived": (
                ("trial", "horizon", "frequency", "rule"),
                flags,
                describe("circle survived", **_FLAG),
            ),
            "circles": (
                ("trial", "horizon", "rule"),
                circles,
                describe("number of surviving circles"),
            ),
            "signal": (
                ("trial", "horizon", "frequency"),
                later["signal"].values,
                SCHEMA["signal"].attributes,
            ),
            "initial_signal": (
                ("trial", "frequency"),
                initial.values,
                describe("signal S_k at step 0", "embedding unit"),
            ),
            "gradient": (
                ("trial", "update", "frequency"),
                gradient.values,
                describe("change of S_k in update i over S_k at step 0"),
            ),
            "circularity": (
                ("trial", "frequency"),
                circularity(t["initial_embedding"].values.astype(np.float64)),
                describe("circularity at step 0 (paper, App. B, eq. 5)"),
            ),
            **{
                name: (("trial", "horizon"), later[name].values, SCHEMA[name].attributes)
                for name in SCORES
            },
        },
        coords={
            "trial": t["trial"],
            "frequency": t["frequency"],
            "horizon": ("horizon", at, describe("step at which survival is evaluated", "step")),
            "rule": ("rule", list(RULES), describe("survival rule")),
            "update": (
                "update",
                np.arange(1, gradient.sizes["step"] + 1),
                describe("optimiser update i", "step"),
            ),
        },
    )
    return out.transpose("trial", "frequency", "horizon", "rule", "update")


def _core_seconds(t: xr.Dataset) -> np.ndarray:
    """Return each trial's share of its job's processor time, NaN where a GPU did the work."""
    on_cpu = str(t.attrs.get("device", "")).startswith("cpu")
    seconds = t.attrs.get("core_seconds", np.nan) if on_cpu else np.nan
    return np.full(t.sizes["trial"], seconds / t.sizes["trial"])
