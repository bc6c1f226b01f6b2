"""The torch engine: a stack of networks on CPU or GPU, the loop from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch

from fittest.protocol import Protocol
from fittest.task import labels, test_pairs
from fittest.training.arrays import Parameters
from fittest.training.loss import GRADIENTS, loss_of_margin, margin
from fittest.training.network import Batch, backward, forward
from fittest.training.record import Record
from fittest.training.recorder import Recorder

DTYPES = {"float32": torch.float32, "float64": torch.float64}


@torch.no_grad()
def train_stack(
    initial: Parameters,
    train_pairs: np.ndarray,
    protocol: Protocol,
    weight_decay: float,
    device: str,
    tick: Callable[[int], None],
) -> Record:
    """Train a stack of T networks together; see `fittest.train_ensemble` for the arguments.

    `tick` is called before every step with T.
    """
    dtype = DTYPES[protocol.arithmetic]
    # A copy: on the CPU a tensor may share the array's memory, and training overwrites it.
    parameters = [torch.tensor(x, dtype=dtype, device=device) for x in initial.arrays()]
    gradients = [torch.zeros_like(x) for x in parameters]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    trained = parameters[1:] if "embedding" in protocol.frozen else parameters
    optimizer = torch.optim.AdamW(
        trained,
        lr=protocol.optimizer.lr,
        betas=(protocol.optimizer.betas[0], protocol.optimizer.betas[1]),
        eps=protocol.optimizer.eps,
        weight_decay=weight_decay,
        fused=True,
    )

    trials, p = len(train_pairs), initial.embedding.shape[1]
    held_out = np.stack([test_pairs(p, pairs) for pairs in train_pairs])
    all_labels = torch.as_tensor(labels(p, protocol.operation), device=device)
    train, test = (
        Batch(
            torch.as_tensor(pairs, device=device),
            all_labels,
            p,
            initial.b1.shape[1],
            protocol.activation,
            parameters[0],
        )
        for pairs in (train_pairs, held_out)
    )
    loss_gradient_ = GRADIENTS[protocol.loss]
    recorder = Recorder(protocol.record, protocol.steps, parameters[0])

    for step in range(protocol.steps + 1):
        logits = forward(parameters, train)
        m, correct = loss_gradient_(logits, train.label, train.count)
        backward(parameters, gradients, train)
        scores = {}
        if step in recorder.row:
            scores = _scores("train", m, correct, trials)
            m, _, correct = margin(forward(parameters, test), test.label)
            scores |= _scores("test", m, correct, trials)
        recorder.keep(step, parameters, gradients[0], scores)
        if step < protocol.steps:
            tick(trials)
            optimizer.step()
    return recorder.finish(parameters)


def _scores(
    which: str, m: torch.Tensor, correct: torch.Tensor, trials: int
) -> dict[str, torch.Tensor]:
    """Return mean loss and accuracy of each trial."""
    loss = loss_of_margin(m).view(trials, -1)
    return {
        f"{which}_loss": loss.mean(1),
        f"{which}_accuracy": correct.view(trials, -1).to(loss.dtype).mean(1),
    }


@contextmanager
def one_thread_inside() -> Iterator[None]:
    """Keep torch from splitting one operation over threads, which changes the order of sums."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
