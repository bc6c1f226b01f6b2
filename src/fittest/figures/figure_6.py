"""Fig. 6: does initial signal decide survival? As drawn, with one circle scaled, and built anew."""

from __future__ import annotations

import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from fittest.figures import signal_survival, style
from fittest.figures.numbers import last, number, spread

RULE = signal_survival.RULE
_CONSTRUCTED = {
    "first": "larger circle",
    "second": "second circle",
    "revived": "another is revived",
}


def data(
    rates: xr.Dataset,
    correlation: pd.DataFrame,
    perturbation: pd.DataFrame,
    construction: pd.DataFrame,
) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Column `panel`: `rate` and `statistic` (left, see `signal_survival.data`), `perturbation`
    (middle) and `construction` (right), with the columns of their statistics.
    """
    parts = [
        signal_survival.data(rates, correlation),
        last(perturbation, RULE).assign(panel="perturbation"),
        last(construction, RULE).assign(panel="construction"),
    ]
    frame = pd.concat([part.dropna(axis=1, how="all") for part in parts], ignore_index=True)
    for column in ("p_value", "baseline", "estimate", "low", "high"):
        if column not in frame:  # all undefined
            frame[column] = float("nan")
    whole = [c for c in frame if str(c).startswith("n_")] + ["embedding", "frequency", "trials"]
    return frame.astype(dict.fromkeys(whole, "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    fifths, shares = _named(frame, "perturbation"), _named(frame, "construction")
    middle = frame[(frame["panel"] == "perturbation") & (frame["statistic"] == "rate")]
    k = int(frame["frequency"][frame["panel"] == "perturbation"].iloc[0])
    return (
        f"Left: {signal_survival.caption(frame)} Middle: survival rate of circle {k}, whose "
        "initial signal is scaled, against its distance from the mean of the others, over "
        f"{_total(middle):,} trials on {middle['embedding'].nunique()} embeddings: in the top "
        f"fifth {number(fifths.loc['top_fifth'])}, in the bottom fifth "
        f"{number(fifths.loc['bottom_fifth'])}. Right: survival of the larger and the second of "
        "two constructed circles against the ratio of their signals, over "
        f"{int(shares.loc['second_spearman', 'n_trials']):,} trials: the larger at ratios up to "
        f"0.8 {number(shares.loc['first_rate'])}, Spearman ρ of ratio and the second's survival "
        f"{number(shares.loc['second_spearman'])}; a circle built near zero is revived in "
        f"{number(shares.loc['revival_share'])} of trials."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(1, 3, figsize=(style.WIDTH, 3.3))
    _signal(axes[0], frame)
    _perturbation(axes[1], frame)
    _construction(axes[2], frame)
    return figure


def _signal(ax: Axes, frame: pd.DataFrame) -> None:
    signal_survival.panel(ax, frame, size=2)
    found = _named(frame, "statistic")
    points = frame[frame["panel"] == "rate"]
    ax.set_title(
        f"{int(found['n_trials'].max()):,} trials, {points['embedding'].nunique()} embeddings\n"
        f"r within: {number(found.loc['pearson_within'])}\n"
        f"r pooled: {number(found.loc['pearson_pooled'])}",
        loc="left",
        fontsize=8,
    )


def _perturbation(ax: Axes, frame: pd.DataFrame) -> None:
    """Draw the survival rate against distance, a line an embedding; the outer fifths shaded."""
    some = frame[(frame["panel"] == "perturbation") & (frame["statistic"] == "rate")]
    if some.empty:
        style.nothing(ax, "no trial")
        return
    for rank, (embedding, cells) in enumerate(some.groupby("embedding")):
        cells = cells.sort_values("distance")
        look = style.survivor_look(rank)
        ax.plot(cells["distance"], cells["estimate"], lw=1, label=f"{int(embedding)}", **look)
        ax.fill_between(
            cells["distance"], cells["low"], cells["high"], color=look["color"], alpha=0.12, lw=0
        )
    fifths = _named(frame, "perturbation")
    left, right = ax.get_xlim()
    for name, ends in (("bottom_fifth", (left, None)), ("top_fifth", (None, right))):
        begins = fifths.loc[name, "distance"]
        low, high = (begins if end is None else end for end in ends)
        ax.axvspan(low, high, color="#EEEEEE", lw=0, zorder=0)
    ax.set_xlim(left, right)
    ax.set_ylim(-0.04, 1.04)
    ax.set_xlabel("initial signal of the scaled circle\nminus mean of the others")
    ax.set_ylabel(f"survival rate at step {int(some['horizon'].iloc[0]):,}")
    ax.legend(title="embedding", title_fontsize=7, fontsize=7, ncols=2, columnspacing=0.8)
    ax.set_title(
        f"{_total(some):,} trials, circle {int(some['frequency'].iloc[0])} scaled\n"
        f"top fifth: {number(fifths.loc['top_fifth'])}\n"
        f"bottom fifth: {number(fifths.loc['bottom_fifth'])}",
        loc="left",
        fontsize=8,
    )


def _construction(ax: Axes, frame: pd.DataFrame) -> None:
    """Draw the rates of first, second and revived circles against the ratio."""
    some = frame[(frame["panel"] == "construction") & frame["statistic"].isin(_CONSTRUCTED)]
    if some.empty:
        style.nothing(ax, "no trial")
        return
    for rank, (name, label) in enumerate(_CONSTRUCTED.items()):
        rates = some[some["statistic"] == name].sort_values("ratio")
        ax.errorbar(
            rates["ratio"],
            rates["estimate"],
            yerr=spread(rates),
            marker=style.MARKERS[rank],
            ms=3,
            lw=1,
            elinewidth=0.6,
            color=style.COLOURS[rank],
            label=label,
        )
    shares = _named(frame, "construction")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    ax.set_ylim(-0.04, 1.04)
    ax.set_xlabel("second circle's initial signal\nover the larger's, r")
    ax.set_ylabel(f"share of trials at step {int(some['horizon'].iloc[0]):,}")
    ax.legend(fontsize=7, loc="upper left", bbox_to_anchor=(0, 0.93))
    ax.set_title(
        f"{int(shares.loc['second_spearman', 'n_trials']):,} trials, "
        f"{int(shares.loc['second_spearman', 'n_values'])} ratios\n"
        f"larger, r ≤ 0.8: {number(shares.loc['first_rate'])}\n"
        f"revived: {number(shares.loc['revival_share'])}",
        loc="left",
        fontsize=8,
    )


def _named(frame: pd.DataFrame, panel: str) -> pd.DataFrame:
    """Return a panel's statistics by name: those of which there is one."""
    some = frame[(frame["panel"] == panel) & frame["statistic"].notna()]
    return some.drop_duplicates("statistic", keep=False).set_index("statistic")


def _total(rates: pd.DataFrame) -> int:
    return int(rates["n_trials"].sum())
