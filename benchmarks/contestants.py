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

from benchmarks.ordinary_loop import exact_cross_entropy, train_one
from fittest.cells import REDRAWN, Cell
from fittest.protocol import Protocol, Recording
from fittest.task import labels, training_pairs_count
from fittest.training.arrays import InitialState, Parameters, initial_state
from fittest.training.engines import native_levels
from fittest.training.ensemble import train_ensemble

WARM_UP = 4
"""Steps of each run that are not counted: first touches of memory, the optimiser's first state."""

DENSE = Recording(dense_until=10**6)
SPARSE = Recording(dense_until=0, every=100, gradients=0)
WEIGHT_DECAY = 0.5
COMPILED_STACK = 4
ROW_BLOCKS = (64, 128, 256, 512, 1024, 2048)


@dataclass(frozen=True)
class Size:
    """Tokens p, embedding dimension d and width h of both hidden layers."""

    p: int
    d: int
    width: int = 100

    @property
    def key(self) -> str:
        """How the size is named in the results."""
        return f"p{self.p}-d{self.d}" + ("" if self.width == 100 else f"-width{self.width}")

    @property
    def rows(self) -> int:
        """Training pairs N = floor(0.8 p²)."""
        return training_pairs_count(self.p, Protocol().train_share)


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
    native = partial(time_engine, start, 1, engine="native")
    native_sparse = partial(native, 2 * SPARSE.every, record=SPARSE)
    entrants = (
        ("float64_loop", "ordinary loop, float64", partial(loop, torch.float64, few)),
        ("float32_loop", "ordinary loop, float32", partial(loop, torch.float32, few)),
        ("torch", "torch engine, 1 trial", partial(engine, 1, 2 * more)),
        ("torch_ensemble_4", "torch engine, 4 trials", partial(engine, 4, more)),
        ("torch_ensemble_8", "torch engine, 8 trials", partial(engine, 8, few)),
        ("torch_stack_4", "torch engine, 4, stack=4", partial(engine, 4, few, stack=4)),
        ("torch_sparse_record", "torch engine, records every 100", sparse),
        *(
            ("native", "native engine", partial(native, 4 * more)),
            ("native_sparse_record", "native engine, records every 100", native_sparse),
        )[: 2 * bool(native_levels())],
        ("floor", f"floor (row blocks of {floor.block})", partial(floor.time, many)),
    )
    return [Contestant(*entrant) for entrant in entrants]


def step_time(marks: list[float] | np.ndarray, trials: int = 1) -> float:
    """Return core-ms per trial-step from core seconds at the end of each step.

    Parameters
    ----------
    marks
        Shape (stacks, steps) or (steps,): the first `WARM_UP` steps of each stack do not count.
    trials
        How many go through a step together.
    """
    steps = np.atleast_2d(marks)[:, WARM_UP:]
    seconds = (steps[:, -1] - steps[:, 0]).sum()
    return float(1000 * seconds / (steps.shape[0] * (steps.shape[1] - 1) * trials))


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
    engine: str = "torch",
) -> float:
    """Time an engine on the first trials; `stack=None` is its own choice."""
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
        engine=engine,
        stack=stack,
        progress=progress,
    )
    if engine == "native":
        # Called before a portion of steps: from the second portion to the start of the last.
        return 1000 * (marks[-1] - marks[1]) / sum(amounts[1:-1])
    return step_time(np.reshape(marks, (-1, protocol.steps)), amounts[0])


def floor_products(size: Size) -> list[tuple[int, int, int]]:
    """Return every matrix product of one training step as (m, k, n): (m × k)(k × n).

    Forward, then by weights, then by inputs; the first layer's are on tokens, once for a and once
    for b, the others on the N training pairs.
    """
    p, d, h, n = size.p, size.d, size.width, size.rows
    first = 2 * [(p, d, h), (d, p, h), (p, h, d)]
    return [*first, (n, h, h), (h, n, h), (n, h, h), (n, h, p), (h, n, p), (n, p, h)]


def flops(products: list[tuple[int, int, int]]) -> int:
    """Return the multiplications and additions in some products."""
    return sum(2 * m * k * n for m, k, n in products)


class Floor:
    """The matrix products of a training step and nothing else, float32, through BLAS.

    Rows go through in blocks, all products of a block before the next, in the same buffers: what
    an engine that keeps a block in the cache could do at best.
    """

    def __init__(self, size: Size, block: int) -> None:
        p, d, h = size.p, size.d, size.width
        self.size, self.block = size, min(block, size.rows)

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=generator) / 10

        generator = torch.Generator().manual_seed(0)
        self.embedding, self.from_a, self.from_b = draw(p, d), draw(p, h), draw(p, h)
        self.w1, self.w2, self.w3 = draw(2 * d, h), draw(h, h), draw(h, p)
        self.g_embedding = torch.empty_like(self.embedding)
        self.g_w1, self.g_w2, self.g_w3 = (torch.empty_like(w) for w in (self.w1, self.w2, self.w3))
        self.rows = [draw(self.block, width) for width in (h, h, h, p, h)]

    def step(self) -> None:
        """Do the products of one step."""
        d = self.size.d
        halves = ((self.from_a, slice(None, d)), (self.from_b, slice(d, None)))
        for tokens, half in halves:
            torch.mm(self.embedding, self.w1[half], out=tokens)
        for first in range(0, self.size.rows, self.block):
            count = min(self.block, self.size.rows - first)
            h1, x2, h2, logits, spare = (array[:count] for array in self.rows)
            torch.mm(h1, self.w2, out=x2)
            torch.mm(h2, self.w3, out=logits)
            beta = int(first > 0)  # 0 overwrites, 1 adds to what earlier blocks left
            torch.addmm(self.g_w3, h2.mT, logits, beta=beta, out=self.g_w3)
            torch.mm(logits, self.w3.mT, out=spare)
            torch.addmm(self.g_w2, h1.mT, x2, beta=beta, out=self.g_w2)
            torch.mm(x2, self.w2.mT, out=spare)
        for beta, (tokens, half) in enumerate(halves):
            torch.mm(self.embedding.mT, tokens, out=self.g_w1[half])
            torch.addmm(self.g_embedding, tokens, self.w1[half].mT, beta=beta, out=self.g_embedding)

    def time(self, counted: int) -> float:
        """Time some steps."""
        marks = []
        for _ in range(WARM_UP + 1 + counted):
            self.step()
            marks.append(time.process_time())
        return step_time(marks)

    @classmethod
    def fastest(cls, size: Size, tries: int = 4) -> Floor:
        """Return the floor with the row blocks that suit BLAS best."""
        blocks = [*(b for b in ROW_BLOCKS if b < size.rows), size.rows]
        floors = [cls(size, block) for block in blocks]
        # In turn, so that a busy moment of the machine does not fall on one of them alone.
        times = [[floor.time(10) for floor in floors] for _ in range(tries)]
        return floors[int(np.argmin(np.min(times, axis=0)))]


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
