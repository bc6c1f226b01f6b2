"""Where a file comes from: versions, revision, time. Attributes are plain text or numbers."""

from __future__ import annotations

import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

PACKAGES = ("fittest", "numpy", "scipy", "torch", "h5py", "h5netcdf", "xarray")


def provenance() -> dict[str, str]:
    """Return creation time, git revision, host, Python and package versions."""
    versions = [f"python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            continue
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "git_revision": git_revision(),
        "host": platform.node(),
        "versions": ", ".join(versions),
    }


def git_revision() -> str:
    """Return the revision the package runs from, `-dirty` if edited, or `unknown`."""
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=40", "--match="],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()
