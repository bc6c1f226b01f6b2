"""Bringing an experiment's table to the shape that statistics need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
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
