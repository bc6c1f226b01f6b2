"""Fig. 15: the coefficients that least squares and Lasso give one trial's circles."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from fittest.figures import style
from fittest.figures.fits import NAMES, RULE, interval

FITS = ("ols", "lasso")
_SHARES = ("share_positive", "share_negative", "sign_agreement")
_MAP = "PuOr_r"  # safe for colour-blind readers: purple below 0, orange above
_SCALE = 0.99  # quantile of |coefficient| at which colour ends


def data(example: xr.Dataset, interactions: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure.

    Panel `coefficients`: of each `fit`, what the circle `source` does to the circle `frequency`,
    with the fate of both. Panel `interactions`: signs between survivors over all trials.
    """
    table = example["coefficient"].sel(fit=list(FITS)).rename("coefficient")
    frame = table.to_series().reset_index().assign(panel="coefficients")
    fate = example["survived"].sel(rule=RULE).to_series()
    frame["survived"] = fate.loc[frame["frequency"]].values
    frame["source_survived"] = fate.loc[frame["source"]].values
    frame["horizon"] = int(example["trained_step"])
    r2 = example["r_squared"].to_series()
    frame["r_squared"] = r2.loc[frame["fit"]].values
    chosen = (interactions["rule"] == RULE) & interactions["statistic"].isin(_SHARES)
    signs = interactions[chosen].drop(columns=["method", "embedding"]).assign(panel="interactions")
    both = pd.concat([frame, signs], ignore_index=True)
    columns = ["panel", *dict.fromkeys(c for f in (frame, signs) for c in f if c != "panel")]
    integers = ["frequency", "source", "survived", "source_survived", "n_embeddings", "n_trials"]
    return both[columns].astype(dict.fromkeys(integers, "Int64"))


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    shown = frame[frame["panel"] == "coefficients"]
    lasso = shown[shown["fit"] == "lasso"]
    signs = frame[frame["panel"] == "interactions"].set_index("statistic")
    positive, negative, agreement = (signs.loc[name] for name in _SHARES)
    return (
        "Coefficients of the linear differential equation of one trial: what each circle does to "
        f"each other, by least squares and by Lasso, which keeps "
        f"{(lasso['coefficient'].fillna(0) != 0).mean():.0%} of them. "
        f"{_signs(positive, negative, agreement)}"
    )


def _signs(positive: pd.Series, negative: pd.Series, agreement: pd.Series) -> str:
    """Return what the signs between survivors are, as a sentence."""
    if not np.isfinite(positive["estimate"]):
        return "No trial has two survivors."
    agree = "no two trials of an embedding have one such coefficient in common"
    if np.isfinite(agreement["estimate"]):
        agree = (
            f"two trials of an embedding agree on the sign of {interval(agreement)} of them, and "
            f"by chance of {agreement['baseline']:.2f}"
        )
    return (
        f"Over {int(positive['n_trials'])} trials of {int(positive['n_embeddings'])} embeddings, "
        f"{positive['estimate']:.0%} of the Lasso's coefficients between two survivors are "
        f"positive and {negative['estimate']:.0%} negative; {agree}."
    )


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    shown = frame[frame["panel"] == "coefficients"]
    figure, axes = plt.subplots(1, 2, figsize=(style.WIDTH, 4.1))
    finite = shown["coefficient"].abs().dropna()
    if finite.empty:
        for ax in axes:
            style.nothing(ax, "nothing could be fitted")
        return figure
    # A scale each: on one the Lasso's coefficients, which are far smaller, could not be seen.
    for ax, kind in zip(axes, FITS, strict=True):
        some = shown[shown["fit"] == kind]
        _draw_coefficients(ax, some)
    order, alive = _order(shown)
    figure.suptitle(
        f"One trial, {len(order)} circles: the first {alive} survive at step "
        f"{int(shown['horizon'].iloc[0]):,} (left of and above the lines). "
        f"Scales reach to the {_SCALE:.0%} quantile",
        fontsize=8,
    )
    return figure


def _draw_coefficients(ax: Axes, some: pd.DataFrame) -> None:
    order, alive = _order(some)
    matrix = some.pivot(index="frequency", columns="source", values="coefficient")
    matrix = matrix.loc[order, order].astype(float).values
    reach = np.quantile(np.abs(matrix), _SCALE) or np.abs(matrix).max() or 1.0
    ax.imshow(matrix, cmap=_MAP, vmin=-reach, vmax=reach, interpolation="nearest")
    for line in (ax.axhline, ax.axvline):
        line(alive - 0.5, color="black", lw=0.6)
    names = [str(k) for k in order]
    kind = str(some["fit"].iloc[0])
    ax.set_xticks(range(len(order)), names, fontsize=5, rotation=90)
    ax.set_yticks(range(len(order)), names, fontsize=5)
    ax.set_xlabel("circle k that acts")
    ax.set_ylabel("circle k that is acted on")
    share = (matrix != 0).mean()
    ax.set_title(
        f"{NAMES[kind]}: R² = {some['r_squared'].iloc[0]:.3f},\n{share:.0%} of coefficients not 0",
        loc="left",
    )
    bar = ScalarMappable(Normalize(-reach, reach), _MAP)
    ax.figure.colorbar(
        bar,
        ax=ax,
        location="bottom",
        extend="both",
        shrink=0.9,
        label="coefficient (per step)",
    )


def _order(shown: pd.DataFrame) -> tuple[list[int], int]:
    """Return the frequencies, survivors first, and how many survive."""
    fate = shown.drop_duplicates("frequency").set_index("frequency")["survived"]
    alive, dead = (sorted(map(int, fate.index[chosen])) for chosen in (fate == 1, fate != 1))
    return [*alive, *dead], len(alive)
