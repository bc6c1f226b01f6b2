"""Bringing an experiment's table to the shape that statistics need."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import xarray as xr

from fittest.cells import AXES
from fittest.survival import MISSING


def by_embedding(table: xr.Dataset) -> xr.Dataset:
    """Return the table with an `embedding` dimension and no other axis.

    Raises
    ------
    ValueError
        If the experiment varies another axis: these statistics compare embeddings.
    """
    return on_axes(table, "embedding")


def on_axes(table: xr.Dataset, *axes: str) -> xr.Dataset:
    """Return the table with the axes given as dimensions and no other axis.

    Raises
    ------
    ValueError
        If the experiment varies another axis.
    """
    table = table.expand_dims([axis for axis in axes if axis not in table.dims])
    other = sorted(set(map(str, table.dims)) & ({"engine", "protocol", *AXES} - set(axes)))
    if other:
        raise ValueError(
            f"the table varies {', '.join(other)}, and these statistics know "
            f"{' and '.join(axes) or 'no axis'} only: select one value of each other first"
        )
    return table


def known(flags: xr.DataArray, *dims: str) -> np.ndarray:
    """Return flags or counts as float64 in the order of dims, NaN where missing."""
    values = flags.transpose(*dims).values
    return np.where(values == MISSING, np.nan, values.astype(np.float64))


def decay_rate(table: xr.Dataset) -> float:
    """Return lr·wd, the share that weight decay takes of a parameter at each step.

    NaN where the table does not say so: of several protocols or weight decays, or of none.
    """
    protocol = json.loads(table.attrs.get("protocol", "{}"))
    decay = table.coords.get("weight_decay")
    if decay is None or decay.ndim or "optimizer" not in protocol:
        return float("nan")
    return float(protocol["optimizer"]["lr"]) * float(decay)


def early_trials(
    early: xr.Dataset, survival: xr.Dataset, rule: str
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield of each embedding its early signals, and who survives at the last horizon.

    Shapes (trial, step, circle), float64, and (trial, circle), int8 flags; trials that the early
    table does not keep are left out.
    """
    early = by_embedding(early)
    fate = by_embedding(survival)["survived"].sel(rule=rule).isel(horizon=-1)
    for embedding in early["embedding"].values:
        signal = early["signal"].sel(embedding=embedding).transpose("trial", "step", "frequency")
        alive = fate.sel(embedding=embedding, trial=early["trial"]).transpose("trial", "frequency")
        yield signal.values.astype(np.float64), alive.values
