"""What each experiment of a design costs, and all together, where shared trials count once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from fittest.cells import Block, Cell
from fittest.design import Design, blocks
from fittest.interventions import parse_intervention
from fittest.plan.coefficients import Coefficients
from fittest.plan.gpu_bound import CARDS, step_seconds
from fittest.plan.products import Size
from fittest.recording import recorded_steps

Job = tuple[str, Block]
"""A training job: the engine that its experiment names, or "", and the block."""


@dataclass(frozen=True)
class Cost:
    """Trials, trial-steps, what they take of one core and of each card, and bytes of their files.

    `card_hours` is calculated; core-hours and bytes come from measurements.
    """

    trials: int = 0
    trial_steps: int = 0
    core_hours: float = 0.0
    card_hours: dict[str, float] = field(default_factory=lambda: {c.name: 0.0 for c in CARDS})
    file_bytes: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.trials + other.trials,
            self.trial_steps + other.trial_steps,
            self.core_hours + other.core_hours,
            {name: hours + other.card_hours[name] for name, hours in self.card_hours.items()},
            self.file_bytes + other.file_bytes,
        )


@dataclass(frozen=True)
class Row:
    """What an experiment, or a design, would take.

    cells
        Values of the axes, under each protocol and by each engine.
    jobs
        Training jobs.
    steps
        Optimiser steps of a trial: the different numbers there are.
    shared
        Other experiment → trials that it asks for as well.
    longest_job
        Core-hours of the longest job.
    """

    name: str
    cells: int
    jobs: int
    steps: tuple[int, ...]
    cost: Cost
    shared: dict[str, int]
    longest_job: float

    def hours(self, cores: int) -> float:
        """Return the hours on some cores, no fewer than the longest job takes on one."""
        return max(self.cost.core_hours / cores, self.longest_job)


def block_cost(block: Block, design: Design, coefficients: Coefficients) -> Cost:
    """Return what one training job costs, by the native engine.

    A relu, the naive loss and an embedding that is not trained count like the default.
    """
    protocol = design.protocols[block.protocol]
    cell, trials, steps = block.cell, len(block.trials), protocol.steps
    size = Size(cell.p, cell.d, cell.width)
    double = protocol.arithmetic == "float64"
    recorded = len(recorded_steps(protocol.record, steps))
    seconds = coefficients.core_time.predict(size, steps, trials, recorded)
    return Cost(
        trials,
        trials * steps,
        seconds * (coefficients.float64 if double else 1) / 3600,
        {c.name: trials * steps * _step_seconds(size, c, 8 if double else 4) / 3600 for c in CARDS},
        coefficients.compression.file_bytes(block, protocol),
    )


_step_seconds = lru_cache(maxsize=None)(step_seconds)


def plan(design: Design, coefficients: Coefficients) -> tuple[list[Row], Row]:
    """Return a row for each experiment, as if it were alone, and one for all together."""
    jobs = {name: _jobs(design, name) for name in design.experiments}
    costs = {
        job: block_cost(job[1], design, coefficients)
        for job in dict.fromkeys(job for some in jobs.values() for job in some)
    }
    rows = []
    for name, own in jobs.items():
        shared = {
            other: sum(costs[job].trials for job in set(own) & set(theirs))
            for other, theirs in jobs.items()
            if other != name
        }
        shared = {other: trials for other, trials in shared.items() if trials}
        rows.append(_row(name, design, own, costs, shared))
    return rows, _row("together", design, list(costs), costs, {})


def _jobs(design: Design, name: str) -> list[Job]:
    """Return an experiment's jobs, those among them whose results its interventions need."""
    engines = design.experiments[name].engines or [""]
    needed: dict[Job, None] = {}
    for engine, block in ((e, b) for e in engines for b in blocks(design, name)):
        if parse_intervention(block.cell.intervention).needs_base:
            needed[engine, block.base] = None
        needed[engine, block] = None
    return list(needed)


def _row(
    name: str, design: Design, jobs: list[Job], costs: dict[Job, Cost], shared: dict[str, int]
) -> Row:
    cells: set[tuple[str, str, Cell]] = {
        (engine, block.protocol, block.cell) for engine, block in jobs
    }
    steps = {design.protocols[block.protocol].steps for _, block in jobs}
    each = [costs[job] for job in jobs]
    longest = max(cost.core_hours for cost in each)
    return Row(name, len(cells), len(jobs), tuple(sorted(steps)), total(each), shared, longest)


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of some costs."""
    return sum(costs, Cost())
