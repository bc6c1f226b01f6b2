"""What the arithmetic does: the same trials in float64, float32 exact and float32 naive."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fittest.errors import FileError
from fittest.figures import style
from fittest.intervals import quiet

WINDOWS = 200
"""Windows of steps into which a course is summarised; of losses and distances the largest is shown,
so that a short event is not missed."""

COLUMNS = (
    "panel",
    "way",
    "other",
    "trial",
    "step",
    "frequency",
    "signal",
    "train_loss",
    "circles",
    "low",
    "high",
    "distance",
    "n_trials",
)


def data(course: xr.Dataset, comparison: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Columns `COLUMNS`. Panels: `signal` (first trial, the circles that survive the first way),
    `loss` (largest training loss of a window), `circles` (mean over trials with its 95% interval,
    at the end of a window), `distance` from the first way (largest in a window), and `statistic`:
    of each way the number of circles at the last step, with interval and sample size.
    """
    steps = course["step"].values
    ends = windows(steps)
    n = course.sizes["trial"]
    frames = []
    signal = course["signal"].values
    alive = _survivors(course)
    for w, way in enumerate(course["way"].values):
        frames += [
            pd.DataFrame(
                {
                    "panel": "signal",
                    "way": way,
                    "step": steps[ends],
                    "frequency": k,
                    "signal": signal[w, ends, k - 1],
                }
            )
            for k in alive
        ]
        loss = _largest(course["train_loss"].values[w], ends)
        mean, low, high = _mean_circles(course["circles"].values[w][:, ends])
        frames += [_long("loss", "train_loss", loss, steps[ends], way=way)]
        frames.append(
            pd.DataFrame(
                {
                    "panel": "circles",
                    "way": way,
                    "step": steps[ends],
                    "circles": mean,
                    "low": low,
                    "high": high,
                    "n_trials": n,
                }
            )
        )
    for i in range(course.sizes["pair"]):
        pair = course.isel(pair=i)
        if str(pair["first"].values) != str(course["way"].values[0]):
            continue  # only distances from the first way are drawn
        largest = _largest(pair["survivor_distance"].values, ends)
        names = {"way": str(pair["first"].values), "other": str(pair["second"].values)}
        frames.append(_long("distance", "distance", largest, steps[ends], **names))
    last = comparison[comparison["statistic"] == "circles"]
    last = last[last["horizon"] == int(steps[-1])]
    if last.empty:
        raise FileError("no trial lived through every way to the last step: nothing to compare")
    shown = last[["way", "horizon", "estimate", "low", "high", "n_trials"]]
    frames.append(
        shown.rename(columns={"horizon": "step", "estimate": "circles"}).assign(panel="statistic")
    )
    frame = pd.concat(frames, ignore_index=True).reindex(columns=list(COLUMNS))
    return frame.astype(dict.fromkeys(("trial", "step", "frequency", "n_trials"), "Int64"))


def windows(steps: np.ndarray) -> np.ndarray:
    """Return the rows at which windows end: the first row, then about `WINDOWS` evenly in steps."""
    wanted = np.linspace(steps[0], steps[-1], WINDOWS + 1)
    return np.unique(np.searchsorted(steps, wanted))


