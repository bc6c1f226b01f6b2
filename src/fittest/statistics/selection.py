"""Bringing an experiment's table to the shape that statistics need."""

from __future__ import annotations

import xarray as xr

_WITHIN = {"trial", "frequency", "horizon", "rule", "step", "update", "named"}
"""Dimensions of a table that are not axes of the experiment."""


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
    other = sorted(set(map(str, table.dims)) - _WITHIN - set(axes))
    if other:
        raise ValueError(
            f"the table varies {', '.join(other)}, and these statistics know "
            f"{' and '.join(axes) or 'no axis'} only: select one value of each other first"
        )
    return table
