"""How figures look: one style sheet, colours that colour-blind readers can tell apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

STYLE_SHEET = Path(__file__).with_name("fittest.mplstyle")

# Okabe and Ito's palette (jfly.uni-koeln.de/color), black and yellow left out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DEAD = "#B0B0B0"
LINE_STYLES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P")

WIDTH = 7.2
"""Inches: a full page's text width."""


def survivor_look(index: int) -> dict[str, Any]:
    """Return colour and line style of the survivor of a rank: no two of the first 24 are alike."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": LINE_STYLES[index // len(COLOURS) % len(LINE_STYLES)],
    }


def step_axis(ax: Axes, last: int, first: int = 1) -> None:
    """Make x a log axis of steps that also shows step 0, with plain numbers.

    `first` is the first step shown after 0.
    """
    ax.set_xscale("symlog", linthresh=first, linscale=0.4)
    ticks = [0, *(10**e for e in range(9) if first <= 10**e <= last)]
    ax.set_xticks(ticks)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.minorticks_off()
    ax.set_xlim(0, last)
    ax.set_xlabel("optimiser step")


def bare(ax: Axes) -> None:
    """Make an axes a picture of a plane: equal units, no ticks, a thin frame."""
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(True)
        spine.set_linewidth(0.5)
        spine.set_color("#999999")


def nothing(ax: Axes, message: str) -> None:
    """Say in an empty axes why it is empty."""
    bare(ax)
    ax.set_aspect("auto")
    ax.text(0.5, 0.5, message, ha="center", va="center", transform=ax.transAxes, color="#666666")
