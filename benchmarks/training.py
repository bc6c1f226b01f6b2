"""Core time of a training step, and what a trial costs besides: `python -m benchmarks.training`.

Contestants take turns, several rounds of it, because machines are shared: time is the median over
rounds, and a ratio is taken within each round before its median. One thread, one core,
`time.process_time`. Results go to results/benchmarks/training.json.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from benchmarks.bars import Results, verdicts
from benchmarks.contestants import compiled_stack, contestants
from benchmarks.costs import (
    BYTES_ALLOWED,
    ROOT,
    machine,
    memory_costs,
    snakemake_costs,
    start_up_costs,
    storage_costs,
)
from benchmarks.floor import Floor
from benchmarks.report import merge, product_rate, summarise, summary, table, take_turns
from fittest.plan.products import Size, floor_products, flops
from fittest.training.engines import native_levels

RESULTS = ROOT / "results/benchmarks/training.json"
SIZES = (Size(59, 128), Size(31, 64), Size(97, 128), Size(59, 16))


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
    for result in results.values():
        result["gflop_per_s"] = product_rate(size, result["core_ms_per_trial_step"])
    results["floor"]["row_block"] = floor.block
    rate = results["floor"]["gflop_per_s"]
    print(f"\np = {size.p}, d = {size.d}, width {size.width}: median of {rounds} rounds", end=" ")
    print("(ratios: least-most of the rounds)")
    print(table(entrants, results))
    if skipped is not None:
        print(f"torch.compile skipped: {skipped}")
    work = flops(floor_products(size)) / 1e6
    print(f"floor: {work:.1f} Mflop a step at {rate:.1f} GFLOP/s in row blocks of {floor.block}")
    for _, line in verdicts(size, results, compile_=compile_):
        print(line, flush=True)
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


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark; return 1 where `--check` finds the bar missed."""
    parser = argparse.ArgumentParser(prog="benchmarks.training", description=__doc__)
    parser.add_argument("--all", action="store_true", help="three more sizes")
    parser.add_argument("--short", action="store_true", help="fewer steps and rounds, for CI")
    parser.add_argument("--compile", action="store_true", help="also torch.compile")
    parser.add_argument("--check", action="store_true", help="exit 1 where a bar is missed")
    parser.add_argument("--output", type=Path, default=RESULTS, help=f"default {RESULTS}")
    options = parser.parse_args(arguments)

    levels = native_levels()
    about = machine() | {"native_level": levels[0] if levels else "not built"}
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    rounds = 2 if options.short else 9
    sizes = SIZES if options.all else SIZES[:1]
    with one_core():
        rate = about["gflop_per_s_of_2048_cubed"] = time_large_product()
        print(f"one 2048³ product: {rate:.1f} GFLOP/s, float32")
        results = {
            size: time_size(size, rounds, short=options.short, compile_=options.compile)
            for size in sizes
        }
    if options.all:
        print(f"\nnative engine ({about['native_level']}), recording every step / every 100")
        print(summary(results, rate), flush=True)
    met = all(
        kept
        for size, found in results.items()
        for kept, _ in verdicts(size, found, compile_=options.compile)
    )
    stamp = {name: about[name] for name in ("date", "git_revision", "cpu", "native_level")}
    about["measured"] = {size.key: stamp | {"rounds": rounds} for size in sizes}
    report: dict[str, Any] = {size.key: found for size, found in results.items()}
    report |= {"machine": about} | measure_costs(short=options.short)
    met &= all(size <= BYTES_ALLOWED for size in report["storage"].values())
    merge(options.output, report)
    print(f"\nwritten to {options.output}")
    return int(options.check and not met)


if __name__ == "__main__":
    sys.exit(main())
