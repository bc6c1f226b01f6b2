"""How early survival is decided: ROC AUC of the signal at each step (method: beyond the paper).

An undefined output is NaN; it neither warns nor raises.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr
from numpy.random import Generator
from scipy import stats

from fittest.intervals import SEED, interval, quiet, resample
from fittest.statistics.selection import by_embedding


@dataclass(frozen=True)
class AucOverTime:
    """Mean ROC AUC with its 95% interval and the trials in which it is defined: shape (step,)."""

    auc: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_trials: np.ndarray
    baseline: float = 0.5


def auc_over_time(
    signal: np.ndarray, survived: np.ndarray, *, rng: Generator, resamples: int = 2000
) -> AucOverTime:
    """Return how well the signal at each step predicts which circles of a trial survive.

    The AUC is taken among the circles of one trial, since they compete, and averaged over trials.
    A trial in which all survive or all die has none and is left out.

    Parameters
    ----------
    signal
        Shape (trial, step, circle); NaN where missing.
    survived
        Shape (trial, circle), bool or int8: 1 survived, 0 died, -1 missing.
    rng
        Draws the resamples of trials, the same at every step.
    resamples
        Number of resamples for the percentile interval.

    Raises
    ------
    ValueError
        If the shapes do not agree.
    """
    signal, survived = np.asarray(signal, dtype=np.float64), np.asarray(survived)
    if signal.ndim != 3 or survived.shape != (signal.shape[0], signal.shape[2]):
        raise ValueError(
            f"signal {signal.shape} must be (trial, step, circle) and survived {survived.shape} "
            "(trial, circle) of the same trials and circles"
        )
    # The Mann-Whitney form of the AUC: it ranks all trials and steps at once.
    alive, known = (survived == 1)[:, np.newaxis], (survived >= 0)[:, np.newaxis]
    ranks = stats.rankdata(np.where(known, signal, np.nan), axis=-1, nan_policy="omit")
    n_known = (~np.isnan(ranks)).sum(axis=-1)
    n_alive = (~np.isnan(ranks) & alive).sum(axis=-1)
    pairs = n_alive * (n_known - n_alive)
    wins = np.nansum(ranks * alive, axis=-1) - n_alive * (n_alive + 1) / 2
    some = (pairs > 0).any(axis=1)
    defined = (pairs > 0)[some].astype(np.float64)
    with quiet():
        auc = np.where(defined, wins[some] / pairs[some], 0.0)
        mean = auc.sum(axis=0) / defined.sum(axis=0)
        # As float64, since numpy multiplies integer matrices without BLAS.
        times = resample(len(auc), rng, resamples).astype(np.float64)
        drawn = (times @ auc) / (times @ defined)
    n_trials = defined.sum(axis=0).astype(np.int64)
    return AucOverTime(mean, *interval(drawn, n_trials), n_trials)


def decision(timeline: xr.Dataset) -> pd.DataFrame:
    """Return how early survival is decided: AUC of the signal at each step for each horizon.

    Parameters
    ----------
    timeline
        An experiment's timeline (`fittest.tables.timeline.gather_timeline`).

    Returns
    -------
    pandas.DataFrame
        Columns `rule`, `horizon`, `step`, `auc`, `low`, `high`, `baseline`, `n_trials`,
        `n_embeddings` and `method`. Steps after a horizon are left out.
    """
    timeline = by_embedding(timeline).stack(run=("embedding", "trial"))
    n_embeddings = timeline.unstack("run").sizes["embedding"]
    signal = timeline["signal"].transpose("run", "step", "frequency").values
    frames = []
    for rule in timeline["rule"].values:
        for horizon in timeline["horizon"].values:
            fate = timeline["survived"].sel(rule=rule, horizon=horizon)
            until = timeline["step"].values <= horizon
            result = auc_over_time(
                signal[:, until],
                fate.transpose("run", "frequency").values,
                rng=np.random.default_rng(SEED),
            )
            frames.append(
                pd.DataFrame(
                    {
                        "rule": str(rule),
                        "horizon": int(horizon),
                        "step": timeline["step"].values[until],
                        "auc": result.auc,
                        "low": result.low,
                        "high": result.high,
                        "baseline": result.baseline,
                        "n_trials": result.n_trials,
                        "n_embeddings": n_embeddings,
                        "method": "mean over trials of ROC AUC among a trial's circles; "
                        "percentile bootstrap over trials",
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)
