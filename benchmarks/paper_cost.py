"""What the paper's full design would cost: `python -m benchmarks.paper_cost`.

Trials and steps come from benchmarks/paper-full.yaml; core time from the cost model that
`python -m benchmarks.growth` fitted to measured cells; GPU time from fittest.plan.gpu_bound, by
calculation. Nothing is trained. A relu or an embedding that is not trained counts like the default.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from benchmarks.costs import ROOT
from benchmarks.growth import RESULTS
from fittest.cells import Block
from fittest.design import Design, blocks, load_design
from fittest.plan.cost_model import CostModel
from fittest.plan.gpu_bound import CARDS, PEAK_SHARE, bounds, step_bytes, step_seconds
from fittest.plan.products import Size, floor_products, flops
from fittest.recording import recorded_steps

DESIGN = ROOT / "benchmarks/paper-full.yaml"
OURS = ("width", "protocol")
"""Experiments that the paper does not have."""

CORES = 2


@dataclass
class Cost:
    """Trials, trial-steps, and the hours they take: of one core, and of each card."""

    trials: int = 0
    trial_steps: int = 0
    core_hours: float = 0.0
    card_hours: dict[str, float] = field(default_factory=lambda: {c.name: 0.0 for c in CARDS})

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.trials + other.trials,
            self.trial_steps + other.trial_steps,
            self.core_hours + other.core_hours,
            {name: hours + other.card_hours[name] for name, hours in self.card_hours.items()},
        )


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of some costs."""
    return sum(costs, Cost())


def block_cost(block: Block, design: Design, model: CostModel, float64: float) -> Cost:
    """Return what one training job costs.

    Parameters
    ----------
    block, design
        The job, and the design that has its protocol.
    model
        Of core time in float32.
    float64
        How many times longer float64 takes.
    """
    protocol = design.protocols[block.protocol]
    cell, trials, steps = block.cell, len(block.trials), protocol.steps
    size = Size(cell.p, cell.d, cell.width)
    double = protocol.arithmetic == "float64"
    recorded = len(recorded_steps(protocol.record, steps))
    seconds = model.predict(size, steps, trials, recorded) * (float64 if double else 1)
    return Cost(
        trials,
        trials * steps,
        seconds / 3600,
        {c.name: trials * steps * _step_seconds(size, c, 8 if double else 4) / 3600 for c in CARDS},
    )


_step_seconds = lru_cache(maxsize=None)(step_seconds)


def experiment_costs(design: Design, model: CostModel, float64: float) -> dict[str, Cost]:
    """Return the cost of every experiment, as if it were alone; see `block_cost`.

    Experiments whose names go on after `protocol-` are one, `protocol`.
    """
    costs: dict[str, Cost] = {}
    for name in design.experiments:
        group = "protocol" if name.startswith("protocol") else name
        parts = [block_cost(block, design, model, float64) for block in blocks(design, name)]
        costs[group] = total([costs.get(group, Cost()), *parts])
    return costs


def shared_cost(design: Design, model: CostModel, float64: float) -> Cost:
    """Return the cost of all experiments where a job that several ask for is done once."""
    every = dict.fromkeys(block for name in design.experiments for block in blocks(design, name))
    return total(block_cost(block, design, model, float64) for block in every)


def table(costs: dict[str, Cost]) -> str:
    """Return costs by name as an aligned table."""
    cards = "".join(f"{card.name + ' h':>10}" for card in CARDS)
    lines = [f"{'experiment':<26}{'trials':>8}{'M trial-steps':>15}{'core-hours':>12}{cards}"]
    for name, c in costs.items():
        hours = "".join(f"{c.card_hours[card.name]:>10.2f}" for card in CARDS)
        steps = c.trial_steps / 1e6
        lines.append(f"{name:<26}{c.trials:>8}{steps:>15.1f}{c.core_hours:>12.1f}{hours}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Print the costs; return 1 where growth has not been measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.paper_cost", description=__doc__)
    parser.add_argument("--growth", type=Path, default=RESULTS, help=f"default {RESULTS}")
    parser.add_argument("--torch", action="store_true", help="the torch engine's core time")
    options = parser.parse_args(arguments)

    engine = "torch" if options.torch else "native"
    measured = json.loads(options.growth.read_text()) if options.growth.exists() else {}
    if engine not in measured:
        print(f"{options.growth} has no {engine} engine: run python -m benchmarks.growth first")
        return 1
    about, found = measured["machine"]["measured"][engine], measured[engine]
    model, float64 = CostModel.from_results(found["cost_model"]), found["float64_over_float32"]
    design = load_design(DESIGN)

    costs = experiment_costs(design, model, float64)
    paper = total(cost for name, cost in costs.items() if name not in OURS)
    once = shared_cost(design, model, float64)
    sums = {
        "the paper's": paper,
        "and ours": total(costs.values()),
        "all, shared trials once": once,
    }
    print(f"{engine} engine, core time as measured on {about['cpu']}, {about['date']}\n")
    print(table(costs | sums))
    print()
    for name, cost in sums.items():
        print(f"{name}: {cost.core_hours / CORES / 24:.1f} days on {CORES} cores", end="; ")
        print(", ".join(f"{hours / 24:.2f} {card} days" for card, hours in cost.card_hours.items()))
    print(
        "\nThe GPU columns are calculated and have not been measured on a GPU: the larger of the\n"
        f"matrix products at {PEAK_SHARE:.0%} of the peak and the bytes moved at full bandwidth. "
        "They leave out\nlaunching kernels and recording. A trial-step at the defaults:"
    )
    size = Size(59, 128)
    work = f"{flops(floor_products(size)) / 1e6:.0f} Mflop", f"{step_bytes(size) / 1e6:.1f} MB"
    for card in CARDS:
        arithmetic, memory = (1e6 * seconds for seconds in bounds(size, card))
        print(
            f"{card.name}: {work[0]} at {PEAK_SHARE:.0%} of {card.tera_flops:g} TFLOP/s, "
            f"{arithmetic:.1f} µs; {work[1]} at {card.gigabytes_per_second:g} GB/s, {memory:.1f} µs"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
