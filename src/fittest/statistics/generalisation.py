"""Whether differential equations of some trials tell other trials of their embedding.

Beyond the paper: its Fig. 9 scores each fit on the trial that it is fitted to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.generalisation import TIME, generalise
from fittest.statistics.pooling import RESAMPLES, mean_over_groups, median_over_groups
from fittest.statistics.selection import early_trials

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "fit",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_embeddings",
    "n_trials",
    "n_least",
    "n_fitted",
    "method",
)
RULE = "relative"
FOLDS = 5
BASELINE = "diagonal"
"""The fit without interaction. `TIME`, the forecast without state, has rows of its own."""

_MEDIANS = {
    "train_r_squared": "R² of the change of a signal in one step, mean over the trials fitted to",
    "r_squared": "R² of the change of a signal in one step of the trial held out",
    "end_error": "relative error of the rollout at the horizon (median over circles)",
    "survivor_end_error": "relative error of the rollout at the horizon (median over survivors)",
    "path_error": "relative error of the rollout (median over circles and steps)",
    "survivor_path_error": "relative error of the rollout (median over survivors and steps)",
    "nonzero_share": "share of coefficients that are not 0",
    "spectral_abscissa": "largest real part of the eigenvalues of A, per step",
}
# What has no coefficients, or more than A.
_UNDEFINED = {
    TIME: ("nonzero_share", "spectral_abscissa"),
    "lotka-volterra": ("spectral_abscissa",),
}
_SHARES = {
    "left_data_share": "the rollout goes beyond ten times the largest signal",
    "converged_share": "the fit converged for every circle",
}
_GAINS = {
    "gain_over_diagonal": (BASELINE, "told without interaction"),
    "gain_over_time": (TIME, "told by time alone"),
}


def generalisation(early: xr.Dataset, survival: xr.Dataset) -> pd.DataFrame:
    """Return how well fits to some trials of an embedding tell the others, for each kind of fit.

    Parameters
    ----------
    early
        Early table of an experiment that varies the embedding (`gather_early`).
    survival
        Its survival table, for the survivors at the last horizon.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`; `horizon` is the last step fitted to, `n_fitted` the fewest trials that
        a fit had. Trials are held out in `FOLDS` folds. `train_r_squared` is of the trials fitted
        to, everything else of those held out. `gain_over_diagonal` and `gain_over_time` are a
        trial's R² less that of the same trial told without interaction, or without state.
    """
    parts = [
        _held_out(signals, alive).assign(embedding=i)
        for i, (signals, alive) in enumerate(early_trials(early, survival, RULE))
    ]
    trials = pd.concat(parts, ignore_index=True)
    baseline: dict[str, float] = {}
    rows: list[dict[str, Any]] = []
    for kind in sorted(trials["fit"].unique(), key=lambda kind: kind != BASELINE):
        some = trials[trials["fit"] == kind]
        for name, row in _rows(trials, kind).items():
            if kind == BASELINE:
                baseline[name] = row["estimate"]
            rows.append(
                {
                    "baseline": np.nan if kind == BASELINE else baseline.get(name, np.nan),
                    **row,
                    "statistic": name,
                    "rule": RULE if name.startswith("survivor") else "",
                    "horizon": int(early["step"][-1]),
                    "fit": kind,
                    "n_embeddings": len(parts),
                    "n_fitted": int(some["n_fitted"].min()),
                }
            )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _held_out(signals: np.ndarray, alive: np.ndarray) -> pd.DataFrame:
    """Return the numbers of each held-out trial of one embedding, a row for each kind of fit."""
    whole = np.isfinite(signals).all(axis=(1, 2))
    if whole.any():  # one that diverged is not there; of none, every number is missing
        signals, alive = signals[whole], alive[whole]
    n = len(signals)
    found = generalise(signals, alive, folds=min(FOLDS, n) if n > 1 else None)
    rows = [
        {
            "fit": kind,
            "trial": h.trial,
            "n_fitted": h.n_fitted,
            "train_r_squared": h.train_r2,
            "r_squared": h.score.r2,
            "end_error": h.score.end_error,
            "survivor_end_error": h.score.survivor_end_error,
            "path_error": h.score.path_error,
            "survivor_path_error": h.score.survivor_path_error,
            "nonzero_share": h.nonzero_share,
            "spectral_abscissa": h.spectral_abscissa,
            "left_data_share": h.score.left_at is not None if np.isfinite(h.score.r2) else np.nan,
            "converged_share": h.converged if h.n_fitted else np.nan,
        }
        for kind, held_out in found.items()
        for h in held_out
    ]
    frame = pd.DataFrame(rows).astype({"left_data_share": float, "converged_share": float})
    r2 = frame.pivot(index="trial", columns="fit", values="r_squared")
    for name, (other, _) in _GAINS.items():
        frame[name] = frame["r_squared"].values - r2[other].reindex(frame["trial"]).values
    return frame


def _rows(trials: pd.DataFrame, kind: str) -> dict[str, dict[str, Any]]:
    """Return the numbers of one kind of fit, by statistic."""
    groups = [group for _, group in trials[trials["fit"] == kind].groupby("embedding")]
    how = (
        f"{FOLDS} folds over the trials of each embedding; percentile bootstrap over embeddings, "
        f"{RESAMPLES} resamples"
    )
    numbers = {
        name: [group[name].values for group in groups] for name in (*_MEDIANS, *_SHARES, *_GAINS)
    }
    out = {}
    for name, text in _MEDIANS.items():
        if name not in _UNDEFINED.get(kind, ()):
            method = f"median over trials of: {text}; {how}; baseline: no interaction"
            out[name] = {**median_over_groups(numbers[name]), "method": method}
    for name, text in _SHARES.items():
        method = f"share of trials in which {text}; {how}; baseline: no interaction"
        out[name] = {**mean_over_groups(numbers[name]), "method": method}
    for name, (other, text) in _GAINS.items():
        if kind != other:
            method = f"median over trials of R² less that of the same trial {text}; {how}"
            out[name] = {**median_over_groups(numbers[name]), "baseline": 0.0, "method": method}
    return out
