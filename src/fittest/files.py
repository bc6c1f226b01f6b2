"""Writing and opening data files so that no half-written one is ever taken for a result.

A file is written beside its place, marked complete last, flushed to disk and renamed. A reader
refuses any file without the mark, of another kind or of another schema, and says how to remake it.
"""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import xarray as xr

from fittest.errors import FileError

if TYPE_CHECKING:
    import pandas as pd

SCHEMA_VERSION = 1
"""Of every HDF5 and NetCDF file; raised when a reader of the old one would misread the new one."""


# Seconds after which an unfinished file belongs to nobody: writing one takes seconds.
_LEFT_OVER = 3600


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a path beside `path` to write to; on success flush it to disk and rename it.

    On any error nothing is left and whatever stood at `path` before is untouched. Two writers of
    one file do not meet: each has a name of its own. What a kill left is removed an hour later.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        with suppress(OSError):
            if time.time() - leftover.stat().st_mtime > _LEFT_OVER:
                leftover.unlink()
    beside = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield beside
        _flush(beside)
        os.replace(beside, path)
        _flush(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with replacing(path) as beside:
        beside.write_text(text, encoding="utf-8")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a tidy table as CSV text, numbers to nine significant digits."""
    return frame.to_csv(index=False, float_format="%.9g", lineterminator="\n")


def write_dataset(dataset: xr.Dataset, path: Path, kind: str) -> None:
    """Write a dataset as HDF5/NetCDF-4, compressed, with its kind, schema and completeness mark.

    Parameters
    ----------
    dataset
        Every variable has `long_name` and `units`; raises ValueError naming one that has not.
    path
        Where to.
    kind
        What the file is: `trajectories`, `embedding`, `survival table`, …
    """
    for name, variable in dataset.variables.items():
        missing = {"long_name", "units"} - set(variable.attrs)
        if missing:
            raise ValueError(f"variable {name!r} of a {kind} file lacks {sorted(missing)}")
    dataset = dataset.assign_attrs(
        title=f"fittest: {kind}", kind=kind, schema_version=SCHEMA_VERSION
    )
    encoding = {name: _encoding(variable) for name, variable in dataset.variables.items()}
    try:
        with replacing(path) as beside:
            dataset.to_netcdf(beside, engine="h5netcdf", encoding=encoding)
            with h5py.File(beside, "r+") as file:
                file.attrs["complete"] = "yes"
    except RuntimeError as error:  # how HDF5 says that a write failed, as on a full disk
        raise FileError(
            f"{path} could not be written: is the disk full? Free some space and run again "
            f"({error})"
        ) from error


def _encoding(variable: xr.Variable) -> dict[str, Any]:
    if variable.dtype.kind in "OUST" or variable.ndim == 0:
        return {}
    encoding: dict[str, Any] = {"zlib": True, "complevel": 4, "shuffle": True}
    if variable.dtype.kind in "iu":
        encoding["_FillValue"] = -1 if "flag_values" in variable.attrs else None
    return encoding


def open_dataset(path: str | Path, kind: str | None = None) -> xr.Dataset:
    """Read a data file into memory.

    Parameters
    ----------
    path
        The file.
    kind
        What it must be, where that matters.

    Raises
    ------
    FileError
        If it is missing, truncated, not HDF5, incomplete, of another kind or schema; the message
        says how to remake it.
    """
    path = Path(path)
    _check(path, kind)
    try:
        # Flags stay int8: decoding a fill value would turn them into floats.
        with xr.open_dataset(path, engine="h5netcdf", mask_and_scale=False) as dataset:
            dataset.load()
        # How the file was laid out says nothing about a table computed from it.
        dataset = dataset.drop_encoding()
        for variable in dataset.variables.values():
            # Of the file, not of the data: a table computed from these must not inherit them.
            for name in ("_FillValue", "coordinates"):
                variable.attrs.pop(name, None)
        return dataset
    except (OSError, ValueError, KeyError, RuntimeError, AttributeError, TypeError) as error:
        raise FileError(f"{path} cannot be read ({error}). {_remedy(path)}") from error


def _check(path: Path, kind: str | None) -> None:
    if not path.is_file():
        raise FileError(f"{path} does not exist. {_make(path)}")
    try:
        with h5py.File(path, "r") as file:
            attrs = {name: file.attrs.get(name) for name in ("kind", "schema_version", "complete")}
    except (OSError, RuntimeError, ValueError, KeyError, TypeError) as error:
        raise FileError(
            f"{path} is empty, truncated or not HDF5 ({error}). {_remedy(path)}"
        ) from error
    if attrs["kind"] is None:
        raise FileError(f"{path} was not written by fittest. {_remedy(path)}")
    if attrs["complete"] is None:
        raise FileError(f"{path} is incomplete: its writer was interrupted. {_remedy(path)}")
    if attrs["schema_version"] != SCHEMA_VERSION:
        raise FileError(
            f"{path} has schema {attrs['schema_version']}, and this version reads "
            f"{SCHEMA_VERSION}. {_remedy(path)}"
        )
    if kind is not None and attrs["kind"] != kind:
        raise FileError(f"{path} holds {attrs['kind']!r}, not {kind!r}. {_remedy(path)}")


def _remedy(path: Path) -> str:
    return f"Remove it, then make it again. {_make(path)}"


def _make(path: Path) -> str:
    return f"Files of a design are made by `snakemake --cores all {path}`."


def describe(long_name: str, units: str = "1", **more: Any) -> dict[str, Any]:
    """Return the attributes of a variable. Units `1` means dimensionless."""
    return {"long_name": long_name, "units": units, **more}


FLAG: dict[str, Any] = {"flag_values": [0, 1], "flag_meanings": "no yes"}
"""Attributes of an int8 flag; -1 is missing."""

Progress = Callable[[int], None]
"""Called with the number of trial-steps just done."""
