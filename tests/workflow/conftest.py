"""Copies of the project to plan and run in: nothing here writes into the checkout."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from filelock import FileLock

CHECKOUT = Path(__file__).parents[2]
PARTS = ("Snakefile", "workflow", "config", "profiles", "src", "Makefile", "setup.py")
BIN = Path(sys.executable).parent
PROFILE = ("--profile", "profiles/local")

_RECORD = {"dense_until": 20, "every": 20, "gradients": 10, "snapshots": [0, 20, 60]}
TINY: dict[str, Any] = {
    "block": 2,
    "horizons": [20, 40],
    "protocols": {
        "standard": {"steps": 60, "record": _RECORD},
        "other": {"steps": 60, "record": _RECORD, "arithmetic": "float64"},
    },
    "experiments": {
        "initial-signal": {
            "axes": {"p": 7, "d": 4, "width": 8, "embedding": [0, 1]},
            "trials": 4,
        },
        "mine": {
            "protocol": "other",
            "axes": {"p": 7, "d": 4, "width": 8, "embedding": "redrawn"},
            "trials": 2,
        },
    },
}


@dataclass(frozen=True)
class Plan:
    """What a dry run would do.

    jobs
        Rule → number of jobs, from the table of job statistics; targets are left out.
    outputs
        Rule → the outputs of its jobs, and `wildcards` rule → the wildcards of each job.
    """

    jobs: Counter[str]
    outputs: dict[str, list[str]] = field(default_factory=dict)
    wildcards: dict[str, list[dict[str, str]]] = field(default_factory=dict)


@dataclass(frozen=True)
class Project:
    """A copy of everything a run needs, the package included, in a folder of its own."""

    folder: Path

    @property
    def results(self) -> Path:
        return self.folder / "results/tiny"

    @property
    def environment(self) -> dict[str, str]:
        """The copy's package and this Python's programs come first."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SNAKEMAKE", "MAKE"))}
        return kept | {
            "PATH": f"{BIN}{os.pathsep}{kept['PATH']}",
            "PYTHONPATH": str(self.folder / "src"),
            "OMP_NUM_THREADS": "1",
        }

    def run(self, *command: str, fails: bool = False) -> str:
        """Run a program in the folder; return what it prints."""
        done = subprocess.run(
            [str(c) for c in command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout

    def start(self, *command: str, **options: Any) -> subprocess.Popen[str]:
        """Start a program in the folder, in a process group of its own."""
        return subprocess.Popen(
            [str(c) for c in command],
            cwd=self.folder,
            env=self.environment,
            text=True,
            start_new_session=True,
            **options,
        )

    def snakemake(self, *targets: str, fails: bool = False, **config: object) -> str:
        return self.run(*self.command(*targets, **config), fails=fails)

    def command(self, *targets: str, **config: object) -> list[str]:
        settings = [f"{key}={value}" for key, value in ({"design": "tiny"} | config).items()]
        return ["snakemake", *PROFILE, "-c2", "--config", *settings, "--", *map(str, targets)]

    def plan(self, *targets: str, profile: bool = True, **config: object) -> Plan:
        """Return what a dry run would do: for the whole design, or for the targets given."""
        settings = [f"{key}={value}" for key, value in ({"design": "tiny"} | config).items()]
        how = PROFILE if profile else ("--cores", "1")
        text = self.run(
            "snakemake", "-n", *how, "--quiet", "host", "--config", *settings, "--", *targets
        )
        return _parse(text)

    def write_design(self, design: dict[str, Any], name: str = "tiny") -> None:
        path = self.folder / f"config/designs/{name}.yaml"
        path.write_text(yaml.safe_dump(copy.deepcopy(design)), encoding="utf-8")

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace text that stands once in a file."""
        text = (self.folder / path).read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path}"
        (self.folder / path).write_text(text.replace(old, new), encoding="utf-8")

    def append(self, path: str | Path, text: str) -> None:
        with open(self.folder / path, "a", encoding="utf-8") as file:
            file.write(text)


def _parse(text: str) -> Plan:
    if "Nothing to be done" in text:
        return Plan(Counter())
    table = re.search(r"Job stats:\njob +count\n[- ]+\n(.*?)\ntotal +\d+\n", text, re.DOTALL)
    assert table is not None, text
    rows = [line.split() for line in table[1].splitlines()]
    outputs: dict[str, list[str]] = {}
    wildcards: dict[str, list[dict[str, str]]] = {}
    for rule, body in re.findall(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)*)", text, re.MULTILINE):
        lines = dict(line.strip().split(": ", 1) for line in body.splitlines() if ": " in line)
        if "output" in lines:
            outputs.setdefault(rule, []).extend(lines["output"].split(", "))
            pairs = [pair.split("=", 1) for pair in lines.get("wildcards", "").split(", ") if pair]
            wildcards.setdefault(rule, []).append(dict(pairs))
    # A target has no output.
    jobs = Counter({rule: int(count) for rule, count in rows if rule in outputs})
    # One rule makes tables of every kind, and one statistics: here a kind counts as a rule.
    for rule, key in (("make_table", "table"), ("compute_statistics", "statistic")):
        for found in wildcards.pop(rule, []):
            wildcards.setdefault(found[key], []).append(found)
            jobs[found[key]] += 1
        for path in outputs.pop(rule, []):
            outputs.setdefault(Path(path).stem, []).append(path)
        jobs.pop(rule, None)
    return Plan(jobs, outputs, wildcards)


def _copy_checkout(folder: Path) -> Project:
    folder.mkdir(parents=True)
    for part in PARTS:
        source, place = CHECKOUT / part, folder / part
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, place, ignore=ignored)
        else:
            shutil.copy2(source, place)
    return Project(folder)


@pytest.fixture
def tiny() -> dict[str, Any]:
    """The tiny design, to change at will."""
    return copy.deepcopy(TINY)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The project without any result; its design `tiny` trains five blocks."""
    project = _copy_checkout(tmp_path / "project")
    project.write_design(TINY)
    return project


@pytest.fixture(scope="session")
def finished_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The tiny design, run to its end once for all workers. To read only."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, done = shared / "finished", shared / "finished.done"
    with FileLock(shared / "finished.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed here
            project = _copy_checkout(folder)
            project.write_design(TINY)
            project.snakemake()
            done.touch()
    return Project(folder)


@pytest.fixture
def finished(finished_once: Project, tmp_path: Path) -> Project:
    """A finished run of the tiny design in a folder of its own, to change at will."""
    folder = tmp_path / "finished"
    shutil.copytree(finished_once.folder, folder)
    return Project(folder)
