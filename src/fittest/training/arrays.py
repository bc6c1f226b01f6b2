"""The arrays an ensemble starts from: explicit, so that any program can train the same trial."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from fittest.cells import Cell
from fittest.interventions import Trial, parse_intervention
from fittest.protocol import Protocol
from fittest.seeds import draw_embedding, stream
from fittest.task import draw_training_pairs


@dataclass(frozen=True)
class Parameters:
    """Parameters of a stack of T networks (2d → h → h → p, biases everywhere), trial first.

    The first layer acts on [E_a, E_b]: rows 0 … d-1 of `w1` on E_a, rows d … 2d-1 on E_b.
    """

    embedding: np.ndarray  # (T, p, d)
    w1: np.ndarray  # (T, 2d, h)
    b1: np.ndarray  # (T, h)
    w2: np.ndarray  # (T, h, h)
    b2: np.ndarray  # (T, h)
    w3: np.ndarray  # (T, h, p)
    b3: np.ndarray  # (T, p)

    def __post_init__(self) -> None:
        """Refuse arrays whose shapes do not belong together."""
        t, p, d = self.embedding.shape
        h = self.b1.shape[-1]
        shapes = {"w1": (2 * d, h), "b1": (h,), "w2": (h, h), "b2": (h,), "w3": (h, p), "b3": (p,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != (t, *shape):
                raise ValueError(
                    f"{name} has shape {getattr(self, name).shape}: with an embedding of shape "
                    f"{(t, p, d)} and width {h} it must be {(t, *shape)}"
                )

    def arrays(self) -> list[np.ndarray]:
        """Return the seven arrays, embedding first."""
        return [getattr(self, field.name) for field in fields(self)]

    @classmethod
    def of_steps(cls, networks: list[list[np.ndarray]]) -> Parameters | None:
        """Return one network at several steps, step in place of trial; None where there is none.

        `networks` holds for each step the seven arrays, without the trial's axis.
        """
        return cls(*map(np.stack, zip(*networks, strict=True))) if networks else None

    @classmethod
    def stack(cls, trials: Iterable[Parameters]) -> Parameters:
        """Return the trials of several stacks as one."""
        return cls(*(np.concatenate(a) for a in zip(*(t.arrays() for t in trials), strict=True)))


@dataclass(frozen=True)
class InitialState:
    """What the trials of a block start from, trial first."""

    parameters: Parameters
    """Their parameters, float64."""

    train_pairs: np.ndarray
    """Shape (T, N): pair indices a·p + b, increasing along N."""

    named_frequencies: np.ndarray
    """Shape (T, m): the circles that each trial's intervention resolved to; m is 0 for `none`."""


def draw_mlp(rng: np.random.Generator, p: int, d: int, width: int, kind: str) -> list[np.ndarray]:
    """Draw the six MLP arrays of one network, float64, in the order of `Parameters`.

    `uniform`: every weight and bias on ±1/√fan_in. `normal`: N(0, 1) (paper, App. E).
    """
    arrays = []
    for fan_in, fan_out in ((2 * d, width), (width, width), (width, p)):
        for shape in ((fan_in, fan_out), (fan_out,)):
            if kind == "normal":
                arrays.append(rng.standard_normal(shape))
            else:
                arrays.append(rng.uniform(-1, 1, shape) / np.sqrt(fan_in))
    return arrays


def initial_state(
    cell: Cell,
    protocol: Protocol,
    seed: int,
    trials: Iterable[int],
    *,
    base_embedding: np.ndarray | None = None,
    base_final_signal: np.ndarray | None = None,
) -> InitialState:
    """Draw the initial arrays of some trials of a cell. A trial's do not depend on the others.

    Parameters
    ----------
    cell, protocol, seed
        What the trials are.
    trials
        Their numbers.
    base_embedding
        Shape (p, d): the shared base embedding, where it was read from a file; drawn when None.
    base_final_signal
        Shape (T, K): final signals of the unperturbed trials, for `keep-strongest-…-of-base`.
    """
    states = []
    for i, trial in enumerate(trials):
        base = base_embedding
        if base is None or cell.base_index is None:
            base = draw_embedding(seed, cell.p, cell.d, embedding=cell.base_index, trial=trial)
        signal = None if base_final_signal is None else base_final_signal[i]
        states.append(_initial_trial(cell, protocol, seed, trial, base, signal))
    return InitialState(
        Parameters.stack(s.parameters for s in states),
        np.concatenate([s.train_pairs for s in states]),
        np.concatenate([s.named_frequencies for s in states]),
    )


def _initial_trial(
    cell: Cell,
    protocol: Protocol,
    seed: int,
    trial: int,
    base: np.ndarray,
    signal: np.ndarray | None,
) -> InitialState:
    p, d, width = cell.p, cell.d, cell.width

    def rng(role: str, shape: tuple[int, ...], redrawn: bool = True) -> np.random.Generator:
        number = trial if redrawn else 0
        return stream(seed, role, embedding=cell.base_index, trial=number, shape=shape)

    intervention = parse_intervention(cell.intervention)
    embedding, named = intervention.apply(Trial(base, lambda role: rng(role, (p, d)), signal))
    mlp = draw_mlp(
        rng("mlp", (p, d, width), "mlp" in protocol.redraw), p, d, width, protocol.init.mlp
    )
    pairs = draw_training_pairs(
        rng("split", (p,), "split" in protocol.redraw), p, protocol.train_share
    )
    return InitialState(
        Parameters(*(array[None] for array in (embedding, *mlp))),
        pairs[None],
        np.array([named], dtype=np.int64).reshape(1, len(named)),
    )
