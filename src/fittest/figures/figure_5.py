"""Fig. 5: number of surviving circles against prime modulus, and against embedding dimension."""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.figures.counting import panel, sizes, tidy, trend


def data(modulus: pd.DataFrame, dimension: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure: panels `modulus` and `dimension`."""
    parts = [tidy(modulus, "modulus"), tidy(dimension, "dimension")]
    return pd.concat(parts, ignore_index=True)


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    parts = (frame[frame["panel"] == name] for name in ("modulus", "dimension"))
    modulus, dimension = (f"{trend(some)} ({sizes(some)})" for some in parts)
    return (
        "Mean number of surviving circles with its 95% interval over trials, against prime "
        f"modulus: {modulus}; and against embedding dimension: {dimension}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 2.9))
    for ax, name in zip(axes, ("modulus", "dimension"), strict=True):
        some = frame[frame["panel"] == name]
        panel(ax, some)
        ax.set_ylim(bottom=0)
        ax.set_title(f"{sizes(some)}\n{trend(some)}", loc="left", fontsize=8)
    return figure
