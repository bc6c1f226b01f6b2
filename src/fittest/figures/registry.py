"""The figures there are: which module draws each, and from which files. Imports no drawing code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure.

    inputs
        Tables and statistics it is drawn from, in order, below the design's results folder:
        `KIND/EXPERIMENT/FILE`.
    """

    name: str
    inputs: tuple[str, ...]

    @property
    def module(self) -> str:
        """The module that draws it: it has `data(*inputs)` and `draw(frame)`."""
        return f"fittest.figures.{self.name}"

    @property
    def experiments(self) -> list[str]:
        """The experiments it is about."""
        return list(dict.fromkeys(path.split("/")[1] for path in self.inputs))


def _both(experiment: str) -> tuple[str, ...]:
    return (f"tables/{experiment}/course.nc", f"statistics/{experiment}/comparison.csv")


_HEADLINE = "initial-signal"
_ALL = (
    Figure("figure_2", (f"tables/{_HEADLINE}/trial.nc",)),
    Figure("figure_3", (f"tables/{_HEADLINE}/trial.nc",)),
    Figure("figure_5", ("statistics/modulus/counts.csv", "statistics/dimension/counts.csv")),
    Figure(
        "figure_6",
        (f"tables/{_HEADLINE}/rates.nc", f"statistics/{_HEADLINE}/correlation.csv"),
    ),
    Figure("figure_10", ("statistics/weight-decay/counts.csv",)),
    Figure("figure_14", ("statistics/modulus-all/counts.csv",)),
    Figure("arithmetic", _both("arithmetic")),
    Figure("engines", _both("engines")),
    Figure("decision_time", (f"statistics/{_HEADLINE}/decision.csv",)),
)
FIGURES = {figure.name: figure for figure in _ALL}
"""Name → figure."""
