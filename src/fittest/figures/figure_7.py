"""Fig. 7: gradients of the first updates by fate, and the line of a linear SVM."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fittest.figures import style
from fittest.figures.fates import LOOKS, histogram
from fittest.figures.numbers import last, number, spread
from fittest.statistics.fates import RULE, UPDATE

SHOWN_TRIALS = 100
"""Trials whose circles are shown as points: more would hide each other."""

_RECIPES = {
    "paper": ("as published", "-", "black"),
    "by-trial": ("standardised", "--", style.COLOURS[0]),
}


def data(survival: xr.Dataset, gradient: pd.DataFrame, svm: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Column `panel`: `gradient` and `svm`, with the columns of their statistics, and `point`, a
    circle of one of the first `SHOWN_TRIALS` trials: `trial`, `frequency`, `gradient`,
    `initial_signal`, `survived`.
    """
    some = survival.isel(trial=slice(SHOWN_TRIALS), horizon=-1)
    some = some.sel(rule=RULE, update=UPDATE)[["gradient", "initial_signal", "survived"]]
    points = some.to_dataframe()[list(some.data_vars)].reset_index()
    points = points[points["survived"] >= 0].assign(rule=RULE, horizon=int(some["horizon"]))
    parts = (
        last(gradient, RULE).assign(panel="gradient"),
        last(svm, RULE).assign(panel="svm"),
        points.assign(panel="point"),
    )
    frame = pd.concat([part.dropna(axis=1, how="all") for part in parts], ignore_index=True)
    for column in ("estimate", "low", "high", "gradient"):
        if column not in frame:  # all undefined
            frame[column] = float("nan")
    whole = ["n_trials", "n_circles", "update", "survived", "trial", "frequency"]
    return frame.astype({name: "Int64" for name in whole if name in frame})


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    slopes = _slopes(frame)
    paper, ours = (_scores(frame, recipe) for recipe in _RECIPES)
    listed = ", ".join(number(row) for _, row in slopes.iterrows())
    return (
        f"Gradient of a circle's signal in the first updates and its fate at step "
        f"{int(frame['horizon'].iloc[0]):,}, over {int(slopes['n_trials'].max()):,} trials. "
        f"Log-odds of survival per standard deviation of gradient at updates 1 to "
        f"{int(slopes.index.max())}: {listed} (95% intervals over trials). A linear SVM on "
        f"gradient and initial signal has accuracy {number(paper.loc['accuracy'])}, and always "
        f"answering dead {number(paper.loc['base_rate'])}; standardised and split by trial "
        f"{number(ours.loc['accuracy'])} against {number(ours.loc['base_rate'])}, AUC "
        f"{number(ours.loc['auc'])}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(1, 3, figsize=(style.WIDTH, 3.3))
    gradient = frame[frame["panel"] == "gradient"]
    step = int(frame["horizon"].iloc[0])
    histogram(axes[0], gradient[gradient["statistic"] == "histogram"])
    axes[0].set_xlabel(f"gradient at update {UPDATE} (%)")
    trials = int(_slopes(frame)["n_trials"].max())
    axes[0].set_title(f"{trials:,} trials\nfate at step {step:,}", loc="left", fontsize=8)
    _rates(axes[1], gradient, step)
    _plane(axes[2], frame)
    for ax in axes:
        if ax.has_data():
            ax.xaxis.set_major_locator(MaxNLocator(4))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{100 * x:g}"))
    return figure


def _slopes(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["statistic"] == "logistic_slope"].set_index("update")


def _scores(frame: pd.DataFrame, recipe: str) -> pd.DataFrame:
    some = frame[(frame["panel"] == "svm") & (frame["recipe"] == recipe)]
    return some.set_index("statistic")


def _rates(ax: Axes, gradient: pd.DataFrame, step: int) -> None:
    """Draw the survival rate in each tenth of the gradient, a line an update."""
    rates = gradient[gradient["statistic"] == "rate"]
    if rates.empty:
        style.nothing(ax, "no gradient")
        return
    for rank, (update, some) in enumerate(rates.groupby("update")):
        ax.errorbar(
            some["gradient"],
            some["estimate"],
            yerr=spread(some),
            marker=style.MARKERS[rank % len(style.MARKERS)],
            ms=2.5,
            lw=0.9,
            elinewidth=0.6,
            color=style.COLOURS[rank % len(style.COLOURS)],
            label=f"{int(update)}",
        )
    ax.axhline(rates["baseline"].iloc[-1], color="black", lw=0.8, ls=":", label="all")
    ax.set_ylim(-0.02, 1.04)
    ax.set_xlabel("mean gradient of a tenth (%)")
    ax.set_ylabel(f"survival rate at step {step:,}")
    ax.legend(title="update", title_fontsize=7, fontsize=7, loc="upper left")
    slope = gradient[gradient["statistic"] == "logistic_slope"].iloc[-1]
    ax.set_title(
        f"log-odds per SD at update {int(slope['update'])}:\n{number(slope)}",
        loc="left",
        fontsize=8,
    )


def _plane(ax: Axes, frame: pd.DataFrame) -> None:
    """Draw the circles in the plane of both features, and each machine's line within it."""
    points = frame[(frame["panel"] == "point") & frame["gradient"].notna()]
    if points.empty:
        style.nothing(ax, "no gradient")
        return
    for survived, (label, line, _) in LOOKS.items():
        some = points[points["survived"] == survived]
        ax.plot(
            some["gradient"],
            some["initial_signal"],
            ls="",
            marker=".",
            ms=2.5,
            alpha=0.5,
            mew=0,
            color=line,
            label=label,
        )
    x, y = ax.get_xlim(), ax.get_ylim()
    title = []
    for recipe, (name, dashes, colour) in _RECIPES.items():
        found = _scores(frame, recipe)
        weights = found.loc[["weight_gradient", "weight_signal"], "estimate"].to_numpy(float)
        ends = crossing(weights, float(found.loc["intercept", "estimate"]), x, y)
        where = "" if len(ends) == 2 else ", out of view"
        ax.plot(*ends.T if len(ends) == 2 else ([], []), color=colour, lw=1.2, ls=dashes,
                label=f"SVM {name}{where}")  # fmt: skip
        gain = found.loc["accuracy_gain"]
        title.append(f"{name}: {number(gain)}")
    ax.set_xlim(x)
    ax.set_ylim(y[0], y[1] + 0.45 * (y[1] - y[0]))  # room for the legend
    ax.set_xlabel(f"gradient at update {UPDATE} (%)")
    ax.set_ylabel("initial signal $S_k$ (embedding unit)")
    ax.legend(loc="upper left", fontsize=7, markerscale=3)
    ax.set_title("accuracy over always “dead”\n" + "\n".join(title), loc="left", fontsize=8)


def crossing(
    weights: np.ndarray, intercept: float, x: tuple[float, float], y: tuple[float, float]
) -> np.ndarray:
    """Return where the line weights · (x, y) + intercept = 0 enters and leaves a rectangle.

    Shape (2, 2), points by coordinates; (0, 2) where it does not cross it.
    """
    a, b = weights
    ends = [((-intercept - b * v) / a, v) for v in y if a]
    ends += [(u, (-intercept - a * u) / b) for u in x if b]
    inside = [
        (u, v)
        for u, v in ends
        if x[0] <= u <= x[1] and y[0] <= v <= y[1]  # NaN is not
    ]
    unique = list(dict.fromkeys(inside))
    return np.array(unique[:2] if len(unique) >= 2 else []).reshape(-1, 2)
