"""Whether differential equations of some trials tell other trials of their embedding."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.figures.fits import NAMES, interval, number

_FLOOR = -1.5
"""R² below it is drawn at the edge, with its value: it is far below any use."""


def data(generalisation: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure: R², rollout error of survivors, and gains in R²."""
    kept = (
        "train_r_squared",
        "r_squared",
        "survivor_end_error",
        "left_data_share",
        "gain_over_time",
        "gain_over_diagonal",
    )
    rows = generalisation[generalisation["statistic"].isin(kept)]
    return rows.drop(columns=["method", "p_value", "rule"])


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    r2 = frame[frame["statistic"] == "r_squared"].set_index("fit")
    train = frame[frame["statistic"] == "train_r_squared"].set_index("fit")
    gain = frame[frame["statistic"] == "gain_over_time"].set_index("fit")
    found = "; ".join(
        f"{NAMES[kind]} {interval(train.loc[kind])} and {interval(r2.loc[kind])}"
        for kind in NAMES
        if kind in r2.index
    )
    return (
        "Differential equations fitted to some trials of an embedding and scored on others "
        f"({_sizes(frame)}): median R² of the change in one step of trials fitted to and of trials "
        f"held out, with 95% intervals over embeddings: {found}. Held out, least squares gains "
        f"{interval(gain.loc['ols'])} and Lasso {interval(gain.loc['lasso'])} on the forecast by "
        "time alone."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(
        1, 2, figsize=(style.WIDTH, 3.4), sharey=True, gridspec_kw={"width_ratios": (1.5, 1)}
    )
    kinds = [kind for kind in NAMES if (frame["fit"] == kind).any()]
    parts = (
        ("train_r_squared", "trials fitted to", style.DEAD, 0.17),
        ("r_squared", "trials held out", style.COLOURS[0], -0.17),
    )
    for name, label, colour, shift in parts:
        rows = frame[frame["statistic"] == name].set_index("fit")
        _draw_r_squared(axes[0], [rows.loc[k] for k in kinds], label, colour, shift)
    _draw_errors(axes[1], frame[frame["statistic"] == "survivor_end_error"].set_index("fit"), kinds)
    axes[0].set_yticks(range(len(kinds)), [NAMES[k] for k in kinds])
    axes[0].invert_yaxis()
    axes[0].set_xlim(_FLOOR, 1.05)
    axes[0].axvline(0, color="black", lw=0.6, ls=":")
    axes[0].set_xlabel("R² of the change in one step")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)
    figure.suptitle(
        f"Median over trials, 95% interval over embeddings; {_sizes(frame)}", fontsize=8
    )
    return figure


def _draw_r_squared(ax: Axes, rows: list[pd.Series], label: str, colour: str, shift: float) -> None:
    for i, row in enumerate(rows):
        y, value = i - shift, row["estimate"]
        if not np.isfinite(value):
            continue
        if value < _FLOOR:
            ax.plot([_FLOOR + 0.03], [y], "<", color=colour, ms=5, clip_on=False)
            ax.text(_FLOOR + 0.12, y, number(value), va="center", fontsize=7)
        else:
            low, high = max(row["low"], _FLOOR), row["high"]
            ax.plot([low, high], [y, y], color=colour, lw=1.5)
            ax.plot([value], [y], "o", color=colour, ms=5)
    ax.plot([], [], "o-", color=colour, lw=1.5, ms=5, label=label)


def _draw_errors(ax: Axes, rows: pd.DataFrame, kinds: list[str]) -> None:
    for i, kind in enumerate(kinds):
        row = rows.loc[kind]
        if np.isfinite(row["estimate"]):
            ax.plot([row["low"], row["high"]], [i, i], color=style.COLOURS[0], lw=1.5)
            ax.plot([row["estimate"]], [i], "o", color=style.COLOURS[0], ms=5)
        elif np.isinf(row["estimate"]):
            ax.text(
                0.02, i, "infinite", va="center", fontsize=7, transform=ax.get_yaxis_transform()
            )
    horizon = rows["horizon"].iloc[0]
    ax.set_xlim(left=0)
    ax.set_xlabel(f"relative error of survivors' signals\nat step {int(horizon):,}, held out")


def _sizes(frame: pd.DataFrame) -> str:
    row = frame[frame["statistic"] == "r_squared"].iloc[0]
    return (
        f"{int(row['n_trials'])} trials of {int(row['n_embeddings'])} embeddings, each told by "
        f"{int(row['n_fitted'])} or more others"
    )
