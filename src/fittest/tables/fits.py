"""Every trial's own differential equations, of each kind, and how well each one tells it (Fig. 9).

Only numbers that say how good a fit is are kept; `fittest.tables.example` keeps one trial's fits.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.dynamics import KINDS, Fit, fit
from fittest.files import FLAG, describe
from fittest.flow import RIDGE, closed_form, rollout, spectral_abscissa, spectral_radius
from fittest.forecasts import score
from fittest.gathering import gather
from fittest.interactions import nonzero_share
from fittest.survival import MISSING, RULES, survived
from fittest.tables.early import early_signals

RULE = "relative"
"""The rule that says which circles are survivors, at the last step trained."""

_MEANINGS = {
    "r_squared": "R² of the change of a signal in one step, mean over circles",
    "nonzero_share": "share of linear coefficients that are not 0",
    "spectral_abscissa": "largest real part of the eigenvalues of A, per step; NaN if quadratic",
    "spectral_radius": "largest absolute value of the eigenvalues of I + A; NaN if quadratic",
    "end_error": "relative error of the rollout at the last step, median over circles",
    "survivor_end_error": "relative error of the rollout at the last step, median over survivors",
    "path_error": "relative error of the rollout, median over circles and steps",
    "survivor_path_error": "relative error of the rollout, median over survivors and steps",
    "closed_form_error": "relative error of the closed form, median over survivors and steps",
    "left_step": "step at which the rollout is beyond ten times the largest signal; NaN if never",
}
_FLAGS = {
    "left_data": "the rollout goes beyond ten times the largest signal",
    "converged": "the fit converged for every circle",
}


def gather_fits(paths: Iterable[Path], thresholds: Survival) -> xr.Dataset:
    """Return how well the fits of each kind tell the trial they are fitted to.

    Parameters
    ----------
    paths
        Trajectory files of an experiment.
    thresholds
        Of the survival rules.

    Returns
    -------
    xarray.Dataset
        Over the experiment's axes, `trial` and `fit`. `fitted_step` is the last step fitted to. Of
        a trial that diverged everything is missing. The closed form is the paper's, A + 1e-8·I.
    """
    return gather(paths, lambda t: fits_of(t, thresholds))


def fits_of(t: xr.Dataset, thresholds: Survival) -> xr.Dataset:
    """Return the fits table of one block."""
    early = early_signals(t)
    alive = survivors(t, thresholds)
    rows = [
        [_row(signals, kind, fate) for kind in KINDS]
        for signals, fate in zip(early.values.astype(np.float64), alive, strict=True)
    ]
    out = xr.Dataset(coords={"trial": t["trial"], "fit": fit_coordinate()})
    for names, dtype, more in ((_MEANINGS, np.float64, {}), (_FLAGS, np.int8, FLAG)):
        for name, text in names.items():
            values = np.array([[row[name] for row in trial] for trial in rows], dtype=dtype)
            unit = "step" if name == "left_step" else "1"
            out[name] = (("trial", "fit"), values, describe(text, unit, **more))
    last = np.full(t.sizes["trial"], int(early["step"][-1]), dtype=np.int32)
    out["fitted_step"] = ("trial", last, describe("last step that was fitted to", "step"))
    return out


def fit_coordinate() -> tuple[str, list[str], dict[str, Any]]:
    """Return the coordinate `fit`."""
    return "fit", list(KINDS), describe("kind of fit: see docs/method.md")


def survivors(t: xr.Dataset, thresholds: Survival) -> np.ndarray:
    """Return who survives at the last step trained by `RULE`: int8 flags, shape (trial, circle)."""
    first, last = t["signal"].isel(step=[0, -1]).transpose("step", "trial", "frequency").values
    flags = survived(last, first, t["mean_signal"].isel(step=-1).values, thresholds)
    return flags[..., RULES.index(RULE)]


def closed_path(model: Fit, start: np.ndarray, steps: int) -> np.ndarray:
    """Return the paper's closed form, shape (steps + 1, circle); NaN for Lotka–Volterra."""
    if model.quadratic.size:
        return np.full((steps + 1, len(start)), np.nan)
    return closed_form(model, start, steps, ridge=RIDGE)


def _row(signals: np.ndarray, kind: str, fate: np.ndarray) -> dict[str, float]:
    """Return the numbers of one fit to one trial, whose signals are of shape (step, circle)."""
    model = fit(signals, kind)
    start, steps = signals[0], len(signals) - 1
    change = model.change(signals[:-1])
    path = rollout(model, start, steps)
    found = score(change, path, signals, fate)
    closed, quadratic = np.nan, model.quadratic.size > 0
    if model.n_rows and not quadratic:
        closed = score(change, closed_path(model, start, steps), signals, fate).survivor_path_error
    there = model.n_rows > 0
    return {
        "r_squared": found.r2,
        "nonzero_share": nonzero_share(np.concatenate([model.linear, model.quadratic], axis=1)),
        "spectral_abscissa": np.nan if quadratic else spectral_abscissa(model.linear),
        "spectral_radius": np.nan if quadratic else spectral_radius(model.linear),
        "end_error": found.end_error,
        "survivor_end_error": found.survivor_end_error,
        "path_error": found.path_error,
        "survivor_path_error": found.survivor_path_error,
        "closed_form_error": closed,
        "left_step": np.nan if found.left_at is None else found.left_at,
        "left_data": int(found.left_at is not None) if there else MISSING,
        "converged": int(model.converged) if there else MISSING,
    }
