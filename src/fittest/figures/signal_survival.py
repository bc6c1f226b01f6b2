"""Survival rate of every circle against its initial signal: Fig. 6 left, by itself."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.figures.numbers import number, spread
from fittest.statistics.selection import by_embedding

RULE = "relative"
_LINE = ("line_slope", "line_intercept")
_SHOWN = ("pearson_pooled", "pearson_within", *_LINE)


def data(rates: xr.Dataset, correlation: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure: points, and the statistics written beside them.

    Columns `panel` (`rate`, `statistic`), `horizon`, `rule`; for rates `embedding`, `frequency`,
    `initial_signal`, `rate`, `rate_low`, `rate_high`, `trials`; for statistics those of
    `fittest.statistics.correlation.COLUMNS` but the method.
    """
    rates = by_embedding(rates)
    last = int(rates["horizon"].max())
    at = rates.sel(rule=RULE, horizon=last)
    names = ["initial_signal", "rate", "rate_low", "rate_high", "trials"]
    points = at[names].to_dataframe()[names].reset_index().dropna(subset="rate")
    chosen = (correlation["rule"] == RULE) & (correlation["horizon"] == last)
    chosen &= correlation["statistic"].isin(_SHOWN)
    found = (
        correlation[chosen].drop(columns=["method", "rule", "horizon"]).assign(panel="statistic")
    )
    frame = pd.concat([points.assign(panel="rate"), found], ignore_index=True)
    frame = frame.assign(rule=RULE, horizon=last)
    whole = ["embedding", "frequency", "trials", "n_embeddings", "n_trials", "n_circles"]
    front = ["panel", "rule", "horizon"]
    return frame[front + [c for c in frame if c not in front]].astype(dict.fromkeys(whole, "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    found = frame[frame["panel"] == "statistic"].set_index("statistic")
    points = frame[frame["panel"] == "rate"]
    return (
        f"Survival rate at step {int(frame['horizon'].iloc[0]):,} of every circle against its "
        f"initial signal, over {int(found['n_trials'].max())} trials on "
        f"{points['embedding'].nunique()} embeddings, with Wilson 95% intervals. Pearson's r "
        f"within an embedding, mean: {number(found.loc['pearson_within'])}; all circles pooled: "
        f"{number(found.loc['pearson_pooled'])} (95% intervals by bootstrap over embeddings)."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, ax = plt.subplots(figsize=(0.62 * style.WIDTH, 3.4))
    panel(ax, frame)
    points = frame[frame["panel"] == "rate"]
    found = frame[frame["panel"] == "statistic"].set_index("statistic")
    ax.set_title(
        f"{int(found['n_trials'].max())} trials, {points['embedding'].nunique()} embeddings, "
        f"{len(points)} circles\n"
        + "\n".join(
            f"{label}: r = {number(found.loc[name])}"
            for name, label in (
                ("pearson_within", "within an embedding, mean"),
                ("pearson_pooled", "all circles pooled"),
            )
        ),
        loc="left",
    )
    ax.legend(loc="upper left")
    return figure


def panel(ax: Axes, frame: pd.DataFrame, size: float = 3) -> None:
    """Draw points, of a size given, and line."""
    points = frame[frame["panel"] == "rate"]
    found = frame[frame["panel"] == "statistic"].set_index("statistic")
    ax.errorbar(
        points["initial_signal"],
        points["rate"],
        yerr=spread(points, "rate", "rate_low", "rate_high"),
        fmt="o",
        ms=size,
        lw=0.6,
        color=style.COLOURS[0],
        ecolor="#9EC5DE",
        label="a circle, Wilson 95% interval",
        zorder=2,
    )
    slope, intercept = (found.loc[name, "estimate"] for name in _LINE)
    if np.isfinite([slope, intercept]).all():
        x = np.array([points["initial_signal"].min(), points["initial_signal"].max()])
        ax.plot(x, intercept + slope * x, color=style.COLOURS[1], label="least squares", zorder=3)
    ax.set_xlabel("initial signal $S_k$ (embedding unit)")
    ax.set_ylabel(f"survival rate at step {int(points['horizon'].iloc[0]):,}")
    ax.set_ylim(-0.04, 1.04)
