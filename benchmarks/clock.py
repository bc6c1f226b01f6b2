"""From readings of a clock to the core time of a trial-step."""

from __future__ import annotations

import numpy as np

WARM_UP = 4
"""Steps of each run that are not counted: first touches of memory, the optimiser's first state."""


def step_time(marks: list[float] | np.ndarray, trials: int = 1) -> float:
    """Return core-ms per trial-step from core seconds at the end of each step.

    Parameters
    ----------
    marks
        Shape (stacks, steps) or (steps,): the first `WARM_UP` steps of each stack do not count.
    trials
        How many go through a step together.
    """
    steps = np.atleast_2d(marks)[:, WARM_UP:]
    seconds = (steps[:, -1] - steps[:, 0]).sum()
    return float(1000 * seconds / (steps.shape[0] * (steps.shape[1] - 1) * trials))


def portion_time(marks: list[float], amounts: list[int]) -> float:
    """Return core-ms per trial-step of one trial that is trained in portions of steps.

    Parameters
    ----------
    marks
        Core seconds before each portion.
    amounts
        Steps in each portion. Those that hold the first `WARM_UP` steps do not count, and nor does
        the last, whose end is not known.
    """
    first = int(np.searchsorted(np.cumsum(amounts), WARM_UP)) + 1
    return 1000 * (marks[-1] - marks[first]) / sum(amounts[first:-1])
