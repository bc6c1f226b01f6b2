"""Fig. 2: the life of one trial's circles, and a dead and a surviving one on their planes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.figures.chosen import chosen_circles
from fittest.fourier import plane, project
from fittest.tables.timeline import timeline_rows

RULE = "relative"


def data(trial: xr.Dataset) -> pd.DataFrame:
    """Return the tidy data of the figure from a trial table.

    Columns `panel` (`signals`, `plane`), `step`, `frequency`, `survived`, and for signals
    `signal`, for planes `token`, `x`, `y`: the snapshot's projection on the unit vectors along
    Re F_k and Im F_k of the final embedding.
    """
    fate = trial["survived"].sel(rule=RULE).to_series().rename("survived").astype(int)
    seen = trial["signal"].isel(step=timeline_rows(trial["step"].values))
    signals = seen.to_series().reset_index().assign(panel="signals")
    signals["survived"] = fate.loc[signals["frequency"]].values

    frames = [signals]
    final = trial["final_embedding"].values.astype(np.float64)
    last = int(trial["step"][-1])
    snapshots = dict(
        zip(trial["snapshot_step"].values, trial["snapshot_embedding"].values, strict=True)
    )
    snapshots[last] = final
    for k in chosen_circles(trial):
        for step, embedding in snapshots.items():
            xy = project(embedding, plane(final, k))
            frames.append(
                pd.DataFrame(
                    {
                        "panel": "plane",
                        "step": step,
                        "frequency": k,
                        "survived": fate[k],
                        "token": trial["token"].values,
                        "x": xy[:, 0],
                        "y": xy[:, 1],
                    }
                )
            )
    columns = ["panel", "step", "frequency", "survived", "signal", "token", "x", "y"]
    frame = pd.concat(frames, ignore_index=True)
    return frame.reindex(columns=columns).astype({"token": "Int64"})


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    signals = frame[frame["panel"] == "signals"]
    last = signals[signals["step"] == signals["step"].max()]
    alive = int((last["survived"] == 1).sum())
    return (
        f"One trial: the signal of each of its {len(last)} circles over training, the {alive} that "
        f"survive to step {int(last['step'].iloc[0]):,} in colour. Below, its tokens on the "
        "Fourier plane of a dead and of a surviving circle at the recorded snapshots; the planes "
        "are those of the final embedding."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    signals = frame[frame["panel"] == "signals"]
    planes = frame[frame["panel"] == "plane"]
    steps = sorted(planes["step"].unique())
    figure = plt.figure(figsize=(style.WIDTH, 4.8))
    top, bottom = figure.subfigures(  # type: ignore[misc]
        2, 1, height_ratios=(1.15, 1)
    )
    _draw_signals(top.subplots(), signals)
    axes = bottom.subplots(2, len(steps), squeeze=False)
    for row, fate in zip(axes, (0, 1), strict=True):
        _draw_planes(row, planes[planes["survived"] == fate], steps, fate)
    bottom.supxlabel(
        "tokens on the circle's Fourier plane at the last step; "
        "colour: place on the circle, k·n mod p",
        fontsize=8,
    )
    return figure


def _draw_signals(ax: Axes, signals: pd.DataFrame) -> None:
    last = int(signals["step"].max())
    end = signals[signals["step"] == last].set_index("frequency")
    alive = end[end["survived"] == 1].sort_values("signal", ascending=False).index
    for k, life in signals.groupby("frequency"):
        if k not in alive:
            ax.plot(life["step"], life["signal"], color=style.DEAD, lw=0.8, zorder=1)
    for rank, k in enumerate(alive):
        life = signals[signals["frequency"] == k]
        look = style.survivor_look(rank)
        ax.plot(life["step"], life["signal"], label=f"k = {k}", zorder=3, **look)
    dead = len(end) - len(alive)
    ax.plot([], [], color=style.DEAD, lw=0.8, label=f"{dead} dead circles")
    style.step_axis(ax, last)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("signal $S_k$ (embedding unit)")
    ax.set_title(f"One trial: {len(alive)} of {len(end)} circles survive at step {last:,}")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_planes(row: np.ndarray, planes: pd.DataFrame, steps: list[int], fate: int) -> None:
    name = "surviving" if fate else "dead"
    if planes.empty:
        for ax in row:
            style.nothing(ax, f"no {name}\ncircle")
        return
    k = int(planes["frequency"].iloc[0])
    p = int(planes["token"].max()) + 1
    reach = 1.08 * np.hypot(planes["x"], planes["y"]).max()
    for ax, step in zip(row, steps, strict=True):
        now = planes[planes["step"] == step]
        ax.scatter(
            now["x"],
            now["y"],
            c=k * now["token"] % p,
            cmap="twilight_shifted",
            edgecolors="#444444",
            linewidths=0.3,
            s=9,
            vmin=0,
            vmax=p,
        )
        style.bare(ax)
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
        if not fate:
            ax.set_title(f"step {step:,}", fontsize=8)
    row[0].set_ylabel(f"{name}\nk = {k}", fontsize=8)
