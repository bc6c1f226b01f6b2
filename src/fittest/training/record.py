"""What training records: the same of every engine."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from fittest.training.arrays import Parameters

SCALARS = (
    "mean_signal",
    "train_loss",
    "test_loss",
    "train_accuracy",
    "test_accuracy",
    "parameter_norm",
)
"""What is one number a trial and step."""


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
    network_step: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (N,)
    networks: Parameters | None = None  # (N, …): the first trial at each of these; None if N = 0

    @classmethod
    def concatenate(cls, records: list[Record]) -> Record:
        """Return the records of several stacks as one; snapshots and networks are the first's."""
        joined: dict[str, Any] = {}
        for name in (each.name for each in fields(cls)):
            parts = [getattr(record, name) for record in records]
            if name == "final":
                joined["final"] = Parameters.stack(parts)
            elif name.endswith("step") or name in ("snapshot_embedding", "networks"):
                joined[name] = parts[0]
            else:
                joined[name] = np.concatenate(parts)
        return cls(**joined)
