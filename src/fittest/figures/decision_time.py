"""How early survival is decided: AUC of the signal at each step for survival at each horizon."""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from fittest.figures import style

RULE = "relative"


def data(decision: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure: the decision statistics by the paper's survival rule."""
    return decision[decision["rule"] == RULE].drop(columns="method")


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    last = frame[frame["horizon"] == frame["horizon"].max()]
    first, end = last.iloc[0], last.iloc[-1]
    return (
        "How well the signal at each step predicts which circles of a trial survive: ROC AUC among "
        "a trial's circles, mean over trials with its 95% interval. For survival at step "
        f"{int(end['horizon']):,} ({int(last['n_trials'].max())} trials) it is {first['auc']:.2f} "
        f"at step {int(first['step'])} and {end['auc']:.2f} at step {int(end['step']):,}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, ax = plt.subplots(figsize=(0.75 * style.WIDTH, 3.2))
    last = int(frame["horizon"].max())
    for rank, (horizon, some) in enumerate(frame.groupby("horizon")):
        look = style.survivor_look(rank)
        trials = int(some["n_trials"].max())
        label = f"survival at step {horizon:,} ({trials} trials)"
        look |= {"linestyle": style.LINE_STYLES[rank % len(style.LINE_STYLES)]}
        ax.plot(some["step"], some["auc"], label=label, **look)
        ax.fill_between(
            some["step"], some["low"], some["high"], color=look["color"], alpha=0.15, lw=0
        )
    ax.axhline(frame["baseline"].iloc[0], color="black", lw=0.8, ls=":", label="chance")
    style.step_axis(ax, last)
    ax.set_ylim(0.38, 1.02)
    ax.set_ylabel("AUC of $S_k$(step) among\na trial's circles")
    ax.set_title(
        "How early is survival decided? Mean over trials, 95% interval over trials", loc="left"
    )
    ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.4))
    return figure
