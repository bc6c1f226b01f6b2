"""Interventions on the initial embedding: how each is spelt on its axis, checked and applied.

One class an intervention. Your own is another class, and a line in `INTERVENTIONS`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import ClassVar, Self

import numpy as np

from fittest.errors import DesignError, choices, suggestion
from fittest.fourier import circle_frequencies
from fittest.spectrum import construct, keep, scale

_WHOLE = r"[0-9]{1,9}"
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
_SIGNIFICANT_DIGITS = 6


def number_text(value: float) -> str:
    """Return a number as it stands in a path: six significant digits, no trailing zeros."""
    return f"{value + 0.0:.{_SIGNIFICANT_DIGITS}g}"  # + 0.0 turns a negative zero into zero


@dataclass(frozen=True)
class Trial:
    """What an intervention may use of a trial.

    embedding
        The base embedding, shape (p, d).
    rng
        From the name of a role to the trial's random stream for it.
    final_signal
        Final signals of the same trial without intervention, shape (K,); only where `needs_base`.
    """

    embedding: np.ndarray
    rng: Callable[[str], np.random.Generator]
    final_signal: np.ndarray | None = None


class Intervention(ABC):
    """What is done to an initial embedding.

    forms, pattern
        How it is spelt: for people, and as a regular expression of the whole text.
    needs_base
        Whether it is resolved from the unperturbed trajectory of the same trials.
    """

    forms: ClassVar[tuple[str, ...]]
    pattern: ClassVar[re.Pattern[str]]
    needs_base: ClassVar[bool] = False

    @classmethod
    @abstractmethod
    def read(cls, found: dict[str, str]) -> Self:
        """Return the intervention from the named groups of `pattern`; DesignError if senseless."""

    @property
    @abstractmethod
    def text(self) -> str:
        """The one spelling of the intervention: numbers rounded, circles in increasing order."""

    def check(self, p: int, d: int) -> None:  # noqa: B027 - most are possible anywhere
        """Raise DesignError where it is not possible at p and d."""

    @abstractmethod
    def apply(self, trial: Trial) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return the embedding, shape (p, d), and the circles it came to name."""


@dataclass(frozen=True)
class Unperturbed(Intervention):
    """`none`: the base embedding as it is."""

    forms = ("none",)
    pattern = re.compile(r"none")

    @classmethod
    def read(cls, found: dict[str, str]) -> Self:
        """Return it."""
        return cls()

    @property
    def text(self) -> str:
        """`none`."""
        return "none"

    def apply(self, trial: Trial) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return the base embedding."""
        return trial.embedding, ()


@dataclass(frozen=True)
class Scale(Intervention):
    """Multiply one circle (paper, Fig. 6 middle)."""

    forms = ("scale-K-FACTOR",)
    pattern = re.compile(rf"scale-(?P<k>{_WHOLE})-(?P<factor>{_NUMBER})")
    frequencies: tuple[int, ...]
    factor: float

    @classmethod
    def read(cls, found: dict[str, str]) -> Self:
        """Return it from a circle and a finite factor."""
        k, factor = found["k"], found["factor"]
        return cls((int(k),), _finite(factor, f"scale-{k}-{factor}"))

    @property
    def text(self) -> str:
        """`scale-K-FACTOR`."""
        return f"scale-{self.frequencies[0]}-{number_text(self.factor)}"

    def check(self, p: int, d: int) -> None:
        """Raise DesignError where p does not have the circle."""
        _check_circles(self.frequencies, p)

    def apply(self, trial: Trial) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return the scaled embedding."""
        return scale(trial.embedding, self.frequencies[0], self.factor), self.frequencies


