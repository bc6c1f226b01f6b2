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
_RATES = (f"tables/{_HEADLINE}/rates.nc", f"statistics/{_HEADLINE}/correlation.csv")
_ALL = (
    Figure(
        "figure_1",
        "Fig. 1: the method in one picture: embedding, spectrum, signals over training, circles.",
        (f"tables/{_HEADLINE}/trial.nc",),
    ),
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
        "figure_4",
        "Fig. 4: frozen embeddings: test loss against dimension at four steps.",
        ("statistics/frozen/frozen.csv",),
    ),
    Figure(
        "figure_5",
        "Fig. 5: number of circles against prime modulus and against dimension.",
        ("statistics/modulus/counts.csv", "statistics/dimension/counts.csv"),
    ),
    Figure(
        "figure_6",
        "Fig. 6: survival against initial signal, of a perturbed circle, and of constructed ones.",
        (
            *_RATES,
            "statistics/perturbation/perturbation.csv",
            "statistics/construction/construction.csv",
        ),
    ),
    Figure(
        "figure_7",
        "Fig. 7: gradient by fate, survival against gradient, and the line of a linear SVM.",
        (
            "tables/gradient/survival.nc",
            "statistics/gradient/gradient.csv",
            "statistics/gradient/svm.csv",
        ),
    ),
    Figure(
        "figure_8",
        "Fig. 8: loss of one trial's network with one, two and three of its circles.",
        ("tables/collaboration/kept.nc", "statistics/collaboration/kept.csv"),
    ),
    Figure(
        "figure_9",
        "Fig. 9: R² of differential equations against d; two circles as each fit tells them.",
        ("statistics/ode/dynamics.csv", f"tables/{_HEADLINE}/example.nc"),
    ),
    Figure(
        "figure_10",
        "Fig. 10: number of circles against weight decay.",
        ("statistics/weight-decay/counts.csv",),
    ),
    Figure(
        "figure_11",
        "Fig. 11: initial circularity against dimension, and by fate.",
        ("statistics/dimension/circularity.csv",),
    ),
    Figure(
        "figure_12",
        "Fig. 12: test loss of networks started from a few of their circles.",
        ("tables/ablation/losses.nc", "statistics/ablation/ablation.csv"),
    ),
    Figure(
        "figure_13",
        "Fig. 13: the embedding's gradients in the Fourier basis, whole and zoomed.",
        (f"tables/{_HEADLINE}/gradients.nc", f"statistics/{_HEADLINE}/gradients.csv"),
    ),
    Figure(
        "figure_14",
        "Fig. 14: number of circles against every modulus, primes marked.",
        ("statistics/modulus-all/counts.csv",),
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
        "signal_survival",
        "Survival rate of every circle against its initial signal (Fig. 6 left, by itself).",
        _RATES,
    ),
    Figure(
        "decision_time",
        "How early survival is decided: AUC of the signal, number of survivors, and agreement.",
        tuple(f"statistics/{_HEADLINE}/{k}.csv" for k in ("decision", "survivors", "agreement")),
    ),
    Figure(
        "predictors",
        "What predicts survival best: AUC by predictor, calibration, coefficients.",
        (f"statistics/{_HEADLINE}/predictors.csv",),
    ),
    Figure(
        "generalisation",
        "Whether differential equations of some trials tell other trials of their embedding.",
        (f"statistics/{_HEADLINE}/generalisation.csv",),
    ),
    Figure(
        "width",
        "R² and rollout error of linear differential equations against hidden width.",
        ("statistics/width/dynamics.csv",),
    ),
    Figure(
        "protocol",
        "Which protocol gives the paper's number of circles: counts and test loss of each.",
        ("tables/protocol/scores.nc", "statistics/protocol/protocols.csv"),
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
)
FIGURES = {figure.name: figure for figure in _ALL}
"""Name → figure."""


def drawable(experiments: Iterable[str]) -> list[str]:
    """Return the figures whose experiments are all among some."""
    there = set(experiments)
    return [name for name, figure in FIGURES.items() if there.issuperset(figure.experiments)]
