"""A tiny trained design that tests of tables, statistics and figures read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from fittest.cells import Block, Cell
from fittest.design import Design
from fittest.embeddings import write_embedding
from fittest.protocol import Protocol
from fittest.training.block import train_block

SEED = 3


@dataclass(frozen=True)
class Trained:
    """Trajectory files of some blocks, and what they were trained with."""

    root: Path
    protocol: Protocol
    design: Design

    def train(self, cell: Cell, first: int, last: int) -> Path:
        """Train a block; return its file."""
        path = self.root / "trajectories" / Block("standard", cell, first, last).path
        if not path.exists():
            train_block(path, self.protocol, SEED, device="cpu")
        return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> Trained:
    protocol = Protocol.model_validate(
        {
            "steps": 60,
            "record": {"dense_until": 10, "every": 10, "gradients": 5, "snapshots": [0, 20]},
        }
    )
    design = Design.model_validate(
        {
            "seed": SEED,
            "block": 2,
            "horizons": [10, 40],
            "protocols": {"standard": protocol},
            "experiments": {"initial-signal": {"trials": 4}},
        }
    )
    return Trained(tmp_path_factory.mktemp("trained"), protocol, design)


@pytest.fixture(scope="session")
def paths(trained) -> list[Path]:
    """Two embeddings, four trials each, in blocks of two; out of order, as a cluster does it."""
    cells = [Cell(p=13, d=6, width=8, embedding=e) for e in ("1", "0")]
    return [trained.train(cell, first, first + 1) for first in (2, 0) for cell in cells]


@pytest.fixture(scope="session")
def embedding_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("embedding") / "embedding~0.h5"
    write_embedding(path, SEED, 13, 6, 0)
    return path
