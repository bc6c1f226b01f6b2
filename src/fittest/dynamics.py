"""A linear ODE, or Lotka–Volterra, for the signals of a trial's circles (paper, Sec. 4.2, Fig. 9).

x(t) holds the signal of every circle after t updates, and a fit predicts the change x(t + 1) − x(t)
from x(t). Steps are consecutive: one row of an array is one update after the row before. A trial
with a signal that is not a number is missing; what cannot be computed is NaN, without a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression

from fittest.intervals import quiet

PENALTY = 0.01
"""Lasso's α of the paper, for features in embedding units: they are not scaled."""

# At scikit-learn's own limit, 1,000, most circles of a trial of the paper's size are not done, and
# more coefficients are left. One circle took 350,000.
_MOST_ITERATIONS = 5_000_000


@dataclass(frozen=True)
class Fit:
    """The change of every circle as a function of all signals: A x + b (+ Σ_{i ≤ j} c_ij x_i x_j).

    `linear` is A, shape (circle, circle), per step: [i, j] is what circle j does to circle i.
    `constant` is b, shape (circle,), in embedding units per step. `quadratic` has shape
    (circle, pair), the pairs i ≤ j in the order of `numpy.triu_indices`; only Lotka–Volterra has
    pairs. `converged` is false where the Lasso stopped short for any circle, or nothing was there
    to fit. `n_rows` counts the steps that it was fitted on.
    """

    kind: str
    linear: np.ndarray
    constant: np.ndarray
    quadratic: np.ndarray
    converged: bool
    n_rows: int

    def change(self, x: np.ndarray) -> np.ndarray:
        """Return the predicted x(t + 1) − x(t): the shape of x, (…, circle)."""
        with np.errstate(over="ignore", invalid="ignore"):
            out = x @ self.linear.T + self.constant
            if self.quadratic.size:
                out = out + _products(x) @ self.quadratic.T
        return np.asarray(out)


def fit(signals: np.ndarray, kind: str) -> Fit:
    """Return the fit of one kind to one trial, or to several of the same circles.

    Parameters
    ----------
    signals
        Shape (step, circle) or (trial, step, circle). A trial with a value that is not finite is
        left out; with none left, every coefficient is NaN.
    kind
        `ols` (least squares), `lasso` (α = `PENALTY`), `diagonal` (least squares of each circle on
        itself: no interaction) or `lotka-volterra` (least squares with all products as well). All
        have an intercept. With fewer rows than features, least squares takes the smallest of the
        coefficients that fit exactly.

    Raises
    ------
    ValueError
        If the kind is unknown, the shape is another, or there are fewer than two steps.
    """
    if kind not in KINDS:
        raise ValueError(f"kind {kind!r} is none of {', '.join(KINDS)}")
    signals = np.asarray(signals, dtype=np.float64)
    if signals.ndim not in (2, 3) or signals.shape[-2] < 2:
        raise ValueError(
            f"signals {signals.shape} must be (step, circle) or (trial, step, circle), two steps "
            "or more"
        )
    k = signals.shape[-1]
    trials = signals if signals.ndim == 3 else signals[np.newaxis]
    trials = trials[np.isfinite(trials).all(axis=(1, 2))]
    if not trials.size:
        return Fit(kind, np.full((k, k), np.nan), np.full(k, np.nan), np.zeros((k, 0)), False, 0)
    x, y = trials[:, :-1].reshape(-1, k), np.diff(trials, axis=1).reshape(-1, k)
    coefficients, constant, converged = KINDS[kind](x, y)
    return Fit(kind, coefficients[:, :k], constant, coefficients[:, k:], converged, len(x))


def _products(x: np.ndarray) -> np.ndarray:
    """Return x_i x_j for all i ≤ j: shape (…, pair)."""
    i, j = np.triu_indices(x.shape[-1])
    return x[..., i] * x[..., j]


_Solution = tuple[np.ndarray, np.ndarray, bool]


def _least_squares(x: np.ndarray, y: np.ndarray) -> _Solution:
    solved = LinearRegression().fit(x, y)
    return solved.coef_, solved.intercept_, True


def _lasso(x: np.ndarray, y: np.ndarray) -> _Solution:
    # From the Gram matrix: an iteration then costs the same for one trial and for twenty.
    lasso = Lasso(alpha=PENALTY, max_iter=_MOST_ITERATIONS, precompute=True)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ConvergenceWarning)
        solved = lasso.fit(x, y)
    converged = not any(issubclass(w.category, ConvergenceWarning) for w in said)
    shape = (y.shape[1], x.shape[1])  # of a single circle scikit-learn returns fewer axes
    return solved.coef_.reshape(shape), np.atleast_1d(solved.intercept_), converged


def _diagonal(x: np.ndarray, y: np.ndarray) -> _Solution:
    centred = x - x.mean(axis=0)
    with quiet():
        slope = (centred * y).sum(axis=0) / (centred**2).sum(axis=0)
    # By its ends, since rounding of the mean can leave a constant signal a spread of 1e-17.
    slope = np.where(x.max(axis=0) > x.min(axis=0), slope, 0.0)
    return np.diag(slope), y.mean(axis=0) - slope * x.mean(axis=0), True


def _lotka_volterra(x: np.ndarray, y: np.ndarray) -> _Solution:
    return _least_squares(np.concatenate([x, _products(x)], axis=1), y)


KINDS: dict[str, Callable[[np.ndarray, np.ndarray], _Solution]] = {
    "ols": _least_squares,
    "lasso": _lasso,
    "diagonal": _diagonal,
    "lotka-volterra": _lotka_volterra,
}
"""How each kind is fitted."""
