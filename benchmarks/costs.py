"""The machine, and what a trial costs besides training: Snakemake, start-up, disk and memory."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from fittest.cells import REDRAWN, Block, Cell
from fittest.protocol import Protocol
from fittest.provenance import provenance
from fittest.recording import gradient_steps, recorded_steps, snapshot_steps
from fittest.task import training_pairs_count
from fittest.training.arrays import initial_state
from fittest.training.ensemble import train_ensemble
from fittest.training.record import Record
from fittest.trajectories import open_trajectories, trajectory_dataset, write_trajectories

ROOT = Path(__file__).parents[1]
BYTES_ALLOWED = 300_000
"""Of one trial at the defaults (docs/method.md, what must be recorded)."""

WORKFLOW = """
rule all:
    input: expand("{{i}}", i=range({jobs}))
rule one:
    output: "{{i}}"
    shell: "true > {{output}}"
"""

# The peak of this process alone: ru_maxrss survives exec on Linux, so it may be its parent's.
PEAK = """
import re, resource, sys
def peak():
    try:
        text = open("/proc/self/status").read()
        return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", text)[1])
    except (OSError, TypeError):
        unit = 1 if sys.platform == "darwin" else 1024
        return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
"""

TRAIN = """
import sys
import torch
torch.set_num_threads(1)
from fittest.cells import REDRAWN, Cell
from fittest.protocol import Protocol
from fittest.training.arrays import initial_state
from fittest.training.ensemble import train_ensemble
p, d, width, trials, steps = map(int, sys.argv[1:])
before = peak()
start = initial_state(Cell(p, d, width=width, embedding=REDRAWN), Protocol(), 0, range(trials))
protocol = Protocol(steps=steps)
train_ensemble(start.parameters, start.train_pairs, protocol, weight_decay=0.5)
print(before, peak())
"""


def machine() -> dict[str, Any]:
    """Return what the numbers were measured on."""
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
        name = found[1] if found else name
    blas = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    origin = provenance()
    return {
        "cpu": name,
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "blas": blas[1] if blas else "unknown",
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "date": origin["created"],
        "git_revision": origin["git_revision"],
    }


def snakemake_costs(*, jobs: int = 60, design: str = "paper") -> dict[str, float | int | str]:
    """Measure Snakemake's own cost: of a job, and of planning a design.

    Returns
    -------
    dict
        Wall time of a workflow of trivial jobs: `seconds_per_job`, from one job's output to the
        next one's, and `start_seconds`, all the rest. `jobs_timed`. Planning: `design`,
        `dry_run_seconds` and `design_jobs`.
    """
    with tempfile.TemporaryDirectory() as folder:
        total, each = _time_trivial_jobs(Path(folder), jobs)
    began = time.perf_counter()
    text = _snakemake(
        ROOT,
        *("--dry-run", "--forceall", "--quiet", "host", "reason", "rules"),
        *("--config", f"design={design}"),
    )
    seconds = time.perf_counter() - began
    return {
        "start_seconds": total - jobs * each,
        "seconds_per_job": each,
        "jobs_timed": jobs,
        "design": design,
        "dry_run_seconds": seconds,
        "design_jobs": count_jobs(text),
    }


def count_jobs(text: str) -> int:
    """Return the total of the job table that `snakemake -n` prints."""
    found = re.search(r"^total +(\d+)", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"no job table in what snakemake printed: {text[-500:]!r}")
    return int(found[1])


def _time_trivial_jobs(folder: Path, jobs: int) -> tuple[float, float]:
    """Return wall seconds of a workflow, and between the outputs of one job and the next."""
    (folder / "Snakefile").write_text(WORKFLOW.format(jobs=jobs))
    began = time.perf_counter()
    _snakemake(folder, "--quiet", "all")
    total = time.perf_counter() - began
    times = sorted(path.stat().st_mtime for path in folder.iterdir() if path.name.isdecimal())
    if len(times) != jobs:
        raise RuntimeError(f"snakemake made {len(times)} of {jobs} files in {folder}")
    return total, (times[-1] - times[0]) / (jobs - 1)


def _snakemake(folder: Path, *options: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "SNAKEMAKE_PROFILE"}
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", *options],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"snakemake {' '.join(options)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def start_up_costs(*, rounds: int = 3) -> dict[str, float]:
    """Measure core seconds from start to end of a process that imports torch, fittest, nothing."""
    codes = {"python": "pass", "fittest": "import fittest", "torch": "import torch"}
    times: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(rounds):
        for name, code in codes.items():
            before = os.times()
            subprocess.run([sys.executable, "-c", code], check=True)
            after = os.times()
            used = after.children_user + after.children_system
            times[name].append(used - before.children_user - before.children_system)
    return {f"import_{name}_seconds": median(values) for name, values in times.items()}


def filled(record: Record, protocol: Protocol, rng: np.random.Generator) -> Record:
    """Return a record with the shapes of a protocol's whole run and values that do not compress.

    Every mantissa is noise, losses and signals span decades as real ones do, accuracies are shares
    of whole pairs.
    """
    trials, p, d = record.final.embedding.shape
    circles = record.signal.shape[2]
    schedule, steps = protocol.record, protocol.steps
    step = np.array(recorded_steps(schedule, steps))
    gradient_step = np.array(gradient_steps(schedule, steps))
    snapshot_step = np.array(snapshot_steps(schedule, steps))
    dtype = record.signal.dtype
    training = training_pairs_count(p, protocol.train_share)

    def noise(*shape: int, spread: float = 1.0) -> np.ndarray:
        return np.exp(spread * rng.standard_normal(shape)).astype(dtype)

    def shares(pairs: int) -> np.ndarray:
        return (rng.integers(0, pairs + 1, (trials, len(step))) / pairs).astype(dtype)

    return Record(
        step=step,
        signal=noise(trials, len(step), circles, spread=3),
        mean_signal=noise(trials, len(step)),
        train_loss=noise(trials, len(step), spread=5),
        test_loss=noise(trials, len(step), spread=5),
        train_accuracy=shares(training),
        test_accuracy=shares(p * p - training),
        parameter_norm=noise(trials, len(step)),
        gradient_step=gradient_step,
        gradient_signal=noise(trials, len(gradient_step), circles, spread=5),
        snapshot_step=snapshot_step,
        snapshot_embedding=rng.standard_normal((len(snapshot_step), p, d)).astype(dtype),
        final=replace(record.final, embedding=rng.standard_normal((trials, p, d)).astype(dtype)),
    )


def storage_costs(
    cell: Cell | None = None,
    protocol: Protocol | None = None,
    blocks: tuple[int, ...] = (10, 50),
) -> dict[str, int]:
    """Write whole trajectory files and return bytes per trial by trials in the file."""
    cell, protocol = cell or Cell(embedding=REDRAWN), protocol or Protocol()
    sizes = {}
    for trials in blocks:
        start = initial_state(cell, protocol, 0, range(trials))
        record = train_ensemble(
            start.parameters,
            start.train_pairs,
            protocol.model_copy(update={"steps": 3}),
            weight_decay=cell.weight_decay,
        )
        block = Block("standard", cell, 0, trials - 1)
        dataset = trajectory_dataset(
            block,
            protocol,
            filled(record, protocol, np.random.default_rng(trials)),
            initial_embedding=start.parameters.embedding,
            train_pairs=start.train_pairs,
            named_frequencies=start.named_frequencies,
            attributes={},
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "block.h5"
            write_trajectories(dataset, path)
            open_trajectories(path)
            sizes[f"bytes_per_trial_of_{trials}"] = round(path.stat().st_size / trials)
    return sizes


def memory_costs(
    p: int = 59, d: int = 128, width: int = 100, trials: int = 50, steps: int = 3
) -> dict[str, int]:
    """Measure the peak memory of a process that trains an ensemble for a few steps, in bytes."""
    numbers = [str(n) for n in (p, d, width, trials, steps)]
    done = subprocess.run(
        [sys.executable, "-c", PEAK + TRAIN, *numbers], capture_output=True, text=True, check=True
    )
    before, peak = map(int, done.stdout.split())
    return {"trials": trials, "peak_bytes": peak, "peak_bytes_before_training": before}
