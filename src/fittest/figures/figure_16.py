"""Fig. 16: every circle of one trial, observed and as differential equations tell it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.figures.fits import NAMES, RULE

_EVERY = 10
_COLUMNS = 6
_FITS = ("ols", "lasso")
_LOOKS: dict[str, dict[str, Any]] = {
    "observed": {"color": "#999999", "lw": 2.4},
    "ols": {"color": style.COLOURS[0], "lw": 0.9},
    "lasso": {"color": style.COLOURS[1], "lw": 0.9, "ls": "--"},
}


def data(example: xr.Dataset) -> pd.DataFrame:
    """Return the tidy data of the figure.

    At every tenth step the `signal` of each circle, `observed` or as the rollout of a fit tells it
    (column `path`); R² of that fit, and the circle's fate.
    """
    some = example.isel(step=slice(None, None, _EVERY))
    fate = example["survived"].sel(rule=RULE).to_series()
    told = {"observed": (some["signal"], np.nan)}
    for kind in _FITS:
        of = some.sel(fit=kind, drop=True)
        told[kind] = of["rollout"], float(of["r_squared"])
    frames = [
        path.to_series().rename("signal").reset_index().assign(path=name, r_squared=r2)
        for name, (path, r2) in told.items()
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame["survived"] = fate.loc[frame["frequency"]].values
    frame["horizon"] = int(example["trained_step"])
    return frame[["path", "frequency", "survived", "step", "signal", "r_squared", "horizon"]]


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    fate = frame.drop_duplicates("frequency")["survived"]
    r2 = frame.drop_duplicates("path").set_index("path")["r_squared"]
    found = " and ".join(f"{NAMES[kind]} (R² = {r2[kind]:.3f})" for kind in _FITS)
    return (
        f"All {len(fate)} circles of one trial, {int((fate == 1).sum())} of which survive to step "
        f"{int(frame['horizon'].iloc[0]):,}: the observed signal, and what the linear differential "
        f"equations of {found} tell from the signals at step 0 alone."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    frequencies = sorted(frame["frequency"].unique())
    rows = -(-len(frequencies) // _COLUMNS)
    figure, axes = plt.subplots(
        rows,
        _COLUMNS,
        figsize=(style.WIDTH, 0.9 + 1.05 * rows),
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    observed = frame.loc[frame["path"] == "observed", "signal"]
    top = observed.max() if observed.notna().any() else 1.0
    for ax, k in zip(axes.flat, frequencies, strict=False):
        _draw_circle(ax, frame[frame["frequency"] == k], int(k))
    for place, ax in enumerate(axes.flat):
        if place >= len(frequencies):
            ax.set_axis_off()
        elif place + _COLUMNS >= len(frequencies):  # nothing below it
            ax.tick_params(labelbottom=True)
    for ax in axes[-1]:
        ax.set_xlabel("optimiser step", fontsize=7)
    axes[0, 0].set_ylim(min(0, observed.min() if len(observed) else 0), 1.12 * top)
    axes[0, 0].set_xlim(0, max(int(frame["step"].max()), 1))
    figure.supylabel("signal $S_k$ (embedding unit)", fontsize=9)
    fate = frame.drop_duplicates("frequency")["survived"]
    figure.suptitle(
        f"One trial, {len(fate)} circles; the {int((fate == 1).sum())} that survive at step "
        f"{int(frame['horizon'].iloc[0]):,} named in bold",
        fontsize=9,
    )
    names = {"observed": "observed", **{kind: f"{NAMES[kind]}, rollout" for kind in _FITS}}
    handles = [plt.Line2D([], [], label=text, **_LOOKS[path]) for path, text in names.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure


def _draw_circle(ax: Axes, circle: pd.DataFrame, k: int) -> None:
    for path, look in _LOOKS.items():
        some = circle[circle["path"] == path]
        ax.plot(some["step"], some["signal"].clip(-1e6, 1e6).astype(float), **look)
    alive = bool((circle["survived"] == 1).any())
    ax.set_title(f"k = {k}", fontsize=7, pad=2, fontweight="bold" if alive else "normal")
    ax.tick_params(labelsize=6)
