"""Losses and accuracies over training, without signals: at a few steps, or at all with circles."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.files import describe
from fittest.gathering import gather
from fittest.survival import MISSING, RULES, survived
from fittest.tables.timeline import timeline_rows

PAPER_STEPS = (500, 1000, 5000, 10000)
"""Steps at which the paper shows networks whose embedding is frozen (Fig. 4)."""

SCORES = ("train_loss", "test_loss", "train_accuracy", "test_accuracy")


def gather_scores(paths: Iterable[Path]) -> xr.Dataset:
    """Return an experiment's scores at about 120 log-spaced steps and those of Fig. 4.

    Returns
    -------
    xarray.Dataset
        `train_loss`, `test_loss` (nats), `train_accuracy`, `test_accuracy` over the experiment's
        axes, `trial` and `step`. Where a step of `PAPER_STEPS` was not recorded the last recorded
        before it is there.
    """

    def few(t: xr.Dataset) -> xr.Dataset:
        steps = t["step"].values
        rows = {*timeline_rows(steps).tolist(), *(row_at(steps, step) for step in PAPER_STEPS)}
        return t[list(SCORES)].isel(step=sorted(rows))

    return gather(paths, few)


def gather_losses(paths: Iterable[Path], thresholds: Survival) -> xr.Dataset:
    """Return an experiment's scores at every recorded step, and how many circles there are.

    Returns
    -------
    xarray.Dataset
        As `gather_scores` but at every recorded step; and `circles` over `rule` too: the number
        that would survive if training ended there, -1 where a trial diverged.
    """

    def all_steps(t: xr.Dataset) -> xr.Dataset:
        signal = t["signal"].values
        flags = survived(signal, signal[:, :1], t["mean_signal"].values, thresholds)
        circles = flags.sum(axis=2, dtype=np.int16)
        # A trial that diverged has no number of circles: 0 would say that all of them died.
        circles[(flags == MISSING).any(axis=2)] = MISSING
        return t[list(SCORES)].assign(
            circles=(
                ("trial", "step", "rule"),
                circles,
                describe("number of circles that would survive if training ended here"),
            ),
            rule=("rule", list(RULES), describe("survival rule")),
        )

    return gather(paths, all_steps)


def row_at(steps: np.ndarray, wanted: int) -> int:
    """Return the row of the last of some increasing steps that is not after a step, or the first.

    Parameters
    ----------
    steps
        Shape (step,), increasing.
    wanted
        The step.
    """
    return max(int(np.searchsorted(steps, wanted, side="right")) - 1, 0)
