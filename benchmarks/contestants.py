"""What is timed against what: the ordinary loops, the engine, and the floor under all of them.

A contestant is a function that trains for some steps and returns the core-milliseconds of one
step of one trial, without its first steps. All start from the same arrays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch.nn.functional import silu

from benchmarks.clock import WARM_UP, portion_time, step_time
from benchmarks.floor import Floor
from benchmarks.ordinary_loop import exact_cross_entropy, train_one
from fittest.cells import REDRAWN, Cell
from fittest.plan.products import Size
from fittest.protocol import Protocol, Recording
from fittest.task import labels
from fittest.training.arrays import InitialState, Parameters, initial_state
from fittest.training.engines import native_levels
from fittest.training.ensemble import train_ensemble

DENSE = Recording(dense_until=10**6)
SPARSE = Recording(dense_until=0, every=100, gradients=0)
WEIGHT_DECAY = 0.5
COMPILED_STACK = 4


@dataclass(frozen=True)
class Contestant:
    """Key in the results, label in the table, and a run that returns core-ms per trial-step."""

    key: str
    label: str
    run: Callable[[], float]


def contestants(size: Size, floor: Floor, *, short: bool = False) -> list[Contestant]:
    """Return what is timed at a size, the float64 loop first; `short` counts fewer steps."""
    cell = Cell(p=size.p, d=size.d, width=size.width, embedding=REDRAWN)
    start = initial_state(cell, Protocol(), 0, range(8))
    few, more, many = (3, 6, 30) if short else (8, 16, 120)
    loop, engine = partial(time_loop, start), partial(time_engine, start)
    sparse = partial(engine, 1, SPARSE.every, record=SPARSE)
    entrants = (
        ("float64_loop", "ordinary loop, float64", partial(loop, torch.float64, few)),
        ("float32_loop", "ordinary loop, float32", partial(loop, torch.float32, few)),
        ("torch", "torch engine, 1 trial", partial(engine, 1, 2 * more)),
        ("torch_ensemble_4", "torch engine, 4 trials", partial(engine, 4, more)),
        ("torch_ensemble_8", "torch engine, 8 trials", partial(engine, 8, few)),
        ("torch_stack_4", "torch engine, 4, stack=4", partial(engine, 4, few, stack=4)),
        ("torch_sparse_record", "torch engine, records every 100", sparse),
        *native_entrants(start, more),
        ("floor", f"floor (row blocks of {floor.block})", partial(floor.time, many)),
    )
    return [Contestant(*entrant) for entrant in entrants]


def native_entrants(start: InitialState, more: int) -> list[tuple[str, str, Callable[[], float]]]:
    """Return the native engine at its best, then its other levels; nothing where it is not built.

    Every one records every step, but for the one that is named after recording less.
    """
    levels = native_levels()
    if not levels:
        return []
    native = partial(time_native, start, levels[0])
    sparse = partial(native, 2 * SPARSE.every, record=SPARSE)
    return [
        ("native", "native engine", partial(native, 4 * more)),
        ("native_sparse_record", "native engine, records every 100", sparse),
        ("native_float64", "native engine, float64", partial(native, more, arithmetic="float64")),
        *(
            (f"native_{level}", f"native engine, {level}", partial(time_native, start, level, more))
            for level in levels[1:]
        ),
    ]


def time_loop(start: InitialState, dtype: torch.dtype, counted: int) -> float:
    """Time the ordinary loop on the first trial."""
    marks: list[float] = []

    def loss(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        # The loop calls it twice a step, and it is the only hook the loop has.
        marks.append(time.process_time())
        return exact_cross_entropy(logits, label)

    train_one(
        [array[0] for array in start.parameters.arrays()],
        start.train_pairs[0],
        WARM_UP + counted,
        dtype=dtype,
        weight_decay=WEIGHT_DECAY,
        loss_function=loss,
    )
    return step_time(marks[::2])


def time_engine(
    start: InitialState,
    trials: int,
    counted: int,
    stack: int | None = None,
    record: Recording = DENSE,
) -> float:
    """Time the torch engine on the first trials; `stack=None` is its own choice."""
    marks: list[float] = []
    amounts: list[int] = []

    def progress(amount: int) -> None:
        marks.append(time.process_time())
        amounts.append(amount)

    protocol = Protocol(steps=WARM_UP + 1 + counted, record=record)
    train_ensemble(
        Parameters(*(array[:trials] for array in start.parameters.arrays())),
        start.train_pairs[:trials],
        protocol,
        weight_decay=WEIGHT_DECAY,
        engine="torch",
        stack=stack,
        progress=progress,
    )
    return step_time(np.reshape(marks, (-1, protocol.steps)), amounts[0])


def time_native(
    start: InitialState,
    level: str,
    counted: int,
    record: Recording = DENSE,
    arithmetic: str = "float32",
) -> float:
    """Time the native engine on the first trial, with the instruction set of a level."""
    from fittest.training.native_engine import train_trial  # not there where it was not built

    marks: list[float] = []
    amounts: list[int] = []

    def tick(amount: int) -> None:
        marks.append(time.process_time())
        amounts.append(amount)

    protocol = Protocol(steps=WARM_UP + 1 + counted, record=record, arithmetic=arithmetic)
    one = Parameters(*(array[:1] for array in start.parameters.arrays()))
    train_trial(one, start.train_pairs[:1], protocol, WEIGHT_DECAY, level, tick)
    return portion_time(marks, amounts)


def compiled_stack(size: Size, counted: int) -> Contestant:
    """Return `torch.compile` of an autograd stack of four; it records nothing.

    Compiles at once, and raises whatever the compiler does.
    """
    t = COMPILED_STACK
    cell = Cell(p=size.p, d=size.d, width=size.width, embedding=REDRAWN)
    start = initial_state(cell, Protocol(), 0, range(t))
    parameters = [
        torch.tensor(x, dtype=torch.float32, requires_grad=True) for x in start.parameters.arrays()
    ]
    optimizer = torch.optim.AdamW(parameters, lr=0.01, weight_decay=WEIGHT_DECAY, fused=True)
    pairs = torch.tensor(start.train_pairs)
    offset = size.p * torch.arange(t)[:, None]
    row_a, row_b = ((x + offset).flatten() for x in (pairs // size.p, pairs % size.p))
    label = torch.tensor(labels(size.p))[pairs].flatten()

    @torch.compile
    def loss(*tensors: torch.Tensor) -> torch.Tensor:
        embedding, w1, b1, w2, b2, w3, b3 = tensors
        from_a = torch.baddbmm(b1[:, None], embedding, w1[:, : size.d]).flatten(0, 1)
        from_b = torch.bmm(embedding, w1[:, size.d :]).flatten(0, 1)
        h1 = silu(from_a[row_a] + from_b[row_b]).view(t, -1, size.width)
        h2 = silu(torch.baddbmm(b2[:, None], h1, w2))
        logits = torch.baddbmm(b3[:, None], h2, w3).flatten(0, 1)
        return t * exact_cross_entropy(logits, label)

    def run() -> float:
        marks = []
        for _ in range(WARM_UP + 1 + counted):
            optimizer.zero_grad()
            loss(*parameters).backward()
            optimizer.step()
            marks.append(time.process_time())
        return step_time(marks, t)

    run()
    return Contestant("torch_compile", "torch.compile, stack of 4", run)
