"""The figures there are: which module draws each, and from which files. Imports no drawing code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure.

    title
        One line for people: what it shows.
    inputs
        Tables and statistics it is drawn from, in order, below the design's results folder:
        `KIND/EXPERIMENT/FILE`.
    """

    name: str
    title: str
    inputs: tuple[str, ...]

    @property
    def module(self) -> str:
        """The module that draws it: `data(*inputs)`, `draw(frame)`, `caption(frame)`."""
        return f"fittest.figures.{self.name}"

    @property
    def experiments(self) -> list[str]:
        """The experiments it is about."""
        return list(dict.fromkeys(path.split("/")[1] for path in self.inputs))


def _both(experiment: str) -> tuple[str, ...]:
    return (f"tables/{experiment}/course.nc", f"statistics/{experiment}/comparison.csv")


_HEADLINE = "initial-signal"
_ALL = (
    Figure(
        "figure_2",
        "Fig. 2: signals over training, and a dead and a surviving circle on their planes.",
        (f"tables/{_HEADLINE}/trial.nc",),
    ),
    Figure(
        "figure_3",
        "Fig. 3: principal planes against Fourier planes, and singular values.",
        (f"tables/{_HEADLINE}/trial.nc",),
    ),
    Figure(
        "figure_5",
        "Fig. 5: number of circles against prime modulus and against dimension.",
        ("statistics/modulus/counts.csv", "statistics/dimension/counts.csv"),
    ),
    Figure(
        "figure_6",
        "Fig. 6 left: survival rate against initial signal.",
        (f"tables/{_HEADLINE}/rates.nc", f"statistics/{_HEADLINE}/correlation.csv"),
    ),
    Figure(
        "figure_10",
        "Fig. 10: number of circles against weight decay.",
        ("statistics/weight-decay/counts.csv",),
    ),
    Figure(
        "figure_14",
        "Fig. 14: number of circles against every modulus, primes marked.",
        ("statistics/modulus-all/counts.csv",),
    ),
    Figure(
        "figure_8",
        "Fig. 8: loss of one trial's network with one, two and three of its circles.",
        ("tables/collaboration/kept.nc", "statistics/collaboration/kept.csv"),
    ),
    Figure(
        "arithmetic",
        "The same trials in float64, float32 exact and float32 naive: signals, loss, survivors.",
        _both("arithmetic"),
    ),
    Figure(
        "engines",
        "The same trials by each engine: early agreement and outcomes.",
        _both("engines"),
    ),
    Figure(
        "decision_time",
        "How early survival is decided: AUC of the signal at each step.",
        (f"statistics/{_HEADLINE}/decision.csv",),
    ),
    Figure(
        "figure_9",
        "Fig. 9: R² of differential equations against d; two circles as each fit tells them.",
        ("statistics/ode/dynamics.csv", f"tables/{_HEADLINE}/example.nc"),
    ),
    Figure(
        "figure_15",
        "Fig. 15: coefficients of one trial's equations, by least squares and by Lasso.",
        (f"tables/{_HEADLINE}/example.nc", f"statistics/{_HEADLINE}/interactions.csv"),
    ),
    Figure(
        "figure_16",
        "Fig. 16: every circle of one trial, observed and as differential equations tell it.",
        (f"tables/{_HEADLINE}/example.nc",),
    ),
    Figure(
        "width",
        "R² and rollout error of linear differential equations against hidden width.",
        ("statistics/width/dynamics.csv",),
    ),
    Figure(
        "generalisation",
        "Whether differential equations of some trials tell other trials of their embedding.",
        (f"statistics/{_HEADLINE}/generalisation.csv",),
    ),
)
FIGURES = {figure.name: figure for figure in _ALL}
"""Name → figure."""


def drawable(experiments: Iterable[str]) -> list[str]:
    """Return the figures whose experiments are all among some."""
    there = set(experiments)
    return [name for name, figure in FIGURES.items() if there.issuperset(figure.experiments)]
