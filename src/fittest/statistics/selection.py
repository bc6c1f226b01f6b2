"""Bringing an experiment's table to the shape that statistics need."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
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
