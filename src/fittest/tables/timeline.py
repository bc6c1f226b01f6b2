"""The timeline: signals and scores at log-spaced steps, with each circle's fate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.files import describe
from fittest.gathering import gather
from fittest.survival import MISSING, survived
from fittest.tables.survival import SCORES, survival_of

TIMELINE_STEPS = 120
"""About how many log-spaced steps a timeline keeps."""

_CIRCLES = describe(
    "number of circles that would survive if training ended here; -1 where the trial diverged"
)


def gather_timeline(
    paths: Iterable[Path], thresholds: Survival, horizons: Iterable[int]
) -> xr.Dataset:
    """Return an experiment's timeline: signals and scores at log-spaced steps, with each fate."""
    horizons = list(horizons)

    def timeline(t: xr.Dataset) -> xr.Dataset:
        rows = t.isel(step=timeline_rows(t["step"].values))
        kept = rows[["signal", *SCORES]]
        kept["survived"] = survival_of(t, thresholds, horizons)["survived"]
        # A rule needs the mean over all DFT bins, which a timeline does not keep.
        kept["circles"] = (("trial", "step", "rule"), circles_at(rows, t, thresholds), _CIRCLES)
        return kept

    return gather(paths, timeline)


def circles_at(rows: xr.Dataset, t: xr.Dataset, thresholds: Survival) -> np.ndarray:
    """Return how many circles of each trial survive if training ends at a row: int16, -1 diverged.

    Shape (trial, step, rule); `rows` are steps of the block's trajectories `t`.
    """
    initial = t["signal"].values[:, :1]
    flags = survived(rows["signal"].values, initial, rows["mean_signal"].values, thresholds)
    count = flags.sum(axis=2, dtype=np.int16)
    count[(flags == MISSING).any(axis=2)] = MISSING
    return count


def timeline_rows(steps: np.ndarray) -> np.ndarray:
    """Return the rows of the recorded steps that a timeline keeps: first, last, log-spaced."""
    wanted = np.geomspace(1, max(steps[-1], 1), TIMELINE_STEPS)
    rows = np.searchsorted(steps, wanted.round()).clip(max=len(steps) - 1)
    return np.unique(np.concatenate([[0], rows, [len(steps) - 1]]))
