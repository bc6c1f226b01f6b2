"""Laying trajectories out on the axes of their experiment.

An axis on which the experiment has several values is a dimension of its table; one with a single
value is a scalar coordinate. Besides the axes of a cell these are the protocol's name and, where
asked for, the engine that trained. A circle that does not exist at a cell's p is missing, not dead.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from fittest.cells import AXES, REDRAWN, Block
from fittest.errors import FileError
from fittest.files import describe
from fittest.protocol import DTYPES, Protocol
from fittest.provenance import provenance
from fittest.survival import MISSING
from fittest.trajectories import engine_label, open_block, protocol_of

_AXIS_NAMES = {
    "engine": ("engine, with its instruction set or GPU", "1"),
    "protocol": ("name of the protocol", "1"),
    "p": ("modulus", "1"),
    "d": ("embedding dimension", "1"),
    "weight_decay": ("decoupled weight decay", "1"),
    "width": ("neurons in each hidden layer", "1"),
    "embedding": ("index of the shared base embedding", "1"),
    "intervention": ("intervention on the initial embedding", "1"),
}


def gather(
    paths: Iterable[Path],
    summary: Callable[[xr.Dataset], xr.Dataset],
    *,
    by_engine: bool = False,
) -> xr.Dataset:
    """Summarise every block, join the blocks of each cell, and lay the cells out on their axes.

    Parameters
    ----------
    paths
        Trajectory files.
    summary
        From a block's trajectories to what of them the table keeps, with a `trial` dimension.
    by_engine
        Whether the engine that trained is an axis; otherwise it does not matter.

    Raises
    ------
    FileError
        Where a file cannot be read, is given twice, or was trained with another seed, or under
        another protocol of the same name, than the others.
    """
    parts: dict[tuple[str, ...], list[xr.Dataset]] = {}
    protocols: dict[str, list[Protocol]] = {}
    seeds, seen = set(), set()
    held: dict[tuple, list[Path]] = {}
    for path in paths:
        block = Block.from_path(path)
        if path in seen:
            raise FileError(f"{path} is given twice: give each block once")
        seen.add(path)
        t = open_block(path, block)
        known = protocols.setdefault(block.protocol, [])
        if (protocol := protocol_of(t, path)) not in known:
            known.append(protocol)
        seeds.add(int(t.attrs["seed"]))
        engine = [engine_label(t.attrs)] if by_engine else []
        key = (*engine, block.protocol, *(block.cell.text(axis) for axis in AXES))
        for trial in t["trial"].values.tolist():
            held.setdefault((key, trial), []).append(path)
        parts.setdefault(key, []).append(summary(t))
    if not parts or len(seeds) > 1 or any(len(values) > 1 for values in protocols.values()):
        raise FileError(
            "a table holds trajectories of one seed, and of one protocol a name, and these have "
            f"{len(seeds)} seeds and {sum(map(len, protocols.values()))} protocols of "
            f"{len(protocols)} names: gather them apart"
        )
    for (_, trial), files in held.items():
        if len(files) > 1:
            raise FileError(
                f"{files[0]} and {files[1]} both hold trial {trial} of the same cell"
                f"{' by the same engine' if by_engine else ''}: give each block once"
            )
    joined = [xr.concat(blocks, "trial").sortby("trial") for blocks in parts.values()]
    fill = {
        name: MISSING if variable.dtype.kind == "i" else np.nan
        for name, variable in joined[0].data_vars.items()
    }
    table = xr.concat(joined, "cell", join="outer", fill_value=fill, data_vars="all")
    axes = [*(["engine"] if by_engine else []), "protocol", *AXES]
    table = _on_axes(table, [dict(zip(axes, key, strict=True)) for key in parts], fill)
    for name in table.variables:
        source = joined[0]
        if name in source.variables:
            table[name].attrs = dict(source[name].attrs)
    values = {name: found[0].model_dump() for name, found in sorted(protocols.items())}
    one = next(iter(values.values())) if len(values) == 1 else None
    table.attrs = {
        "protocol_name": ", ".join(values),
        "protocol": json.dumps(values if one is None else one, sort_keys=True),
        "dtype": ", ".join(dict.fromkeys(DTYPES[v["arithmetic"]] for v in values.values())),
        "seed": seeds.pop(),
        **provenance(),
    }
    return table


def _on_axes(table: xr.Dataset, cells: list[dict[str, str]], fill: dict) -> xr.Dataset:
    """Replace the `cell` dimension by the axes that have several values; keep the others scalar."""
    axes = list(cells[0])
    values = {axis: [_value(axis, cell[axis]) for cell in cells] for axis in axes}
    if REDRAWN in values["embedding"]:  # beside indices too, and one coordinate has one type
        values["embedding"] = [cell["embedding"] for cell in cells]
    several = [axis for axis in axes if len(set(values[axis])) > 1]
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
    for axis in axes:
        if axis not in several:
            table = table.assign_coords({axis: values[axis][0]})
        table[axis].attrs = describe(*_AXIS_NAMES[axis])
    return table


def _value(axis: str, text: str) -> int | float | str:
    if axis == "weight_decay":
        return float(text)
    if axis in ("engine", "protocol", "intervention") or text == REDRAWN:
        return text
    return int(text)
