"""Fig. 11: initial circularity against embedding dimension, and whether it tells who survives."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.figures.fates import histogram
from fittest.figures.numbers import last, number, spread

RULE = "relative"


def data(circularity: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure: panels `dimension` and `fate`."""
    start = circularity[circularity["horizon"] == 0].drop(columns="method")
    parts = (start.assign(panel="dimension"), last(circularity, RULE).assign(panel="fate"))
    return pd.concat([part.drop(columns="rule") for part in parts], ignore_index=True).assign(
        rule=RULE
    )


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    means = frame[frame["statistic"] == "circularity"]
    names = ("identity_gap", "expected_gap", "auc")
    gap, expected, auc = (frame[frame["statistic"] == name].iloc[0] for name in names)
    return (
        f"Mean initial circularity against embedding dimension ({len(means)} values, "
        f"{int(gap['n_trials']):,} trials) with 95% intervals over trials. It follows from algebra "
        f"for random embeddings: at most {gap['estimate']:.3f} from d/(d + p), and "
        f"{expected['estimate']:.3f} from (d + 1)/(d + p − 1), which counts few dimensions too. "
        "And circularity by "
        f"fate at step {int(auc['horizon']):,} and d = {int(auc['d'])}: ROC AUC for survival among "
        f"a trial's circles {number(auc)} over {int(auc['n_trials'])} trials, chance 0.5."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
    _dimension(axes[0], frame[frame["panel"] == "dimension"])
    some = frame[frame["panel"] == "fate"]
    auc = some[some["statistic"] == "auc"].iloc[0]
    histogram(axes[1], some[some["statistic"] == "histogram"])
    axes[1].set_xlabel(f"initial circularity at d = {int(auc['d'])}")
    axes[1].set_title(
        f"{int(auc['n_trials'])} trials, fate at step {int(auc['horizon']):,}\n"
        f"AUC for survival: {number(auc)}, chance 0.5",
        loc="left",
        fontsize=8,
    )
    return figure


def _dimension(ax: Axes, frame: pd.DataFrame) -> None:
    means = frame[frame["statistic"] == "circularity"].sort_values("d")
    gap = frame[frame["statistic"] == "identity_gap"].iloc[0]
    if means.empty:
        style.nothing(ax, "no circularity")
        return
    ax.errorbar(
        means["d"],
        means["estimate"],
        yerr=spread(means),
        fmt="o",
        ms=2.5,
        elinewidth=0.8,
        color=style.COLOURS[0],
        label="mean, 95% interval over trials",
    )
    first = means.iloc[0]
    p = first["d"] / first["baseline"] - first["d"]
    d = np.linspace(means["d"].min(), means["d"].max(), 200)
    for values, dashes, label in (
        (d / (d + p), "--", "d/(d + p)"),
        ((d + 1) / (d + p - 1), ":", "(d + 1)/(d + p − 1)"),
    ):
        ax.plot(d, values, color="black", lw=0.9, ls=dashes, zorder=3, label=label)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("embedding dimension d")
    ax.set_ylabel("initial circularity")
    ax.legend(loc="lower right")
    low, high = int(means["n_trials"].min()), int(means["n_trials"].max())
    each = f"{low}" if low == high else f"{low} to {high}"
    ax.set_title(
        f"{len(means)} values, {each} trials each\n"
        f"largest distance from d/(d + p): {gap['estimate']:.3f}",
        loc="left",
        fontsize=8,
    )
