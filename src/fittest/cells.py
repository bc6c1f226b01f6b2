"""Cells: one value on every experiment axis, and the text that spells it in a path.

An axis value is rounded once, to the text in the path, and that text is what is trained. Every axis
is always present, in Snakemake's `name~value` form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import PurePath

from fittest.errors import DesignError, choices, suggestion

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

_SIGNIFICANT_DIGITS = 6


def number_text(value: float) -> str:
    """Return a number as it stands in a path: six significant digits, no trailing zeros."""
    return f"{value + 0.0:.{_SIGNIFICANT_DIGITS}g}"  # + 0.0 turns a negative zero into zero


@dataclass(frozen=True)
class Intervention:
    """What is done to an initial embedding, as spelt on the `intervention` axis.

    kind
        `none`, `scale`, `keep`, `keep-strongest`, `keep-random` or `construct`.
    frequencies
        The circles named: one for `scale`, one or more for `keep`.
    factor
        The multiplier of `scale`, or the ratio of `construct`.
    count
        How many circles `keep-strongest` and `keep-random` keep.
    phase
        `circle` or `line`, for `construct`.
    """

    kind: str
    frequencies: tuple[int, ...] = ()
    factor: float = 1.0
    count: int = 0
    phase: str = ""

    @property
    def text(self) -> str:
        """The one spelling of the intervention: numbers rounded, circles in increasing order."""
        circles = "-".join(str(k) for k in sorted(self.frequencies))
        return {
            "none": "none",
            "scale": f"scale-{circles}-{number_text(self.factor)}",
            "keep": f"keep-{circles}",
            "keep-strongest": f"keep-strongest-{self.count}-of-base",
            "keep-random": f"keep-random-{self.count}",
            "construct": f"construct-{self.phase}-{number_text(self.factor)}",
        }[self.kind]

    @property
    def needs_base(self) -> bool:
        """Whether it is resolved from the unperturbed trajectory of the same trials."""
        return self.kind == "keep-strongest"

    def check(self, p: int, d: int) -> None:
        """Raise DesignError where the intervention names a circle that p does not have."""
        last = (p - 1) // 2
        for k in self.frequencies:
            if not 1 <= k <= last:
                raise DesignError(
                    f"frequency {k} is not a circle at p = {p}: circles are 1 … {last}"
                )
        if self.count > last:
            raise DesignError(f"cannot keep {self.count} circles at p = {p}: there are {last}")
        if self.kind == "construct" and last < 2:
            raise DesignError(f"construct needs two circles, and p = {p} has {last}: use p ≥ 5")
        if self.kind == "construct" and self.phase == "circle" and d < 2:
            raise DesignError(f"construct-circle needs two directions: d = {d} is too small")


_WHOLE = r"[0-9]{1,9}"
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
_GRAMMAR = {
    "none": re.compile(r"none"),
    "scale": re.compile(rf"scale-(?P<k>{_WHOLE})-(?P<factor>{_NUMBER})"),
    "keep": re.compile(rf"keep-(?P<ks>{_WHOLE}(?:-{_WHOLE})*)"),
    "keep-strongest": re.compile(rf"keep-strongest-(?P<count>{_WHOLE})-of-base"),
    "keep-random": re.compile(rf"keep-random-(?P<count>{_WHOLE})"),
    "construct": re.compile(rf"construct-(?P<phase>circle|line)-(?P<factor>{_NUMBER})"),
}
INTERVENTION_FORMS = (
    "none",
    "scale-K-FACTOR",
    "keep-K[-K…]",
    "keep-strongest-N-of-base",
    "keep-random-N",
    "construct-circle-RATIO",
    "construct-line-RATIO",
)
"""How interventions are spelt."""


def parse_intervention(text: str) -> Intervention:
    """Parse the text of the `intervention` axis; raise DesignError naming the forms there are."""
    for kind, pattern in _GRAMMAR.items():
        match = pattern.fullmatch(text)
        if match is None:
            continue
        found = match.groupdict()
        ks = [int(k) for k in found.get("ks", found.get("k", "")).split("-") if k]
        if len(set(ks)) < len(ks):
            raise DesignError(f"intervention {text!r} names a circle twice: name each once")
        count = int(found.get("count", 0))
        if "count" in found and count < 1:
            raise DesignError(f"intervention {text!r} keeps no circle: keep at least 1")
        factor = float(found.get("factor", 1.0))
        if not isfinite(factor):
            raise DesignError(f"intervention {text!r} has an infinite factor: write a finite one")
        return Intervention(kind, tuple(ks), factor, count, found.get("phase", ""))
    raise DesignError(
        f"unknown intervention {text!r}. Allowed: {choices(INTERVENTION_FORMS)}."
        + suggestion(text, INTERVENTION_FORMS)
    )


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
