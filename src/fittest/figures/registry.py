"""The figures there are: which module draws each, and from which files. Imports no drawing code."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One figure.

    experiment
        The experiment it is about.
    files
        Tables and statistics it is drawn from, below the design's results folder, `{}` standing for
        the experiment.
    """

    name: str
    experiment: str
    files: tuple[str, ...]

    @property
    def module(self) -> str:
        """The module that draws it: it has `data(*inputs)` and `draw(frame)`."""
        return f"fittest.figures.{self.name}"

    @property
    def inputs(self) -> list[str]:
        """Its files, below the design's results folder."""
        return [path.format(self.experiment) for path in self.files]


_ALL = (
    Figure("figure_2", "initial-signal", ("tables/{}/trial.nc",)),
    Figure("figure_3", "initial-signal", ("tables/{}/trial.nc",)),
    Figure("figure_6", "initial-signal", ("tables/{}/rates.nc", "statistics/{}/correlation.csv")),
    Figure("arithmetic", "arithmetic", ("tables/{}/course.nc", "statistics/{}/comparison.csv")),
    Figure("engines", "engines", ("tables/{}/course.nc", "statistics/{}/comparison.csv")),
    Figure("decision_time", "initial-signal", ("statistics/{}/decision.csv",)),
)
FIGURES = {figure.name: figure for figure in _ALL}
"""Name → figure."""
