"""What figures of differential equations have in common: names and looks of the fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from fittest.figures import style

RULE = "relative"
NAMES = {
    "ols": "least squares",
    "lasso": "Lasso",
    "diagonal": "no interaction",
    "lotka-volterra": "Lotka–Volterra",
    "time": "time alone",
}
"""Kind of fit → how a figure names it."""

_LOOKS = {
    name: {"color": style.COLOURS[i], "marker": style.MARKERS[i], "linestyle": line}
    for i, (name, line) in enumerate(zip(NAMES, ("-", "--", "-.", ":", "-"), strict=True))
}


def look(fit: str) -> dict[str, Any]:
    """Return colour, marker and line style of a kind of fit."""
    return dict(_LOOKS[fit])


def curve(ax: Axes, rows: pd.DataFrame, fit: str) -> None:
    """Draw one statistic of a kind of fit against the axis, with its 95% intervals as a band."""
    some = rows[rows["fit"] == fit].sort_values("value")
    kind = look(fit)
    ax.plot(some["value"], some["estimate"], ms=3, lw=1, label=NAMES[fit], **kind)
    ax.fill_between(
        some["value"].astype(float),
        some["low"].astype(float),
        some["high"].astype(float),
        color=kind["color"],
        alpha=0.2,
        lw=0,
    )


def sizes(rows: pd.DataFrame) -> str:
    """Return how many trials each value stands on, and how many values there are."""
    some = rows.drop_duplicates("value")
    low, high = int(some["n_trials"].min()), int(some["n_trials"].max())
    each = f"{low}" if low == high else f"{low} to {high}"
    return f"{len(some)} values, {each} trials each"


def interval(row: pd.Series, digits: int = 2) -> str:
    """Return an estimate with its 95% interval as text."""
    if not np.isfinite(row["estimate"]):
        return "infinite" if np.isinf(row["estimate"]) else "undefined"
    value, low, high = (number(row[name], digits) for name in ("estimate", "low", "high"))
    return f"{value} [{low}, {high}]" if np.isfinite([row["low"], row["high"]]).all() else value


def number(value: float, digits: int = 2) -> str:
    """Return a number as text; what is far beyond 1 without decimals."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.{digits}f}"
