"""How training cost grows with p, d, width, trials and threads: `python -m benchmarks.growth`.

One axis varies at a time around the default cell. All points take turns, several rounds of it;
time is the median over rounds, and every exponent has a bootstrap interval over rounds. A cost
model is fitted to the points and tried on cells that it has not seen. Results go to
results/benchmarks/growth.json, by engine; `python -m benchmarks.paper_cost` reads them.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import WARM_UP
from benchmarks.costs import ROOT, machine
from benchmarks.exponents import growth
from benchmarks.report import merge
from benchmarks.training import one_core
from fittest.cells import REDRAWN, Cell
from fittest.plan.cost_model import CostModel
from fittest.plan.products import Size
from fittest.protocol import Protocol, Recording
from fittest.training.arrays import InitialState, Parameters, initial_state
from fittest.training.engines import native_levels
from fittest.training.ensemble import train_ensemble

RESULTS = ROOT / "results/benchmarks/growth.json"
AXES: dict[str, tuple[int, ...]] = {
    "p": (13, 23, 31, 59, 97, 127),
    "d": (16, 32, 64, 128, 256, 512),
    "width": (25, 50, 100, 200, 400, 800),
    "trials": (1, 2, 5, 10, 20, 50),
}
THREADS = 2
UNSEEN = (Size(31, 64, 50), Size(97, 32, 200), Size(23, 256, 400), Size(127, 96, 50))
"""Cells off the axes, which the cost model is tried on."""

# Steps between are not looked at: what recording costs is benchmarks.training's.
ENDS_ONLY = Recording(dense_until=0, every=10**8, gradients=0, snapshots=[])


@dataclass(frozen=True)
class Point:
    """What is timed: a cell, how many trials on how many threads, and the arithmetic."""

    p: int = 59
    d: int = 128
    width: int = 100
    trials: int = 1
    threads: int = 1
    arithmetic: str = "float32"

    @property
    def size(self) -> Size:
        """The cell's size."""
        return Size(self.p, self.d, self.width)


def on_axis(axis: str, values: Sequence[int], **fixed: Any) -> list[Point]:
    """Return the points along an axis, the defaults elsewhere."""
    return [replace(Point(), **{axis: value}, **fixed) for value in values]


def all_points(axes: dict[str, tuple[int, ...]]) -> list[Point]:
    """Return every point once: the axes, trials also on more threads, float64, unseen cells."""
    points = [point for axis, values in axes.items() for point in on_axis(axis, values)]
    points += on_axis("trials", axes["trials"], threads=THREADS)
    points.append(Point(arithmetic="float64"))
    points += [Point(size.p, size.d, size.width) for size in UNSEEN]
    return list(dict.fromkeys(points))


class Timed:
    """A point with its initial arrays, ready to be timed."""

    def __init__(self, point: Point, engine: str, state: InitialState, seconds: float) -> None:
        self.point, self.engine = point, engine
        some = slice(0, point.trials)
        self.initial = Parameters(*(array[some] for array in state.parameters.arrays()))
        self.pairs = state.train_pairs[some]
        # About as long for every point: noise is then about as large.
        self.counted, budget = 4, 1000 * seconds / point.trials
        while (core := self.run()[0]) * self.counted < budget / 10:
            self.counted *= 4  # too short to tell how long a step takes
        self.counted = max(6, math.ceil(budget / core))

    def run(self) -> np.ndarray:
        """Return core-ms and wall-ms per trial-step: a long run less a short one."""
        # The difference leaves out all that a run does once.
        long, short = (self._clock(WARM_UP + extra) for extra in (self.counted, 0))
        return 1000 * (long - short) / (self.counted * self.point.trials)

    def _clock(self, steps: int) -> np.ndarray:
        protocol = Protocol(steps=steps, record=ENDS_ONLY, arithmetic=self.point.arithmetic)
        with one_core() if self.point.threads == 1 else nullcontext():
            before = np.array([time.process_time(), time.perf_counter()])
            train_ensemble(
                self.initial,
                self.pairs,
                protocol,
                weight_decay=0.5,
                engine=self.engine,
                threads=self.point.threads,
            )
            return np.array([time.process_time(), time.perf_counter()]) - before


def measure(points: list[Point], engine: str, rounds: int, seconds: float) -> np.ndarray:
    """Return core-ms and wall-ms per trial-step, shape (rounds, points, 2)."""
    most = {point.size: 0 for point in points}
    for point in points:
        most[point.size] = max(most[point.size], point.trials)
    states = {
        size: initial_state(
            Cell(size.p, size.d, width=size.width, embedding=REDRAWN), Protocol(), 0, range(trials)
        )
        for size, trials in most.items()
    }
    timed = [Timed(point, engine, states[point.size], seconds) for point in points]
    return np.array([[one.run() for one in timed] for _ in range(rounds)])


