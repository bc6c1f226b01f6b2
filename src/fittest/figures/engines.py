"""The same trials by several engines: how far apart early, and whether outcomes are alike later."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.errors import FileError
from fittest.figures import style
from fittest.statistics.comparison import TOLERANCES

UNTIL = max(TOLERANCES)
"""Steps over which engines must agree trial by trial."""

COLUMNS = (
    "panel",
    "statistic",
    "way",
    "other",
    "step",
    "decile",
    "circles",
    "trials",
    "estimate",
    "low",
    "high",
    "p_value",
    "n_trials",
)


def data(course: xr.Dataset, comparison: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Columns `COLUMNS`. Panels: `distance` (`estimate` is the largest over trials at the step),
    `decile` (survival rate with its Wilson interval), `circles` (how many `trials` have so many
    `circles` at the last step), `statistic` (of each pair at the last step).
    """
    steps = course["step"].values
    early = (steps >= 1) & (steps <= UNTIL)
    n = course.sizes["trial"]
    frames = [
        pd.DataFrame(
            {
                "panel": "distance",
                "way": str(pair["first"].values),
                "other": str(pair["second"].values),
                "step": steps[early],
                "estimate": pair["distance"].values[:, early].max(axis=0),
                "n_trials": n,
            }
        )
        for pair in (course.isel(pair=i) for i in range(course.sizes["pair"]))
    ]
    for way, counts in zip(course["way"].values, course["circles"].values[:, :, -1], strict=True):
        values, trials = np.unique(counts[counts >= 0], return_counts=True)
        frames.append(
            pd.DataFrame(
                {
                    "panel": "circles",
                    "way": way,
                    "step": steps[-1],
                    "circles": values,
                    "trials": trials,
                    "n_trials": n,
                }
            )
        )
    last = comparison[comparison["horizon"] == int(steps[-1])]
    rates = last[last["statistic"] == "rate_of_decile"]
    if rates.empty:
        raise FileError("no trial lived through every way to the last step: nothing to compare")
    pairs = last[last["statistic"].isin(["same_survivors", "decile_difference"])]
    for panel, some in (("decile", rates), ("statistic", pairs)):
        some = some.rename(columns={"horizon": "step"})
        frames.append(some.assign(panel=panel))
    frame = pd.concat(frames, ignore_index=True).reindex(columns=list(COLUMNS))
    whole = ("step", "decile", "circles", "trials", "n_trials")
    return frame.astype(dict.fromkeys(whole, "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    counts = frame[frame["panel"] == "circles"]
    return (
        f"The same {int(counts['n_trials'].max())} trials by each engine: the largest difference "
        "of a signal over the first steps against the stated tolerance; survival rate by decile of "
        "initial signal with Wilson 95% intervals; and how many circles survive. At step "
        f"{int(counts['step'].max()):,}: {_agreement(frame)}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    rates, counts = (frame[frame["panel"] == panel] for panel in ("decile", "circles"))
    ways = list(dict.fromkeys(rates["way"]))
    figure, axes = plt.subplots(1, 3, figsize=(style.WIDTH, 3.3), width_ratios=(1.1, 1.2, 1))
    _draw_distances(axes[0], frame[frame["panel"] == "distance"])
    width = 0.8 / len(ways)
    for i, way in enumerate(ways):
        at = (i - (len(ways) - 1) / 2) * width
        look = {"color": style.COLOURS[i % len(style.COLOURS)]}
        some = rates[rates["way"] == way]
        spread = [some["estimate"] - some["low"], some["high"] - some["estimate"]]
        axes[1].errorbar(
            some["decile"].astype(float) + at,
            some["estimate"],
            yerr=np.clip(np.array(spread, dtype=float), 0, None),
            fmt=style.MARKERS[i % len(style.MARKERS)],
            ms=3,
            lw=0.8,
            **look,
        )
        some = counts[counts["way"] == way]
        axes[2].bar(some["circles"].astype(float) + at, some["trials"], width, label=way, **look)
    last, n = int(counts["step"].max()), int(counts["n_trials"].max())
    axes[1].set_xticks(range(1, 11))
    axes[1].set_xlabel("decile of initial signal")
    axes[1].set_ylim(-0.03, 1.03)
    axes[1].set_title(f"survival rate at step {last:,}", fontsize=8)
    axes[2].set_xlabel("surviving circles")
    axes[2].set_ylabel("trials")
    axes[2].set_title(f"circles at step {last:,}", fontsize=8)
    axes[2].xaxis.get_major_locator().set_params(integer=True)
    figure.suptitle(f"The same {n} trials by each engine\n" + _agreement(frame), fontsize=8)
    figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def _draw_distances(ax: Axes, distances: pd.DataFrame) -> None:
    for i, ((way, other), some) in enumerate(distances.groupby(["way", "other"], sort=False)):
        look = style.survivor_look(i)
        value = some["estimate"].clip(lower=1e-9)
        zero = ": 0" if (some["estimate"] == 0).all() else ""
        ax.plot(some["step"], value, lw=1, label=f"{way}, {other}{zero}", **look)
    steps = [1, *TOLERANCES]
    for first, (until, tolerance) in zip(steps, TOLERANCES.items(), strict=False):
        ax.plot([first, until], [tolerance, tolerance], color="black", lw=0.8, ls=":")
    ax.plot([], [], color="black", lw=0.8, ls=":", label="tolerance")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("optimiser step")
    ax.set_title("largest difference of a signal\nover the largest signal, all trials", fontsize=8)
    ax.legend(fontsize=5.5, loc="lower right", bbox_to_anchor=(1.0, 0.07))
    ax.set_ylim(bottom=4e-10)


def _agreement(frame: pd.DataFrame) -> str:
    """Return in a line the least agreement over pairs."""
    found = frame[frame["panel"] == "statistic"]
    same = found[found["statistic"] == "same_survivors"]
    p = found[found["statistic"] == "decile_difference"]["p_value"]
    worst = same.loc[same["estimate"].idxmin()]
    return (
        f"very same survivors in at least {100 * worst['estimate']:.0f}% "
        f"[{100 * worst['low']:.0f}, {100 * worst['high']:.0f}] of trials, for every pair; "
        + (
            f"rates by decile differ with p ≥ {p.min():.2g}"
            if p.min() < 1
            else "rates by decile the same"
        )
    )
