"""What training took: processor time measured, each trial counted once; a V100's calculated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from fittest.cells import AXES
from fittest.design import Design, blocks
from fittest.ledger.claims import PAPER
from fittest.plan.gpu_bound import CARDS, step_seconds
from fittest.plan.products import Size


@dataclass(frozen=True)
class Cost:
    """What the paper's experiments in a design took.

    core_hours
        Measured by the training jobs, over trials that were trained on CPUs.
    trials
        How many these are.
    elsewhere
        Trials trained on GPUs, whose time is not recorded.
    v100_hours
        What a V100 would take at the least for the design: calculated, not measured.
    """

    core_hours: float
    trials: int
    elsewhere: int
    v100_hours: float


def training_cost(tables: Iterable[xr.Dataset], design: Design) -> Cost | None:
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
    return Cost(known.sum() / 3600, len(known), len(once) - len(known), v100_hours(design))


def v100_hours(design: Design) -> float:
    """Return the hours that a V100 would take for the paper's experiments in a design.

    Each trial once. A bound from the matrix products and the bytes moved, as `fittest plan` has it.
    """
    (card,) = (card for card in CARDS if card.name == "V100")
    jobs = dict.fromkeys(
        block for name in design.experiments if name in PAPER for block in blocks(design, name)
    )
    seconds = 0.0
    for block in jobs:
        protocol, cell = design.protocols[block.protocol], block.cell
        step = step_seconds(
            Size(cell.p, cell.d, cell.width), card, np.dtype(protocol.dtype).itemsize
        )
        seconds += len(block.trials) * protocol.steps * step
    return seconds / 3600
