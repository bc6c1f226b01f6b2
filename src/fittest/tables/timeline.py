"""The timeline: signals and scores at log-spaced steps, with each circle's fate."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.gathering import gather
from fittest.tables.survival import SCORES, survival_of

TIMELINE_STEPS = 120
"""About how many log-spaced steps a timeline keeps."""


def gather_timeline(
    paths: Iterable[Path], thresholds: Survival, horizons: Iterable[int]
) -> xr.Dataset:
    """Return an experiment's timeline: signals and scores at log-spaced steps, with each fate."""
    horizons = list(horizons)

    def timeline(t: xr.Dataset) -> xr.Dataset:
        kept = t[["signal", *SCORES]].isel(step=timeline_rows(t["step"].values))
        return kept.assign(survived=survival_of(t, thresholds, horizons)["survived"])

    return gather(paths, timeline)


def timeline_rows(steps: np.ndarray) -> np.ndarray:
    """Return the rows of the recorded steps that a timeline keeps: first, last, log-spaced."""
    wanted = np.geomspace(1, max(steps[-1], 1), TIMELINE_STEPS)
    rows = np.searchsorted(steps, wanted.round()).clip(max=len(steps) - 1)
    return np.unique(np.concatenate([[0], rows, [len(steps) - 1]]))
