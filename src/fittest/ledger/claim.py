"""What a claim is made of: numbers, the region each must lie in, and how much data that takes.

Imports nothing heavy: the workflow reads which files claims need while it plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf

HORIZON = 30_000
"""Step at which the paper says who survived."""

SIZES = {
    "n_trials": "trials",
    "n_embeddings": "embeddings",
    "n_values": "values on the axis",
    "n_least": "trials a value",
    "n_trials/n_embeddings": "trials an embedding",
}
"""Sample size → how it is read. `a/b` is the quotient of two columns."""


@dataclass(frozen=True)
class Region:
    """Numbers for which a claim holds, from `low` to `high`; `ends` says if those two belong."""

    low: float = -inf
    high: float = inf
    ends: bool = False

    def contains(self, low: float, high: float) -> bool:
        """Whether all of an interval lies in the region; of no number if an end is NaN."""
        if self.ends:
            return self.low <= low and high <= self.high
        return (self.low < low or self.low == -inf) and (high < self.high or self.high == inf)

    def excludes(self, low: float, high: float) -> bool:
        """Whether none of an interval lies in the region; of no number if an end is NaN."""
        if self.ends:
            return high < self.low or self.high < low
        return high <= self.low or self.high <= low

    def __str__(self) -> str:
        if self.low == self.high:
            return f"= {self.low:g}"
        if self.high == inf:
            return f"> {self.low:g}"
        if self.low == -inf:
            return f"< {self.high:g}"
        return f"from {self.low:g} to {self.high:g}"


def above(low: float) -> Region:
    """Return the numbers greater than one."""
    return Region(low=low)


def below(high: float) -> Region:
    """Return the numbers less than one."""
    return Region(high=high)


def within(low: float, high: float) -> Region:
    """Return the numbers between two, both included."""
    return Region(low, high, ends=True)


def equal(value: float) -> Region:
    """Return one number."""
    return Region(value, value, ends=True)


@dataclass(frozen=True)
class Part:
    """One number that a claim stands on: a row of a statistics file.

    text
        What the number is, for people.
    file
        `statistics/EXPERIMENT/KIND.csv`.
    statistic
        Value of the row's column `statistic`.
    region
        Where the number must lie, or None where it is reported and does not count.
    least
        Sample size, a key of `SIZES` → the fewest with which the number is judged.
    rule
        Survival rule of the row. A row without one, being about no survival, does as well.
    keys
        Other columns of the row → their values.
    horizon
        Step that the claim is about; None where it is about none.
    seen
        Whether the number itself is judged and not its interval: where it is an identity, or the
        claim is that something occurs or does not.
    """

    text: str
    file: str
    statistic: str
    region: Region | None
    least: Mapping[str, int] = field(default_factory=dict)
    rule: str = "relative"
    keys: Mapping[str, str | int] = field(default_factory=dict)
    horizon: int | None = HORIZON
    seen: bool = False

    @property
    def experiment(self) -> str:
        """The experiment that the file is about."""
        return self.file.split("/")[1]

    @property
    def kind(self) -> str:
        """Kind of the file, a key of `fittest.analyses.STATISTICS`."""
        return self.file.split("/")[2].removesuffix(".csv")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and the numbers that judge it.

    id
        Short name, by which the ledger knows it.
    where
        Section or figure of arXiv 2405.17420.
    text
        What is claimed.
    published
        The paper's value, or empty where it gives none.
    parts
        The numbers: the claim holds if it does for each that has a region. None: reported only.
    note
        What a reader should know of the claim or the rule.
    """

    id: str
    where: str
    text: str
    published: str
    parts: tuple[Part, ...]
    note: str = ""

    @property
    def judged(self) -> tuple[Part, ...]:
        """The parts that count."""
        return tuple(part for part in self.parts if part.region is not None)

    @property
    def rule(self) -> str:
        """When the claim is reproduced, in words, made from what judges it."""
        if not self.judged:
            return "reported, not judged"
        texts = []
        for part in self.judged:
            rule = "" if part.rule == "relative" else f" by survival rule {part.rule}"
            texts.append(f"{part.text}{rule}: {part.region}{' (as seen)' if part.seen else ''}")
        least: dict[str, None] = {}
        for part in self.judged:
            least |= {f"{count} {SIZES[size]}": None for size, count in part.least.items()}
        enough = f"; from at least {' and '.join(least)}" if least else ""
        return "; and ".join(texts) + enough
