"""Fig. 3: principal planes of a trained embedding against its Fourier planes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from fittest.figures import style
from fittest.fourier import plane, project, token_increment
from fittest.planes import SIGNIFICANT, principal_planes, significant, singular_values

MOST_PLANES = 5


def data(trial: xr.Dataset) -> pd.DataFrame:
    """Return the tidy data of the figure from a trial table.

    Columns `panel` (`singular values`, `principal`, `fourier`), `step`, `index` (of the singular
    value or plane), `value`, and for planes `frequency`, `angle` (degrees), `ambiguous`,
    `token_increment`, `survived`, `token`, `x`, `y`.
    """
    final = trial["final_embedding"].values.astype(np.float64)
    p = len(final)
    fate = trial["survived"].sel(rule="relative").to_series()
    values, _ = singular_values(final)
    frames = [
        pd.DataFrame({"panel": "singular values", "index": np.arange(len(values)), "value": values})
    ]
    for found in principal_planes(final):
        bases = {"principal": tuple(found.basis), "fourier": plane(final, found.frequency)}
        for panel, basis in bases.items():
            xy = project(final - final.mean(axis=0), basis)
            frames.append(
                pd.DataFrame(
                    {
                        "panel": panel,
                        "index": found.index,
                        "frequency": found.frequency,
                        "angle": found.angle,
                        "ambiguous": int(found.ambiguous),
                        "token_increment": token_increment(found.frequency, p),
                        "survived": int(fate[found.frequency]),
                        "token": np.arange(p),
                        "x": xy[:, 0],
                        "y": xy[:, 1],
                    }
                )
            )
    frame = pd.concat(frames, ignore_index=True).assign(step=int(trial["step"][-1]))
    whole = ["frequency", "ambiguous", "token_increment", "survived", "token"]
    columns = ["panel", "step", "index", "value", "frequency", "angle", "ambiguous"]
    columns += ["token_increment", "survived", "token", "x", "y"]
    return frame.reindex(columns=columns).astype(dict.fromkeys(whole, "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    planes = frame[frame["panel"] == "principal"].drop_duplicates("index")
    text = (
        f"The trial of Fig. 2 at step {int(frame['step'].iloc[0]):,}: singular values of the "
        f"centred embedding, and its {len(planes)} pairs of significant principal axes, each above "
        "the nearest Fourier plane."
    )
    if len(planes):
        text += (
            " Largest principal angle between the two planes: median "
            f"{planes['angle'].median():.0f} degrees."
        )
    return text


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    values = frame[frame["panel"] == "singular values"]["value"].to_numpy()
    planes = frame[frame["panel"] != "singular values"]
    indices = sorted(planes["index"].unique())
    shown = indices[:MOST_PLANES]
    columns = max(len(shown), 1)
    figure = plt.figure(figsize=(style.WIDTH, 5.4))
    top, bottom = figure.subfigures(  # type: ignore[misc]
        2, 1, height_ratios=(1, 2.1)
    )
    more = (
        f", the first {len(shown)} of {len(indices)} planes below"
        if len(indices) > len(shown)
        else ""
    )
    _draw_values(top.subplots(), values, int(frame["step"].iloc[0]), more)
    axes = bottom.subplots(2, columns, squeeze=False)
    for row, panel in zip(axes, ("principal", "fourier"), strict=True):
        row[0].set_ylabel(f"{panel.capitalize()} plane")
        if not shown:
            style.nothing(row[0], "no pair of significant singular values")
        for ax, index in zip(row, shown, strict=False):
            _draw_plane(ax, planes[(planes["panel"] == panel) & (planes["index"] == index)], panel)
    note = "numbers: tokens; lines join n and n + Δ, neighbours on the circle"
    if planes[planes["index"].isin(shown)]["ambiguous"].any():
        note += "\n†: singular values nearly those of another pair, the pairing is arbitrary"
    bottom.supxlabel(note, fontsize=8)
    return figure


def _draw_values(ax: Axes, values: np.ndarray, step: int, more: str) -> None:
    count = significant(values)
    number = np.arange(1, len(values) + 1)
    pair = (number - 1) // 2 % 2 == 0
    for member, colour in ((pair, style.COLOURS[0]), (~pair, style.COLOURS[1])):
        some = member & (number <= count)
        ax.bar(number[some], values[some], color=colour, width=0.8)
    ax.bar(number[count:], values[count:], color=style.DEAD, width=0.8)
    ax.axhline(SIGNIFICANT * values[0], color="black", lw=0.8, ls=":")
    ax.annotate(
        f"{SIGNIFICANT:.0%} of the largest",
        (1.0, SIGNIFICANT * values[0]),
        xycoords=("axes fraction", "data"),
        ha="right",
        va="bottom",
        fontsize=8,
    )
    ax.set_xlim(0.3, max(count + 8, 12) + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("singular value, largest first")
    ax.set_ylabel("embedding unit")
    ax.set_title(
        f"One trial at step {step:,}: {count} singular values above {SIGNIFICANT:.0%} "
        f"of the largest{more}"
    )


def _draw_plane(ax: Axes, tokens: pd.DataFrame, panel: str) -> None:
    first = tokens.iloc[0]
    p = len(tokens)
    xy = tokens.sort_values("token")[["x", "y"]].to_numpy()
    increment = first["token_increment"]
    if not np.isnan(increment):
        order = np.arange(p + 1) * int(increment) % p
        ax.plot(xy[order, 0], xy[order, 1], color=style.DEAD, lw=0.6, zorder=1)
    for n, (x, y) in enumerate(xy):
        ax.text(x, y, str(n), fontsize=5, ha="center", va="center", zorder=2)
    reach = 1.12 * np.abs(xy).max()
    style.bare(ax)
    ax.set_xlim(-reach, reach)
    ax.set_ylim(-reach, reach)
    if panel == "principal":
        i = 2 * int(first["index"])
        ax.set_title(f"axes {i + 1}, {i + 2}{' †' if first['ambiguous'] else ''}", fontsize=8)
    else:
        delta = "" if np.isnan(increment) else f", Δ = {int(increment)}"
        fate = "" if first["survived"] else " (dead)"
        ax.set_title(
            f"k = {int(first['frequency'])}{fate}{delta}\nangle {first['angle']:.0f}°", fontsize=8
        )
