"""Training an ensemble of networks from explicit arrays, by whichever engine is chosen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from fittest.protocol import Protocol
from fittest.training.arrays import Parameters
from fittest.training.engines import choose_engine
from fittest.training.parallel import run_tasks
from fittest.training.record import Record


def train_ensemble(
    initial: Parameters,
    train_pairs: np.ndarray,
    protocol: Protocol,
    *,
    weight_decay: float,
    engine: str = "auto",
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
    engine
        `auto`, `native`, `native-LEVEL` or `torch`. Engines agree to rounding at first and in
        distribution later; on the CPU a trial's bits are those of its engine and instruction set.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`.
    threads
        Trials trained at once on the CPU, each on one thread: a trial's bits do not depend on it.
    stack
        Trials that go through a step of the torch engine together. The default is 1 on the CPU,
        where a trial's activations then stay in the cache and its bits cannot depend on its
        neighbours. On a GPU it is as many as fit into its free memory, and one asked for that does
        not fit is made smaller; a trial's bits there may depend on it.
    progress
        Called before every step of a stack with the number of trial-steps it is; on a GPU also with
        minus what a stack had done that ran out of memory and starts again.

    Returns
    -------
    Record
        Everything recorded, at the steps that `protocol.record` names.
    """
    _check(initial, train_pairs, protocol.dtype)
    trials = len(train_pairs)
    chosen = choose_engine(engine, device, protocol.arithmetic)

    def part(some: slice) -> tuple[Parameters, np.ndarray]:
        return Parameters(*(array[some] for array in initial.arrays())), train_pairs[some]

    if chosen.gpu:
        from fittest.training.torch_engine import train_on_gpu

        return Record.concatenate(
            train_on_gpu(part, trials, stack, protocol, weight_decay, chosen.device, progress)
        )
    stack = stack or 1
    parts = [part(slice(first, first + stack)) for first in range(0, trials, stack)]
    rest = protocol.without_networks
    protocols = [protocol if first == 0 else rest for first in range(len(parts))]
    if chosen.engine == "native":
        from fittest.training.native_engine import train_trial

        native = [
            partial(train_trial, *some, how, weight_decay, chosen.level)
            for some, how in zip(parts, protocols, strict=True)
        ]
        return Record.concatenate(run_tasks(native, threads, progress))
    from fittest.training.torch_engine import one_thread_inside, train_stack

    tasks = [
        partial(train_stack, *some, how, weight_decay, chosen.device)
        for some, how in zip(parts, protocols, strict=True)
    ]
    with one_thread_inside():
        return Record.concatenate(run_tasks(tasks, threads, progress))


def _check(initial: Parameters, train_pairs: np.ndarray, dtype: str) -> None:
    """Refuse arrays that would train something else than was meant, naming the argument."""
    trials, p, _ = initial.embedding.shape
    for array in initial.arrays():
        real = np.issubdtype(array.dtype, np.floating)
        with np.errstate(over="ignore"):
            finite = real and np.isfinite(array.astype(dtype)).all()
        if not finite:
            raise ValueError(
                f"initial: parameters must be real floating-point numbers, all finite in {dtype}"
            )
    if train_pairs.ndim != 2 or len(train_pairs) != trials:
        raise ValueError(
            f"train_pairs has shape {train_pairs.shape}: with {trials} trials it must be "
            f"({trials}, N)"
        )
    count = train_pairs.shape[1]
    if not np.issubdtype(train_pairs.dtype, np.integer) or not 1 <= count < p * p:
        raise ValueError(
            f"train_pairs must be whole numbers a·p + b, from 1 to p² - 1 = {p * p - 1} a trial"
        )
    if train_pairs.min() < 0 or train_pairs.max() >= p * p:
        raise ValueError(f"train_pairs must lie in 0 … p² - 1 = {p * p - 1}")
    if (np.diff(np.sort(train_pairs, axis=1), axis=1) == 0).any():
        raise ValueError("train_pairs names a pair twice within a trial")
