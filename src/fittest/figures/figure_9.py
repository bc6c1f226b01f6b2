"""Fig. 9: R² of linear differential equations against d; two circles' paths as each fit tells."""

from __future__ import annotations

from typing import Any

import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.figures.chosen import chosen_circles
from fittest.figures.fits import NAMES, RULE, curve, interval, sizes

FITS = ("ols", "lasso", "diagonal")
_EVERY = 4
_PATHS = {
    "observed": "observed",
    "ols": NAMES["ols"],
    "closed form": "its closed form",
    "lasso": NAMES["lasso"],
    "lotka-volterra": NAMES["lotka-volterra"],
}
_LOOKS: dict[str, dict[str, Any]] = {
    "observed": {"color": "#999999", "lw": 3.5},
    "ols": {"color": style.COLOURS[0], "lw": 1.6},
    "closed form": {"color": "black", "lw": 1, "ls": (0, (2, 3))},
    "lasso": {"color": style.COLOURS[1], "lw": 1.2, "ls": "--"},
    "lotka-volterra": {"color": style.COLOURS[3], "lw": 1.2, "ls": ":"},
}


def data(dynamics: pd.DataFrame, example: xr.Dataset) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Panel `r_squared` holds the statistics `r_squared` of each `fit` by `value` of d, and over a
    `d_range`; panel `paths` the `signal` of a dead and of a surviving circle of one trial at every
    fourth step, observed and as each `path` tells.
    """
    rows = dynamics[dynamics["statistic"] == "r_squared"]
    first = rows[
        ["fit", "axis", "value", "d_range", "estimate", "low", "high", "n_trials", "horizon"]
    ].assign(panel="r_squared")
    some = example.isel(step=slice(None, None, _EVERY))
    told = {
        "observed": some["signal"],
        "closed form": some["closed_form"].sel(fit="ols", drop=True),
        **{kind: some["rollout"].sel(fit=kind, drop=True) for kind in _PATHS if kind in NAMES},
    }
    frames = [first]
    fate = example["survived"].sel(rule=RULE)
    for k in chosen_circles(example):
        frames += [
            pd.DataFrame(
                {
                    "panel": "paths",
                    "path": path,
                    "frequency": k,
                    "survived": int(fate.sel(frequency=k)),
                    "step": some["step"].values,
                    "signal": told[path].sel(frequency=k).values,
                    "horizon": int(example["trained_step"]),
                }
            )
            for path in _PATHS
        ]
    frame = pd.concat(frames, ignore_index=True)
    columns = [*first.columns, "path", "frequency", "survived", "step", "signal"]
    integers = dict.fromkeys(("n_trials", "frequency", "survived", "step"), "Int64")
    return frame.reindex(columns=columns).astype(integers)


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    first = frame[frame["panel"] == "r_squared"]
    pooled = first[first["value"].isna()].set_index(["fit", "d_range"])
    ranges = [r for r in ("d>=64", "d>=p", "all") if ("ols", r) in pooled.index]
    row = pooled.xs(ranges[0], level="d_range")
    where = {"d>=64": "d ≥ 64", "d>=p": "d ≥ p", "all": "all d"}[ranges[0]]
    found = ", ".join(
        f"{NAMES[kind]} {interval(row.loc[kind])}" for kind in NAMES if kind in row.index
    )
    return (
        "Median R² of the change of signals in one step, with its 95% interval over trials, of "
        "linear differential equations fitted to each trial, against embedding dimension "
        f"({sizes(_by_value(first))}); over {where} ({int(row['n_trials'].iloc[0])} trials): "
        f"{found}. Below, a dead and a surviving circle of one trial, observed and as each fit "
        "tells from the start alone."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure = plt.figure(figsize=(style.WIDTH, 5.2))
    top, bottom = figure.subfigures(  # type: ignore[misc]
        2, 1, height_ratios=(1, 1.15)
    )
    _draw_r_squared(top.subplots(), _by_value(frame[frame["panel"] == "r_squared"]))
    paths = frame[frame["panel"] == "paths"]
    axes = bottom.subplots(1, 2)
    for ax, fate in zip(axes, (0, 1), strict=True):
        _draw_paths(ax, paths[paths["survived"] == fate], fate)
    axes[0].set_ylabel("signal $S_k$ (embedding unit)")
    handles = [plt.Line2D([], [], label=text, **_LOOKS[path]) for path, text in _PATHS.items()]
    bottom.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _by_value(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["value"].notna() & rows["fit"].isin(FITS)]


def _draw_r_squared(ax: Axes, rows: pd.DataFrame) -> None:
    for kind in FITS:
        curve(ax, rows, kind)
    ax.set_ylim(top=1.02)
    ax.set_xlabel("embedding dimension d")
    ax.set_ylabel("R² of the change in one step\n(median over trials)")
    horizon = int(rows["horizon"].max())
    ax.set_title(f"Each trial's own fit, steps 0 to {horizon:,}: {sizes(rows)}", loc="left")
    ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))


def _draw_paths(ax: Axes, paths: pd.DataFrame, fate: int) -> None:
    name = "surviving" if fate else "dead"
    observed = paths[(paths["path"] == "observed") & paths["signal"].notna()]
    if observed.empty:
        style.nothing(ax, f"no {name} circle")
        return
    for path, look in _LOOKS.items():
        some = paths[paths["path"] == path]
        # What leaves the picture leaves it; infinity cannot be drawn.
        ax.plot(some["step"], some["signal"].clip(-1e6, 1e6).astype(float), **look)
    low, high = observed["signal"].min(), observed["signal"].max()
    room = 0.25 * max(high - low, 1e-9)
    ax.set_ylim(min(0, low) - room / 3, high + room)
    ax.set_xlim(0, int(observed["step"].max()))
    ax.set_xlabel("optimiser step")
    k, step = int(observed["frequency"].iloc[0]), int(observed["horizon"].iloc[0])
    ax.set_title(f"One trial, k = {k}, {name} at step {step:,}", loc="left")
