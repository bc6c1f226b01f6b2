"""Core time of a training step, and what a trial costs besides: `python -m benchmarks.training`.

Contestants take turns, several rounds of it, because machines are shared: time is the median over
rounds, and a ratio is taken within each round before its median. One thread, one core,
`time.process_time`. Results go to results/benchmarks/training.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.contestants import (
    Contestant,
    Floor,
    Size,
    compiled_stack,
    contestants,
    floor_products,
    flops,
)
from benchmarks.costs import (
    BYTES_ALLOWED,
    ROOT,
    machine,
    memory_costs,
    snakemake_costs,
    start_up_costs,
    storage_costs,
)
from fittest.files import write_text

RESULTS = ROOT / "results/benchmarks/training.json"
SIZES = (Size(59, 128), Size(31, 64), Size(97, 128), Size(59, 16))
BAR = 3.0
BARRED = ("torch", "torch_ensemble_4", "torch_ensemble_8")
"""Every one of these must be `BAR` times faster than the float64 loop."""

Results = dict[str, dict[str, float]]


def take_turns(entrants: list[Contestant], rounds: int) -> np.ndarray:
    """Return core-ms per trial-step, shape (rounds, contestants)."""
    return np.array([[entrant.run() for entrant in entrants] for _ in range(rounds)])


def summarise(keys: list[str], times: np.ndarray) -> Results:
    """Return each contestant's time and its ratios to the float64 loop and the floor.

    Parameters
    ----------
    keys
        Of the contestants, `float64_loop` and `floor` among them.
    times
        Shape (rounds, contestants).

    Returns
    -------
    dict
        By key: `core_ms_per_trial_step`; `ratio_to_float64_loop`, how many times faster than that
        loop; `ratio_to_floor`, how many times the floor's time; `…_least` and `…_most` of each.
    """
    ratios = {
        "ratio_to_float64_loop": times[:, [keys.index("float64_loop")]] / times,
        "ratio_to_floor": times / times[:, [keys.index("floor")]],
    }
    results = {}
    for i, key in enumerate(keys):
        results[key] = {"core_ms_per_trial_step": float(np.median(times[:, i]))}
        for name, ratio in ratios.items():
            results[key] |= {
                name: float(np.median(ratio[:, i])),
                f"{name}_least": float(ratio[:, i].min()),
                f"{name}_most": float(ratio[:, i].max()),
            }
    return results


def table(entrants: list[Contestant], results: Results) -> str:
    """Return the results of a size as an aligned table."""
    head = ("core-ms per trial-step", "", "times faster than float64 loop", "times the floor")
    rows: list[tuple[str, ...]] = [head]
    for entrant in entrants:
        r = results[entrant.key]
        cells = [
            f"{r[name]:.2f} ({r[name + '_least']:.2f}-{r[name + '_most']:.2f})"
            for name in ("ratio_to_float64_loop", "ratio_to_floor")
        ]
        rows.append((entrant.label, f"{r['core_ms_per_trial_step']:.2f}", *cells))
    return "\n".join(f"{a:<32}{b:>8}{c:>32}{d:>22}" for a, b, c, d in rows)


def bar(results: Results) -> tuple[bool, str]:
    """Return whether the engine is fast enough at a size, and the line that says so."""
    ratio = min(results[key]["ratio_to_float64_loop"] for key in BARRED)
    met = ratio >= BAR
    return met, f"bar: {ratio:.2f} times, at least {BAR:g}: {'ok' if met else 'MISSED'}"


def why_not_compiled(asked: bool) -> str | None:
    """Return why torch.compile does not take part, or None where it can."""
    if not asked:
        return "not asked for: --compile"
    names = [os.environ.get("CXX"), "g++", "clang++", "c++"]
    return None if any(name and shutil.which(name) for name in names) else "no C++ compiler"


@contextmanager
def one_core() -> Iterator[None]:
    """One thread of torch, pinned to one core where the system can."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else None
    if allowed is not None:
        os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        if allowed is not None:
            os.sched_setaffinity(0, allowed)
        torch.set_num_threads(threads)


