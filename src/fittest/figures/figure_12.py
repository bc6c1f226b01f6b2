"""Fig. 12: test loss over training of networks started from a few of their circles (App. C)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fittest.figures import style
from fittest.figures.arithmetic import windows
from fittest.intervals import quiet
from fittest.statistics.ablation import EXPERIMENTS

RULE = "relative"

COLUMNS = (
    "panel",
    "experiment",
    "trial",
    "step",
    "test_loss",
    "median",
    "statistic",
    "estimate",
    "low",
    "high",
    "n_trials",
)

_TITLES = {
    "O": "whole embedding",
    "A": "its strongest circle",
    "B": "its two strongest",
    "C": "one at random",
    "D": "two at random",
}


def data(losses: xr.Dataset, ablation: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Columns `COLUMNS`. Panels: `trial`, the largest `test_loss` of each trial in each of about 200
    windows of steps, so that a short spike is not missed; `median` of those over trials; and
    `statistic`: `circles` at the last step and `spikes` of each experiment.
    """
    if "intervention" not in losses["test_loss"].dims:
        losses = losses.expand_dims("intervention")
    steps = losses["step"].values
    ends = windows(steps)
    frames = []
    texts = set(map(str, losses["intervention"].values))
    for text in (text for text in EXPERIMENTS if text in texts):
        loss = losses["test_loss"].sel(intervention=text).transpose("trial", "step").values
        # Of what is no number nothing is drawn: the line ends there.
        most = np.maximum.reduceat(loss, np.concatenate([[0], ends[:-1] + 1]), axis=1)
        where = {"experiment": EXPERIMENTS[text]}
        trials = np.repeat(losses["trial"].values, len(ends))
        life = {"trial": trials, "step": np.tile(steps[ends], len(most)), "test_loss": most.ravel()}
        frames.append(pd.DataFrame({"panel": "trial", **where, **life}))
        with quiet():
            middle = np.nanmedian(most, axis=0)
        frames.append(
            pd.DataFrame({"panel": "median", **where, "step": steps[ends], "median": middle})
        )
    last = ablation[ablation["horizon"] == ablation["horizon"].max()]
    last = last[last["experiment"].isin(_TITLES)]
    circles = last[(last["statistic"] == "circles") & (last["rule"] == RULE)]
    found = pd.concat([circles, last[last["statistic"] == "spikes"]])
    frames.append(found.assign(panel="statistic", step=found["horizon"]))
    frame = pd.concat(frames, ignore_index=True).reindex(columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(("trial", "step", "n_trials"), "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    found = frame[frame["panel"] == "statistic"]
    step = int(found["step"].max())
    names = list(dict.fromkeys(found["experiment"]))

    def numbers(statistic: str) -> str:
        rows = found[found["statistic"] == statistic].set_index("experiment")["estimate"]
        return ", ".join(f"{name} {rows[name]:.1f}" for name in names)

    return (
        "Test loss over training of networks that start from their whole embedding (O), from the "
        "strongest one (A) or two (B) of the circles O ends with, or from one (C) or two (D) at "
        f"random: {_trials(found)} each, otherwise the same from experiment to experiment (thin: a "
        "trial, its largest loss in a window of steps; thick: their median). Mean number of "
        f"circles at step {step:,}: {numbers('circles')}; mean number of spikes (tenfold above the "
        f"least loss so far, once that is below 0.01): {numbers('spikes')}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    found = frame[frame["panel"] == "statistic"]
    figure, axes = plt.subplots(2, 3, figsize=(style.WIDTH, 4.4), sharex=True, sharey=True)
    together = axes.flat[-1]
    for i, (ax, (name, title)) in enumerate(zip(axes.flat, _TITLES.items(), strict=False)):
        some = frame[frame["experiment"] == name]
        middle = some[some["panel"] == "median"]
        color = style.COLOURS[i]
        if middle.empty:
            style.nothing(ax, f"{name} is not in the design")
            continue
        for _, life in some[some["panel"] == "trial"].groupby("trial"):
            ax.plot(life["step"], life["test_loss"], color=color, lw=0.5, alpha=0.45)
        look = {"color": color, "linestyle": style.LINE_STYLES[i % len(style.LINE_STYLES)]}
        for where in (ax, together):
            where.plot(middle["step"], middle["median"], lw=1.3, label=name, **look)
        ax.set_title(f"{name}: {title}\n{_numbers(found[found['experiment'] == name])}", fontsize=8)
    together.set_title("medians", fontsize=8)
    together.legend(ncols=3, fontsize=7, loc="upper right")
    for ax in axes[-1]:
        ax.set_xlabel("optimiser step")
    for ax in axes[:, 0]:
        ax.set_ylabel("test loss (nats)")
    _scales(together, frame)
    figure.suptitle(
        f"Started from a few circles: {_trials(found)} an experiment; survivors by the rule {RULE}",
        fontsize=9,
    )
    return figure


def _scales(ax: Axes, frame: pd.DataFrame) -> None:
    ax.set_yscale("log")
    ax.set_xlim(0, int(frame["step"].max()))
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.tick_params(axis="x", labelsize=7)


def _numbers(found: pd.DataFrame) -> str:
    """Return circles and spikes of an experiment."""
    rows = found.set_index("statistic")["estimate"]
    return f"{rows['circles']:.1f} circles, {rows['spikes']:.1f} spikes a trial"


def _trials(found: pd.DataFrame) -> str:
    low, high = int(found["n_trials"].min()), int(found["n_trials"].max())
    return f"{high} trials" if low == high else f"{low} to {high} trials"
