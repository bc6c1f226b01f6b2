"""Logistic regression of rows that come in groups: clustered errors, and held-out predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from statsmodels.tools.sm_exceptions import PerfectSeparationError

from fittest.intervals import SEED, interval, quiet

RESAMPLES = 500
FOLDS = 10
"""At most so many folds: with as many groups or fewer, each group is held out alone."""


@dataclass(frozen=True)
class Coefficients:
    """Of each feature, shape (feature,): NaN where no finite coefficients are likeliest.

    estimate
        Change in the log-odds per standard deviation of the feature.
    error, p_value
        Standard error clustered by group, and the two-sided p value from it.
    low, high
        95% percentile interval of a bootstrap over groups.
    """

    estimate: np.ndarray
    error: np.ndarray
    p_value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def coefficients(features: np.ndarray, outcome: np.ndarray, group: np.ndarray) -> Coefficients:
    """Fit a logistic regression to all rows.

    Parameters
    ----------
    features
        Shape (row, feature).
    outcome
        Shape (row,), 0 or 1.
    group
        Shape (row,): rows of one group are not independent. With one group errors and intervals are
        NaN.
    """
    n = features.shape[1]
    nothing = np.full(n, np.nan)
    groups = [np.flatnonzero(group == g) for g in np.unique(group)]
    if not len(features) or (np.ptp(features, axis=0) == 0).any():
        return Coefficients(*[nothing] * 5)
    spread = features.std(axis=0)
    # Standardised once: a resample's own spread would be another unit.
    design = np.column_stack([np.ones(len(features)), (features - features.mean(axis=0)) / spread])
    fitted = _fit(design, outcome)
    if fitted is None or len(groups) < 2:
        estimate = nothing if fitted is None else fitted.params[1:]
        return Coefficients(estimate, *[nothing] * 4)
    with quiet():
        robust = sm.Logit(outcome, design).fit(
            disp=0, start_params=fitted.params, cov_type="cluster", cov_kwds={"groups": group}
        )
    rng = np.random.default_rng(SEED)
    drawn = np.full((RESAMPLES, n), np.nan)
    for i, some in enumerate(rng.integers(0, len(groups), (RESAMPLES, len(groups)))):
        rows = np.concatenate([groups[g] for g in some])
        again = _fit(design[rows], outcome[rows], fitted.params)
        if again is not None:
            drawn[i] = again.params[1:]
    low, high = interval(drawn, len(groups))
    return Coefficients(
        fitted.params[1:], robust.bse[1:], robust.pvalues[1:], np.asarray(low), np.asarray(high)
    )


def _fit(design: np.ndarray, outcome: np.ndarray, start: np.ndarray | None = None) -> Any:
    """Return statsmodels' fit, or None where the features separate the outcomes."""
    if outcome.min() == outcome.max():
        return None
    try:
        with quiet():
            fit = sm.Logit(outcome, design).fit(disp=0, start_params=start)
            separated = np.abs(fit.predict() - outcome).max() < 1e-4
    except (np.linalg.LinAlgError, PerfectSeparationError):
        return None
    return fit if fit.mle_retvals["converged"] and not separated else None


def held_out(features: np.ndarray, outcome: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return each row's probability by a fit to the other groups' rows: shape (row,).

    Parameters as for `coefficients`. With no feature it is the other groups' base rate. NaN with
    fewer than two groups, or where the others' outcomes are all alike.
    """
    n_groups = len(np.unique(group))
    probability = np.full(len(outcome), np.nan)
    if n_groups < 2:
        return probability
    # Without a penalty; what separates the outcomes gets steep, but a finite, slope.
    model = make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000))
    folds = GroupKFold(min(FOLDS, n_groups))
    for train, test in folds.split(outcome, groups=group):
        if outcome[train].min() == outcome[train].max():
            continue
        if features.shape[1] == 0:
            probability[test] = outcome[train].mean()
            continue
        with quiet():
            model.fit(features[train], outcome[train])
            probability[test] = model.predict_proba(features[test])[:, 1]
    return probability
