"""Whether a linear differential equation tells wider networks better (beyond the paper)."""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from fittest.figures import style
from fittest.figures.fits import NAMES, curve, interval, sizes

FITS = ("ols", "lasso", "diagonal")
PANELS = {
    "r_squared": "R² of the change in one step",
    "end_error": "relative error of the rollout\nat the last step, all circles",
    "survivor_end_error": "relative error of the rollout\nat the last step, survivors",
}


def data(dynamics: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure: R² and errors of the rollout at every width."""
    chosen = (
        dynamics["statistic"].isin(PANELS) & dynamics["fit"].isin(FITS) & dynamics["value"].notna()
    )
    return dynamics[chosen].drop(columns=["method", "d_range", "p_value"])


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    low, high = frame["value"].min(), frame["value"].max()
    r2 = frame[frame["statistic"] == "r_squared"].set_index(["fit", "value"])
    found = "; ".join(
        f"{NAMES[kind]} {interval(r2.loc[kind, low], 3)} and {interval(r2.loc[kind, high], 3)}"
        for kind in FITS
    )
    return (
        "Linear differential equations fitted to each trial, against the width of the hidden "
        f"layers ({sizes(frame)}): median R² of the change in one step, and of the rollout's error "
        f"at step {int(frame['horizon'].iloc[0]):,}, with 95% intervals over trials. R² at width "
        f"{low:g} and at width {high:g}: {found}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(1, 3, figsize=(style.WIDTH, 2.9))
    values = sorted(frame["value"].unique())
    for ax, (name, text) in zip(axes, PANELS.items(), strict=True):
        some = frame[frame["statistic"] == name]
        for kind in FITS:
            curve(ax, some, kind)
        ax.set_xscale("log")
        ax.set_xticks(values)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.tick_params(axis="x", labelsize=7)
        ax.set_xlabel("hidden width")
        ax.set_ylabel(text)
        if name != "r_squared" and (some["estimate"] > 0).any():
            ax.set_yscale("log")
    figure.suptitle(
        f"Each trial's own fit, steps 0 to {int(frame['horizon'].iloc[0]):,}; median over trials, "
        f"95% interval; {sizes(frame)}",
        fontsize=8,
    )
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure
