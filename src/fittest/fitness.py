"""Does a circle's initial signal decide whether it survives? (method: section 5).

The circles of one embedding compete, so points of one embedding are not independent: every interval
here resamples whole embeddings (or whole trials), and the primary figure is the correlation within
an embedding. Missing input is NaN, undefined output is NaN; neither warns nor raises.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import statsmodels.api as sm
from numpy.random import Generator
from scipy import stats

from fittest.intervals import TAIL, interval, quiet, resample

_METHOD = "{}; interval: 95% percentile bootstrap over embeddings, {} resamples; baseline: {}"
_PERMUTED = "97.5% quantile of as many permutations of circles within each embedding"


@dataclass(frozen=True)
class Estimate:
    """A number, its 95% interval and what chance gives; NaN where undefined.

    `n_trials` counts trained networks over all embeddings, `n_circles` the (embedding, circle)
    points used; `method` says how estimate, interval and baseline were made.
    """

    estimate: float
    low: float
    high: float
    baseline: float
    n_embeddings: int
    n_trials: int
    n_circles: int
    method: str
    p_value: float = float("nan")


def pooled_correlation(
    signal: np.ndarray, rate: np.ndarray, *, n_trials: int, rng: Generator, resamples: int = 2000
) -> Estimate:
    """Return Pearson's r over the points of all embeddings (the paper's Fig. 6 left).

    The p value takes the points for independent, as the paper does; the interval does not.

    Parameters
    ----------
    signal, rate
        Initial signal and survival rate, shape (embedding, circle); NaN where missing.
    n_trials
        Trained networks behind the rates; reported, not used.
    rng
        Draws the resamples of embeddings, then the permutations of circles for the baseline.
    resamples
        Number of each.

    Returns
    -------
    Estimate
        NaN with fewer than 3 points or a constant input; no interval for a single embedding.

    Raises
    ------
    ValueError
        If the arrays are not of one shape (embedding, circle).
    """
    x, y = _points(signal, rate)
    kept = ~np.isnan(x).all(axis=1)
    x, y = x[kept], y[kept]
    present = ~np.isnan(x)
    n_points = int(present.sum())
    r = p_value = low = high = baseline = np.nan
    if n_points >= 3:
        with quiet():
            r, p_value = stats.pearsonr(x[present], y[present])
    if not np.isnan(r):
        chosen = [np.repeat(np.arange(len(x)), n) for n in resample(len(x), rng, resamples)]
        drawn = _correlation(x[chosen].reshape(resamples, -1), y[chosen].reshape(resamples, -1))
        low, high = interval(drawn, len(x))
        products = _permuted_products(_standardise(x, None), _standardise(y, None), rng, resamples)
        baseline = np.quantile(products.sum(axis=1) / n_points, 1 - TAIL)
    method = _METHOD.format("Pearson r over all points, naive p value", resamples, _PERMUTED)
    return Estimate(r, low, high, baseline, len(x), n_trials, n_points, method, p_value)


def within_correlation(
    signal: np.ndarray, rate: np.ndarray, *, n_trials: int, rng: Generator, resamples: int = 2000
) -> tuple[Estimate, np.ndarray, float]:
    """Return the mean over embeddings of Pearson's r among their circles: the primary figure.

    Parameters and errors as for `pooled_correlation`. The p value is two-sided, from the
    permutations that give the baseline.

    Returns
    -------
    Estimate
        Over the embeddings whose r is defined: at least 3 points, neither input constant.
    numpy.ndarray
        r of each embedding, shape (embedding,), NaN where undefined.
    float
        Standard deviation of r over embeddings (ddof 1); NaN with fewer than 2.
    """
    x, y = _points(signal, rate)
    n_points = (~np.isnan(x)).sum(axis=1)
    r = np.where(n_points >= 3, _correlation(x, y), np.nan)
    kept = ~np.isnan(r)
    x, y, n_points, defined = x[kept], y[kept], n_points[kept], r[kept]
    n = len(defined)
    mean = low = high = baseline = p_value = np.nan
    if n:
        mean = defined.mean()
        low, high = interval(resample(n, rng, resamples) @ defined / n, n)
        products = _permuted_products(_standardise(x, 1), _standardise(y, 1), rng, resamples)
        chance = (products / n_points).mean(axis=1)
        baseline = np.quantile(chance, 1 - TAIL)
        p_value = (1 + (np.abs(chance) >= abs(mean)).sum()) / (1 + resamples)
    what = "mean over embeddings of Pearson r among circles, p value by the baseline's permutations"
    method = _METHOD.format(what, resamples, _PERMUTED)
    estimate = Estimate(
        mean, low, high, baseline, n, n_trials, int(n_points.sum()), method, p_value
    )
    return estimate, r, float(defined.std(ddof=1)) if n > 1 else float("nan")


def least_squares(signal: np.ndarray, rate: np.ndarray) -> tuple[float, float]:
    """Return slope (per unit of signal) and intercept over all points; NaN for a constant signal.

    Parameters and errors as for `pooled_correlation`.
    """
    x, y = (values[~np.isnan(values)] for values in _points(signal, rate))
    if len(x) == 0 or x.min() == x.max():
        return float("nan"), float("nan")
    line = stats.linregress(x, y)
    return float(line.slope), float(line.intercept)


def logistic_slope(
    signal: np.ndarray,
    survived_count: np.ndarray,
    trials: np.ndarray,
    *,
    rng: Generator,
    resamples: int = 1000,
) -> Estimate:
    """Return the change in the log-odds of survival per standard deviation of initial signal.

    Errors as for `pooled_correlation`.

    Parameters
    ----------
    signal, survived_count, trials
        Shape (embedding, circle); a point with NaN in any of them or without trials is missing.
    rng
        Draws the resamples of embeddings.
    resamples
        Number of resamples, each a fit.

    Returns
    -------
    Estimate
        NaN where no finite slope is likeliest: all survived or all died, or the signal is constant
        or separates the two. No p value: the fit's own takes points for independent. `n_trials`
        sums each embedding's largest number of trials.
    """
    x, total = _points(signal, trials)
    x, survived = _points(np.where(total > 0, x, np.nan), survived_count)
    present = ~np.isnan(x)
    counts = np.stack([survived[present], (total - survived)[present]], axis=1)
    n_trials = int(np.where(present, total, 0).max(axis=1, initial=0).sum())
    owners, owner = np.unique(np.nonzero(present)[0], return_inverse=True)
    # Standardised once, on the full data: a resample's own standard deviation would be another
    # unit of slope, and its noise would enter the interval.
    z = _standardise(x, None)[present]
    low = high = np.nan
    fitted = _fit_logistic(z, counts, np.ones(len(z)))
    if not np.isnan(fitted).any():
        times = resample(len(owners), rng, resamples)
        drawn = np.array([_fit_logistic(z, counts, n[owner], fitted)[1] for n in times])
        low, high = interval(drawn, len(owners))
    what = "binomial regression, log-odds per standard deviation of signal over all points"
    method = _METHOD.format(what, resamples, "no effect")
    return Estimate(fitted[1], low, high, 0.0, len(owners), n_trials, len(z), method)


def _points(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both as float64 of one shape (embedding, circle), NaN where either is."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 2 or x.shape != y.shape:
        raise ValueError(f"shapes {x.shape} and {y.shape} must be the same (embedding, circle)")
    missing = np.isnan(x) | np.isnan(y)
    return np.where(missing, np.nan, x), np.where(missing, np.nan, y)


def _standardise(values: np.ndarray, axis: int | None) -> np.ndarray:
    """Return z scores (ddof 0) over an axis, or over all points; NaN where constant or missing."""
    with quiet():
        top = np.nanmax(values, axis=axis, keepdims=True, initial=-np.inf)
        bottom = np.nanmin(values, axis=axis, keepdims=True, initial=np.inf)
        # Of a constant row, rounding of the mean can leave scipy a spread of 1e-17 to divide by.
        return np.where(top > bottom, stats.zscore(values, axis=axis, nan_policy="omit"), np.nan)


def _correlation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return Pearson's r over axis 1, leaving out NaN (as `scipy.stats.pearsonr` cannot)."""
    with quiet():
        return np.nanmean(_standardise(x, 1) * _standardise(y, 1), axis=1)


