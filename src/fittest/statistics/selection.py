"""Bringing an experiment's table to the shape that statistics need."""

from __future__ import annotations

import xarray as xr


def by_embedding(table: xr.Dataset) -> xr.Dataset:
    """Return the table with an `embedding` dimension and no other axis.

    Raises
    ------
    ValueError
        If the experiment varies another axis: these statistics compare embeddings.
    """
    if "embedding" not in table.dims:
        table = table.expand_dims("embedding")
    known = {"embedding", "trial", "frequency", "horizon", "rule", "step", "update"}
    other = sorted(set(map(str, table.dims)) - known)
    if other:
        raise ValueError(f"the table varies {', '.join(other)}: select one value of each first")
    return table
