"""The torch engine's recorder: all but whole networks stays on the device until the end."""

from __future__ import annotations

import numpy as np
import torch

from fittest.fourier import bin_multiplicity
from fittest.protocol import Recording
from fittest.recording import gradient_steps, network_steps, recorded_steps, snapshot_steps
from fittest.training.arrays import Parameters
from fittest.training.record import SCALARS, Record


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
        self.network_steps = dict.fromkeys(network_steps(record, steps))
        self.networks: list[list[torch.Tensor]] = []
        k = (p - 1) // 2
        s, g, c = len(self.row), len(self.gradient_row), len(self.snapshot_row)
        self.signal = embedding.new_empty(t, s, k)
        self.scalars = {name: embedding.new_empty(t, s) for name in SCALARS}
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
        if step in self.network_steps:
            # To the host at once: together they may be larger than all else of the stack.
            self.networks.append([x[0].to("cpu", copy=True) for x in parameters])

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
            network_step=np.array(list(self.network_steps), dtype=np.int64),
            networks=Parameters.of_steps([[x.numpy() for x in n] for n in self.networks]),
        )
