"""Speed on a GPU, and what TF32 does to who survives: `python -m benchmarks.gpu`, by hand.

Time is that of a wall clock, from two lengths of run, so that starting up is told from steps.
Results go to results/benchmarks/gpu.json, by the name of the device.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.contestants import DENSE, SPARSE, WEIGHT_DECAY
from benchmarks.costs import ROOT
from benchmarks.ordinary_loop import train_one
from fittest.cells import REDRAWN, Cell
from fittest.files import write_text
from fittest.plan.gpu_bound import step_bytes
from fittest.plan.products import Size, floor_products, flops
from fittest.protocol import Protocol
from fittest.provenance import provenance
from fittest.recording import recorded_steps
from fittest.training.arrays import InitialState, initial_state
from fittest.training.ensemble import train_ensemble
from fittest.training.gpu import TF32_FROM, matrix_products
from fittest.training.record import Record

RESULTS = ROOT / "results/benchmarks/gpu.json"


def draw(size: Size, trials: int) -> InitialState:
    """Return what trials of a size start from."""
    cell = Cell(p=size.p, d=size.d, width=size.width, embedding=REDRAWN)
    return initial_state(cell, Protocol(), 0, range(trials))


def slope(run: Callable[[int], object], few: int, many: int) -> tuple[float, float]:
    """Return seconds to start and seconds a step, from runs of two lengths after one to warm up."""
    seconds = []
    for steps in (few, few, many):
        began = time.perf_counter()
        run(steps)
        seconds.append(time.perf_counter() - began)
    step = (seconds[2] - seconds[1]) / (many - few)
    return max(0.0, seconds[1] - few * step), step


def peaks(device: str, n: int = 8192) -> dict[str, float]:
    """Measure bytes a second of a large copy and operations a second of a large product."""
    a, b, out = (torch.randn(n, n, device=device) for _ in range(3))

    def rate(run: Callable[[], object], amount: float) -> float:
        def repeat(times: int) -> None:
            for _ in range(times):
                run()
            float(out[0, 0])  # waits for the device

        return amount / slope(repeat, 10, 110)[1]

    with matrix_products("float32"):
        products = rate(lambda: torch.mm(a, b, out=out), flops([(n, n, n)]))
    moves = rate(lambda: out.copy_(a), 2 * a.nbytes)
    return {"bytes_per_s": moves, "float32_flop_per_s": products}


def train(start: InitialState, device: str, **protocol: Any) -> Record:
    """Train all trials of a start by the torch engine."""
    arrays = (start.parameters, start.train_pairs)
    how = {"weight_decay": WEIGHT_DECAY, "engine": "torch", "device": device}
    return train_ensemble(*arrays, Protocol(**protocol), **how)


def speed(size: Size, trials: int, device: str, few: int = 50, many: int = 350) -> dict[str, float]:
    """Time engine and ordinary loop; trials a minute are extrapolated to whole default runs."""
    start, whole = draw(size, trials), Protocol()
    begin, step = slope(lambda n: train(start, device, steps=n, record=SPARSE), few, many)
    _, dense = slope(lambda n: train(start, device, steps=n, record=DENSE), few, many)
    evaluations = len(recorded_steps(whole.record, whole.steps))
    seconds = begin + whole.steps * step + evaluations * max(0.0, dense - step)
    one, pairs = [array[0] for array in start.parameters.arrays()], start.train_pairs[0]
    same = {"dtype": torch.float32, "device": device}
    _, loop = slope(lambda n: train_one(one, pairs, n, **same), few, many)
    return {
        "trials": trials,
        "seconds_per_trial_step": step / trials,
        "trials_per_minute": 60 * trials / seconds,
        "ordinary_loop_trials_per_minute": 60 / (whole.steps * loop),
    }


def shares(size: Size, seconds: float, found: dict[str, float]) -> dict[str, float]:
    """Return what share of a trial-step's time its bytes and its products need at the peaks."""
    products = flops(floor_products(size)) / found["float32_flop_per_s"]
    moves = step_bytes(size) / found["bytes_per_s"]
    return {"share_of_bandwidth": moves / seconds, "share_of_arithmetic": products / seconds}


def survivors(size: Size, trials: int, device: str, arithmetics: list[str], steps: int) -> dict:
    """Compare who survives (rule `relative`) from the same arrays in each arithmetic."""
    start = draw(size, trials)
    alive = {}
    for name in arithmetics:
        record = train(start, device, arithmetic=name, steps=steps, record=SPARSE)
        alive[name] = record.signal[:, -1] > 2 * record.mean_signal[:, -1, None]
    same = int((alive[arithmetics[0]] == alive[arithmetics[-1]]).all(axis=1).sum())
    mean = {f"circles_{name}": float(x.sum(1).mean()) for name, x in alive.items()}
    return {"trials": trials, "steps": steps, "trials_with_same_survivors": same, **mean}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; return 1 where there is no GPU."""
    parser = argparse.ArgumentParser(prog="benchmarks.gpu", description=__doc__)
    parser.add_argument("--trials", type=int, default=256, help="in the timed ensemble")
    parser.add_argument("--survivors", type=int, default=50, help="trials with and without TF32")
    parser.add_argument("--output", type=Path, default=RESULTS, help=f"default {RESULTS}")
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print("no GPU that torch can use is here: nothing measured", file=sys.stderr)
        return 1
    device, size = "cuda", Size(59, 128)
    found = peaks(device)
    timed = speed(size, options.trials, device)
    report = {**found, **timed, **shares(size, timed["seconds_per_trial_step"], found)}
    both = ["float32", "tf32"][: 1 + (torch.cuda.get_device_capability() >= TF32_FROM)]
    report["survivors"] = survivors(size, options.survivors, device, both, Protocol().steps)
    old = json.loads(options.output.read_text("utf-8")) if options.output.exists() else {}
    name = torch.cuda.get_device_name()
    old[name] = report | {"torch": torch.__version__, "cuda": torch.version.cuda, **provenance()}
    write_text(options.output, json.dumps(old, indent=2) + "\n")
    print(json.dumps(old[name], indent=2), f"\nwritten to {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
