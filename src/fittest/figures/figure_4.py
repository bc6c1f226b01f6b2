"""Fig. 4: frozen embeddings: test loss against d at four steps, coloured by test accuracy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.statistics.frozen import SPAN

COLUMNS = (
    "panel",
    "horizon",
    "p",
    "value",
    "test_loss",
    "low",
    "high",
    "test_accuracy",
    "statistic",
    "estimate",
    "n_trials",
)

ZOOM = 1.0
"""Loss (nats) below which the lower row shows the same."""


def data(frozen: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Columns `COLUMNS`. Panels: `loss`, of each `value` of d at each step (`horizon`) the median
    `test_loss` with its interval and mean `test_accuracy`; and `statistic`, what the loss does
    around d = p.
    """
    keys = ["horizon", "value", "p"]
    loss = frozen[frozen["statistic"] == "log10_test_loss"]
    accuracy = frozen[frozen["statistic"] == "test_accuracy"].set_index(keys)["estimate"]
    points = loss[[*keys, "n_trials"]].assign(panel="loss")
    for name, column in (("test_loss", "estimate"), ("low", "low"), ("high", "high")):
        points[name] = 10 ** loss[column]
    points = points.join(accuracy.rename("test_accuracy"), on=keys)
    found = frozen[frozen["statistic"].isin(["dip", "descent", "change_point"])]
    found = found.drop(columns=["value"]).assign(panel="statistic")
    frame = pd.concat([points, found], ignore_index=True)
    frame = frame.reindex(columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(("horizon", "p", "value", "n_trials"), "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    points, p = frame[frame["panel"] == "loss"], int(frame["p"].iloc[0])
    steps = sorted(points["horizon"].unique())
    text = (
        "Test loss of networks whose embedding is random and frozen, against its dimension d, at "
        f"{_listed(f'{int(step):,}' for step in steps)} steps: median of {_trials(points)} a d "
        "with its 95% interval, coloured by mean test accuracy; below, the same under "
        f"{ZOOM:g} nat. "
    )
    found = frame[frame["panel"] == "statistic"].set_index(["statistic", "horizon"])
    dips = [
        f"{row['estimate']:.2f} [{row['low']:.2f}, {row['high']:.2f}]"
        if np.isfinite(row["low"])
        else ("undefined" if np.isnan(row["estimate"]) else f"{row['estimate']:.2f}")
        for row in (found.loc[("dip", step)] for step in steps)
    ]
    return (
        f"{text}From p - {SPAN} ≤ d < p to p ≤ d ≤ p + {SPAN} (p = {p}), median log₁₀ loss falls "
        f"at these steps by {_listed(dips)}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    points, p = frame[frame["panel"] == "loss"], int(frame["p"].iloc[0])
    steps = sorted(points["horizon"].unique())
    figure, axes = plt.subplots(
        2, len(steps), figsize=(style.WIDTH, 4.2), sharex=True, squeeze=False
    )
    mark = None
    for column, step in enumerate(steps):
        some = points[(points["horizon"] == step) & points["test_loss"].notna()]
        axes[0, column].set_title(f"step {int(step):,}")
        for ax in axes[:, column]:
            if some.empty:
                _say(ax, "all diverged")
                continue
            mark = _panel(ax, some, p)
        if len(some) and some["test_loss"].min() > ZOOM:
            _say(axes[1, column], f"no median below {ZOOM:g}")
        axes[0, column].set_ylim(bottom=0)
        axes[1, column].set_ylim(0, ZOOM)
        axes[1, column].set_xlabel("dimension d")
    axes[0, 0].set_ylabel("test loss (nats)")
    axes[1, 0].set_ylabel(f"the same below {ZOOM:g} nat")
    if mark is not None:
        figure.colorbar(mark, ax=axes, label="mean test accuracy", pad=0.01, aspect=40)
    figure.suptitle(
        f"embedding random and frozen, p = {p}: median of {_trials(points)} a d, 95% interval; "
        f"dashed line: d = p",
        fontsize=9,
    )
    return figure


def _panel(ax: Axes, some: pd.DataFrame, p: int) -> Any:
    """Draw loss against d; return what the colour bar is of."""
    x, loss = some["value"].astype(float), some["test_loss"]
    spread = np.nan_to_num(np.array([loss - some["low"], some["high"] - loss], dtype=float))
    ax.axvline(p, color="black", lw=0.8, ls="--", zorder=1)
    ax.errorbar(
        x, loss, yerr=np.clip(spread, 0, None), fmt="none", ecolor="#999999", lw=0.6, zorder=2
    )
    return ax.scatter(
        x, loss, c=some["test_accuracy"], s=9, cmap="viridis", vmin=0, vmax=1, zorder=3
    )


def _say(ax: Axes, message: str) -> None:
    # On white: the line at d = p may pass below it.
    ax.text(
        0.5,
        0.5,
        message,
        ha="center",
        va="center",
        transform=ax.transAxes,
        color="#666666",
        fontsize=8,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
    )


def _trials(points: pd.DataFrame) -> str:
    low, high = int(points["n_trials"].min()), int(points["n_trials"].max())
    return f"{high} trials" if low == high else f"{low} to {high} trials"


def _listed(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
