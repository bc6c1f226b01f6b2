"""Which protocol gives the paper's number of circles: counts, what is learned, and test loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.intervals import quiet
from fittest.statistics.protocols import LEARNED, described, protocol_values
from fittest.survival import RULES

RULE = "relative"

PUBLISHED = (3, 5)
PUBLISHED_AT = "p = 59, d = 128"
"""Number of circles that the paper reports, and where."""

COLUMNS = (
    "panel",
    "p",
    "d",
    "protocol",
    "mlp",
    "activation",
    "arithmetic",
    "rule",
    "horizon",
    "statistic",
    "estimate",
    "low",
    "high",
    "n_trials",
    "step",
    "test_loss",
    "low_quartile",
    "high_quartile",
)

_WHAT = ["mlp", "activation", "arithmetic"]
_SHOWN = ("circles", "share_3_to_5", "learns")
_NAMES = {"silu": "SiLU", "relu": "ReLU", "uniform": "uniform", "normal": "N(0, 1)"}
_ORDER = ["uniform", "normal", "silu", "relu", "float32 exact", "float32 naive"]


def data(scores: xr.Dataset, protocols: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Columns `COLUMNS`. Panels: `statistic`, of each protocol `circles` and `share_3_to_5` by every
    rule at every horizon, and `learns`; and `loss`, median `test_loss` over trials with quartiles
    at log-spaced steps.
    """
    found = protocols[protocols["statistic"].isin(_SHOWN)].assign(panel="statistic")
    frames = [found]
    if "protocol" not in scores["test_loss"].dims:
        scores = scores.expand_dims("protocol")
    for name, values in protocol_values(scores).items():
        one = scores["test_loss"].sel(protocol=name).transpose("trial", "step")
        one = one.isel(step=one["step"].values <= values["steps"]).dropna("step", how="all")
        with quiet():
            low, middle, high = np.nanquantile(one.values, (0.25, 0.5, 0.75), axis=0)
        life = {"test_loss": middle, "low_quartile": low, "high_quartile": high}
        where: dict[str, Any] = {"panel": "loss", "protocol": name, **described(values)}
        where |= {"step": one["step"].values, "n_trials": one.sizes["trial"]}
        frames.append(pd.DataFrame({**where, **life}))
    frame = pd.concat(frames, ignore_index=True).assign(p=int(scores["p"]), d=int(scores["d"]))
    frame = frame.reindex(columns=list(COLUMNS))
    rank = {word: i for i, word in enumerate(_ORDER)}
    # Stable: what follows stays in the order of horizons and steps.
    frame = frame.sort_values(
        ["panel", *_WHAT],
        key=lambda column: (
            column if column.name == "panel" else column.map(lambda w: (rank.get(w, len(rank)), w))
        ),
        kind="stable",
        ignore_index=True,
    )
    return frame.astype(dict.fromkeys(("horizon", "n_trials", "step"), "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    last = _last(frame)
    circles = last[(last["statistic"] == "circles") & (last["rule"] == RULE)]
    learns = last[last["statistic"] == "learns"].set_index("protocol")["estimate"]
    some = circles[circles["protocol"].map(learns).gt(0) & circles["estimate"].notna()]
    low, high = PUBLISHED
    text = (
        f"Each of {len(circles)} protocols (draw of the MLP, activation, arithmetic) on "
        f"{_trials(circles)} at {_where(frame)}: mean number of surviving circles with its 95% "
        f"interval by every rule and, by the rule {RULE}, at every horizon, beside the {low} to "
        f"{high} that the paper reports at {PUBLISHED_AT} (grey); share of trials that learn (test "
        f"accuracy ≥ {LEARNED:g}) and of those with {low} to {high} circles; median test loss with "
        "quartiles. "
    )
    if some.empty:
        return f"{text}No trial of any protocol learns."
    least, most = (some.loc[some["estimate"].agg(at)] for at in ("idxmin", "idxmax"))
    return (
        f"{text}{len(some)} learn in some trial; their mean number of circles lies between "
        f"{least['estimate']:.1f} ({_label(least)}) and {most['estimate']:.1f} ({_label(most)})."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    found = frame[frame["panel"] == "statistic"]
    names = list(dict.fromkeys(found["protocol"]))
    figure = plt.figure(figsize=(style.WIDTH, 2.9 + 0.24 * len(names)))
    heights = (1.0 + 0.24 * len(names), 1.9)
    top, bottom = figure.subfigures(2, 1, height_ratios=heights)  # type: ignore[misc]
    axes = top.subplots(1, 3, sharey=True)
    _draw_rules(axes[0], _last(frame), names)
    _draw_horizons(axes[1], found, names)
    _draw_shares(axes[2], _last(frame), names)
    firsts = found.drop_duplicates("protocol").set_index("protocol")
    axes[0].set_yticks(range(len(names)), [_label(firsts.loc[name]) for name in names])
    axes[0].set_ylim(len(names) - 0.5, -0.5)
    for ax in axes:
        ax.tick_params(labelsize=7)
        for edge in range(1, len(names)):
            ax.axhline(edge - 0.5, color="#E5E5E5", lw=0.5, zorder=0)
        ax.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=6.5, ncols=1, borderpad=0.1
        )
    top.suptitle(
        f"Draw of the MLP, activation, arithmetic: {_trials(found)} each at {_where(frame)}",
        fontsize=9,
    )
    _draw_losses(bottom, frame[frame["panel"] == "loss"])
    return figure


def _draw_rules(ax: Axes, last: pd.DataFrame, names: list[str]) -> None:
    for i, rule in enumerate(RULES):
        some = last[(last["statistic"] == "circles") & (last["rule"] == rule)]
        _points(ax, some, names, (i - 1) * 0.22, style.COLOURS[i], style.MARKERS[i], f"rule {rule}")
    low, high = PUBLISHED
    _published(ax, f"paper: {low} to {high} at {PUBLISHED_AT}")
    ax.set_xlabel("circles at the last step", fontsize=8)


def _draw_horizons(ax: Axes, found: pd.DataFrame, names: list[str]) -> None:
    some = found[(found["statistic"] == "circles") & (found["rule"] == RULE)]
    horizons = sorted(some["horizon"].unique())
    shades = plt.get_cmap("viridis")(np.linspace(0.8, 0.0, len(horizons)))
    for i, (horizon, color) in enumerate(zip(horizons, shades, strict=True)):
        offset = (i - (len(horizons) - 1) / 2) * 0.8 / max(len(horizons), 3)
        marker = style.MARKERS[i % len(style.MARKERS)]
        at = some[some["horizon"] == horizon]
        _points(ax, at, names, offset, color, marker, f"step {int(horizon):,}")
    _published(ax)
    ax.set_xlabel(f"circles, rule {RULE}", fontsize=8)


def _draw_shares(ax: Axes, last: pd.DataFrame, names: list[str]) -> None:
    low, high = PUBLISHED
    few = last[(last["statistic"] == "share_3_to_5") & (last["rule"] == RULE)]
    learns = last[last["statistic"] == "learns"]
    _points(ax, learns, names, -0.17, style.COLOURS[3], "v", f"test accuracy ≥ {LEARNED:g}")
    _points(ax, few, names, 0.17, style.COLOURS[0], "o", f"{low} to {high} circles")
    ax.set_xlim(-0.04, 1.04)
    ax.set_xlabel("share of trials at the last step", fontsize=8)


def _points(
    ax: Axes, some: pd.DataFrame, names: list[str], offset: float, color: object, *look: str
) -> None:
    """Draw an estimate with its interval in each protocol's row; say where there is none."""
    marker, label = look
    rows = some.set_index("protocol").reindex(names)
    y = np.arange(len(names)) + offset
    x = rows["estimate"].to_numpy(dtype=float)
    ends = [x - rows["low"].to_numpy(dtype=float), rows["high"].to_numpy(dtype=float) - x]
    spread = np.clip(np.nan_to_num(np.array(ends)), 0, None)
    ax.errorbar(x, y, xerr=spread, fmt=marker, ms=3, lw=0.8, color=color, label=label)
    for at in y[np.isnan(x) & rows["n_trials"].notna().to_numpy()]:
        ax.text(0, at, "all diverged", fontsize=5, color="#666666", va="center")


def _published(ax: Axes, label: str = "") -> None:
    ax.axvspan(*PUBLISHED, color="#DDDDDD", lw=0, zorder=-1, label=label)
    ax.set_xlim(left=-0.3)


def _draw_losses(bottom: Any, loss: pd.DataFrame) -> None:
    kinds = list(loss.groupby(["mlp", "activation"], sort=False))
    axes = bottom.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    ways = list(dict.fromkeys(loss["arithmetic"]))
    handles = {}
    for ax, ((mlp, activation), some) in zip(axes, kinds, strict=True):
        for i, (way, life) in enumerate(some.groupby("arithmetic", sort=False)):
            at = ways.index(str(way))
            look = {"color": style.COLOURS[at % len(style.COLOURS)]}
            steps = life["step"].astype(float)
            ax.fill_between(
                steps, life["low_quartile"], life["high_quartile"], alpha=0.15, lw=0, **look
            )
            look["linestyle"] = style.LINE_STYLES[at % len(style.LINE_STYLES)]
            # Where two lie on each other the later, thinner one leaves the earlier visible.
            (line,) = ax.plot(steps, life["test_loss"], lw=2.2 - 0.7 * i, **look)
            handles[str(way)] = line
        style.step_axis(ax, int(loss["step"].max()))
        ax.tick_params(labelsize=7)
        ax.tick_params(axis="x", rotation=45)
        ax.set_title(f"{_NAMES.get(mlp, mlp)}, {_NAMES.get(activation, activation)}", fontsize=8)
        ax.set_xlabel("optimiser step", fontsize=8)
    axes[0].set_yscale("log")
    axes[0].set_ylabel("test loss (nats)", fontsize=8)
    bottom.legend(
        handles.values(), handles, loc="outside lower center", ncols=len(handles), fontsize=7
    )


def _last(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the statistics of each protocol at the last horizon it was trained to."""
    found = frame[frame["panel"] == "statistic"]
    return found[found["horizon"] == found.groupby("protocol")["horizon"].transform("max")]


def _where(frame: pd.DataFrame) -> str:
    return f"p = {int(frame['p'].iloc[0])}, d = {int(frame['d'].iloc[0])}"


def _label(row: pd.Series) -> str:
    return ", ".join(_NAMES.get(str(row[name]), str(row[name])) for name in _WHAT)


def _trials(found: pd.DataFrame) -> str:
    low, high = int(found["n_trials"].min()), int(found["n_trials"].max())
    return f"{high} trials" if low == high else f"{low} to {high} trials"
