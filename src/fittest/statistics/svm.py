"""A line in the plane of gradient and signal between dead and surviving (paper, Sec. 3.2.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from sklearn.model_selection import GroupShuffleSplit, ShuffleSplit
from sklearn.svm import SVC

from fittest.intervals import RESAMPLES, SEED, interval, quiet, resample
from fittest.statistics.fates import RULE, UPDATE
from fittest.statistics.selection import on_axes

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "recipe",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_circles",
    "method",
)

RECIPES = {
    "paper": "features unscaled, random 80/20 split of circles",
    "by-trial": "features standardised, random 80/20 split of trials",
}
"""Recipe → what it is."""

_TEST_SHARE = 0.2


def svm(survival: xr.Dataset) -> pd.DataFrame:
    """Return how well a linear support vector machine tells the surviving from the dead.

    Of every circle of every trial the features are its gradient at update `UPDATE` and its initial
    signal, in this order; the machine is `SVC(kernel="linear", C=1)`.

    Parameters
    ----------
    survival
        Survival table of an experiment without axes (`gather_survival`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`, by the rule `RULE` at every horizon, for each of `RECIPES`, on the
        circles held out: `accuracy`, `base_rate` (accuracy of always answering dead),
        `accuracy_gain` (their difference), `balanced_accuracy`, `auc`. And the line of the machine
        in the features' own units, `weight_gradient`, `weight_signal` and `intercept`: it answers
        surviving where weights · features + intercept > 0.

    Raises
    ------
    ValueError
        Where the table varies an axis.
    """
    table = on_axes(survival)
    if UPDATE not in table["update"].values:
        raise ValueError(f"the table has no update {UPDATE}")
    x = np.stack(
        [
            table["gradient"].sel(update=UPDATE).transpose("trial", "frequency").values,
            table["initial_signal"].transpose("trial", "frequency").values,
        ],
        axis=-1,
    )
    trial = np.broadcast_to(np.arange(len(x))[:, None], x.shape[:2])
    rows: list[dict[str, Any]] = []
    for horizon in table["horizon"].values:
        flag = table["survived"].sel(rule=RULE, horizon=horizon).transpose("trial", "frequency")
        known = np.isfinite(x).all(axis=-1) & (flag.values >= 0)
        for recipe in RECIPES:
            where = {"rule": RULE, "horizon": int(horizon), "recipe": recipe}
            found = _judged(x[known], flag.values[known] == 1, trial[known], recipe)
            rows += [{**where, **row} for row in found]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _judged(x: np.ndarray, y: np.ndarray, trial: np.ndarray, recipe: str) -> list[dict[str, Any]]:
    """Return the rows of a recipe; x is (circle, 2), y whether it survived."""
    n_trials = len(np.unique(trial))
    train, test = split(trial, recipe)
    line, scores = np.full(3, np.nan), {}
    if len(np.unique(y[train])) == 2:
        line = fit_line(x[train], y[train], standardise=recipe == "by-trial")
        scores = held_out(x[test] @ line[:2] + line[2], y[test], trial[test])
    text = f"linear SVM, C = 1, {RECIPES[recipe]}"
    rows = [
        {
            "statistic": name,
            "estimate": scores.get(name, (np.nan,) * 3)[0],
            "low": scores.get(name, (np.nan,) * 3)[1],
            "high": scores.get(name, (np.nan,) * 3)[2],
            "baseline": scores["base_rate"][0] if name == "accuracy" and scores else baseline,
            "n_trials": n_trials,
            "n_circles": len(test),
            "method": f"{text}; {what}, on the circles held out; percentile bootstrap over their "
            f"trials, the machine kept, {RESAMPLES} resamples",
        }
        for name, baseline, what in (
            ("accuracy", np.nan, "share answered rightly; baseline: always answering dead"),
            ("base_rate", np.nan, "share answered rightly by always answering dead"),
            ("accuracy_gain", 0.0, "accuracy minus that of always answering dead"),
            ("balanced_accuracy", 0.5, "mean of the shares answered rightly of dead and surviving"),
            ("auc", 0.5, "ROC AUC of the distance from the line"),
        )
    ]
    return rows + [
        {
            "statistic": name,
            "estimate": value,
            "n_trials": n_trials,
            "n_circles": len(train),
            "method": f"{text}; surviving where weights · (gradient, signal) + intercept > 0",
        }
        for name, value in zip(("weight_gradient", "weight_signal", "intercept"), line, strict=True)
    ]


def split(trial: np.ndarray, recipe: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows to train and to test on, by a recipe of `RECIPES`; none for one trial."""
    by_trial = recipe == "by-trial"
    if len(np.unique(trial)) < 2:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    kind = GroupShuffleSplit if by_trial else ShuffleSplit
    splitter = kind(n_splits=1, test_size=_TEST_SHARE, random_state=SEED)
    return next(splitter.split(trial, groups=trial if by_trial else None))


def fit_line(x: np.ndarray, y: np.ndarray, *, standardise: bool) -> np.ndarray:
    """Return the two weights and the intercept of a linear SVM in the features' own units.

    Parameters
    ----------
    x, y
        Features, shape (row, 2), and whether the circle survived, (row,).
    standardise
        Whether features are divided by their standard deviation before the fit.
    """
    # Moving the features changes the intercept and nothing else: it is not penalised. Around 0 the
    # solver needs a hundredth of the time.
    middle = x.mean(axis=0)
    scale = np.ones(2)
    if standardise:
        spread = x.std(axis=0)
        scale = np.where(spread > 0, spread, 1.0)
    machine = SVC(kernel="linear", C=1).fit((x - middle) / scale, y)
    weights = machine.coef_[0] / scale
    return np.array([*weights, machine.intercept_[0] - weights @ middle])


def held_out(
    score: np.ndarray, y: np.ndarray, trial: np.ndarray
) -> dict[str, tuple[float, float, float]]:
    """Return each score of a machine's answers, with its 95% bootstrap interval over trials.

    Parameters
    ----------
    score
        Shape (row,): above 0 the answer is surviving.
    y
        Shape (row,): whether it survived.
    trial
        Shape (row,): whose circle it is.
    """
    trials, owner = np.unique(trial, return_inverse=True)
    alive, dead = ((y == fate).astype(float) for fate in (True, False))
    right = ((score > 0) == y).astype(float)
    group = np.equal.outer(np.arange(len(trials)), owner).astype(float)
    n_alive, n_dead = group @ alive, group @ dead
    right_alive, right_dead = group @ (right * alive), group @ (right * dead)
    # Pairs of one surviving and one dead circle in which the surviving one scores higher.
    higher, equal = (
        np.asarray(compare.outer(score[y], score[~y]), dtype=float)
        for compare in (np.greater, np.equal)
    )
    wins = group[:, y] @ (higher + equal / 2) @ group[:, ~y].T
    once = np.ones((1, len(trials)))
    times = resample(len(trials), np.random.default_rng(SEED), RESAMPLES).astype(float)

    def scores(t: np.ndarray) -> dict[str, np.ndarray]:
        live, died = t @ n_alive, t @ n_dead
        accuracy = (t @ (right_alive + right_dead)) / (live + died)
        base = died / (live + died)
        return {
            "accuracy": accuracy,
            "base_rate": base,
            "accuracy_gain": accuracy - base,
            "balanced_accuracy": (t @ right_alive / live + t @ right_dead / died) / 2,
            "auc": ((t @ wins) * t).sum(axis=1) / (live * died),
        }

    with quiet():
        found, drawn = scores(once), scores(times)
        ends = {name: interval(value, len(trials)) for name, value in drawn.items()}
    return {
        name: (float(value[0]), float(ends[name][0]), float(ends[name][1]))
        for name, value in found.items()
    }