@dataclass(frozen=True)
class Keep(Intervention):
    """Keep the circles named, zero all else (paper, App. C)."""

    forms = ("keep-K[-K…]",)
    pattern = re.compile(rf"keep-(?P<ks>{_WHOLE}(?:-{_WHOLE})*)")
    frequencies: tuple[int, ...]

    @classmethod
    def read(cls, found: dict[str, str]) -> Self:
        """Return it from circles joined by hyphens, each once."""
        circles = [int(k) for k in found["ks"].split("-")]
        if len(set(circles)) < len(circles):
            spelt = f"keep-{found['ks']}"
            raise DesignError(f"intervention {spelt!r} names a circle twice: name each once")
        return cls(tuple(circles))

    @property
    def text(self) -> str:
        """`keep-K[-K…]`."""
        return f"keep-{'-'.join(str(k) for k in sorted(self.frequencies))}"

    def check(self, p: int, d: int) -> None:
        """Raise DesignError where p does not have the circles."""
        _check_circles(self.frequencies, p)

    def apply(self, trial: Trial) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return the embedding of these circles alone."""
        return keep(trial.embedding, self.frequencies), self.frequencies


@dataclass(frozen=True)
class _KeepSome(Intervention):
    """Keep so many circles, zero all else (paper, App. C)."""

    count: int

    @classmethod
    def read(cls, found: dict[str, str]) -> Self:
        """Return it from how many to keep, at least 1."""
        count = found["count"]
        if int(count) < 1:
            spelt = cls.forms[0].replace("N", count)
            raise DesignError(f"intervention {spelt!r} keeps no circle: keep at least 1")
        return cls(int(count))

    @property
    def text(self) -> str:
        """The form with its count."""
        return self.forms[0].replace("N", str(self.count))

    def check(self, p: int, d: int) -> None:
        """Raise DesignError where p has fewer circles."""
        last = (p - 1) // 2
        if self.count > last:
            raise DesignError(f"cannot keep {self.count} circles at p = {p}: there are {last}")


@dataclass(frozen=True)
class KeepStrongest(_KeepSome):
    """Keep the circles that end strongest in the unperturbed trial."""

    forms = ("keep-strongest-N-of-base",)
    pattern = re.compile(rf"keep-strongest-(?P<count>{_WHOLE})-of-base")
    needs_base = True

    def apply(self, trial: Trial) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return the embedding of those circles alone."""
        if trial.final_signal is None:
            raise ValueError("keep-strongest needs the final signals of the unperturbed trial")
        order = np.argsort(-trial.final_signal, kind="stable")
        named = tuple(int(i) + 1 for i in order[: self.count])
        return keep(trial.embedding, named), named


@dataclass(frozen=True)
class KeepRandom(_KeepSome):
    """Keep circles drawn at random for each trial."""

    forms = ("keep-random-N",)
    pattern = re.compile(rf"keep-random-(?P<count>{_WHOLE})")

    def apply(self, trial: Trial) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return the embedding of those circles alone."""
        ks = circle_frequencies(len(trial.embedding))
        drawn = trial.rng("keep").choice(ks, self.count, replace=False)
        named = tuple(int(k) for k in drawn)
        return keep(trial.embedding, named), named


@dataclass(frozen=True)
class Construct(Intervention):
    """Build two circles, the second so many times the first, all others near zero (Fig. 6 right).

    phase
        `circle` or `line`, see `fittest.spectrum.construct`.
    """

    forms = ("construct-circle-RATIO", "construct-line-RATIO")
    pattern = re.compile(rf"construct-(?P<phase>circle|line)-(?P<ratio>{_NUMBER})")
    phase: str
    ratio: float

    @classmethod
    def read(cls, found: dict[str, str]) -> Self:
        """Return it from a phase and a finite ratio."""
        phase, ratio = found["phase"], found["ratio"]
        return cls(phase, _finite(ratio, f"construct-{phase}-{ratio}"))

    @property
    def text(self) -> str:
        """`construct-PHASE-RATIO`."""
        return f"construct-{self.phase}-{number_text(self.ratio)}"

    def check(self, p: int, d: int) -> None:
        """Raise DesignError where there are fewer than two circles or directions."""
        if (last := (p - 1) // 2) < 2:
            raise DesignError(f"construct needs two circles, and p = {p} has {last}: use p ≥ 5")
        if self.phase == "circle" and d < 2:
            raise DesignError(f"construct-circle needs two directions: d = {d} is too small")

    def apply(self, trial: Trial) -> tuple[np.ndarray, tuple[int, ...]]:
        """Return an embedding built anew, and its two circles, the stronger first."""
        p, d = trial.embedding.shape
        return construct(trial.rng("construction"), p, d, self.ratio, self.phase)


INTERVENTIONS: tuple[type[Intervention], ...] = (
    Unperturbed,
    Scale,
    Keep,
    KeepStrongest,
    KeepRandom,
    Construct,
)
"""Interventions there are, in the order in which a text is tried against them."""


def forms() -> list[str]:
    """Return how interventions are spelt."""
    return [form for kind in INTERVENTIONS for form in kind.forms]


def parse_intervention(text: str) -> Intervention:
    """Parse the text of the `intervention` axis; raise DesignError naming the forms there are."""
    for kind in INTERVENTIONS:
        if (match := kind.pattern.fullmatch(text)) is not None:
            return kind.read(match.groupdict())
    raise DesignError(
        f"unknown intervention {text!r}. Allowed: {choices(forms())}." + suggestion(text, forms())
    )


def _finite(number: str, text: str) -> float:
    value = float(number)
    if not isfinite(value):
        raise DesignError(f"intervention {text!r} has an infinite factor: write a finite one")
    return value


def _check_circles(frequencies: tuple[int, ...], p: int) -> None:
    last = (p - 1) // 2
    for k in frequencies:
        if not 1 <= k <= last:
            raise DesignError(f"frequency {k} is not a circle at p = {p}: circles are 1 … {last}")
