"""What a loss does over training: when it first is low, and how often it leaps up again."""

from __future__ import annotations

import numpy as np

LOW = 1e-3
"""Test loss (nats) at which a trial has learned, for comparing how soon."""

SETTLED = 1e-2
"""Test loss (nats) below which spikes are counted."""

RISE = 10.0
"""A spike is a rise above so many times the least loss so far."""


def first_below(loss: np.ndarray, steps: np.ndarray, threshold: float = LOW) -> np.ndarray:
    """Return the first step at which each trial's loss is below a threshold.

    Parameters
    ----------
    loss
        Shape (trial, step), NaN where missing.
    steps
        Shape (step,).
    threshold
        In nats.

    Returns
    -------
    numpy.ndarray
        Shape (trial,), infinite where the loss never is.
    """
    low = loss < threshold
    return np.where(low.any(axis=1), steps[low.argmax(axis=1)], np.inf)


def spikes(loss: np.ndarray) -> np.ndarray:
    """Return how often each trial's loss rises tenfold above its least so far (paper, Fig. 12).

    A spike begins where the loss exceeds `RISE` times its running minimum, once that is below
    `SETTLED`, and lasts until it no longer does. It is of recorded steps only: a shorter one is not
    seen. A loss that is no number is a rise, too, and nothing changes the minimum but a number.

    Parameters
    ----------
    loss
        Shape (trial, step).

    Returns
    -------
    numpy.ndarray
        Shape (trial,), int64.
    """
    least = np.fmin.accumulate(loss, axis=1)
    up = (least < SETTLED) & ~(loss <= RISE * least)
    begins = up & ~np.pad(up[:, :-1], ((0, 0), (1, 0)))
    return begins.sum(axis=1)
