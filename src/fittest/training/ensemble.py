"""Training an ensemble of networks from explicit arrays: the loop, from top to bottom."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from fittest.protocol import Protocol
from fittest.task import labels, test_pairs
from fittest.training.arrays import Parameters
from fittest.training.loss import GRADIENTS, loss_of_margin, margin
from fittest.training.network import Batch, backward, forward
from fittest.training.parallel import one_thread_inside, run_tasks
from fittest.training.recorder import Record, Recorder

DTYPES = {"float32": torch.float32, "float64": torch.float64}


def train_ensemble(
    initial: Parameters,
    train_pairs: np.ndarray,
    protocol: Protocol,
    *,
    weight_decay: float,
    device: str = "cpu",
    threads: int = 1,
    stack: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Record:
    """Train T networks from the arrays given, each as if it were alone.

    Parameters
    ----------
    initial
        Their parameters, trial first; rounded once to the protocol's arithmetic.
    train_pairs
        Shape (T, N): indices a·p + b of the pairs for training; the rest is for test.
    protocol
        How to train; `init`, `train_share` and `redraw` are not used: the arrays are given.
    weight_decay
        Decoupled weight decay of every trained parameter.
    device
        `cpu`, `cuda` or `cuda:N`.
    threads
        Trials trained at once on the CPU, each on one thread: a trial's bits do not depend on it.
    stack
        Trials that go through a step together. The default is 1 on the CPU, where a trial's
        activations then stay in the cache and its bits cannot depend on its neighbours, and all of
        them on a GPU.
    progress
        Called before every step of a stack with the number of trial-steps it is.

    Returns
    -------
    Record
        Everything recorded, at the steps that `protocol.record` names.
    """
    trials = len(train_pairs)
    stack = stack or (1 if device == "cpu" else trials)

    def task(first: int) -> Callable[[Callable[[int], None]], Record]:
        some = slice(first, first + stack)
        part = Parameters(*(array[some] for array in initial.arrays()))
        return partial(_train_stack, part, train_pairs[some], protocol, weight_decay, device)

    tasks = [task(first) for first in range(0, trials, stack)]
    with one_thread_inside():
        return Record.concatenate(run_tasks(tasks, threads, progress))


@torch.no_grad()
def _train_stack(
    initial: Parameters,
    train_pairs: np.ndarray,
    protocol: Protocol,
    weight_decay: float,
    device: str,
    tick: Callable[[int], None],
) -> Record:
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
