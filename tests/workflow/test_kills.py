"""A kill at any moment leaves nothing that is taken for a result, and the next run finishes."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

import fittest
from fittest.errors import FileError

# One block of the tiny design, of two trials.
BLOCK = "standard/p~7/d~4/wd~0.5/width~8/embedding~{}/intervention~none/trials~{}.h5"

# Runs `fittest train …` and stops for ever at a moment, after saying so.
DRIVER = """
import os, sys, time
import h5py, xarray
from fittest import cli, files, progress

def stop(*args, **kwargs):
    print("here", flush=True)
    time.sleep(600)

write = xarray.Dataset.to_netcdf
def write_half(dataset, path, **kwargs):
    write(dataset, path, **kwargs)
    os.truncate(path, os.path.getsize(path) // 2)
    stop()

def write_then_stop(dataset, path, **kwargs):
    write(dataset, path, **kwargs)
    stop()

moment = sys.argv.pop(1)
if moment == "training":
    progress.Progress.__call__ = stop
elif moment == "half-written":
    xarray.Dataset.to_netcdf = write_half
elif moment == "unmarked":
    xarray.Dataset.to_netcdf = write_then_stop
elif moment == "not on the disk":
    files._flush = stop
elif moment == "not renamed":
    os.replace = stop
sys.exit(cli.main())
"""
MOMENTS = ("training", "half-written", "unmarked", "not on the disk", "not renamed")


@pytest.fixture
def killed():
    """Kill what a test started and did not end."""
    started: list[subprocess.Popen] = []
    yield started.append
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def wait_for(condition, process: subprocess.Popen) -> None:
    """Wait until a condition holds while a process runs."""
    end = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, f"the process ended first, with {process.returncode}"
        assert time.monotonic() < end, "waited two minutes in vain"
        time.sleep(0.02)


def blocks_of(project) -> list[Path]:
    return sorted((project.results / "trajectories").rglob("*.h5"))


def assert_same_signals(path: Path, reference: Path) -> None:
    found, undisturbed = fittest.open_trajectories(path), fittest.open_trajectories(reference)
    np.testing.assert_array_equal(found["signal"], undisturbed["signal"])
    np.testing.assert_array_equal(found["final_embedding"], undisturbed["final_embedding"])


def test_a_training_job_killed_at_any_moment_leaves_no_result_and_the_next_one_is_undisturbed(
    finished, finished_once, killed
):
    path = finished.results / "trajectories" / BLOCK.format(0, "2-3")
    path.unlink()
    driver = finished.folder / "driver.py"
    driver.write_text(DRIVER)
    train = ["train", path, "--design", "config/designs/tiny.yaml"]
    for moment in MOMENTS:
        process = finished.start(sys.executable, driver, moment, *train, stdout=subprocess.PIPE)
        killed(process)
        assert process.stdout.readline() == "here\n", moment
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert not path.exists(), moment
        assert sorted(path.parent.glob("*.h5")) == [path.with_name("trials~0-1.h5")], moment
        # Beside it lies at most one file, under a hidden name; before the mark none reads it.
        beside = sorted(path.parent.glob(".*"))
        assert len(beside) <= 1, moment
        if moment in ("half-written", "unmarked"):
            with pytest.raises(FileError, match="Remove it"):
                fittest.open_trajectories(beside[0])
        # An hour later: the next writer removes what no writer can still be at.
        for leftover in beside:
            os.utime(leftover, (0, 0))
    finished.run("fittest", *train)
    assert sorted(path.parent.glob(".*")) == []
    assert_same_signals(path, finished_once.folder / path.relative_to(finished.folder))


def test_a_real_training_process_killed_while_it_trains_leaves_no_file(project, tiny, killed):
    tiny["protocols"]["standard"]["steps"] = 10_000_000
    project.write_design(tiny)
    path = project.results / "trajectories" / BLOCK.format(0, "0-1")
    log = project.folder / "train.log"
    design = ("--design", "config/designs/tiny.yaml")
    process = project.start("fittest", "--log", log, "train", path, *design)
    killed(process)
    wait_for(lambda: log.is_file() and "10000000 steps" in log.read_text(), process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not path.parent.exists() or list(path.parent.iterdir()) == []


def test_sigterm_to_what_snakemake_started_ends_the_training_itself(project, tiny, killed):
    tiny["protocols"]["standard"]["steps"] = 10_000_000
    project.write_design(tiny)
    target = f"results/tiny/trajectories/{BLOCK.format(0, '0-1')}"
    process = project.start(*project.command(target), stdout=subprocess.DEVNULL)
    killed(process)
    logs = project.results / "logs/train"
    wait_for(lambda: any("10000000 steps" in f.read_text() for f in logs.rglob("*.log")), process)
    (job,) = psutil.Process(process.pid).children()
    everything = [job, *job.children(recursive=True)]
    job.terminate()
    _, alive = psutil.wait_procs(everything, timeout=60)
    for left in alive:
        left.kill()
    assert alive == []
    assert process.wait(timeout=120) != 0
    assert blocks_of(project) == []


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_after_a_whole_run_is_killed_make_names_the_remedy_and_the_next_run_is_undisturbed(
    project, finished_once, killed
):
    first, second = (f"results/tiny/trajectories/{BLOCK.format(1, t)}" for t in ("0-1", "2-3"))
    command = [word.replace("-c2", "-c1") for word in project.command(first, second)]
    process = project.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    killed(process)
    # In mid-run: one block done and another begun.
    logs = project.results / "logs/train"
    wait_for(lambda: len(blocks_of(project)) == 1 and len([*logs.rglob("*.log")]) == 2, process)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    (done,) = blocks_of(project)
    fittest.open_trajectories(done)

    give_make_its_environment(project, "snakemake", "fittest")
    message = project.run("make", "run", "DESIGN=tiny", fails=True)
    assert "locked" in message
    assert "make unlock && make run DESIGN=tiny" in message
    assert blocks_of(project) == [done]

    project.run("make", "unlock", "DESIGN=tiny")
    before = done.stat().st_mtime_ns
    project.snakemake(first, second)
    assert done.stat().st_mtime_ns == before
    assert project.plan(first, second).jobs == {}
    for target in (first, second):
        assert_same_signals(project.folder / target, finished_once.folder / target)


def give_make_its_environment(project, *programs: str) -> None:
    """Make `.venv` as `make` would, with links to this environment's programs."""
    for name in ("requirements.txt", "pyproject.toml"):
        (project.folder / name).touch()
    venv = project.folder / ".venv"
    (venv / "bin").mkdir(parents=True)
    for program in programs:
        (venv / "bin" / program).symlink_to(Path(sys.executable).parent / program)
    (venv / ".installed").touch()


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("locked", [True, False])
def test_make_run_speaks_of_a_lock_only_where_one_is_left(project, locked):
    give_make_its_environment(project)
    failing = project.folder / ".venv/bin/snakemake"
    failing.write_text("#!/bin/sh\nexit 1\n")
    failing.chmod(0o755)
    locks = project.folder / ".snakemake/locks"
    locks.mkdir(parents=True)
    if locked:
        (locks / "0.output.lock").touch()
    message = project.run("make", "run", fails=True)
    assert ("make unlock && make run DESIGN=quick" in message) == locked