def analyse(
    points: list[Point], times: np.ndarray, axes: dict[str, tuple[int, ...]]
) -> dict[str, Any]:
    """Return medians of every point, exponents along every axis, and the cost model.

    Parameters
    ----------
    points, times
        As `measure` takes and returns them.
    axes
        The values on every axis.
    """
    core = times[:, :, 0]
    median = dict(zip(points, np.median(core, axis=0).tolist(), strict=True))
    rows = [
        asdict(point)
        | {
            "core_ms_per_trial_step": median[point],
            "wall_ms_per_trial_step": float(np.median(times[:, i, 1])),
            "core_ms_least": float(core[:, i].min()),
            "core_ms_most": float(core[:, i].max()),
        }
        for i, point in enumerate(points)
    ]
    lines = {axis: on_axis(axis, values) for axis, values in axes.items()}
    lines[f"trials, {THREADS} threads"] = on_axis("trials", axes["trials"], threads=THREADS)
    exponents = {
        name: growth(axes[name.partition(",")[0]], core[:, [points.index(point) for point in line]])
        for name, line in lines.items()
    }
    fitted = list(dict.fromkeys(p.size for axis in ("p", "d", "width") for p in lines[axis]))
    ms = {point.size: median[point] for point in points if point == alone(point.size)}
    model = CostModel.fit(fitted, [ms[size] for size in fitted])
    return {
        "points": rows,
        "exponents": exponents,
        "float64_over_float32": median[Point(arithmetic="float64")] / median[Point()],
        "cost_model": model.results(),
        "residuals": residuals(model, fitted, ms),
        "residuals_unseen": residuals(model, UNSEEN, ms),
    }


def alone(size: Size) -> Point:
    """Return the point of a size: one trial, one thread."""
    return Point(size.p, size.d, size.width)


def residuals(model: CostModel, sizes: Sequence[Size], ms: dict[Size, float]) -> dict[str, float]:
    """Return predicted over measured time less one, by size."""
    found = model.residuals(sizes, [ms[size] for size in sizes])
    return {size.key: residual for size, residual in zip(sizes, found, strict=True)}


def table(found: dict[str, Any]) -> str:
    """Return the points of every axis and their exponents as text."""
    lines = []
    for name, exponents in found["exponents"].items():
        axis = name.partition(",")[0]
        threads = THREADS if "," in name else 1
        line = [
            row
            for row in found["points"]
            if row["threads"] == threads
            and row["arithmetic"] == "float32"
            and all(row[other] == getattr(Point(), other) for other in AXES if other != axis)
        ]
        line.sort(key=lambda row: row[axis])
        lines.append(f"\n{name:<20}" + "".join(f"{row[axis]:>9}" for row in line))
        for kind in ("core", "wall"):
            label = f"{kind}-ms per trial-step"
            times = (row[f"{kind}_ms_per_trial_step"] for row in line)
            lines.append(f"{label:<20}" + "".join(f"{t:>9.3g}" for t in times))
        for part, label in (("whole", "exponent"), ("upper_half", "its upper half")):
            e = exponents[part]
            lines.append(f"{label:<20}{e['exponent']:>9.2f} ({e['low']:.2f} to {e['high']:.2f})")
    lines.append(f"\nfloat64: {found['float64_over_float32']:.2f} times the float32 time")
    prices = ", ".join(
        f"{price:.3g} per {kind.removeprefix('core_ms_per_').replace('_', ' ')}"
        for kind, price in found["cost_model"].items()
    )
    lines.append(f"cost model, core-ms: {prices}")
    for key, label in (("residuals", "fitted"), ("residuals_unseen", "not fitted")):
        each = ", ".join(f"{size} {residual:+.0%}" for size, residual in found[key].items())
        lines.append(f"its residuals where {label}: {each}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="benchmarks.growth", description=__doc__)
    parser.add_argument("--torch", action="store_true", help="the torch engine, not the native one")
    parser.add_argument("--short", action="store_true", help="fewer steps and rounds")
    parser.add_argument("--output", type=Path, default=RESULTS, help=f"default {RESULTS}")
    options = parser.parse_args(arguments)

    engine = "torch" if options.torch or not native_levels() else "native"
    rounds, seconds = (2, 0.03) if options.short else (9, 0.3)
    about = machine() | {"native_level": (native_levels() or ["not built"])[0]}
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    points = all_points(AXES)
    found = analyse(points, measure(points, engine, rounds, seconds), AXES)
    print(f"\n{engine} engine, median of {rounds} rounds (exponents: 95% interval over rounds)")
    print(table(found))
    stamp = {name: about[name] for name in ("date", "git_revision", "cpu", "native_level")}
    about["measured"] = {engine: stamp | {"rounds": rounds}}
    merge(options.output, {"machine": about, engine: found})
    print(f"\nwritten to {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
