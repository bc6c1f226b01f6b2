"""Fig. 10: number of surviving circles against weight decay, the whole range and its parts."""

from __future__ import annotations

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.figures.counting import panel, sizes, tidy, trend
from fittest.survival import RULES

RULE = "retained"
"""Without weight decay nothing shrinks, and by `relative` nothing would survive."""

SMALL = 0.01
"""Where the small part ends, as in the paper."""


def data(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure: counts by every rule."""
    return tidy(counts, "weight-decay")


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    statistic = "spearman_positive" if (frame["value"] == 0).any() else "spearman"
    return (
        "Mean number of surviving circles against weight decay by all three survival rules, with "
        f"95% intervals over trials ({sizes(frame)}): the whole range, and its small and large "
        f"part. Above 0, by the rule retained: {trend(frame, statistic, 'retained')}; by the rule "
        f"relative: {trend(frame, statistic)}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(1, 3, figsize=(style.WIDTH, 3.0))
    decay = frame["value"]
    parts = (
        ("whole range", frame, "symlog"),
        (f"up to {SMALL:g}", frame[decay <= SMALL], "symlog"),
        (f"above {SMALL:g}", frame[decay > SMALL], "linear"),
    )
    smallest = decay[decay > 0].min()
    for ax, (title, some, scale) in zip(axes, parts, strict=True):
        if some.empty:
            style.nothing(ax, f"no value\n{title}")
            continue
        for i, rule in enumerate((RULE, *(r for r in RULES if r != RULE))):
            look = {"color": style.COLOURS[i], "alpha": 1.0 if rule == RULE else 0.5}
            panel(ax, some, rule, look=look, label=f"rule {rule}")
        ax.set_xscale(scale, **({"linthresh": smallest} if scale == "symlog" else {}))
        ax.set_ylim(bottom=0)
        ax.set_title(title, fontsize=8)
    for ax in axes[1:]:
        ax.set_ylabel("")
    statistic = "spearman_positive" if (decay == 0).any() else "spearman"
    figure.suptitle(
        f"{sizes(frame)}; above 0, by rule {RULE}: {trend(frame, statistic, RULE)}", fontsize=8
    )
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure
