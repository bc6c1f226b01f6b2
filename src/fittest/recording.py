"""At which steps a trial is recorded (method: Sec. 3 of the paper; see docs/method.md).

Everything recorded at step t is evaluated with the parameters after t updates; 0 is initialisation.
"""

from __future__ import annotations

import numpy as np

from fittest.protocol import Recording


def recorded_steps(record: Recording, steps: int) -> list[int]:
    """Return the steps of signals, losses and norms: dense early, every so many later, the last."""
    dense = range(min(record.dense_until, steps) + 1)
    later = range(record.every, steps + 1, record.every)
    return sorted({*dense, *later, steps})


def gradient_steps(record: Recording, steps: int) -> list[int]:
    """Return about `record.gradients` log-spaced steps from 0 to the last."""
    if record.gradients == 0:
        return []
    spaced = np.geomspace(1, max(steps, 1), record.gradients).round().astype(int)
    return sorted({0, *(int(s) for s in spaced)})


def snapshot_steps(record: Recording, steps: int) -> list[int]:
    """Return the steps at which the first trial's embedding is stored whole."""
    return sorted(s for s in set(record.snapshots) if s <= steps)


def network_steps(record: Recording, steps: int) -> list[int]:
    """Return the steps at which the first trial's whole network is stored; [] where none is."""
    if record.networks == 0:
        return []
    return sorted({0, *range(record.networks, steps + 1, record.networks), steps})
