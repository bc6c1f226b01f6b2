"""Fig. 8: loss over training of one trial's network with one, two and three of its circles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.cells import REDRAWN
from fittest.collaboration import SETS
from fittest.figures import style
from fittest.statistics.kept import CLAIM
from fittest.tables.timeline import timeline_rows

_ACROSS = 6
"""Most entries of the legend side by side."""


def data(table: xr.Dataset, statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure from the kept table and its statistics.

    Columns `panel` (`one`, `two`, `three`, `whole`, `shares`), `embedding`, `trial`, `step`,
    `frequency` (circle i), `survived`, `signal` (at the last step), `kept` (circles kept), `loss`;
    for shares `statistic`, `estimate`, `low`, `high`, `n_trials`. The trial is the table's first:
    that of Figs. 2 and 3, where the design trains it as it does `initial-signal`.
    """
    one = table.isel(trial=0, step=timeline_rows(table["step"].values))
    curves = one[["loss", "kept", "signal", "survived"]].to_dataframe().reset_index()
    curves = curves.rename(columns={"set": "panel"})
    curves = curves[["panel", "step", "frequency", "survived", "signal", "kept", "loss"]]
    whole = one["whole_loss"].to_series().rename("loss").reset_index().assign(panel="whole")
    names = [*(name for name, _ in CLAIM.values()), "all_three"]
    shares = statistics[statistics["statistic"].isin(names)]
    shares = shares[["statistic", "estimate", "low", "high", "n_trials"]].assign(panel="shares")
    frame = pd.concat([curves, whole, shares], ignore_index=True)
    frame = frame.assign(trial=int(one["trial"]), embedding=one["embedding"].item())
    columns = ["panel", "embedding", "trial", "step", "frequency", "survived", "signal", "kept"]
    columns += ["loss", "statistic", "estimate", "low", "high", "n_trials"]
    whole_numbers = ["step", "frequency", "survived", "kept", "n_trials"]
    return frame.reindex(columns=columns).astype(dict.fromkeys(whole_numbers, "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    first, *later = [f"k = {k}" for k in _chosen(frame)] or ["none"]
    third = later[1] if len(later) > 1 else "none"
    text = (
        f"{_trial(frame)}: mean loss on all pairs of its network at each stored step to "
        f"{int(frame['step'].max()):,}, when all circles but those kept are taken out of the "
        f"embedding: i alone; the strongest ({first}) and i; the strongest, the third strongest "
        f"survivor ({third}) and i. Dotted: i is one of the others, so that the set holds a circle "
        "less."
    )
    share = _shares(frame).loc["all_three"]
    if np.isfinite(share["estimate"]):
        text += (
            " At the last step the least loss of one circle is above 1, of two above 0.1 and of "
            f"three below 0.1 in {share['estimate']:.0%} of {_trials(int(share['n_trials']))} (95% "
            f"interval {share['low']:.0%} to {share['high']:.0%})."
        )
    return text


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(1, len(SETS), figsize=(style.WIDTH, 3.9), sharey=True)
    shares = _shares(frame)
    for ax, panel in zip(axes, SETS, strict=True):
        _draw_panel(ax, frame, panel)
        share = shares.loc[CLAIM[panel][0]]
        ax.set_title(f"{_names(panel, _chosen(frame))}\n{_share_text(share, panel)}", fontsize=8)
    axes[0].set_ylabel("mean loss on all pairs (nats)")
    handles, names = axes[0].get_legend_handles_labels()
    columns = len(names) if len(names) <= _ACROSS else -(-len(names) // 2)
    figure.legend(handles, names, loc="outside lower center", ncols=min(columns, _ACROSS))
    figure.suptitle(
        f"{_trial(frame)} with only some of its circles. Above each panel, how often this holds "
        f"at step {int(frame['step'].max()):,}",
        fontsize=9,
    )
    return figure


def _draw_panel(ax: Axes, frame: pd.DataFrame, panel: str) -> None:
    """Draw a curve for each circle i, dotted where the set holds fewer circles than it says."""
    curves = frame[frame["panel"] == panel]
    chosen = _chosen(frame)
    for k, life in curves.groupby("frequency"):
        if k not in chosen:
            ax.plot(life["step"], life["loss"], color=style.DEAD, lw=0.7, zorder=1)
    for rank, k in enumerate(chosen):
        life = curves[curves["frequency"] == k]
        look = style.survivor_look(rank)
        if (life["kept"] < SETS.index(panel) + 1).any():
            look |= {"linestyle": ":"}
        ax.plot(life["step"], life["loss"], label=f"i = {k}", zorder=4 - rank / 100, **look)
    ax.plot([], [], color=style.DEAD, lw=0.7, label=f"i dead ({_dead(frame)} circles)")
    whole = frame[frame["panel"] == "whole"]
    ax.plot(whole["step"], whole["loss"], color="black", lw=1.2, zorder=2, label="all circles")
    threshold = CLAIM[panel][1]
    ax.axhline(threshold, color="black", lw=0.8, ls=(0, (1, 3)), zorder=0, label="threshold")
    steps = np.sort(whole["step"].unique())
    if curves["loss"].isna().all():
        ax.text(
            *(0.4, 0.3, "too few circles\nsurvive in it"),
            ha="center",
            color="#666666",
            transform=ax.transAxes,
            bbox={"facecolor": "white", "edgecolor": "none"},
        )
    ax.set_yscale("log")
    style.step_axis(ax, int(steps[-1]), int(steps[min(1, len(steps) - 1)]))


def _names(panel: str, chosen: list[int]) -> str:
    """Return how a panel's kept sets are spelt."""
    places = {"one": [], "two": [0], "three": [0, 2]}[panel]
    if len(chosen) <= max(places, default=-1):
        return f"{panel.capitalize()} kept"
    return f"{panel.capitalize()} kept: {{{', '.join([*(str(chosen[j]) for j in places), 'i'])}}}"


def _share_text(share: pd.Series, panel: str) -> str:
    sign = "below" if panel == "three" else "above"
    text = f"least loss {sign} {CLAIM[panel][1]:g}: "
    trials = int(share["n_trials"])
    if not trials:
        return f"{text}no trial\nhas as many survivors"
    ends = f"(95% interval {share['low']:.0%} to {share['high']:.0%})"
    return f"{text}{share['estimate']:.0%} of {_trials(trials)}\n{ends}"


def _trial(frame: pd.DataFrame) -> str:
    first = frame.iloc[0]
    shared = "" if first["embedding"] == REDRAWN else f" of embedding {first['embedding']}"
    return f"Trial {first['trial']}{shared}"


def _trials(count: int) -> str:
    return f"{count} trial{'' if count == 1 else 's'}"


def _dead(frame: pd.DataFrame) -> int:
    ends = frame[frame["panel"] == SETS[0]].drop_duplicates("frequency")
    return int((ends["survived"] == 0).sum())


def _chosen(frame: pd.DataFrame) -> list[int]:
    """Return the survivors, strongest at the last step first."""
    ends = frame[frame["panel"] == SETS[0]].drop_duplicates("frequency")
    ends = ends[ends["survived"] == 1].sort_values("signal", ascending=False, kind="stable")
    return ends["frequency"].astype(int).tolist()


def _shares(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["panel"] == "shares"].set_index("statistic")
