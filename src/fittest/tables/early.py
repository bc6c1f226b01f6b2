"""Signals at every step of a trial's beginning: what differential equations are fitted to."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.cells import Block
from fittest.gathering import gather

LAST_STEP = 1000
"""The last step that equations are fitted to, as in the paper's Fig. 9."""

KEPT = 20
"""An early table keeps this many trials of a cell, the first: about 80 kB each at paper size."""


def gather_early(paths: Iterable[Path]) -> xr.Dataset:
    """Return the signals at consecutive steps of the first `KEPT` trials of every cell."""
    return gather([path for path in paths if Block.from_path(path).first < KEPT], _early)


def _early(t: xr.Dataset) -> xr.Dataset:
    kept = t.isel(trial=t["trial"].values < KEPT)
    return early_signals(kept).to_dataset(name="signal")


def early_signals(t: xr.Dataset) -> xr.DataArray:
    """Return the signals of a trajectory file at steps 0, 1, 2, … as far as it recorded them all.

    At most to `LAST_STEP`, and dims (trial, step, frequency). Where it recorded no step but 0,
    step 1 is there too and missing: nothing can be fitted.
    """
    steps = t["step"].values
    consecutive = int((steps == np.arange(len(steps))).sum())  # steps rise, so these come first
    signal = t["signal"].reindex(step=np.arange(min(max(consecutive, 2), LAST_STEP + 1)))
    signal["step"].attrs = t["step"].attrs
    return signal