def _largest(values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return the largest value of each window: (trial, step) to (trial, window)."""
    starts = np.concatenate([[0], ends[:-1] + 1])
    return np.fmax.reduceat(values, starts, axis=1)


def _long(
    panel: str, name: str, values: np.ndarray, steps: np.ndarray, **where: str
) -> pd.DataFrame:
    trials = np.arange(len(values))
    return pd.DataFrame(
        {
            "panel": panel,
            **where,
            "trial": np.repeat(trials, len(steps)),
            "step": np.tile(steps, len(values)),
            name: values.ravel(),
        }
    )


def _survivors(course: xr.Dataset) -> list[int]:
    """Return the strongest circles of the first trial's first way at the end: as many as live."""
    count = max(int(course["circles"].values[0, 0, -1]), 1)
    last = course["signal"].values[0, -1]
    return sorted(int(course["frequency"][i]) for i in np.argsort(-last)[:count])


def _mean_circles(circles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return mean over trials and its normal 95% interval: shape (trial, step) to (step,)."""
    known = np.where(circles < 0, np.nan, circles.astype(float))
    n = (circles >= 0).sum(axis=0)
    with quiet():  # of steps that no trial, or a single one, reached
        mean = np.nanmean(known, axis=0)
        half = 1.96 * np.nanstd(known, axis=0, ddof=1) / np.sqrt(n)
    return mean, mean - half, mean + half


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    found = frame[frame["panel"] == "statistic"]
    counts = ", ".join(f"{row['way']} {row['circles']:.2f}" for _, row in found.iterrows())
    return (
        f"The same {int(found['n_trials'].max())} trials, from the same arrays, in several "
        "arithmetics. Above, one trial's circles. Below, training loss (the largest in each window "
        "of steps, so that a short event shows), mean number of surviving circles with its 95% "
        "interval, and how far each trial's survivors are from the first arithmetic. Mean number "
        f"of circles at step {int(found['step'].iloc[0]):,}: {counts}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    found = frame[frame["panel"] == "statistic"].set_index("way")
    ways, n = list(found.index), int(found["n_trials"].iloc[0])
    looks = {
        way: {
            "color": style.COLOURS[i % len(style.COLOURS)],
            "linestyle": style.LINE_STYLES[i % len(style.LINE_STYLES)],
        }
        for i, way in enumerate(ways)
    }
    figure = plt.figure(figsize=(style.WIDTH, 5.6))
    top, bottom = figure.subfigures(2, 1, height_ratios=(1, 1.25))  # type: ignore[misc]
    axes = top.subplots(1, len(ways), sharey=True, squeeze=False)[0]
    for ax, way in zip(axes, ways, strict=True):
        _draw_signals(ax, frame[(frame["panel"] == "signal") & (frame["way"] == way)], way)
    axes[0].set_ylabel("signal $S_k$\n(embedding unit)")
    axes[-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=7)
    top.suptitle(
        f"One trial from the same arrays: the circles that survive in {ways[0]}", fontsize=9
    )

    loss, circles, distance = bottom.subplots(1, 3)
    for way in ways:
        some = frame[frame["way"] == way]
        for _, life in some[some["panel"] == "loss"].groupby("trial"):
            loss.plot(life["step"], life["train_loss"], lw=0.7, **looks[way])
        _draw_circles(circles, some[some["panel"] == "circles"], found.loc[way], looks[way])
    apart = frame[(frame["panel"] == "distance") & (frame["way"] == ways[0])]
    _draw_distances(distance, apart[apart["distance"].notna()], looks)
    for ax, title in (
        (loss, f"training loss (nats), {n} trials"),
        (circles, f"surviving circles, mean of {n} trials"),
        (distance, f"survivors' relative distance\nfrom {ways[0]}, largest in a trial"),
    ):
        _steps(ax, int(frame["step"].max()))
        ax.set_title(title, fontsize=8)
        ax.set_xlabel("optimiser step")
    loss.set_yscale("log")
    distance.set_yscale("log")
    handles, labels = circles.get_legend_handles_labels()
    bottom.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=len(ways),
        fontsize=7,
        title="circles at the last step with 95% interval over trials",
        title_fontsize=7,
    )
    return figure


def _draw_signals(ax: Axes, some: pd.DataFrame, way: str) -> None:
    for rank, (k, life) in enumerate(some.groupby("frequency")):
        look = style.survivor_look(rank)
        ax.plot(life["step"], life["signal"], lw=1, label=f"k = {int(k)}", **look)
    _steps(ax, int(some["step"].max()))
    ax.set_ylim(bottom=0)
    ax.set_title(way, fontsize=8)


def _draw_circles(ax: Axes, some: pd.DataFrame, end: pd.Series, look: dict) -> None:
    label = f"{end.name}: {end['circles']:.2f} [{end['low']:.2f}, {end['high']:.2f}]"
    ax.plot(some["step"], some["circles"], label=label, lw=1.2, **look)
    ax.fill_between(some["step"], some["low"], some["high"], color=look["color"], alpha=0.12, lw=0)
    ax.set_ylim(bottom=0)


def _draw_distances(ax: Axes, some: pd.DataFrame, looks: dict) -> None:
    if some.empty:
        ax.plot([0, 1], [1, 1], alpha=0)
        ax.text(0.5, 0.5, "no survivor", ha="center", transform=ax.transAxes)
    for (other, _), life in some.groupby(["other", "trial"]):
        # On a log axis two lives that are the same would be nowhere.
        ax.plot(life["step"], life["distance"].clip(lower=1e-9), lw=0.7, **looks[other])


def _steps(ax: Axes, last: int) -> None:
    ax.set_xlim(0, last)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    ax.tick_params(labelsize=7)