def time_size(size: Size, rounds: int, *, short: bool, compile_: bool) -> Results:
    """Time and print one size."""
    floor = Floor.fastest(size, tries=1 if short else 4)
    entrants = contestants(size, floor, short=short)
    skipped = why_not_compiled(compile_)
    if skipped is None:
        try:
            entrants.append(compiled_stack(size, 4 if short else 8))
        except Exception as error:  # a broken compiler must not cost the rest of the report
            skipped = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    results = summarise([e.key for e in entrants], take_turns(entrants, rounds))
    work = flops(floor_products(size))
    rate = work / results["floor"]["core_ms_per_trial_step"] / 1e6
    results["floor"] |= {"gflop_per_s": rate, "row_block": floor.block}
    print(f"\np = {size.p}, d = {size.d}, width {size.width}: median of {rounds} rounds", end=" ")
    print("(ratios: least-most of the rounds)")
    print(table(entrants, results))
    if skipped is not None:
        print(f"torch.compile skipped: {skipped}")
    print(f"floor: {work / 1e6:.1f} Mflop a step at {rate:.1f} GFLOP/s in row blocks of", end=" ")
    print(floor.block)
    print(bar(results)[1], flush=True)
    return results


def time_large_product(n: int = 2048) -> float:
    """Return the GFLOP/s of one n³ product in float32, the best of two."""
    a, b, out = (torch.randn(n, n) for _ in range(3))
    seconds = []
    for _ in range(2):
        began = time.process_time()
        torch.mm(a, b, out=out)
        seconds.append(time.process_time() - began)
    return flops([(n, n, n)]) / min(seconds) / 1e9


def measure_costs(*, short: bool) -> dict[str, dict[str, Any]]:
    """Measure and print what a trial costs besides training."""
    snakemake = snakemake_costs(jobs=20 if short else 60)
    start_up = start_up_costs(rounds=1 if short else 3)
    storage = storage_costs(blocks=(10,) if short else (10, 50))
    memory = memory_costs(steps=1 if short else 3)
    print(
        f"\nsnakemake: {snakemake['start_seconds']:.1f} s to start, "
        f"{1000 * float(snakemake['seconds_per_job']):.0f} ms a job (wall, "
        f"{snakemake['jobs_timed']} trivial jobs); {snakemake['design']} design planned in "
        f"{snakemake['dry_run_seconds']:.1f} s, {snakemake['design_jobs']} jobs"
    )
    seconds = [start_up[f"import_{name}_seconds"] for name in ("torch", "fittest", "python")]
    print(
        "start-up: {:.2f} s importing torch, {:.2f} s importing only fittest, {:.2f} s bare python "
        "(core time)".format(*seconds)
    )
    for name, size in storage.items():
        verdict = "ok" if size <= BYTES_ALLOWED else "MISSED"
        trials = name.rpartition("_")[2]
        print(f"storage: {size / 1000:.0f} kB a trial, {trials} in a file, at most 300: {verdict}")
    print(
        f"memory: {memory['peak_bytes'] / 1e6:.0f} MB at the peak of training {memory['trials']} "
        f"trials, {memory['peak_bytes_before_training'] / 1e6:.0f} MB before"
    )
    return {"snakemake": snakemake, "start_up": start_up, "storage": storage, "memory": memory}


def merge(path: Path, report: dict[str, Any]) -> None:
    """Write a report; what the file has on other sizes stays."""
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    measured = old.get("machine", {}).get("measured", {}) | report["machine"]["measured"]
    merged = old | report
    merged["machine"] = report["machine"] | {"measured": measured}
    write_text(path, json.dumps(merged, indent=2) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; return 1 where `--check` finds the bar missed."""
    parser = argparse.ArgumentParser(prog="benchmarks.training", description=__doc__)
    parser.add_argument("--all", action="store_true", help="three more sizes")
    parser.add_argument("--short", action="store_true", help="fewer steps and rounds, for CI")
    parser.add_argument("--compile", action="store_true", help="also torch.compile")
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")
    parser.add_argument("--output", type=Path, default=RESULTS, help=f"default {RESULTS}")
    options = parser.parse_args(arguments)

    about = machine()
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    rounds = 2 if options.short else 9
    sizes = SIZES if options.all else SIZES[:1]
    with one_core():
        about["gflop_per_s_of_2048_cubed"] = time_large_product()
        print(f"one 2048³ product: {about['gflop_per_s_of_2048_cubed']:.1f} GFLOP/s, float32")
        report: dict[str, Any] = {
            size.key: time_size(size, rounds, short=options.short, compile_=options.compile)
            for size in sizes
        }
    met = all(bar(report[size.key])[0] for size in sizes)
    stamp = {name: about[name] for name in ("date", "git_revision", "cpu")}
    about["measured"] = {size.key: stamp | {"rounds": rounds} for size in sizes}
    report |= {"machine": about} | measure_costs(short=options.short)
    met &= all(size <= BYTES_ALLOWED for size in report["storage"].values())
    merge(options.output, report)
    print(f"\nwritten to {options.output}")
    return int(options.check and not met)


if __name__ == "__main__":
    sys.exit(main())
