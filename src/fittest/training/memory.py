"""How many trials go through a step together on a GPU: as many as its free memory holds."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from dataclasses import dataclass

import torch

from fittest.errors import FittestError
from fittest.protocol import Protocol
from fittest.recording import gradient_steps, recorded_steps
from fittest.training.record import SCALARS, Record

log = logging.getLogger("fittest")

SHARE = 0.9
"""Of the free memory, how much a stack may take: the allocator leaves gaps."""

FIXED = 256 * 2**20
"""Bytes besides the stack: kernels, the matrix library's workspace, the transform's plans."""

GIB = 2**30


def bytes_per_trial(p: int, d: int, width: int, train: int, protocol: Protocol) -> int:
    """Return the bytes that a trial of a stack takes on the device at most, `train` its pairs.

    Counts what `Stack` and `Recorder` hold, and what a step and an evaluation need for a moment.
    """
    k = (p - 1) // 2
    rows, size = p * p, 8 if protocol.dtype == "float64" else 4
    parameters = p * d + 2 * d * width + width * (width + 2) + width * p + p
    recorded = len(recorded_steps(protocol.record, protocol.steps))
    gradients = len(gradient_steps(protocol.record, protocol.steps))
    numbers = (
        5 * parameters  # they, their gradients, two moments; a copy while a graph is captured
        + rows * (5 * width + p)  # activations and logits, of training and test pairs
        + 8 * rows  # margins, and what the loss takes apart of each row
        + 4 * p * width  # products of tokens, forward and backward
        + (train * p if protocol.loss == "naive" else 0)  # probabilities beside the logits
        + recorded * (k + len(SCALARS))
        + gradients * k
    )
    integers = rows * 5 + 4 * p + train  # rows a and b, label, two orders; bags; bags' sum
    spectrum = p * d + 2 * (p // 2 + 1) * d * 3 // 2  # as float64: copy, transform, its modulus
    return size * numbers + 8 * (integers + max(spectrum, 2 * max(p * d, 2 * d * width)))


def fitting(free: int, per_trial: int) -> int:
    """Return how many trials fit: 0 where not even one does. Both arguments are in bytes."""
    return max(0, int((SHARE * free - FIXED) // per_trial))


def stack_for(free: int, per_trial: int, trials: int) -> int:
    """Return how many of some trials go together: as many as fit, in stacks as even as can be.

    Parameters
    ----------
    free
        Bytes free on the device.
    per_trial
        Bytes that a trial takes.
    trials
        How many there are.

    Returns
    -------
    int
        At least 1, though that may not fit.
    """
    parts = -(-trials // max(1, fitting(free, per_trial)))
    return -(-trials // parts)


@dataclass(frozen=True)
class Gpu:
    """A CUDA device and the bytes that a trial takes on it."""

    device: str
    per_trial: int

    def free(self) -> int:
        """Return the free bytes; what an earlier stack left behind is given back first."""
        gc.collect()
        torch.cuda.empty_cache()
        return torch.cuda.mem_get_info(self.device)[0]

    def stack(self, trials: int, asked: int | None) -> int:
        """Return the trials that go together: those asked for, or fewer, with a line about it."""
        wanted, free = min(asked or trials, trials), self.free()
        if wanted <= fitting(free, self.per_trial):
            return wanted
        stack = stack_for(free, self.per_trial, trials)
        log.info(
            "%d trials together need %.2f GiB on %s, which has %.2f GiB free: %d at a time",
            wanted,
            (FIXED + wanted * self.per_trial) / GIB,
            self.device,
            free / GIB,
            stack,
        )
        return stack

    def train(
        self,
        train: Callable[[slice, Callable[[int], None]], Record],
        trials: int,
        stack: int,
        progress: Callable[[int], None],
    ) -> list[Record]:
        """Train trials stack by stack; where memory does not suffice after all, in smaller ones.

        Parameters
        ----------
        train
            Trains a slice of the trials from their initial arrays, given what to call with the
            amounts done.
        trials, stack
            How many there are, and how many go together at first.
        progress
            Called with those amounts; what a stack did before it failed is taken back.
        """
        records: list[Record] = []
        first = done = 0

        def tick(amount: int) -> None:
            nonlocal done
            done += amount
            progress(amount)

        while first < trials:
            count, done = min(stack, trials - first), 0
            try:
                records.append(train(slice(first, first + count), tick))
            except Exception as error:
                if not out_of_memory(error):
                    raise
            else:
                first += count
                continue
            progress(-done)
            # Not in the handler, where the error still holds on to the failed stack's arrays.
            free = self.free()
            if count == 1:
                raise FittestError(
                    f"a single trial does not fit on {self.device}: it needs about "
                    f"{(FIXED + self.per_trial) / GIB:.2f} GiB, and {free / GIB:.2f} GiB are free. "
                    "End what else uses the GPU, or set `device: cpu`"
                )
            stack = -(-count // 2)
            log.info(
                "%s has too little memory for %d trials together (%.2f GiB free): %d at a time",
                self.device,
                count,
                free / GIB,
                stack,
            )
        return records


def out_of_memory(error: BaseException | None) -> bool:
    """Say whether an error is, or came of, a device's lack of memory.

    Where memory runs out during the capture of a graph, ending the capture fails as well.
    """
    while error is not None:
        if isinstance(error, torch.OutOfMemoryError):
            return True
        error = error.__context__
    return False
