"""The pipeline through the cluster's profile, on a real Slurm, whatever befalls its jobs.

One run, in which one training job fails, one is cancelled and one goes over its time limit.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from filelock import FileLock

import fittest
from tests.slurm.conftest import running_cluster
from tests.workflow.conftest import TINY, Project, _copy_checkout

BLOCK = "results/tiny/trajectories/{}/p~7/d~4/wd~0.5/width~8/embedding~{}/intervention~none/{}.h5"
FAILED, CANCELLED, UNDISTURBED, OTHER = (
    BLOCK.format("standard", embedding, trials)
    for embedding in (0, 1)
    for trials in ("trials~0-1", "trials~2-3")
)
# Of another experiment than the figure, which it would only hold up.
LATE = BLOCK.format("other", "redrawn", "trials~0-1")
TRAJECTORIES = [FAILED, CANCELLED, UNDISTURBED, OTHER, LATE]
TABLES = [f"results/tiny/tables/initial-signal/{kind}.nc" for kind in ("survival", "rates")]
FIGURE = "results/tiny/figures/signal_survival.png"

# What is set after the profile: this Slurm has no real GPU and answers at once.
HERE = ("--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5")
CONFIG = ("--config", "design=tiny", "device=auto")

# At the end of the module that trains: the first attempt at some blocks does something else.
TROUBLE = f'''

_really_train = train_block


def train_block(path, *args, **kwargs):
    import os

    trouble = {{"{FAILED}": "fail", "{CANCELLED}": "wait", "{LATE}": "wait"}}.get(str(path))
    job = Path("jobs", os.environ.get("SLURM_JOB_ID", "none") + ".txt")
    first = not any(one.read_text().startswith(str(path)) for one in Path("jobs").glob("*.txt"))
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES")
    job.with_suffix(".new").write_text(f"{{path}} {{gpus}}")
    job.with_suffix(".new").replace(job)
    if first and trouble == "fail":
        raise FileError("this job fails")
    if first and trouble == "wait":
        time.sleep(600)
    _really_train(path, *args, **kwargs)
'''


@dataclass(frozen=True)
class Run:
    """A finished run: what Snakemake printed; number, trajectory and GPU of each training job.

    alone
        The same by Snakemake's local executor.
    record
        Job number → how it ended, by Slurm's own record.
    asked
        Job number → what Slurm knew of it.
    """

    project: Project
    alone: Project
    text: str
    jobs: list[tuple[str, str, str]]
    record: dict[str, str]
    asked: dict[str, dict[str, str]]

    def states(self, path: str) -> list[str]:
        """Return how the jobs of a trajectory ended, in order."""
        return [self.record[number] for number, each, _ in self.jobs if each == path]


def training_jobs(project: Project) -> list[tuple[str, str, str]]:
    files = sorted((project.folder / "jobs").glob("*.txt"), key=lambda path: int(path.stem))
    return [(path.stem, *path.read_text().split()) for path in files]


def job_of(project: Project, path: str, process: subprocess.Popen[str]) -> str:
    """Wait until the first job of a trajectory trains; return its number."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        assert process.poll() is None, "Snakemake ended early"
        for number, each, _ in training_jobs(project):
            if each == path:
                return number
        time.sleep(0.2)
    raise AssertionError(f"no job of {path} within five minutes")