def _permuted_products(x: np.ndarray, y: np.ndarray, rng: Generator, resamples: int) -> np.ndarray:
    """Return Σ x·y of each embedding, its present y permuted: shape (resamples, embedding).

    Of z scores this is enough for r, as a permutation within embeddings leaves them z scores.
    """
    products = np.empty((resamples, len(x)))
    for e, present in enumerate(~np.isnan(x)):
        tiled = np.tile(y[e, present], (resamples, 1))
        products[:, e] = rng.permuted(tiled, axis=1) @ x[e, present]
    return products


def _fit_logistic(
    z: np.ndarray, counts: np.ndarray, weights: np.ndarray, start: np.ndarray | None = None
) -> np.ndarray:
    """Return intercept and slope of survival on z, NaN where no finite ones are likeliest.

    `counts` is (point, 2), survived and died; `weights` (point,) says how often to take a point.
    """
    used = weights > 0
    alive, dead = (z[used & (n > 0)] for n in counts.T)
    # With one covariate the fit is finite exactly when the two ranges overlap (Albert and Anderson
    # 1984); a constant z has no overlap either.
    if not (alive.size and dead.size and dead.max() > alive.min() and alive.max() > dead.min()):
        return np.full(2, np.nan)
    exog = sm.add_constant(z[used])
    model = sm.GLM(counts[used], exog, sm.families.Binomial(), freq_weights=weights[used])
    with quiet():
        fit = model.fit(start_params=start)
    return np.asarray(fit.params) if fit.converged else np.full(2, np.nan)
