"""`fittest doctor` finds what is amiss, names the remedy, and never waits for ever."""

import errno
import fcntl
import os
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from fittest import cli, doctor
from fittest.training import engines

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "config/designs/paper.yaml"


def only(findings):
    (finding,) = findings
    return finding.level, finding.text


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Stand-ins for programs, the only ones on PATH: name → shell script."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def add(**scripts):
        for name, script in scripts.items():
            path = folder / name
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(0o755)

    return add


def config(accounts, age):
    storage = f"accounting_storage/{accounts}"
    return f"echo 'AccountingStorageType   = {storage}'; echo 'MinJobAge               = {age}'"


def test_python_must_be_new_enough():
    assert only(doctor.python_version((3, 11, 0)))[0] == "ok"
    level, text = only(doctor.python_version((3, 10, 9)))
    assert level == "error"
    assert "3.11" in text


def test_packages_are_compared_with_the_pinned_ones(tmp_path, monkeypatch):
    pinned = tmp_path / "requirements.txt"
    found = {"torch": "2.13.0", "numpy": "2.0.0", "ruff": None, doctor.SLURM_PLUGIN: "2.8.0"}
    monkeypatch.setattr(doctor, "_version", found.get)
    pinned.write_text("# all\ntorch==2.13.0\nnumpy==2.0.0\n")
    assert [f.level for f in doctor.packages(pinned)] == ["ok", "ok"]
    pinned.write_text("torch==2.13.0\nnumpy==2.4.6\nruff==0.1\n")
    levels = {f.level: f.text for f in doctor.packages(pinned)}
    assert set(levels) == {"ok", "warning"}
    assert "numpy 2.0.0 (pinned 2.4.6)" in levels["warning"]
    found["torch"] = None
    found[doctor.SLURM_PLUGIN] = None
    texts = {f.level: f.text for f in doctor.packages(pinned)}
    assert f"torch; python -m pip install -r {pinned}" in texts["error"]
    assert f"pip install {doctor.SLURM_PLUGIN}" in texts["warning"]
    assert only(doctor.packages(tmp_path / "none.txt"))[0] == "warning"


def test_a_torch_of_another_build_is_the_pinned_version():
    import torch

    assert doctor._version("torch") == torch.__version__.split("+")[0]


@pytest.mark.parametrize("compiler", [True, False])
def test_a_native_engine_that_was_not_built_is_a_warning(compiler, monkeypatch, programs):
    monkeypatch.setattr(engines, "native_levels", lambda: [])
    if compiler:
        programs(**{"g++": "exit 0"})
    level, text = only(doctor.engines())
    assert level == "warning"
    assert ("there is a C++ compiler" in text) == compiler


class Cuda:
    """A torch.cuda with GPUs of one kind."""

    def __init__(self, monkeypatch, count, capability=(7, 0), kernels=("sm_70",)):
        import torch

        fake = {
            "device_count": lambda: count,
            "get_device_capability": lambda device: capability,
            "get_device_name": lambda device: "a card",
            "get_arch_list": lambda: list(kernels),
            "get_device_properties": lambda n: SimpleNamespace(total_memory=32e9),
        }
        for name, value in fake.items():
            monkeypatch.setattr(torch.cuda, name, value)
        monkeypatch.setattr(torch.version, "cuda", "12.6")


def test_each_gpu_that_torch_can_use_is_named(monkeypatch):
    Cuda(monkeypatch, 2)
    assert [f.level for f in doctor.devices()] == ["ok", "ok"]


def test_a_volta_without_kernels_is_an_error_with_the_wheel_to_install(monkeypatch):
    Cuda(monkeypatch, 1, kernels=("sm_80", "sm_90"))
    level, text = only(doctor.devices())
    assert level == "error"
    assert "cu126" in text


def test_a_gpu_that_torch_does_not_see_is_an_error_and_none_at_all_is_not(monkeypatch, programs):
    Cuda(monkeypatch, 0)
    monkeypatch.setattr(doctor.Path, "glob", lambda self, pattern: iter(()))
    assert only(doctor.devices())[0] == "ok"
    programs(**{"nvidia-smi": "exit 0"})
    level, text = only(doctor.devices())
    assert level == "error"
    assert "cu126" in text


