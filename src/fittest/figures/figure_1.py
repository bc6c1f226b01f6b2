"""Fig. 1: the method in one picture, from one trial.

Embedding, its spectrum, signals over training, and the circles that are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import ConnectionPatch
from matplotlib.ticker import MaxNLocator

from fittest.figures import style
from fittest.fourier import plane, project, token_increment
from fittest.tables.timeline import timeline_rows

RULE = "relative"
MOST_CIRCLES = 6
_SIGNAL = "signal $S_k$ (embedding unit)"
_ARROW: dict[str, Any] = {"arrowstyle": "-|>", "color": "#444444"}


def data(trial: xr.Dataset) -> pd.DataFrame:
    """Return the tidy data of the figure from a trial table.

    Columns `panel` (`embedding`, `signals`, `circle`), `step`, and: for the embedding at step 0
    `token`, `dimension`, `value`; for signals, that at step 0 being the spectrum, `frequency`,
    `survived`, `signal`; for each survivor's circle `frequency`, `token_increment`, `token`, `x`,
    `y`, the final embedding on its plane.
    """
    fate = trial["survived"].sel(rule=RULE).to_series().rename("survived").astype(int)
    seen = trial["signal"].isel(step=timeline_rows(trial["step"].values))
    signals = seen.to_series().reset_index().assign(panel="signals")
    signals["survived"] = fate.loc[signals["frequency"]].values
    frames = [signals]
    if 0 in trial["snapshot_step"].values:
        first = trial["snapshot_embedding"].sel(snapshot_step=0).rename("value")
        entries = first.drop_vars("snapshot_step").to_series().reset_index()
        frames.insert(0, entries.assign(panel="embedding", step=0))
    final = trial["final_embedding"].values.astype(np.float64)
    p, last = len(final), int(trial["step"][-1])
    ends = trial["signal"].isel(step=-1).to_series()
    for k in ends[fate == 1].sort_values(ascending=False).index[:MOST_CIRCLES]:
        xy = project(final - final.mean(axis=0), plane(final, int(k)))
        frames.append(
            pd.DataFrame(
                {
                    "panel": "circle",
                    "step": last,
                    "frequency": int(k),
                    "survived": 1,
                    "token_increment": token_increment(int(k), p),
                    "token": np.arange(p),
                    "x": xy[:, 0],
                    "y": xy[:, 1],
                }
            )
        )
    columns = ["panel", "step", "token", "dimension", "value", "frequency", "survived", "signal"]
    columns += ["token_increment", "x", "y"]
    whole = ["token", "dimension", "frequency", "survived", "token_increment"]
    frame = pd.concat(frames, ignore_index=True).reindex(columns=columns)
    return frame.astype(dict.fromkeys(whole, "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    end = _at(frame, -1)
    alive = int((end["survived"] == 1).sum())
    return (
        "The method on one trial: a random embedding; its discrete Fourier transform over tokens, "
        f"whose norms are the signals of {len(end)} circles; the signals over training; and the "
        f"final embedding on the planes of the {alive} circles that survive to step "
        f"{int(end['step'].iloc[0]):,}, in colour throughout."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    circles = frame[frame["panel"] == "circle"]
    kept = list(dict.fromkeys(circles["frequency"]))
    looks = {int(k): style.survivor_look(rank) for rank, k in enumerate(kept)}
    figure = plt.figure(figsize=(style.WIDTH, 4.9))
    grid = figure.add_gridspec(2, 1, height_ratios=(1.5, 1))
    top = grid[0].subgridspec(1, 3, width_ratios=(1, 1.15, 1.35), wspace=0.12)
    embedding, spectrum, lives = (figure.add_subplot(top[0, i]) for i in range(3))
    _draw_embedding(embedding, frame[frame["panel"] == "embedding"])
    _draw_spectrum(spectrum, _at(frame, 0), looks)
    _draw_lives(lives, frame[frame["panel"] == "signals"], looks)
    row = grid[1].subgridspec(1, max(len(kept), 1))
    below = [figure.add_subplot(row[0, i]) for i in range(max(len(kept), 1))]
    if not kept:
        style.nothing(below[0], "no circle survives")
    for ax, k in zip(below, kept, strict=False):
        _draw_circle(ax, circles[circles["frequency"] == k], looks[int(k)]["color"])
    end = _at(frame, -1)
    alive, last = int((end["survived"] == 1).sum()), int(end["step"].iloc[0])
    more = f", the strongest {len(kept)} of them" if alive > len(kept) else ""
    embedding.set_title("1  embedding at step 0", loc="left")
    spectrum.set_title("2  its spectrum", loc="left")
    lives.set_title("3  signals, one trial", loc="left")
    below[0].set_title(
        f"4  what is left at step {last:,}: {alive} of {len(end)} circles{more}\n"
        + (f"k = {int(kept[0])}" if kept else ""),
        loc="left",
    )
    _arrow(figure, embedding, spectrum, "DFT over\ntokens")
    _arrow(figure, spectrum, lives, "train\n(one trial)")
    lives.annotate(
        "project on the\nsurvivors' planes",
        (0.92, -0.52),
        (0.88, -0.42),
        "axes fraction",
        "axes fraction",
        ha="right",
        va="center",
        fontsize=7,
    )
    lives.annotate(
        "", (0.92, -0.54), (0.92, -0.26), "axes fraction", "axes fraction", arrowprops=_ARROW
    )
    return figure


def _at(frame: pd.DataFrame, place: int) -> pd.DataFrame:
    """Return the signals at the first (0) or last (-1) step."""
    signals = frame[frame["panel"] == "signals"]
    return signals[signals["step"] == sorted(signals["step"].unique())[place]]


def _draw_embedding(ax: Axes, entries: pd.DataFrame) -> None:
    if entries.empty:
        style.nothing(ax, "not stored at step 0")
        return
    image = entries.pivot(index="token", columns="dimension", values="value").to_numpy(dtype=float)
    ax.imshow(image, cmap="RdBu_r", vmin=-3, vmax=3, aspect="auto", interpolation="nearest")
    ax.set_xlabel(f"dimension (d = {image.shape[1]})")
    ax.set_ylabel(f"token (p = {image.shape[0]})")


def _draw_spectrum(ax: Axes, signals: pd.DataFrame, looks: dict) -> None:
    colours = [looks[k]["color"] if k in looks else style.DEAD for k in signals["frequency"]]
    ax.bar(signals["frequency"].astype(int), signals["signal"], color=colours, width=0.8)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("circle k")
    ax.set_ylabel(_SIGNAL, fontsize=8)


def _draw_lives(ax: Axes, signals: pd.DataFrame, looks: dict) -> None:
    for k, life in signals.groupby("frequency"):
        look = looks.get(int(k))
        if look is None:
            ax.plot(life["step"], life["signal"], color=style.DEAD, lw=0.6, zorder=1)
        else:
            ax.plot(life["step"], life["signal"], zorder=3, **look)
    style.step_axis(ax, int(signals["step"].max()))
    ax.set_ylim(bottom=0)
    ax.set_ylabel(_SIGNAL, fontsize=8)


def _draw_circle(ax: Axes, tokens: pd.DataFrame, colour: str) -> None:
    first, p = tokens.iloc[0], len(tokens)
    xy = tokens.sort_values("token")[["x", "y"]].to_numpy(dtype=float)
    if not pd.isna(first["token_increment"]):
        order = np.arange(p + 1) * int(first["token_increment"]) % p
        ax.plot(xy[order, 0], xy[order, 1], color=style.DEAD, lw=0.6, zorder=1)
    ax.scatter(xy[:, 0], xy[:, 1], color=colour, s=7, zorder=2)
    reach = 1.12 * np.abs(xy).max()
    style.bare(ax)
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    ax.set_title(f"k = {int(first['frequency'])}", loc="left")


def _arrow(figure: Figure, start: Axes, end: Axes, label: str) -> None:
    arrow = ConnectionPatch(
        (1.08, 1.06),
        (-0.02, 1.06),
        "axes fraction",
        "axes fraction",
        axesA=start,
        axesB=end,
        mutation_scale=10,
        **_ARROW,
    )
    figure.add_artist(arrow)
    end.annotate(
        label, (-0.18, 1.09), xycoords="axes fraction", ha="center", va="bottom", fontsize=7
    )