@pytest.fixture(scope="session")
def run(slurm_installed: None, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run, made once for all of pytest's workers; Slurm is stopped at its end."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, known = shared / "slurm", shared / "slurm.json"
    with FileLock(shared / "slurm.lock"):
        if not known.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a worker that failed here
            folder.mkdir()
            known.write_text(json.dumps(run_on_slurm(folder)))
    text, jobs, record, asked = json.loads(known.read_text())
    projects = Project(folder / "project"), Project(folder / "alone")
    return Run(*projects, text, [tuple(job) for job in jobs], record, asked)


def run_on_slurm(folder: Path) -> tuple:
    """Run the pipeline on Slurm, and undisturbed without; return the fields of `Run` but these."""
    project, alone = _copy_checkout(folder / "project"), _copy_checkout(folder / "alone")
    for each in (project, alone):
        each.write_design(TINY)
    project.append("src/fittest/training/block.py", TROUBLE)
    (project.folder / "jobs").mkdir()
    output = project.folder / "output.txt"
    with running_cluster(folder / "cluster") as cluster, output.open("w") as file:
        command = ("snakemake", "--profile", "profiles/slurm-v100", *HERE, *CONFIG)
        process = project.start(
            *command, "--", *TRAJECTORIES, FIGURE, stdout=file, stderr=subprocess.STDOUT
        )
        try:
            # Slurm checks limits now and then: a minute's takes more than one to be enforced.
            late = job_of(project, LATE, process)
            cluster.run("scontrol", "update", f"JobId={late}", "TimeLimit=1")
            cluster.run("scancel", job_of(project, CANCELLED, process))
            alone.snakemake(*TRAJECTORIES, *TABLES)  # while that minute passes
            process.wait(timeout=500)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        text = output.read_text()
        assert process.returncode == 0, text
        record = cluster.record()
        return text, training_jobs(project), record, {job: cluster.job(job) for job in record}


def test_the_run_ends_with_its_figure_and_nothing_is_left_to_do(run):
    assert (run.project.folder / FIGURE).stat().st_size > 10_000
    again = run.project.run(
        *("snakemake", "-n", "--profile", "profiles/slurm-v100", *CONFIG),
        *("--", *TRAJECTORIES, FIGURE),
    )
    assert "Nothing to be done" in again


def test_failed_cancelled_and_late_jobs_are_sent_again_and_no_other(run):
    assert run.states(FAILED) == ["FAILED", "COMPLETED"]
    assert run.states(CANCELLED) == ["CANCELLED", "COMPLETED"]
    assert run.states(LATE) == ["TIMEOUT", "COMPLETED"]
    for path in (UNDISTURBED, OTHER):
        assert run.states(path) == ["COMPLETED"]


def test_every_training_job_has_a_gpu_of_the_named_model_and_the_profiles_limits(run):
    assert len(run.jobs) == 8
    for number, path, gpus in run.jobs:
        job = run.asked[number]
        assert job["TresPerJob"].removeprefix("gres:") == "gpu:volta:1"
        assert gpus in {"0", "1", "2", "3"}, "Slurm gave the job one GPU"
        assert (job["Partition"], job["Account"], job["Requeue"]) == ("gpu", "my-project", "0")
        first = number == min((n for n, each, _ in run.jobs if each == path), key=int)
        megabytes = int(job["MinMemoryNode"].removesuffix("M"))
        assert (6000 if first else 12_000) <= megabytes < (7000 if first else 13_000)
        if path != LATE or not first:  # whose limit was changed by hand
            assert job["TimeLimit"] == ("00:11:00" if first else "00:22:00")


def test_tables_are_jobs_without_a_gpu_and_what_takes_seconds_is_none(run):
    sent = re.findall(r"SLURM jobid (\d+) \(log: \S+/rule_(\w+?)/", run.text)
    assert {rule for _, rule in sent} == {"train", "make_table"}
    assert {number for number, _ in sent} == set(run.record)
    for number, rule in sent:
        if rule == "make_table":
            assert "TresPerJob" not in run.asked[number]
    assert "(Rule: draw_embedding)" in run.text
    assert "(Rule: draw_figure)" in run.text


def test_what_a_failed_job_said_lies_in_the_profiles_folder(run):
    first = next(number for number, path, _ in run.jobs if path == FAILED)
    (log,) = (run.project.folder / "logs/slurm").rglob(f"{first}.log")
    assert "this job fails" in log.read_text()


def test_results_are_those_of_a_run_on_one_machine(run):
    for path in TRAJECTORIES:
        found = fittest.open_trajectories(run.project.folder / path)
        expected = fittest.open_trajectories(run.alone.folder / path)
        assert found.attrs["device"].startswith("cpu")
        _same(found, expected)
    for path in TABLES:
        found, expected = (
            xr.open_dataset(Path(folder, path), engine="h5netcdf")
            for folder in (run.project.folder, run.alone.folder)
        )
        _same(found, expected)


def _same(found: xr.Dataset, expected: xr.Dataset) -> None:
    assert set(found.variables) == set(expected.variables)
    for name in set(expected.variables) - {"core_seconds"}:  # time taken
        np.testing.assert_array_equal(found[name].values, expected[name].values, err_msg=name)
