"""The native engine: one network at a time in compiled code, recorded by the same definitions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from fittest import _native
from fittest.fourier import bin_multiplicity
from fittest.protocol import Protocol
from fittest.recording import gradient_steps, network_steps, recorded_steps, snapshot_steps
from fittest.task import labels, test_pairs
from fittest.training.arrays import Parameters
from fittest.training.record import SCALARS, Record

PARAMETERS, FIRST_MOMENT, SECOND_MOMENT, GRADIENTS = range(4)
"""What `get` and `set` of a native trial name."""

# Work between two looks at the clock and at interrupts: well under a second on any processor.
_OPERATIONS_AT_ONCE = 2e9


class NativeTrial:
    """One network in compiled code.

    Parameters
    ----------
    initial
        Parameters of a single trial (T = 1).
    train_pairs
        Shape (1, N).
    protocol, weight_decay
        How to train.
    level
        Instruction set: one of `fittest.training.engines.native_levels()`.
    """

    def __init__(
        self,
        initial: Parameters,
        train_pairs: np.ndarray,
        protocol: Protocol,
        weight_decay: float,
        level: str,
    ) -> None:
        self.arrays = initial.arrays()
        _, p, d = self.arrays[0].shape
        width = self.arrays[2].shape[1]
        self.dtype = np.dtype(protocol.dtype)
        kind = {"float32": _native.Trial32, "float64": _native.Trial64}[protocol.dtype]
        beta1, beta2 = protocol.optimizer.betas
        self.trial = kind(
            level=level,
            p=p,
            d=d,
            width=width,
            relu=protocol.activation == "relu",
            frozen="embedding" in protocol.frozen,
            naive=protocol.loss == "naive",
            lr=protocol.optimizer.lr,
            beta1=beta1,
            beta2=beta2,
            eps=protocol.optimizer.eps,
            weight_decay=weight_decay,
            train=train_pairs[0],
            test=test_pairs(p, train_pairs[0]),
            label=labels(p, protocol.operation),
        )
        self.trial.set(PARAMETERS, [array[0].astype(self.dtype) for array in self.arrays])
        operations = 6 * train_pairs.shape[1] * width * (width + p) + 12 * p * d * width
        self.at_once = max(1, int(_OPERATIONS_AT_ONCE / operations))

    def get(self, which: int) -> list[np.ndarray]:
        """Return parameters, moments or gradients in the shapes of `Parameters`, without T."""
        flat = self.trial.get(which)
        return [x.reshape(array.shape[1:]) for x, array in zip(flat, self.arrays, strict=True)]

    def state(self) -> dict[str, Any]:
        """Return all that a restored trial needs to go on bit-identically: arrays, and the step."""
        names = {"parameters": PARAMETERS, "first": FIRST_MOMENT, "second": SECOND_MOMENT}
        return {"step": self.trial.step, **{n: self.get(which) for n, which in names.items()}}

    def restore(self, state: dict[str, Any]) -> None:
        """Go back to a state that `state` returned."""
        self.trial.set(PARAMETERS, state["parameters"])
        self.trial.set(FIRST_MOMENT, state["first"])
        self.trial.set(SECOND_MOMENT, state["second"])
        self.trial.step = state["step"]

    def advance(self, steps: int, tick: Callable[[int], None]) -> None:
        """Do some steps without looking, in portions between which `tick` may stop them."""
        while steps > 0:
            portion = min(steps, self.at_once)
            tick(portion)
            self.trial.advance(portion)
            steps -= portion


def train_trial(
    initial: Parameters,
    train_pairs: np.ndarray,
    protocol: Protocol,
    weight_decay: float,
    level: str,
    tick: Callable[[int], None],
) -> Record:
    """Train one network; see `fittest.train_ensemble` for the arguments.

    `tick` is called before each portion of steps with how many they are.
    """
    network = NativeTrial(initial, train_pairs, protocol, weight_decay, level)
    p = initial.embedding.shape[1]
    circles = slice(1, (p - 1) // 2 + 1)
    at = {
        name: steps(protocol.record, protocol.steps)
        for name, steps in (
            ("record", recorded_steps),
            ("gradient", gradient_steps),
            ("snapshot", snapshot_steps),
            ("network", network_steps),
        )
    }
    wanted = {name: set(steps) for name, steps in at.items()}
    stops = sorted({*itertools.chain(*at.values()), protocol.steps})
    kept: dict[str, list] = {name: [] for name in (*SCALARS, "signal", *at)}

    for stop, following in zip(stops, [*stops[1:], None], strict=True):
        recorded = stop in wanted["record"]
        train_loss, train_accuracy = network.trial.gradient(recorded)
        if recorded:
            norms = network.trial.bin_norms(PARAMETERS)
            kept["signal"].append(norms[circles])
            kept["mean_signal"].append(norms @ bin_multiplicity(p) / p)
            kept["train_loss"].append(train_loss)
            kept["train_accuracy"].append(train_accuracy)
            test_loss, test_accuracy = network.trial.test()
            kept["test_loss"].append(test_loss)
            kept["test_accuracy"].append(test_accuracy)
            kept["parameter_norm"].append(network.trial.norm())
        if stop in wanted["gradient"]:
            kept["gradient"].append(network.trial.bin_norms(GRADIENTS)[circles])
        if stop in wanted["snapshot"]:
            kept["snapshot"].append(network.get(PARAMETERS)[0])
        if stop in wanted["network"]:
            kept["network"].append(network.get(PARAMETERS))
        if following is not None:
            tick(1)
            network.trial.update()
            network.advance(following - stop - 1, tick)

    def array(values: list, *shape: int) -> np.ndarray:
        return np.array(values, dtype=network.dtype).reshape(1, len(values), *shape)

    k = (p - 1) // 2
    return Record(
        step=np.array(at["record"], dtype=np.int64),
        signal=array(kept["signal"], k),
        **{name: array(kept[name]) for name in SCALARS},
        gradient_step=np.array(at["gradient"], dtype=np.int64),
        gradient_signal=array(kept["gradient"], k),
        snapshot_step=np.array(at["snapshot"], dtype=np.int64),
        snapshot_embedding=array(kept["snapshot"], *initial.embedding.shape[1:])[0],
        final=Parameters(*(x[None] for x in network.get(PARAMETERS))),
        network_step=np.array(at["network"], dtype=np.int64),
        networks=Parameters.of_steps(kept["network"]),
    )
