"""What training took: processor time measured, each trial counted once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
import xarray as xr

from fittest.cells import AXES


@dataclass(frozen=True)
class Cost:
    """Core-hours measured over trials that were trained on CPUs, and how many were elsewhere."""

    core_hours: float
    trials: int
    elsewhere: int


def training_cost(tables: Iterable[xr.Dataset]) -> Cost | None:
    """Return what the trials of some survival tables took; None without tables.

    Experiments share cells: a trial that several tables hold counts once.
    """
    keys = ["protocol", *AXES, "trial"]
    frames = []
    for table in tables:
        frame = table["core_seconds"].to_dataframe().reset_index()
        frames.append(frame[[*keys, "core_seconds"]].astype(dict.fromkeys(keys, str)))
    if not frames:
        return None
    once = pd.concat(frames).drop_duplicates(keys)["core_seconds"]
    known = once.dropna()
    return Cost(known.sum() / 3600, len(known), len(once) - len(known))
