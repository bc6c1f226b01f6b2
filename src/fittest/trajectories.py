"""The trajectory file: the recorded life of a block of trials, one HDF5 file a block.

`fittest.trajectory_schema.SCHEMA` is the documented content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from fittest.cells import AXES, Block
from fittest.errors import FileError
from fittest.files import open_dataset, write_dataset
from fittest.fourier import circle_frequencies
from fittest.protocol import Protocol
from fittest.trajectory_schema import LAYERS, NETWORK, SCHEMA

if TYPE_CHECKING:
    from fittest.training.record import Record

KIND = "trajectories"


def trajectory_dataset(
    block: Block,
    protocol: Protocol,
    record: Record,
    *,
    initial_embedding: np.ndarray,
    train_pairs: np.ndarray,
    named_frequencies: np.ndarray,
    attributes: dict[str, Any],
) -> xr.Dataset:
    """Return the dataset of a block from what its ensemble recorded.

    Parameters
    ----------
    block, protocol, record
        What was trained, and its record.
    initial_embedding, train_pairs, named_frequencies
        Of `InitialState`: shapes (T, p, d), (T, N) and (T, m).
    attributes
        Seed, engine, device, provenance.
    """
    cell = block.cell
    dtype = np.dtype(protocol.dtype)
    trials = len(train_pairs)
    is_training = np.zeros((trials, cell.p**2), dtype=np.int8)
    np.put_along_axis(is_training, train_pairs, 1, axis=1)
    values: dict[str, np.ndarray] = {
        "trial": np.array(block.trials),
        "frequency": circle_frequencies(cell.p),
        "token": np.arange(cell.p),
        "dimension": np.arange(cell.d),
        "pair": np.arange(cell.p**2),
        "initial_embedding": initial_embedding.astype(dtype),
        "final_embedding": record.final.embedding,
        "train_pair": is_training,
    }
    if named_frequencies.shape[1]:
        values["named_frequency"] = named_frequencies
        values["named"] = np.arange(named_frequencies.shape[1])
    for name in SCHEMA:
        if name not in values and hasattr(record, name):
            values[name] = getattr(record, name)
    if record.networks is not None:
        arrays = record.networks.arrays()
        values |= dict(zip(NETWORK, arrays, strict=True))
        *_, w2, _, w3, _ = arrays
        sizes = (2 * cell.d, *w2.shape[1:], w3.shape[-1])
        values |= {name: np.arange(n) for name, n in zip(LAYERS, sizes, strict=True)}
    else:
        values.pop("network_step")
    variables = {
        name: (SCHEMA[name].dims, array, SCHEMA[name].attributes) for name, array in values.items()
    }
    return xr.Dataset(
        variables,
        attrs={
            "protocol": protocol.full,
            "protocol_name": block.protocol,
            **{axis: getattr(cell, axis) for axis in AXES},
            "dtype": str(dtype),
            **attributes,
        },
    )


def write_trajectories(dataset: xr.Dataset, path: Path) -> None:
    """Write a block's dataset, whole or not at all."""
    write_dataset(dataset, path, KIND)


def open_block(path: str | Path, block: Block | None = None) -> xr.Dataset:
    """Read a trajectory file and check that it holds the block that its path spells.

    Parameters
    ----------
    path
        The file.
    block
        The block it must hold, where that is not what the path spells.

    Raises
    ------
    FileError
        As `open_trajectories`, and where cell or trials are others: a file in the wrong place.
    """
    block = block or Block.from_path(path)
    dataset = open_trajectories(path)
    held = {axis: str(dataset.attrs.get(axis)) for axis in AXES}
    asked = {axis: str(getattr(block.cell, axis)) for axis in AXES}
    held["protocol"], asked["protocol"] = str(dataset.attrs.get("protocol_name")), block.protocol
    if held != asked or list(dataset["trial"].values) != list(block.trials):
        first, last = dataset["trial"].values[[0, -1]]
        raise FileError(
            f"{path} does not hold trials {block.first}-{block.last} of "
            f"{block.protocol}/{block.cell.path}, but "
            f"trials {first}-{last} of {held}. Remove it and make it again."
        )
    return dataset


def open_trajectories(path: str | Path) -> xr.Dataset:
    """Read a trajectory file into memory and check its content against `SCHEMA`.

    Raises
    ------
    FileError
        As `fittest.files.open_dataset`, and where a variable is missing or has other dims.
    """
    dataset = open_dataset(path, KIND)
    for name, variable in SCHEMA.items():
        if name not in dataset.variables:
            if variable.always:
                raise FileError(f"{path} has no variable {name!r}. Remove it and make it again.")
        elif dataset[name].dims != variable.dims:
            raise FileError(
                f"{path}: {name!r} has dims {dataset[name].dims}, not {variable.dims}. Remove it "
                "and make it again."
            )
    return dataset


def protocol_of(dataset: xr.Dataset, path: str | Path) -> Protocol:
    """Return the protocol that a file's trials were trained under.

    A key that the file was written before has its default, which is what was done then. So compare
    protocols, and never the texts.

    Raises
    ------
    FileError
        Where it is none that this version knows.
    """
    try:
        return Protocol.model_validate(json.loads(dataset.attrs["protocol"]))
    except (KeyError, ValueError) as error:
        raise FileError(
            f"{path} has a protocol that this version cannot read. Remove it and make it again "
            f"({error})"
        ) from error


def engine_label(attributes: Mapping[str, Any]) -> str:
    """Return which engine trained a file: `native-avx512`, `torch-avx2`, `torch on cuda (…)`."""
    engine, device = attributes["engine"], str(attributes["device"])
    if device.startswith("cpu"):
        return f"{engine}-{str(attributes['cpu_capability']).lower()}"
    return f"{engine} on {device}"
