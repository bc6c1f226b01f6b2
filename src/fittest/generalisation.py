"""Does the ODE of `dynamics` tell trials it was not fitted to? Beyond the paper's Fig. 9."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fittest.dynamics import KINDS, fit
from fittest.flow import rollout, spectral_abscissa
from fittest.forecasts import Score, mean, r_squared, score
from fittest.interactions import nonzero_share
from fittest.intervals import quiet

TIME = "time"
"""The forecast that no signal enters: at every step, the mean change of the trials fitted on.

Trials of one embedding start from the very same signals, so an ODE fitted to several of them tells
all the same path. This one is what such a fit has to beat.
"""


@dataclass(frozen=True)
class HeldOut:
    """One trial told by what was fitted to the trials of other folds.

    `n_fitted` counts those, and `train_r2` is the mean over them of what `score.r2` is for the
    trial held out. Without any, scores are NaN and `converged` is false. `nonzero_share` counts all
    coefficients, and `spectral_abscissa` is that of A: both NaN for `TIME`, the latter for
    Lotka–Volterra too.
    """

    trial: int
    fold: int
    n_fitted: int
    converged: bool
    train_r2: float
    nonzero_share: float
    spectral_abscissa: float
    score: Score


def generalise(
    signals: np.ndarray,
    survived: np.ndarray | None = None,
    *,
    kinds: Iterable[str] = (*KINDS, TIME),
    folds: int | None = None,
) -> dict[str, list[HeldOut]]:
    """Fit on some trials, score on the others, for each kind.

    Parameters
    ----------
    signals
        Of trials of the same circles, shape (trial, step, circle). A trial with a value that is not
        finite is never fitted on, and its scores are NaN.
    survived
        Shape (trial, circle), bool or int8: 1 survived, 0 died, -1 missing.
    kinds
        Of `dynamics.KINDS`, and `TIME`. `diagonal` is the baseline without interaction, `TIME` the
        one without state.
    folds
        Number of folds; trial i is in fold i mod folds, so a trial is held out whole. None holds
        out one trial at a time.

    Returns
    -------
    dict
        For each kind the held-out trials, in their order.

    Raises
    ------
    ValueError
        If the shapes do not agree, or a kind or number of folds makes no sense.
    """
    signals = np.asarray(signals, dtype=np.float64)
    alive = None if survived is None else np.asarray(survived)
    if signals.ndim != 3 or (alive is not None and alive.shape != signals[:, 0].shape):
        raise ValueError(
            f"signals {signals.shape} must be (trial, step, circle), and survived "
            f"{None if alive is None else alive.shape} (trial, circle) of the same"
        )
    n = len(signals)
    if folds is not None and not 2 <= folds <= n:
        raise ValueError(f"{folds} folds of {n} trials: give 2 … {n}, or None for one trial each")
    fold = np.arange(n) % (n if folds is None else folds)
    whole = np.isfinite(signals).all(axis=(1, 2))
    out: dict[str, list[HeldOut]] = {}
    for kind in kinds:
        held_out = []
        for f in np.unique(fold):
            fitted, chosen = signals[whole & (fold != f)], np.flatnonzero(fold == f)
            about, forecasts = _forecast(kind, fitted, signals[chosen])
            for i, (change, path) in zip(chosen, forecasts, strict=True):
                result = score(change, path, signals[i], None if alive is None else alive[i])
                held_out.append(HeldOut(int(i), int(f), len(fitted), *about, result))
        out[kind] = sorted(held_out, key=lambda h: h.trial)
    return out


def _forecast(
    kind: str, fitted: np.ndarray, others: np.ndarray
) -> tuple[tuple[bool, float, float, float], list[tuple[np.ndarray, np.ndarray]]]:
    """Return what `HeldOut` says of the fit, and the others' changes and paths."""
    actual = np.diff(fitted, axis=1)
    if kind == TIME:
        with quiet():
            change = actual.mean(axis=0)
        paths = [(change, np.cumsum(np.concatenate([x[:1], change]), axis=0)) for x in others]
        return (len(fitted) > 0, mean(r_squared(change, actual)), np.nan, np.nan), paths
    model = fit(fitted, kind)
    paths = [(model.change(x[:-1]), rollout(model, x[0], len(x) - 1)) for x in others]
    about = (
        model.converged,
        mean(r_squared(model.change(fitted[:, :-1]), actual)),
        nonzero_share(np.concatenate([model.linear, model.quadratic], axis=1)),
        np.nan if model.quadratic.size else spectral_abscissa(model.linear),
    )
    return about, paths