def test_a_folder_without_locks_or_not_to_be_written_is_an_error(tmp_path, monkeypatch):
    results = tmp_path / "not/yet/there"
    assert only(doctor.locking(results))[0] == "ok"
    assert list(tmp_path.iterdir()) == []

    def refuse(*args, **options):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "lockf", refuse)
        level, text = only(doctor.locking(results))
        assert level == "error"
        assert "HDF5_USE_FILE_LOCKING" in text
    monkeypatch.setattr(doctor.tempfile, "NamedTemporaryFile", refuse)
    assert only(doctor.locking(results))[0] == "error"


@pytest.mark.parametrize(("gigabytes", "level"), [(1, "error"), (8, "warning"), (100, "ok")])
def test_free_disk_is_held_against_the_designs_plan(gigabytes, level, tmp_path, monkeypatch):
    usage = SimpleNamespace(free=gigabytes * 1e9)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    found, text = only(doctor.disk(tmp_path, PAPER))
    assert found == level
    assert "6.8 GB" in text
    assert "1,027 files" in text
    assert only(doctor.disk(tmp_path, None))[0] == "ok"


def test_too_few_files_left_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1e12))
    monkeypatch.setattr(os, "statvfs", lambda f: SimpleNamespace(f_files=10**6, f_favail=100))
    assert [f.level for f in doctor.disk(tmp_path, PAPER)][-1] == "error"


def test_few_open_files_are_a_warning(monkeypatch):
    monkeypatch.setattr(doctor.resource, "getrlimit", lambda kind: (256, 4096))
    assert [f.level for f in doctor.limits()] == ["warning", "warning"]
    monkeypatch.setattr(doctor.resource, "getrlimit", lambda kind: (-1, -1))
    assert [f.level for f in doctor.limits()] == ["ok", "ok"]


def test_a_machine_without_slurm_is_sound(programs):
    assert only(doctor.slurm())[0] == "ok"


def test_a_slurm_with_accounts_is_sound_and_its_cards_are_named(programs):
    programs(sinfo="echo 'gpu* gpu:v100:2'", scontrol=config("slurmdbd", "2 sec"), sacct="exit 0")
    first, second = doctor.slurm()
    assert (first.level, second.level) == ("ok", "ok")
    assert "v100" in first.text


@pytest.mark.parametrize(("age", "level"), [("300 sec", "warning"), ("60 sec", "error")])
def test_a_slurm_without_accounts_makes_sacct_hang_and_squeue_needs_its_memory(
    age, level, programs
):
    programs(sinfo="echo 'gpu* gpu:volta:2'", scontrol=config("none", age), sacct="exit 1")
    last = list(doctor.slurm())[-1]
    assert last.level == level
    assert "hang" in last.text


def test_accounts_that_cannot_be_read_are_none(programs):
    programs(sinfo="echo 'gpu* (null)'", scontrol=config("slurmdbd", "300 sec"), sacct="exit 1")
    assert [f.level for f in doctor.slurm()] == ["warning", "warning"]


def test_a_slurm_that_does_not_answer_is_an_error_and_is_not_waited_for(programs, monkeypatch):
    monkeypatch.setattr(doctor, "SECONDS", 0.5)
    programs(sinfo="exec /bin/sleep 60", scontrol="exec /bin/sleep 60")
    began = time.monotonic()
    assert only(doctor.slurm())[0] == "error"
    assert time.monotonic() - began < 30  # not the minute that it would sleep


@pytest.mark.parametrize(("level", "status"), [("ok", 0), ("warning", 0), ("error", 1)])
def test_the_command_fails_if_and_only_if_there_is_an_error(level, status, monkeypatch, capsys):
    findings = [doctor.Finding("ok", "this"), doctor.Finding(level, "that")]
    monkeypatch.setattr(doctor, "diagnose", lambda *args: iter(findings))
    assert cli.main(["doctor"]) == status
    assert f"{level:8}that" in capsys.readouterr().out


def test_the_command_runs_every_check_here(capsys, programs, monkeypatch):
    monkeypatch.chdir(ROOT)
    cli.main(["doctor", "--design", str(PAPER)])
    text = capsys.readouterr().out
    for word in ("Python", "packages", "engine", "GPU", "locked", "free", "open files", "Slurm"):
        assert word in text, word
