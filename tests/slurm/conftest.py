"""A real Slurm on this machine: its daemons, its scheduler, its records. Only the GPUs are none."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

CONFIGURATION = Path("/etc/slurm")
MUNGE_SOCKET = Path("/run/munge/munge.socket.2")
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")

SLURM_CONF = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
SlurmUser=root
SlurmdUser=root
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=500
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobs.txt
MinJobAge=600
KillWait=5
GresTypes=gpu
# More processors and memory than the machine has: its jobs are tiny.
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 \
ThreadsPerCore=1 RealMemory=60000 Gres=gpu:volta:4
PartitionName=gpu Nodes={host} Default=YES MaxTime=24:00:00 State=UP
"""


@dataclass(frozen=True)
class Cluster:
    """A running Slurm with four would-be V100s, without accounting."""

    folder: Path

    def run(self, *command: object) -> str:
        """Run one of Slurm's commands; they may wait for ever, so no longer than a minute."""
        done = subprocess.run(
            [str(word) for word in command], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def job(self, number: int | str) -> dict[str, str]:
        """Return what Slurm knows of a job that runs or ended lately."""
        line = self.run("scontrol", "show", "job", number, "-o")
        return dict(word.split("=", 1) for word in line.split() if "=" in word)

    def record(self) -> dict[str, str]:
        """Return job number → final state of every job that ended, from Slurm's own record."""
        path = self.folder / "jobs.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        jobs = [dict(w.split("=", 1) for w in line.split() if "=" in w) for line in lines]
        return {job["JobId"]: job["JobState"] for job in jobs}


def _missing() -> str | None:
    """Say why Slurm cannot be started here."""
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)} not installed (Debian: apt-get install slurm-wlm munge)"
    if os.geteuid() != 0:
        return "only root can start Slurm's daemons"
    for name in ("slurm.conf", "gres.conf"):
        path = CONFIGURATION / name
        if path.exists() and not path.is_symlink():
            return f"this machine has a Slurm of its own: {path}"
    return None


@contextlib.contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """Start Slurm in a new folder, and stop it by its process numbers."""
    folder.mkdir()
    try:
        _start(folder)
        yield Cluster(folder)
    finally:
        _stop(folder)


@pytest.fixture(scope="session")
def slurm_installed() -> None:
    """Skip where Slurm cannot be started; in CI that is a failure."""
    if why := _missing():
        pytest.fail(why) if os.environ.get("CI") else pytest.skip(why)


def _start(folder: Path) -> None:
    host = socket.gethostname().split(".")[0]
    for name in ("state", "spool", "devices"):
        (folder / name).mkdir()
    for number in range(4):
        device = folder / "devices" / f"nvidia{number}"
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(195, number))
    (folder / "slurm.conf").write_text(SLURM_CONF.format(host=host, folder=folder))
    gres = f"NodeName={host} Name=gpu Type=volta File={folder}/devices/nvidia[0-3]\n"
    (folder / "gres.conf").write_text(gres)
    CONFIGURATION.mkdir(exist_ok=True)
    for name in ("slurm.conf", "gres.conf"):
        (CONFIGURATION / name).unlink(missing_ok=True)  # a link that a killed test left
        (CONFIGURATION / name).symlink_to(folder / name)
    if not _ok("munge", "-n"):
        key = folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        MUNGE_SOCKET.parent.mkdir(exist_ok=True)
        files = [f"--{name}-file={folder}/munged.{name}" for name in ("pid", "log", "seed")]
        _check("munged", "--force", f"--key-file={key}", f"--socket={MUNGE_SOCKET}", *files)
    _check("slurmctld", "-c")
    _check("slurmd")
    deadline = time.monotonic() + 60
    while "idle" not in _output("sinfo", "--noheader", "--format=%t"):
        assert time.monotonic() < deadline, (folder / "slurmctld.log").read_text()
        time.sleep(0.2)


def _stop(folder: Path) -> None:
    subprocess.run(["scancel", "--me"], timeout=60, capture_output=True)
    for name in ("slurmd", "slurmctld", "munged"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, ValueError):
            os.kill(int((folder / f"{name}.pid").read_text()), signal.SIGTERM)
    for name in ("slurm.conf", "gres.conf"):
        (CONFIGURATION / name).unlink(missing_ok=True)


def _ok(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, timeout=60).returncode == 0


def _check(*command: str) -> None:
    # Not captured: a daemon keeps its pipes open.
    subprocess.run(command, check=True, timeout=60, stdout=sys.stderr, stderr=sys.stderr)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
