"""`fittest doctor`: what this machine lacks for a run, each with its remedy.

A check yields findings. Every command has a time limit: Slurm's may wait for ever.
"""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from fittest.errors import FittestError

OLDEST_PYTHON = (3, 11)

NEEDED = ("torch", "numpy", "scipy", "xarray", "h5py", "h5netcdf", "snakemake")
"""What must be installed to train and to run the pipeline; another version than pinned may do."""

SLURM_PLUGIN = "snakemake-executor-plugin-slurm"

SECONDS = 10
"""How long a command may take."""

MIN_JOB_AGE = 120
"""Seconds that Slurm must remember a finished job, if squeue is to tell: thrice the plugin's 40
to its first question. Where it is less the plugin takes sacct."""

OPEN_FILES = 1024
PROCESSES = 1024


@dataclass(frozen=True)
class Finding:
    """What a check found: `ok`, `warning` or `error`, with the remedy in the text."""

    level: str
    text: str

    def __str__(self) -> str:
        """Return the line that is printed."""
        return f"{self.level:8}{self.text}"


Findings = Iterator[Finding]


def diagnose(results: Path, requirements: Path, design: Path | None = None) -> Findings:
    """Yield what all checks find.

    Parameters
    ----------
    results
        The folder of results, which need not be there yet.
    requirements
        The file of pinned packages.
    design
        A design file, whose plan the disk is held against.
    """
    checks: list[Callable[[], Findings]] = [
        python_version,
        lambda: packages(requirements),
        engines,
        devices,
        lambda: locking(results),
        lambda: disk(results, design),
        limits,
        slurm,
    ]
    for check in checks:
        yield from check()


def python_version(version: tuple[int, ...] = sys.version_info[:3]) -> Findings:
    """Check that Python is new enough."""
    name = "Python " + ".".join(map(str, version))
    if version[:2] < OLDEST_PYTHON:
        yield Finding("error", f"{name}: 3.11 or newer is needed; make PYTHON=/path/to/python")
    else:
        yield Finding("ok", name)


def packages(requirements: Path) -> Findings:
    """Compare installed packages with the pinned ones."""
    if not requirements.is_file():
        yield Finding("warning", f"no file {requirements}: start in the project's folder")
        return
    lines = requirements.read_text(encoding="utf-8").splitlines()
    pinned = dict(line.strip().split("==") for line in lines if "==" in line and line[0] != "#")
    absent, different = [], []
    for name, version in pinned.items():
        found = _version(name)
        if found is None:
            absent.append(name)
        elif found != version:
            different.append(f"{name} {found} (pinned {version})")
    remedy = f"python -m pip install -r {requirements}"
    if needed := [name for name in NEEDED if name in absent]:
        yield Finding("error", f"not installed: {', '.join(needed)}; {remedy}")
    if others := [name for name in absent if name not in (*NEEDED, SLURM_PLUGIN)]:
        yield Finding("warning", f"not installed: {_some(others)}; {remedy}")
    if different:
        yield Finding("warning", f"another version than tested: {_some(different)}; {remedy}")
    if not absent and not different:
        yield Finding("ok", f"{len(pinned)} packages as pinned in {requirements}")
    plugin = _version(SLURM_PLUGIN)
    if plugin is None:
        how = f"python -m pip install {SLURM_PLUGIN}=={pinned.get(SLURM_PLUGIN, '2.8.0')}"
        yield Finding("warning", f"no {SLURM_PLUGIN}: profiles/slurm-v100 needs it; {how}")
    else:
        yield Finding("ok", f"{SLURM_PLUGIN} {plugin}")


def engines() -> Findings:
    """Say which engines train on the CPU here."""
    from fittest.training.engines import native_levels

    if levels := native_levels():
        yield Finding("ok", f"native engine, {levels[0]}")
        return
    compiler = "there is a C++ compiler" if shutil.which("g++") else "install a C++ compiler"
    yield Finding(
        "warning",
        f"the native engine was not built, so training on the CPU takes twice as long: {compiler}"
        f"{', so' if shutil.which('g++') else ' (Debian: g++) and'} install the package again",
    )


def devices() -> Findings:
    """Check that each GPU runs the installed torch's kernels."""
    if _version("torch") is None:
        return  # said by `packages`
    import torch

    from fittest.training.gpu import check_kernels

    count = torch.cuda.device_count()
    if not count and (shutil.which("nvidia-smi") or list(Path("/dev").glob("nvidia[0-9]*"))):
        yield Finding(
            "error",
            f"there is a GPU, and torch {torch.__version__} does not see it: install a CUDA wheel "
            "of torch (for a V100 from https://download.pytorch.org/whl/cu126) and look at the "
            "driver with nvidia-smi",
        )
    elif not count:
        kind = f"wheel for CUDA {torch.version.cuda}" if torch.version.cuda else "wheel for CPUs"
        yield Finding(
            "ok",
            f"no GPU here; torch {torch.__version__} is a {kind}. On a login node that says "
            "nothing about the others: run this on a GPU node too",
        )
    for number in range(count):
        try:
            check_kernels(f"cuda:{number}")
        except FittestError as error:
            yield Finding("error", f"cuda:{number}: {error}")
        else:
            memory = torch.cuda.get_device_properties(number).total_memory / 1e9
            name = torch.cuda.get_device_name(number)
            yield Finding("ok", f"cuda:{number}: {name}, {memory:.0f} GB, torch has its kernels")


