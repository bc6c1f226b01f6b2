"""The tables that everything downstream reads: what of each trajectory goes into them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.errors import FileError
from fittest.files import describe
from fittest.fourier import circularity, token_increment
from fittest.gathering import gather
from fittest.survival import MISSING, RULES, survived
from fittest.trajectories import SCHEMA, open_trajectories

TIMELINE_STEPS = 120
"""About how many log-spaced steps a timeline keeps."""

EARLY_UPDATES = 4
"""A survival table holds each circle's gradient at updates 1 … this many (paper, Fig. 7)."""

_SCORES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy", "parameter_norm")
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
        accuracies and norm at each horizon. See docs/data-dictionary.md.
    """
    horizons = list(horizons)
    return gather(paths, lambda t: _survival_of(t, thresholds, horizons), by_engine=by_engine)


def gather_timeline(
    paths: Iterable[Path], thresholds: Survival, horizons: Iterable[int]
) -> xr.Dataset:
    """Return an experiment's timeline: signals and scores at log-spaced steps, with each fate."""
    horizons = list(horizons)

    def timeline(t: xr.Dataset) -> xr.Dataset:
        kept = t[["signal", *_SCORES]].isel(step=timeline_rows(t["step"].values))
        return kept.assign(survived=_survival_of(t, thresholds, horizons)["survived"])

    return gather(paths, timeline)


def gather_trial(path: Path, trial: int, thresholds: Survival) -> xr.Dataset:
    """Return one trial at full time resolution, with its fate at the last step (paper, Figs. 2, 3).

    The trial is the first of its block, whose embedding is stored at several steps.
    """
    t = open_trajectories(path)
    if int(t["trial"][0]) != trial:
        raise FileError(f"{path} does not begin with trial {trial}: give the block that does")
    last = [int(t["step"][-1])]
    fate = _survival_of(t, thresholds, last)[["survived"]]
    out = t.drop_vars(["initial_embedding", "train_pair", "pair"]).isel(trial=0)
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


def timeline_rows(steps: np.ndarray) -> np.ndarray:
    """Return the rows of the recorded steps that a timeline keeps: first, last, log-spaced."""
    wanted = np.geomspace(1, max(steps[-1], 1), TIMELINE_STEPS)
    rows = np.searchsorted(steps, wanted.round()).clip(max=len(steps) - 1)
    return np.unique(np.concatenate([[0], rows, [len(steps) - 1]]))


def _survival_of(t: xr.Dataset, thresholds: Survival, horizons: list[int]) -> xr.Dataset:
    """Return the survival table of one block."""
    last = int(t["step"][-1])
    at = sorted({h for h in horizons if h < last} | {last})
    unknown = [h for h in at if h not in t["step"].values]
    if unknown:
        raise FileError(
            f"horizon {unknown[0]} is not a step that protocol {t.attrs['protocol_name']!r} "
            "recorded: use the design that these trajectories were trained with"
        )
    later = t[["signal", "mean_signal", *_SCORES]].sel(step=at)
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
                for name in _SCORES
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
