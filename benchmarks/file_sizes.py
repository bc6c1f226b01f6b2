"""How well trajectories compress: `python -m benchmarks.file_sizes`.

Trains some small blocks, reads from their files how many bytes each kind of content takes, and
tries the estimate on files it was not fitted to. Results go to results/benchmarks/file_sizes.json;
`python -m benchmarks.coefficients` gives them to the package.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from benchmarks.costs import ROOT, machine
from fittest.cells import REDRAWN, Block, Cell
from fittest.files import write_text
from fittest.plan.file_sizes import Compression, content, kind, variables
from fittest.protocol import Init, Protocol, Recording
from fittest.training.block import train_block

RESULTS = ROOT / "results/benchmarks/file_sizes.json"

Case = tuple[Protocol, Cell, int]
"""Protocol, cell and how many trials."""

_SHORT, _FROZEN = Protocol(steps=4000), Protocol(steps=4000, frozen=["embedding"])
_STORED = Protocol(steps=2000, record=Recording(networks=100))
_DOUBLE = {"arithmetic": "float64"}
FITTED: tuple[Case, ...] = (
    (_SHORT, Cell(31, 64, embedding=REDRAWN), 3),
    (_SHORT, Cell(59, 128, embedding=REDRAWN), 1),
    (_SHORT, Cell(23, 64), 5),
    (_FROZEN, Cell(23, 16, embedding=REDRAWN), 3),
    (_SHORT.model_copy(update=_DOUBLE), Cell(31, 64, embedding=REDRAWN), 2),
    (_SHORT.model_copy(update=_DOUBLE), Cell(23, 64), 5),
    (_FROZEN.model_copy(update=_DOUBLE), Cell(23, 16, embedding=REDRAWN), 3),
    (_STORED, Cell(23, 64), 1),
    (_STORED.model_copy(update=_DOUBLE), Cell(23, 64), 1),
)
"""What the shares are fitted to: every kind of content in both types."""

UNSEEN: tuple[Case, ...] = (
    (Protocol(steps=600, record=Recording(dense_until=100, every=20)), Cell(13, 16, width=24), 4),
    (_SHORT, Cell(59, 128), 2),
    (Protocol(steps=1000), Cell(97, 32, embedding=REDRAWN), 2),
    (Protocol(steps=30_000, activation="relu"), Cell(23, 64, embedding=REDRAWN), 1),
    (_SHORT, Cell(23, 64, intervention="construct-circle-0.5"), 10),
    (Protocol(steps=2000, init=Init(mlp="normal"), arithmetic="float64"), Cell(31, 64), 2),
    (Protocol(steps=1000, frozen=["embedding"]), Cell(31, 64, embedding=REDRAWN), 5),
    (Protocol(steps=1000, record=Recording(networks=50)), Cell(59, 128), 1),
)
"""What the estimate is tried on."""


@dataclass(frozen=True)
class Stored:
    """A file: what was trained, its stored bytes by kind of content, and its size."""

    block: Block
    protocol: Protocol
    stored: dict[str, int]
    size: int

    @classmethod
    def read(cls, path: Path, protocol: Protocol) -> Stored:
        """Read from a trajectory file how many bytes each kind of content takes."""
        block = Block.from_path(path)
        stored: dict[str, int] = {}
        with h5py.File(path) as file:
            for name, data in file.items():
                of = kind(name, block, protocol)
                stored[of] = stored.get(of, 0) + data.id.get_storage_size()
        return cls(block, protocol, stored, path.stat().st_size)


def train(case: Case, folder: Path) -> Stored:
    """Train a case and return what its file takes."""
    protocol, cell, trials = case
    path = folder / Block("standard", cell, 0, trials - 1).path
    train_block(path, protocol, seed=0, device="cpu")
    return Stored.read(path, protocol)


def fit(files: list[Stored]) -> Compression:
    """Return the shares that files have: all stored bytes over all uncompressed ones."""
    share: dict[str, dict[str, float]] = {}
    for dtype in sorted({file.protocol.dtype for file in files}):
        of = [file for file in files if file.protocol.dtype == dtype]
        held = [content(file.block, file.protocol) for file in of]
        share[dtype] = {
            kind: sum(file.stored.get(kind, 0) for file in of)
            / sum(one.get(kind, 0) for one in held)
            for kind in sorted({kind for one in held for kind in one})
        }
    besides = [
        (file.size - sum(file.stored.values())) / len(variables(file.protocol)) for file in files
    ]
    return Compression(float(np.mean(besides)), share)


def estimated_over_real(compression: Compression, files: list[Stored]) -> dict[str, float]:
    """Return estimated over real size of each file, by what it holds."""
    return {
        f"{one.block.cell.path}, {len(one.block.trials)} trials of {one.protocol.identity}": (
            compression.file_bytes(one.block, one.protocol) / one.size
        )
        for one in files
    }


def measure(fitted: tuple[Case, ...], unseen: tuple[Case, ...]) -> dict[str, Any]:
    """Train, fit and try; return the results."""
    with tempfile.TemporaryDirectory() as folder:
        some, others = (
            [train(case, Path(folder) / f"{name}-{i}") for i, case in enumerate(cases)]
            for name, cases in (("fitted", fitted), ("unseen", unseen))
        )
    compression = fit(some)
    return {
        "machine": machine(),
        "compression": compression.results(),
        "estimated_over_real": estimated_over_real(compression, some),
        "estimated_over_real_unseen": estimated_over_real(compression, others),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the measurement."""
    parser = argparse.ArgumentParser(prog="benchmarks.file_sizes", description=__doc__)
    parser.add_argument("--output", type=Path, default=RESULTS, help=f"default {RESULTS}")
    options = parser.parse_args(arguments)
    found = measure(FITTED, UNSEEN)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_text(options.output, json.dumps(found, indent=2) + "\n")
    for name in ("estimated_over_real", "estimated_over_real_unseen"):
        print(name.replace("_", " "))
        for file, ratio in found[name].items():
            print(f"  {ratio:.2f}  {file}")
    print(f"written to {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
