"""How well a forecast tells a trial: R² of its changes, errors of its path.

An undefined output is NaN; a path that left every number is infinitely wrong, not left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fittest.intervals import quiet


@dataclass(frozen=True)
class Score:
    """How well one forecast tells one trial; every number but `left_at` is NaN if undefined.

    `r2` is the mean over circles of `r_squared`. Errors are shares of the signal (see
    `relative_error`): the median over circles at the last step (`end_error`), or over circles and
    all steps (`path_error`), of all circles and of survivors. `left_at` is the step at which the
    path leaves the data (see `left_data`), None if it does not.
    """

    r2: float
    end_error: float
    path_error: float
    survivor_end_error: float
    survivor_path_error: float
    left_at: int | None = None


def r_squared(predicted: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return R² over the steps, of every circle: shape (…, circle).

    Parameters
    ----------
    predicted, observed
        Changes x(t + 1) − x(t), shape (…, step, circle). Each trial has a mean of its own.

    Returns
    -------
    numpy.ndarray
        1 − Σ (observed − predicted)² / Σ (observed − mean)², below 0 where the mean would do
        better. NaN for a circle whose change is constant: there is nothing to explain, so it stays
        out of a mean over circles (scikit-learn counts it as 0 or 1). NaN with a value missing.
    """
    observed = np.asarray(observed, dtype=np.float64)
    with quiet():
        residual = ((observed - predicted) ** 2).sum(axis=-2)
        total = ((observed - observed.mean(axis=-2, keepdims=True)) ** 2).sum(axis=-2)
        # By its ends, since rounding of the mean can leave a constant a spread of 1e-17.
        varies = observed.max(axis=-2) > observed.min(axis=-2)
        return np.where(varies, 1 - residual / total, np.nan)


def relative_error(path: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Return |path − observed| / |observed| of every signal: the shape given.

    Infinite where the path is not finite, NaN where the observed signal is missing or 0.
    """
    observed = np.asarray(observed, dtype=np.float64)
    with quiet():
        error = np.where(np.isfinite(path), np.abs(path - observed) / np.abs(observed), np.inf)
    return np.where(np.isfinite(observed) & (observed != 0), error, np.nan)


def left_data(path: np.ndarray, observed: np.ndarray, factor: float = 10.0) -> int | None:
    """Return the first step at which a path is beyond what was observed, None if it never is.

    Parameters
    ----------
    path
        Shape (step, circle).
    observed
        The signals it should tell, shape (…, circle).
    factor
        Beyond is: any circle above factor × the largest |signal| of any circle at any step, or not
        a number.
    """
    # Signals are norms, so the largest one is the data's range from 0.
    limit = factor * np.abs(np.asarray(observed)[np.isfinite(observed)]).max(initial=0.0)
    with quiet():
        away = ~(np.abs(path) <= limit).all(axis=-1)
    return int(np.argmax(away)) if away.any() else None


def score(
    change: np.ndarray,
    path: np.ndarray,
    signals: np.ndarray,
    survived: np.ndarray | None = None,
) -> Score:
    """Return how well a forecast tells one trial.

    Parameters
    ----------
    change
        Forecast of x(t + 1) − x(t) from the observed x(t), shape (step − 1, circle):
        `model.change(signals[:-1])` of a fit.
    path
        Forecast of the signals from x(0) alone, shape (step, circle): `flow.rollout` or
        `flow.closed_form` of a fit.
    signals
        What happened, shape (step, circle). If any is missing, every score is NaN.
    survived
        Shape (circle,), bool or int8: 1 survived, 0 died, -1 missing. None knows no survivors.

    Raises
    ------
    ValueError
        If the shapes do not agree.
    """
    signals = np.asarray(signals, dtype=np.float64)
    if signals.ndim != 2 or path.shape != signals.shape or change.shape != signals[1:].shape:
        raise ValueError(
            f"signals {signals.shape} must be (step, circle), path {path.shape} the same, and "
            f"change {change.shape} one step shorter"
        )
    alive = np.zeros(signals.shape[1], dtype=bool)
    if survived is not None:
        alive = np.asarray(survived) == 1
    if not (np.isfinite(signals).all() and np.isfinite(change).all()):
        return Score(*(float("nan"),) * 5)
    error = relative_error(path, signals)
    return Score(
        mean(r_squared(change, np.diff(signals, axis=0))),
        _median(error[-1]),
        _median(error),
        _median(error[-1, alive]),
        _median(error[:, alive]),
        left_data(path, signals),
    )


def mean(values: np.ndarray) -> float:
    """Return the mean of what is not NaN, NaN if nothing is."""
    with quiet():
        return float(np.nanmean(values))


def _median(values: np.ndarray) -> float:
    with quiet():
        return float(np.nanmedian(values))
