"""Gathering trajectories into the tables that everything downstream reads.

An axis on which the experiment has several values is a dimension of its table; one with a single
value is a scalar coordinate. Circles that do not exist at a cell's p are missing, never dead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.cells import AXES, REDRAWN, Block
from fittest.design import Survival
from fittest.errors import FileError
from fittest.files import describe
from fittest.fourier import circularity, token_increment
from fittest.protocol import DTYPES
from fittest.provenance import provenance
from fittest.survival import MISSING, RULES, survived
from fittest.trajectories import SCHEMA, open_block, open_trajectories

TIMELINE_STEPS = 120
"""About how many log-spaced steps a timeline keeps."""

EARLY_UPDATES = 4
"""A survival table holds each circle's gradient at updates 1 … this many (paper, Fig. 7)."""

_SCORES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy", "parameter_norm")
_FLAG: dict[str, Any] = {"flag_values": [0, 1], "flag_meanings": "died survived"}
_AXIS_NAMES = {
    "p": ("modulus", "1"),
    "d": ("embedding dimension", "1"),
    "weight_decay": ("decoupled weight decay", "1"),
    "width": ("neurons in each hidden layer", "1"),
    "embedding": ("index of the shared base embedding", "1"),
    "intervention": ("intervention on the initial embedding", "1"),
}


def gather_survival(
    paths: Iterable[Path], thresholds: Survival, horizons: Iterable[int]
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

    Returns
    -------
    xarray.Dataset
        `survived`, `signal`, `initial_signal`, `gradient`, `circularity`, `circles`, and losses,
        accuracies and norm at each horizon. See docs/data-dictionary.md.
    """
    horizons = list(horizons)
    return _gather(paths, lambda t: _survival_of(t, thresholds, horizons))


def gather_timeline(
    paths: Iterable[Path], thresholds: Survival, horizons: Iterable[int]
) -> xr.Dataset:
    """Return an experiment's timeline: signals and scores at log-spaced steps, with each fate."""
    horizons = list(horizons)

    def timeline(t: xr.Dataset) -> xr.Dataset:
        kept = t[["signal", *_SCORES]].isel(step=timeline_rows(t["step"].values))
        return kept.assign(survived=_survival_of(t, thresholds, horizons)["survived"])

    return _gather(paths, timeline)


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


def _gather(paths: Iterable[Path], summary: Callable[[xr.Dataset], xr.Dataset]) -> xr.Dataset:
    """Summarise every block, join the blocks of each cell, and lay the cells out on their axes."""
    parts: dict[tuple[str, ...], list[xr.Dataset]] = {}
    names, protocols, seeds, seen = set(), set(), set(), set()
    for path in paths:
        block = Block.from_path(path)
        if path in seen:
            raise FileError(f"{path} is given twice: give each block once")
        seen.add(path)
        t = open_block(path, block)
        names.add(block.protocol)
        protocols.add(t.attrs["protocol"])
        seeds.add(int(t.attrs["seed"]))
        key = tuple(block.cell.text(axis) for axis in AXES)
        parts.setdefault(key, []).append(summary(t))
    if not parts or len(protocols) > 1 or len(seeds) > 1:
        raise FileError(
            "a table holds trajectories of one protocol and one seed, and these have "
            f"{len(protocols)} protocols and {len(seeds)} seeds: gather them apart"
        )
    joined = [xr.concat(blocks, "trial").sortby("trial") for blocks in parts.values()]
    fill = {
        name: MISSING if variable.dtype.kind == "i" else np.nan
        for name, variable in joined[0].data_vars.items()
    }
    table = xr.concat(joined, "cell", join="outer", fill_value=fill, data_vars="all")
    table = _on_axes(table, [dict(zip(AXES, key, strict=True)) for key in parts], fill)
    for name in table.variables:
        source = joined[0]
        if name in source.variables:
            table[name].attrs = dict(source[name].attrs)
    protocol = json.loads(protocols.pop())
    table.attrs = {
        "protocol_name": names.pop(),
        "protocol": json.dumps(protocol, sort_keys=True),
        "dtype": DTYPES[protocol["arithmetic"]],
        "seed": seeds.pop(),
        **provenance(),
    }
    return table


def _on_axes(table: xr.Dataset, cells: list[dict[str, str]], fill: dict) -> xr.Dataset:
    """Replace the `cell` dimension by the axes that have several values; keep the others scalar."""
    values = {axis: [_value(axis, cell[axis]) for cell in cells] for axis in AXES}
    if REDRAWN in values["embedding"]:  # beside indices too, and one coordinate has one type
        values["embedding"] = [cell["embedding"] for cell in cells]
    several = [axis for axis in AXES if len(set(values[axis])) > 1]
    if not several:
        table = table.isel(cell=0)
    elif len(several) == 1:
        table = table.rename(cell=several[0]).assign_coords({several[0]: values[several[0]]})
    else:
        index = pd.MultiIndex.from_arrays([values[axis] for axis in several], names=several)
        coordinates = xr.Coordinates.from_pandas_multiindex(index, "cell")
        table = table.assign_coords(coordinates).unstack("cell", fill_value=fill)
    # Files come in any order; the order of a table does not depend on it.
    table = table.transpose(*several, ...).sortby(several)
    for axis in AXES:
        if axis not in several:
            table = table.assign_coords({axis: values[axis][0]})
        table[axis].attrs = describe(*_AXIS_NAMES[axis])
    return table


def _value(axis: str, text: str) -> int | float | str:
    if axis == "weight_decay":
        return float(text)
    if axis == "intervention" or text == REDRAWN:
        return text
    return int(text)
