"""Fig. 13: the embedding's gradients in the Fourier basis, whole and zoomed on 100 to 1,000."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from fittest.figures import style
from fittest.statistics.selection import by_embedding, known
from fittest.statistics.units import mean_over_units
from fittest.survival import MISSING

RULE = "relative"
ZOOM = (100, 1000)
_FATES = {1: "survived", 0: "died"}


def data(gradients: xr.Dataset, statistics: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Columns `panel`, `step`, and: for `trial` (the first) `frequency`, `survived` and
    `gradient_signal`; for `fate` the mean over circles and trials by `fate`, `estimate`, `low`,
    `high`, `n_trials`; for `statistic` those of `fittest.statistics.gradients` that the caption
    tells.
    """
    table = by_embedding(gradients)
    dims = ("embedding", "trial", "gradient_step", "frequency")
    signal = table["gradient_signal"].transpose(*dims).values.astype(np.float64)
    flags = table["survived"].sel(rule=RULE).isel(horizon=-1)
    fate = known(flags, "embedding", "trial", "frequency")
    steps, k = table["gradient_step"].values, table["frequency"].values
    # The first trial that did not diverge.
    shown = np.argwhere(np.isfinite(signal).all(axis=(2, 3)))
    first = tuple(shown[0]) if len(shown) else (0, 0)
    frames = [
        pd.DataFrame(
            {
                "panel": "trial",
                "step": np.repeat(steps, len(k)),
                "frequency": np.tile(k, len(steps)),
                "survived": np.tile(np.nan_to_num(fate[first], nan=MISSING), len(steps)),
                "gradient_signal": signal[first].ravel(),
            }
        )
    ]
    for flag, name in _FATES.items() if len(steps) else ():
        some = np.where((fate == flag)[:, :, None], signal, np.nan)
        there = ~np.isnan(some)
        with np.errstate(invalid="ignore"):
            each = np.where(there, some, 0).sum(axis=-1) / there.sum(axis=-1)
        mean = mean_over_units(each)
        del mean["text"], mean["n_embeddings"]
        frames.append(pd.DataFrame({"panel": "fate", "step": steps, "fate": name, **mean}))
    told = statistics[statistics["statistic"].isin(("peak_step", "last_peak_step", "late_share"))]
    columns = ["panel", "horizon", "step", "frequency", "survived", "gradient_signal", "fate"]
    columns += ["statistic", "estimate", "low", "high", "n_trials"]
    frame = pd.concat([*frames, told.assign(panel="statistic")], ignore_index=True)
    whole = ["horizon", "step", "frequency", "survived", "n_trials"]
    frame["horizon"] = int(table["horizon"][-1])
    return frame.reindex(columns=columns).astype(dict.fromkeys(whole, "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    told = frame[frame["panel"] == "statistic"].set_index("statistic")
    text = (
        "Norm of the loss's gradient by the embedding in the Fourier basis, for every circle of "
        f"one trial and by fate at step {int(frame['horizon'].iloc[0]):,} over "
        f"{_trials(frame)} trials, with the 95% interval of the mean; right, zoomed."
    )
    names = ("peak_step", "last_peak_step", "late_share")
    peak, last, late = (told.loc[name, "estimate"] for name in names)
    if np.isfinite(peak):
        text += f" The mean over circles peaks at step {peak:,.0f} (median over trials)"
        if np.isfinite(last) and last != peak:
            text += f", and again at step {last:,.0f}"
        if np.isfinite(late):
            text += f"; after step 1,000 {late:.1%} of the peak is left"
        text += "."
    return text


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(2, 2, figsize=(style.WIDTH, 4.6), width_ratios=(1.25, 1))
    trial, fate = (frame[frame["panel"] == name] for name in ("trial", "fate"))
    for column, zoomed in enumerate((False, True)):
        _panel(axes[0, column], trial, _draw_trial, zoomed)
        _panel(axes[1, column], fate, _draw_fates, zoomed)
    alive = trial[trial["survived"] == 1]["frequency"].nunique()
    axes[0, 0].set_title(f"One trial: {alive} of {trial['frequency'].nunique()} circles survive")
    axes[1, 0].set_title(f"{_trials(frame)} trials, mean by fate, 95% interval")
    for row in axes:
        row[1].set_title(f"steps {ZOOM[0]:,} to {ZOOM[1]:,}")
        row[0].set_ylabel("gradient in Fourier basis\n(nat/embedding unit)")
        handles, labels = row[0].get_legend_handles_labels()
        if handles:  # where there is room: late gradients are small
            row[1].legend(handles, labels, loc="upper right", ncols=1 + (len(handles) > 3))
    return figure


def _trials(frame: pd.DataFrame) -> int:
    most = frame[frame["panel"] == "fate"]["n_trials"].max()
    return 0 if pd.isna(most) else int(most)


def _panel(
    ax: Axes, frame: pd.DataFrame, fill: Callable[[Axes, pd.DataFrame], None], zoomed: bool
) -> None:
    last = int(frame["step"].max()) if len(frame) else 0
    frame = frame.dropna(subset="gradient_signal" if "trial" in set(frame["panel"]) else "estimate")
    if zoomed:
        frame = frame[frame["step"].between(*ZOOM)]
    if len(frame) == 0:
        style.nothing(ax, f"no gradient recorded\nfrom step {ZOOM[0] if zoomed else 0:,}")
        return
    fill(ax, frame)
    if zoomed:
        ax.set_xlim(ZOOM[0], max(min(ZOOM[1], last), ZOOM[0] + 1))
        ax.set_ylim(bottom=0)
        ax.set_xlabel("optimiser step")
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    else:
        style.step_axis(ax, last)
        ax.set_yscale("log")


def _draw_trial(ax: Axes, frame: pd.DataFrame) -> None:
    for _, life in frame[frame["survived"] != 1].groupby("frequency"):
        ax.plot(life["step"], life["gradient_signal"], color=style.DEAD, lw=0.6, zorder=1)
    for rank, (k, life) in enumerate(frame[frame["survived"] == 1].groupby("frequency")):
        look = style.survivor_look(rank)
        ax.plot(life["step"], life["gradient_signal"], label=f"k = {int(k)}", lw=1.1, **look)
    ax.plot([], [], color=style.DEAD, label="dead")


def _draw_fates(ax: Axes, frame: pd.DataFrame) -> None:
    for (name, some), colour in zip(
        frame.groupby("fate", sort=False), (style.COLOURS[0], "#707070"), strict=False
    ):
        step = some["step"].astype(float)
        ax.plot(step, some["estimate"], color=colour, label=f"circles that {name}")
        ax.fill_between(step, some["low"], some["high"], color=colour, alpha=0.2, lw=0)
