"""What figures of circles by their fate have in common."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fittest.figures import style

LOOKS = {0: ("died", "#888888", "#CCCCCC"), 1: ("survived", style.COLOURS[1], style.COLOURS[1])}
"""Fate → its label, line colour and fill."""


def histogram(ax: Axes, frame: pd.DataFrame) -> None:
    """Draw the histogram of each fate, from rows of `fittest.statistics.fates.histogram`."""
    if frame.empty:
        style.nothing(ax, "no circle with a known fate")
        return
    for survived, some in frame.groupby("survived"):
        label, line, fill = LOOKS[int(survived)]
        edges = np.append(some["bin_low"], some["bin_high"].iloc[-1])
        text = f"{label}: {int(some['n_circles'].iloc[0]):,} circles"
        ax.stairs(some["estimate"], edges, fill=True, color=fill, alpha=0.35)
        ax.stairs(some["estimate"], edges, color=line, lw=1.2, label=text)
    ax.set_ylabel("share of the circles with that fate")
    ax.margins(y=0.3)  # room for the legend
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper left", fontsize=7)
