"""Cells: one value on every experiment axis, and the text that spells it in a path.

An axis value is rounded once, to the text in the path, and that text is what is trained. Every axis
is always present, in Snakemake's `name~value` form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf
from pathlib import PurePath

from fittest.errors import DesignError
from fittest.interventions import number_text, parse_intervention

AXES = {
    "p": "p",
    "d": "d",
    "weight_decay": "wd",
    "width": "width",
    "embedding": "embedding",
    "intervention": "intervention",
}
"""Axis name in a design → its name in a path, in path order."""

REDRAWN = "redrawn"
"""The `embedding` value of a cell whose trials each draw their own."""

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
"""A name that stands in a path: lower-case words joined by hyphens."""


@dataclass(frozen=True)
class Cell:
    """One value on every axis. Two experiments that name the same cell share its trajectories."""

    p: int = 59
    d: int = 128
    weight_decay: float = 0.5
    width: int = 100
    embedding: str = "0"
    intervention: str = "none"

    @property
    def base_index(self) -> int | None:
        """Index of the shared base embedding, or None where each trial draws its own."""
        return None if self.embedding == REDRAWN else int(self.embedding)

    def text(self, axis: str) -> str:
        """Return the value on an axis as it stands in a path."""
        value = getattr(self, axis)
        return number_text(value) if isinstance(value, float) else str(value)

    @property
    def path(self) -> str:
        """The folder that spells the cell: `p~59/d~128/wd~0.5/…`."""
        return "/".join(f"{short}~{self.text(axis)}" for axis, short in AXES.items())

    @classmethod
    def from_texts(cls, texts: dict[str, str]) -> Cell:
        """Return the cell of a path's values, keyed by axis name in a path (`wd`, …)."""
        values = {axis: texts[short] for axis, short in AXES.items()}
        if values["embedding"] != REDRAWN:
            values["embedding"] = str(int(values["embedding"]))
        return cls(
            p=int(values["p"]),
            d=int(values["d"]),
            weight_decay=float(values["weight_decay"]),
            width=int(values["width"]),
            embedding=values["embedding"],
            intervention=parse_intervention(values["intervention"]).text,
        )


@dataclass(frozen=True)
class Block:
    """Trials `first` … `last` of a cell under a named protocol: one job, one file."""

    protocol: str
    cell: Cell
    first: int
    last: int

    @property
    def trials(self) -> range:
        """The trial numbers of the block."""
        return range(self.first, self.last + 1)

    @property
    def path(self) -> str:
        """Path of the trajectory file below the trajectories folder."""
        return f"{self.protocol}/{self.cell.path}/trials~{self.first}-{self.last}.h5"

    @property
    def _possible(self) -> bool:
        cell = self.cell
        return (
            NAME.fullmatch(self.protocol) is not None
            and 0 <= self.first <= self.last
            and min(cell.p, cell.d, cell.width) >= 1
            and 0 <= cell.weight_decay < inf
            and (cell.base_index or 0) >= 0
        )

    @property
    def base(self) -> Block:
        """The same trials without intervention."""
        cell = Cell(**{**self.cell.__dict__, "intervention": "none"})
        return Block(self.protocol, cell, self.first, self.last)

    @classmethod
    def from_path(cls, path: str | PurePath) -> Block:
        """Return the block a trajectory path spells; raise DesignError for any other path."""
        tail = PurePath(path).parts[-len(AXES) - 2 :]
        block: Block | None = None
        try:
            texts = dict(part.split("~", 1) for part in tail[1:])
            first, last = PurePath(texts.pop("trials")).stem.split("-")
            block = cls(tail[0], Cell.from_texts(texts), int(first), int(last))
            sound = "/".join(tail) == block.path and block._possible
        except (ValueError, KeyError, IndexError):
            sound = False
        if block is None or not sound:
            example = cls("standard", Cell(), 0, 49).path
            raise DesignError(f"{path} does not spell a block. A block is spelt like {example}")
        return block
