"""What figures of counts have in common: the tidy data, and a panel of means with intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from fittest.figures import style

RULE = "relative"
NAMES = {
    "p": "modulus p",
    "d": "embedding dimension d",
    "weight_decay": "weight decay",
}
"""Axis → how a figure names it."""


def tidy(counts: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Return the counts at the last horizon as rows of a figure's panel, by every rule."""
    last = counts[counts["horizon"] == counts["horizon"].max()]
    return last.drop(columns="method").assign(panel=panel)


def panel(
    ax: Axes, frame: pd.DataFrame, rule: str = RULE, *, look: dict | None = None, label: str = ""
) -> None:
    """Draw mean counts against the axis, with their 95% intervals."""
    some = frame[(frame["statistic"] == "circles") & (frame["rule"] == rule)]
    spread = [some["estimate"] - some["low"], some["high"] - some["estimate"]]
    ax.errorbar(
        some["value"],
        some["estimate"],
        yerr=np.clip(np.nan_to_num(np.array(spread, dtype=float)), 0, None),
        fmt="o-",
        ms=3,
        lw=0.8,
        elinewidth=0.8,
        label=label,
        **(look or {"color": style.COLOURS[0]}),
    )
    axis = str(frame["axis"].iloc[0])
    ax.set_xlabel(NAMES[axis])
    if axis in ("p", "d"):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylabel(f"surviving circles\nat step {int(frame['horizon'].iloc[0]):,}")


def sizes(frame: pd.DataFrame) -> str:
    """Return how many trials a value stands on, and how many values there are."""
    some = frame[(frame["statistic"] == "circles") & (frame["rule"] == RULE)]
    low, high = int(some["n_trials"].min()), int(some["n_trials"].max())
    each = f"{low}" if low == high else f"{low} to {high}"
    return f"{len(some)} values, {each} trials each"


def trend(frame: pd.DataFrame, statistic: str = "spearman", rule: str = RULE) -> str:
    """Return the rank correlation with its interval."""
    rows = frame[(frame["statistic"] == statistic) & (frame["rule"] == rule)]
    if rows.empty or not np.isfinite(rows["estimate"].iloc[0]):
        return "Spearman ρ undefined"
    row = rows.iloc[0]
    ends = f" [{row['low']:.2f}, {row['high']:.2f}]" if np.isfinite(row["low"]) else ""
    return f"Spearman ρ = {row['estimate']:.2f}{ends}"