def locking(results: Path) -> Findings:
    """Check that files in the results folder can be written, locked and flushed."""
    folder = _existing(results)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".fittest-doctor-") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                yield Finding(
                    "error",
                    f"{folder}: no file locks here ({error.strerror}), which HDF5 asks for: put "
                    "results elsewhere (--config results=FOLDER), or export "
                    "HDF5_USE_FILE_LOCKING=FALSE",
                )
                return
    except OSError as error:
        yield Finding(
            "error",
            f"{folder}: cannot write there ({error.strerror}): choose another folder with "
            "--config results=FOLDER",
        )
        return
    yield Finding("ok", f"{folder}: files can be written, flushed and locked")


def disk(results: Path, design: Path | None) -> Findings:
    """Compare free disk space and files with what a design would write."""
    folder = _existing(results)
    free = shutil.disk_usage(folder).free
    text = f"{folder}: {free / 1e9:.1f} GB free"
    if design is None:
        yield Finding("ok", f"{text}; --design FILE compares with what a design needs")
        return
    from fittest.design import load_design
    from fittest.plan.coefficients import published
    from fittest.plan.costs import plan

    rows = plan(load_design(design), published())[1]
    need = rows.cost.file_bytes
    about = f"{design} writes about {need / 1e9:.2g} GB of trajectories in {rows.jobs:,} files"
    if free < need:
        yield Finding("error", f"{text}, and {about}: make room, or --config results=FOLDER")
    elif free < 2 * need:
        yield Finding("warning", f"{text}, and {about}, with tables and logs beside: make room")
    else:
        yield Finding("ok", f"{text}; {about}. A quota is not seen here: ask `quota -s`")
    inodes = os.statvfs(folder)
    # Each trajectory has a log, and Snakemake keeps a record of each.
    if inodes.f_files and inodes.f_favail < 4 * rows.jobs:
        yield Finding(
            "error",
            f"{folder}: {inodes.f_favail:,} more files fit, and about {4 * rows.jobs:,} come: "
            "remove some, or --config results=FOLDER",
        )


def limits() -> Findings:
    """Check how many files and processes one may have."""
    for kind, name, letter, least in (
        (resource.RLIMIT_NOFILE, "open files", "n", OPEN_FILES),
        (resource.RLIMIT_NPROC, "processes", "u", PROCESSES),
    ):
        soft = resource.getrlimit(kind)[0]
        if soft != resource.RLIM_INFINITY and soft < least:
            yield Finding(
                "warning", f"at most {soft} {name}, fewer than {least}: ulimit -{letter} {least}"
            )
        else:
            number = "any number" if soft == resource.RLIM_INFINITY else f"{soft:,}"
            yield Finding("ok", f"{name}: {number}")


def slurm() -> Findings:
    """Check that Slurm answers, has GPUs, and can tell how a job ended."""
    if shutil.which("sinfo") is None:
        yield Finding("ok", "no Slurm here; profiles/slurm-v100 is for machines that have it")
        return
    nodes = _answer("sinfo", "--noheader", "--format=%P %G")
    config = _answer("scontrol", "show", "config")
    if nodes is None or config is None:
        yield Finding(
            "error",
            f"Slurm is installed and does not answer within {SECONDS} s: run this where jobs are "
            "submitted, or ask `scontrol ping`",
        )
        return
    cards = sorted(set(re.findall(r"gpu:([\w.]+?):\d+", nodes)))
    if cards:
        yield Finding(
            "ok", f"Slurm answers; GPUs: {', '.join(cards)} (gpu_model in profiles/slurm-v100)"
        )
    else:
        yield Finding("warning", "Slurm answers, and names no model of GPU: `sinfo -o '%P %G'`")
    yield _accounting(config)


def _accounting(config: str) -> Finding:
    values = dict(re.findall(r"^(\w+)\s*=\s*(.*?)\s*$", config, re.MULTILINE))
    age = re.match(r"\d+", values.get("MinJobAge", ""))
    remembers = age is not None and int(age[0]) >= MIN_JOB_AGE
    accounts = values.get("AccountingStorageType", "").endswith("slurmdbd")
    if accounts and _answer("sacct", "--noheader", "--allocations") is not None:
        return Finding("ok", "Slurm keeps accounts: squeue or sacct tells how a job ended")
    if remembers:
        return Finding(
            "warning",
            "Slurm keeps no accounts that can be read: leave slurm-status-command: squeue in the "
            "profile, for with sacct Snakemake hangs for ever",
        )
    return Finding(
        "error",
        "Slurm keeps no accounts that can be read and forgets a finished job after "
        f"{values.get('MinJobAge', 'an unknown time')}, less than {MIN_JOB_AGE} s: Snakemake would "
        "hang for ever. Ask the administrators for a MinJobAge of 300 s or for accounting",
    )


def _answer(*command: str) -> str | None:
    """Return what a command prints; None where it is missing, fails or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest above it that is there."""
    folder = folder.absolute()
    return next(one for one in (folder, *folder.parents) if one.is_dir())


def _some(words: list[str]) -> str:
    more = f" and {len(words) - 5} more" if len(words) > 5 else ""
    return ", ".join(words[:5]) + more
