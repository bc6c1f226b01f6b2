"""How early survival is decided: AUC of the signal, number of survivors, and their agreement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style

RULE = "relative"
_AGREEMENT = {
    "same_fate": "circles, same fate",
    "jaccard": "survivors, Jaccard index",
    "same_survivors": "trials, same survivors",
}
_TIGHT: dict[str, Any] = {"handletextpad": 0.4, "columnspacing": 0.8, "handlelength": 1.6}


def data(decision: pd.DataFrame, survivors: pd.DataFrame, agreement: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Column `panel`: `auc` (the decision statistics), `circles` (by every rule, at each `horizon`)
    and `agreement`; the other two by the paper's survival rule.
    """
    circles = survivors[survivors["statistic"] == "circles"]
    shown = (agreement["rule"] == RULE) & agreement["statistic"].isin(_AGREEMENT)
    frame = pd.concat(
        [
            decision[decision["rule"] == RULE].assign(panel="auc"),
            circles.assign(panel="circles"),
            agreement[shown].assign(panel="agreement"),
        ],
        ignore_index=True,
    )
    columns = ["panel", "rule", "horizon", "step", "auc", "statistic", "against", "estimate"]
    columns += ["low", "high", "baseline", "n_trials", "n_embeddings"]
    whole = ["horizon", "step", "against", "n_trials", "n_embeddings"]
    # An empty file has no types of its own.
    numbers = dict.fromkeys(["auc", "estimate", "low", "high", "baseline"], "float64")
    return frame.reindex(columns=columns).astype(dict.fromkeys(whole, "Int64") | numbers)


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    auc, agreement = (frame[frame["panel"] == name] for name in ("auc", "agreement"))
    last = auc[auc["horizon"] == auc["horizon"].max()]
    first, end = last.iloc[0], last.iloc[-1]
    text = (
        "How well the signal at each step predicts which circles of a trial survive (ROC AUC among "
        "a trial's circles), and how many would survive if training ended there: mean over trials "
        f"with its 95% interval. For survival at step {int(end['horizon']):,} "
        f"({int(last['n_trials'].max())} trials) the AUC is {first['auc']:.2f} at step "
        f"{int(first['step'])} and {end['auc']:.2f} at step {int(end['step']):,}."
    )
    fates = agreement[agreement["statistic"] == "same_fate"]
    if len(fates):
        row = fates.iloc[0]
        text += (
            f" Of the circles {row['estimate']:.1%} have the fate at step "
            f"{int(row['horizon']):,} that they have at step {int(row['against']):,}; "
            f"{row['baseline']:.1%} by chance."
        )
    return text


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure = plt.figure(figsize=(style.WIDTH, 5.8))
    top, low = figure.subfigures(2, 1, height_ratios=(1.1, 1))  # type: ignore[misc]
    left, right = low.subplots(1, 2)
    _draw_auc(top.subplots(), frame[frame["panel"] == "auc"])
    _draw_circles(left, frame[frame["panel"] == "circles"])
    _draw_agreement(right, frame[frame["panel"] == "agreement"])
    return figure


def _draw_auc(ax: Axes, frame: pd.DataFrame) -> None:
    last = int(frame["horizon"].max())
    for rank, (horizon, some) in enumerate(frame.groupby("horizon")):
        look = style.survivor_look(rank)
        trials = int(some["n_trials"].max())
        label = f"survival at step {horizon:,} ({trials} trials)"
        look |= {"linestyle": style.LINE_STYLES[rank % len(style.LINE_STYLES)]}
        ax.plot(some["step"], some["auc"], label=label, **look)
        ax.fill_between(
            some["step"].astype(float),
            some["low"],
            some["high"],
            color=look["color"],
            alpha=0.15,
            lw=0,
        )
    ax.axhline(frame["baseline"].iloc[0], color="black", lw=0.8, ls=":", label="chance")
    style.step_axis(ax, last)
    ax.set_ylim(0.38, 1.02)
    ax.set_ylabel("AUC of $S_k$(step) among\na trial's circles")
    ax.set_title(
        "How early is survival decided? Mean over trials, 95% interval over trials", loc="left"
    )
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_circles(ax: Axes, frame: pd.DataFrame) -> None:
    for rank, (rule, some) in enumerate(frame.groupby("rule", sort=False)):
        look = style.survivor_look(rank) | {"linestyle": style.LINE_STYLES[rank]}
        step = some["horizon"].astype(float)
        ax.plot(step, some["estimate"], label=str(rule), zorder=3 - rank, **look)
        ax.fill_between(
            step, some["low"], some["high"], color=look["color"], alpha=0.2, lw=0, zorder=0
        )
    style.step_axis(ax, int(frame["horizon"].max()))
    ax.set_ylim(bottom=0)
    ax.set_ylabel("circles that would survive\nif training ended here")
    end = frame[frame["rule"] == RULE].iloc[-1]
    ax.set_title(
        f"{int(end['n_trials'])} trials: {end['estimate']:.1f} circles at step "
        f"{int(end['horizon']):,}",
        loc="left",
    )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=3, **_TIGHT)


def _draw_agreement(ax: Axes, frame: pd.DataFrame) -> None:
    if frame.empty:
        style.nothing(ax, "survival is evaluated\nat one step only")
        return
    horizons = sorted(frame["horizon"].unique())
    for rank, (name, label) in enumerate(_AGREEMENT.items()):
        some = frame[frame["statistic"] == name]
        place = np.array([horizons.index(h) for h in some["horizon"]]) + 0.14 * (rank - 1)
        spread = np.array([some["estimate"] - some["low"], some["high"] - some["estimate"]])
        ax.errorbar(
            place,
            some["estimate"],
            yerr=np.clip(np.nan_to_num(spread.astype(float)), 0, None),
            fmt=style.MARKERS[rank],
            color=style.COLOURS[rank],
            ms=4,
            lw=1,
            label=label,
        )
        ax.plot(place, some["baseline"], "_", color=style.COLOURS[rank], ms=8)
    ax.plot([], [], "_", color="black", label="by chance")
    ax.set_xticks(range(len(horizons)), [f"{h:,}" for h in horizons])
    ax.set_xlim(-0.5, len(horizons) - 0.5)
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("optimiser step")
    ax.set_ylabel("agreement")
    ax.set_title(
        f"{int(frame['n_trials'].max())} trials: survivors against those at step "
        f"{int(frame['against'].iloc[0]):,}",
        loc="left",
    )
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.28), ncols=2, **_TIGHT)
