"""What predicts survival best: AUC by predictor, calibration of all together, coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fittest.figures import style

TOGETHER = "together"
NAMES = {
    "initial_signal": "initial signal",
    "gradient": "gradient at update 4",
    "circularity": "circularity",
    "rank": "rank in the embedding",
    TOGETHER: "all together",
}
"""Model or predictor → how the figure names it, from top to bottom."""
_TIGHT: dict[str, Any] = {"handletextpad": 0.1, "columnspacing": 0.6}


def data(predictors: pd.DataFrame) -> pd.DataFrame:
    """Return the tidy data of the figure: the statistics of predictors without their method."""
    return predictors.drop(columns="method")


def caption(frame: pd.DataFrame) -> str:
    """Return the caption, its numbers from the tidy data."""
    first = frame.iloc[0]
    text = (
        f"Which circles survive to step {int(first['horizon']):,}, told from each predictor alone "
        f"and from all together by logistic regression, {_sizes(frame)}; each embedding is "
        "predicted by fits to others, and intervals are a bootstrap over embeddings."
    )
    aucs = frame[frame["statistic"] == "auc_within"].set_index("model")["estimate"]
    if aucs.notna().all():
        alone = aucs.drop(TOGETHER)
        text += (
            f" Mean AUC among a trial's circles: {alone.max():.2f} for the best alone "
            f"({NAMES[str(alone.idxmax())]}), {aucs[TOGETHER]:.2f} together."
        )
    return text


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the figure from its tidy data."""
    figure, axes = plt.subplots(1, 3, figsize=(style.WIDTH, 2.9), width_ratios=(1.1, 1, 1.1))
    _draw_auc(axes[0], frame)
    _draw_calibration(axes[1], frame[frame["statistic"] == "calibration"])
    _draw_coefficients(axes[2], frame[frame["statistic"] == "coefficient"])
    figure.suptitle(
        f"Survival at step {int(frame['horizon'].iloc[0]):,}: {_sizes(frame)}", fontsize=9
    )
    return figure


def _sizes(frame: pd.DataFrame) -> str:
    first = frame.iloc[0]
    return f"{int(first['n_trials'])} trials on {int(first['n_embeddings'])} embeddings"


def _bars(ax: Axes, rows: pd.DataFrame, height: np.ndarray, **look: Any) -> None:
    spread = np.array([rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]])
    ax.errorbar(
        rows["estimate"],
        height,
        xerr=np.clip(np.nan_to_num(spread.astype(float)), 0, None),
        ls="",
        ms=4.5,
        lw=1,
        **look,
    )


def _draw_auc(ax: Axes, frame: pd.DataFrame) -> None:
    models = list(NAMES)
    kinds = (("auc_within", "within a trial", -0.12), ("auc_pooled", "pooled", 0.12))
    if frame.loc[frame["statistic"] == "auc_within", "estimate"].isna().all():
        style.nothing(ax, "needs two embeddings\nto predict one from the other")
        return
    for rank, (name, label, shift) in enumerate(kinds):
        rows = frame[frame["statistic"] == name].set_index("model").loc[models]
        look = {"color": style.COLOURS[rank], "marker": style.MARKERS[rank], "label": label}
        _bars(ax, rows, np.arange(len(models)) + shift, **look)
    ax.axvline(0.5, color="black", lw=0.8, ls=":")
    ax.set_yticks(range(len(models)), [NAMES[m].replace(" in ", "\nin ") for m in models])
    ax.invert_yaxis()
    ax.set_xlabel("held-out ROC AUC\n(dotted: chance)")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, **_TIGHT)


def _draw_calibration(ax: Axes, rows: pd.DataFrame) -> None:
    if rows.empty:
        style.nothing(ax, "no held-out\npredictions")
        return
    spread = np.array([rows["estimate"] - rows["low"], rows["high"] - rows["estimate"]])
    ax.plot([0, 1], [0, 1], color="black", lw=0.8, ls=":")
    ax.errorbar(
        rows["predicted"],
        rows["estimate"],
        yerr=np.clip(np.nan_to_num(spread.astype(float)), 0, None),
        fmt="o",
        ms=4,
        lw=1,
        color=style.COLOURS[2],
    )
    ax.set_xlim(-0.03, 1.03)
    ax.set_ylim(-0.03, 1.03)
    ax.set_xlabel("predicted probability\n(all together)")
    ax.set_ylabel("share that survived")


def _draw_coefficients(ax: Axes, rows: pd.DataFrame) -> None:
    names = [name for name in NAMES if name != TOGETHER]
    if rows["estimate"].isna().all():
        style.nothing(ax, "no finite\ncoefficients")
        return
    for rank, (together, label, shift) in enumerate(
        ((False, "alone", -0.12), (True, "together", 0.12))
    ):
        some = rows[(rows["model"] == TOGETHER) == together].set_index("predictor").loc[names]
        look = {"color": style.COLOURS[3 + rank], "marker": style.MARKERS[2 + rank]}
        _bars(ax, some, np.arange(len(names)) + shift, label=label, **look)
    ax.axvline(0, color="black", lw=0.8, ls=":")
    ax.set_yticks(range(len(names)), [NAMES[n].replace(" in ", "\nin ") for n in names])
    ax.invert_yaxis()
    ax.set_xlabel("log-odds of survival per\nstandard deviation")
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, **_TIGHT)
