"""Gradients of the embedding in the Fourier basis, and how fast signals fall (Fig. 13, App. D)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.files import describe
from fittest.gathering import gather
from fittest.tables.survival import survival_of

LATE = 1000
"""After this step the gradients have vanished, says the paper."""

FALL = (0.75, 0.25)
"""A signal is falling between these shares of what it was at step 0."""

_FEWEST = 10  # recorded steps for a slope


def gather_gradients(paths: Iterable[Path], thresholds: Survival) -> xr.Dataset:
    """Return each circle's gradient at log-spaced steps, its fate, and how fast its signal fell.

    Parameters
    ----------
    paths
        The trajectory files of all the experiment's blocks.
    thresholds
        Of the survival rules.

    Returns
    -------
    xarray.Dataset
        `gradient_signal` over `trial`, `gradient_step` and `frequency`; `survived` at the last
        `horizon`; and over `trial` and `frequency` two slopes of log S a step: `late_slope` and
        `fall_slope`.
    """
    return gather(paths, lambda t: gradients_of(t, thresholds))


def gradients_of(t: xr.Dataset, thresholds: Survival) -> xr.Dataset:
    """Return the gradients table of one block."""
    last = int(t["step"][-1])
    steps, signal = t["step"].values, t["signal"].values.astype(np.float64)
    dims = ("trial", "frequency")
    out = t[["gradient_signal"]]
    out["survived"] = survival_of(t, thresholds, [last])["survived"]
    out["late_slope"] = (
        dims,
        late_slope(steps, signal),
        describe(f"least-squares slope of log S_k from step {LATE:,} on", "1/step"),
    )
    out["fall_slope"] = (
        dims,
        fall_slope(steps, signal),
        describe(
            f"slope of log S_k between the first steps at which it is at most {FALL[0]:g} and "
            f"{FALL[1]:g} of what it was at step 0",
            "1/step",
        ),
    )
    return out.transpose("trial", "gradient_step", "frequency", "horizon", "rule")


def late_slope(steps: np.ndarray, signal: np.ndarray) -> np.ndarray:
    """Return the least-squares slope of log S from step `LATE` on.

    Parameters
    ----------
    steps
        Shape (step,).
    signal
        Shape (trial, step, circle).

    Returns
    -------
    numpy.ndarray
        Per step, shape (trial, circle); NaN with few recorded steps there, or where S is not a
        positive number at each.
    """
    late = steps >= LATE
    if late.sum() < _FEWEST:
        return np.full((len(signal), signal.shape[2]), np.nan)
    x = steps[late] - steps[late].mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.einsum("s,tsk->tk", x, np.log(signal[:, late])) / (x @ x)
    return np.where(np.isfinite(slope), slope, np.nan)


def fall_slope(steps: np.ndarray, signal: np.ndarray) -> np.ndarray:
    """Return the slope of log S while it falls through the shares `FALL` of its value at step 0.

    Shapes as for `late_slope`; NaN for a signal that never falls so far, or that falls through both
    between two recorded steps.
    """
    below = [signal <= share * signal[:, :1] for share in FALL]
    at = [b.argmax(axis=1) for b in below]
    # Signals that do not exist fall nowhere.
    fallen = np.logical_and.reduce([b.any(axis=1) for b in below])
    first, second = (np.take_along_axis(signal, a[:, None], axis=1)[:, 0] for a in at)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.log(second / first) / (steps[at[1]] - steps[at[0]])
    return np.where(fallen & np.isfinite(slope), slope, np.nan)
