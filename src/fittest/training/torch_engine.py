"""The torch engine: a stack of networks on CPU or GPU, the loop from top to bottom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol as Interface

import numpy as np
import torch

from fittest.protocol import Protocol
from fittest.training.arrays import Parameters
from fittest.training.cuda_graph import CudaGraph
from fittest.training.gpu import matrix_products
from fittest.training.memory import Gpu, bytes_per_trial
from fittest.training.record import Record
from fittest.training.recorder import Recorder
from fittest.training.stack import Margins, Stack


class Step(Interface):
    """One training step of a stack, to be done as often as wanted."""

    def replay(self) -> Margins:
        """Do it."""


class Eager:
    """The step of a stack, one operation after the other."""

    def __init__(self, stack: Stack) -> None:
        self.replay = stack.advance


@torch.no_grad()
def train_stack(
    initial: Parameters,
    train_pairs: np.ndarray,
    protocol: Protocol,
    weight_decay: float,
    device: str,
    tick: Callable[[int], None],
    step_of: Callable[[Stack], Step] = Eager,
) -> Record:
    """Train a stack of T networks together; see `fittest.train_ensemble` for the arguments.

    `tick` is called before every step with T. `step_of` makes the step that is repeated.
    """
    stack = Stack(initial, train_pairs, protocol, weight_decay, device)
    recorder = Recorder(protocol.record, protocol.steps, stack.parameters[0])

    def keep(step: int, margins: Margins) -> None:
        scores = stack.scores(margins) if step in recorder.row else {}
        recorder.keep(step, stack.parameters, stack.gradients[0], scores)

    keep(0, stack.gradient())
    training = step_of(stack)
    for step in range(1, protocol.steps + 1):
        tick(stack.trials)
        keep(step, training.replay())
    return recorder.finish(stack.parameters)


def train_on_gpu(
    part: Callable[[slice], tuple[Parameters, np.ndarray]],
    trials: int,
    stack: int | None,
    protocol: Protocol,
    weight_decay: float,
    device: str,
    progress: Callable[[int], None] | None,
) -> list[Record]:
    """Train on a CUDA device, in stacks that fit, one after the other.

    `part` returns initial arrays and training pairs of some of the trials.
    """
    initial, pairs = part(slice(0, 1))
    _, p, d = initial.embedding.shape
    gpu = Gpu(device, bytes_per_trial(p, d, initial.b1.shape[1], pairs.shape[1], protocol))

    def train(some: slice, tick: Callable[[int], None]) -> Record:
        how = protocol if some.start == 0 else protocol.without_networks
        return train_stack(*part(some), how, weight_decay, device, tick, CudaGraph)

    with torch.cuda.device(device), matrix_products(protocol.arithmetic):
        together = gpu.stack(trials, stack)
        return gpu.train(train, trials, together, progress or (lambda _: None))


@contextmanager
def one_thread_inside() -> Iterator[None]:
    """Keep torch from splitting one operation over threads, which changes the order of sums."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
