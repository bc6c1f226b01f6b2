"""What a training job asks of a cluster: GPUs, memory, minutes. Nothing here shapes a number.

A job that asks for too little is killed and tried again with more; one that asks for too much waits
longer in the queue. So requests have a wide margin over the plan's estimate, and each further
attempt doubles them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fittest.cells import Block
from fittest.design import Design
from fittest.plan.coefficients import Coefficients
from fittest.plan.costs import block_cost
from fittest.plan.file_sizes import content
from fittest.plan.products import Size

CARD = "V100"
"""The card whose calculated time counts: the slowest that a plan knows."""

START_MINUTES = 10
"""Before and after training: two Snakemakes, importing torch from a busy file system, writing."""

GPU_MARGIN = 20
"""Asked-for over calculated time. That is a least time, without launches and recording, and was
never measured."""

CPU_MARGIN = 4
"""Asked-for over estimated core time. That is of one processor with AVX-512; the slowest of the
published others, the native engine for any x86-64, takes 3.7 times as long."""

GPU_MEMORY_MB = 6000
"""Main memory of a job before training on a GPU: torch's CUDA libraries and the driver's context.
Not measured on a V100."""

CPU_MEMORY_MB = 1000
"""The same on the CPU, where 256 MB were measured."""

COPIES = 4
"""Of what is recorded and of the parameters: from the engine, put together, for the file, to spare.
"""

_NUMBER = 8  # bytes at most


@dataclass(frozen=True)
class Request:
    """What a job asks for, by Snakemake's names of resources.

    gpu
        GPUs: 1 or 0.
    mem_mb
        Main memory in MB. A GPU's own memory cannot be asked for: training takes what is there and
        makes its stacks of trials as small as need be.
    runtime
        Minutes.
    """

    gpu: int
    mem_mb: int
    runtime: int


def device_of(engine: str, device: str) -> str:
    """Return the device setting for an engine: the native one has the CPU only."""
    return "cpu" if engine.startswith("native") else device


def request(
    block: Block,
    design: Design,
    coefficients: Coefficients,
    *,
    engine: str = "auto",
    device: str = "auto",
    threads: int = 1,
    attempt: int = 1,
) -> Request:
    """Return what the training of a block asks for.

    Parameters
    ----------
    block, design
        The block, and the design that has its protocol.
    coefficients
        What was measured.
    engine, device, threads
        The run settings. `auto` asks for a GPU: where it means the CPU, nobody counts GPUs.
    attempt
        1 at first; each further one doubles memory and minutes.
    """
    gpu = 0 if device_of(engine, device) == "cpu" else 1
    protocol, trials = design.protocols[block.protocol], len(block.trials)
    size = Size(block.cell.p, block.cell.d, block.cell.width)
    cost = block_cost(block, design, coefficients)
    if gpu:
        minutes = 60 * GPU_MARGIN * cost.card_hours[CARD]
    else:
        rounds = math.ceil(trials / threads)  # a thread trains one trial at a time
        minutes = 60 * CPU_MARGIN * cost.core_hours / trials * rounds
    held = COPIES * (sum(content(block, protocol).values()) + _NUMBER * trials * size.parameters)
    # On the CPU a thread works through one trial's activations and logits, forward and backward.
    working = 0 if gpu else threads * _NUMBER * 2 * size.p**2 * (4 * size.width + 2 * size.p)
    base = GPU_MEMORY_MB if gpu else CPU_MEMORY_MB
    times = 2 ** (attempt - 1)
    return Request(
        gpu,
        times * math.ceil(base + (held + working) / 1e6),
        times * math.ceil(START_MINUTES + minutes),
    )
