"""What a trial records, and the arrays it goes to. They stay on the device until the end."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch

from fittest.fourier import bin_multiplicity
from fittest.protocol import Recording
from fittest.recording import gradient_steps, recorded_steps, snapshot_steps
from fittest.training.arrays import Parameters


@dataclass(frozen=True)
class Record:
    """The recorded life of an ensemble of T trials. S steps, K circles, G gradient steps.

    Signals, mean signal, norms and embeddings are in units of the embedding's entries; losses in
    nats; accuracies are shares. The dtype is that of the protocol's arithmetic.
    """

    step: np.ndarray  # (S,)
    signal: np.ndarray  # (T, S, K): S_k
    mean_signal: np.ndarray  # (T, S): mean over all p DFT bins
    train_loss: np.ndarray  # (T, S)
    test_loss: np.ndarray  # (T, S)
    train_accuracy: np.ndarray  # (T, S)
    test_accuracy: np.ndarray  # (T, S)
    parameter_norm: np.ndarray  # (T, S): Euclidean norm of all parameters
    gradient_step: np.ndarray  # (G,)
    gradient_signal: np.ndarray  # (T, G, K): ‖DFT(∂L/∂E)_k‖
    snapshot_step: np.ndarray  # (C,)
    snapshot_embedding: np.ndarray  # (C, p, d): of the first trial
    final: Parameters

    @classmethod
    def concatenate(cls, records: list[Record]) -> Record:
        """Return the records of several stacks of trials as one; snapshots are the first's."""
        joined: dict[str, Any] = {}
        for field in fields(cls):
            parts = [getattr(record, field.name) for record in records]
            if field.name == "final":
                joined["final"] = Parameters.stack(parts)
            elif field.name.endswith("step") or field.name == "snapshot_embedding":
                joined[field.name] = parts[0]
            else:
                joined[field.name] = np.concatenate(parts)
        return cls(**joined)


class Recorder:
    """Evaluates and keeps what is recorded of one stack.

    Parameters
    ----------
    record, steps
        When to record.
    embedding
        Shape (T, p, d): gives sizes, dtype and device.
    """

    def __init__(self, record: Recording, steps: int, embedding: torch.Tensor) -> None:
        t, p, _ = embedding.shape
        self.circles = slice(1, (p - 1) // 2 + 1)
        self.multiplicity = torch.tensor(bin_multiplicity(p) / p, device=embedding.device)
        self.row = {s: i for i, s in enumerate(recorded_steps(record, steps))}
        self.gradient_row = {s: i for i, s in enumerate(gradient_steps(record, steps))}
        self.snapshot_row = {s: i for i, s in enumerate(snapshot_steps(record, steps))}
        k = (p - 1) // 2
        s, g, c = len(self.row), len(self.gradient_row), len(self.snapshot_row)
        self.signal = embedding.new_empty(t, s, k)
        self.scalars = {
            name: embedding.new_empty(t, s)
            for name in (
                "mean_signal",
                "train_loss",
                "test_loss",
                "train_accuracy",
                "test_accuracy",
                "parameter_norm",
            )
        }
        self.gradient_signal = embedding.new_empty(t, g, k)
        self.snapshots = embedding.new_empty(c, *embedding.shape[1:])

    def bin_norms(self, array: torch.Tensor) -> torch.Tensor:
        """Return ‖F_k‖ for k = 0 … ⌊p/2⌋, shape (T, ⌊p/2⌋ + 1), in float64.

        In float32 the transform's own rounding, not the network's, would be the floor of the dead.
        """
        return torch.fft.rfft(array.double(), dim=1).abs().square_().sum(2).sqrt_()

    def keep(
        self,
        step: int,
        parameters: list[torch.Tensor],
        gradient: torch.Tensor,
        scores: dict[str, torch.Tensor],
    ) -> None:
        """Record one step: signals, norm, and the scores (losses, accuracies) given."""
        if (row := self.row.get(step)) is not None:
            norms = self.bin_norms(parameters[0])
            self.signal[:, row] = norms[:, self.circles]
            self.scalars["mean_signal"][:, row] = norms @ self.multiplicity
            squares = [x.double().square().flatten(1).sum(1) for x in parameters]
            self.scalars["parameter_norm"][:, row] = sum(squares[1:], squares[0]).sqrt_()
            for name, value in scores.items():
                self.scalars[name][:, row] = value
        if (row := self.gradient_row.get(step)) is not None:
            self.gradient_signal[:, row] = self.bin_norms(gradient)[:, self.circles]
        if (row := self.snapshot_row.get(step)) is not None:
            self.snapshots[row] = parameters[0][0]

    def finish(self, parameters: list[torch.Tensor]) -> Record:
        """Return everything recorded, as arrays on the host."""
        return Record(
            step=np.array(list(self.row), dtype=np.int64),
            signal=self.signal.cpu().numpy(),
            **{name: array.cpu().numpy() for name, array in self.scalars.items()},
            gradient_step=np.array(list(self.gradient_row), dtype=np.int64),
            gradient_signal=self.gradient_signal.cpu().numpy(),
            snapshot_step=np.array(list(self.snapshot_row), dtype=np.int64),
            snapshot_embedding=self.snapshots.cpu().numpy(),
            final=Parameters(*(x.cpu().numpy() for x in parameters)),
        )
