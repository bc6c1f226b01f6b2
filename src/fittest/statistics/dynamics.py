"""How well differential equations tell the signals of trials along an axis (paper, Fig. 9).

At every value of the axis, and over ranges of d: R² of the change in a step, sparsity, stability,
errors of the paths, for each kind of fit; beside it the same of the fit without interaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.statistics.pooling import RESAMPLES, median_within, share_of
from fittest.tables.fits import RULE

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "fit",
    "axis",
    "value",
    "d_range",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_values",
    "n_least",
    "method",
)
BASELINE = "diagonal"
"""The fit that the others are held against: each circle by itself, no interaction."""

LARGE_D = 64
"""The paper's Fig. 9 is judged over d from here on."""

_MEDIANS = {
    "r_squared": "R² of the change of a signal in one step (mean over circles)",
    "nonzero_share": "share of coefficients that are not 0",
    "spectral_abscissa": "largest real part of the eigenvalues of A, per step",
    "spectral_radius": "largest absolute value of the eigenvalues of I + A",
    "end_error": "relative error of the rollout at the horizon (median over circles)",
    "survivor_end_error": "relative error of the rollout at the horizon (median over survivors)",
    "path_error": "relative error of the rollout (median over circles and steps)",
    "survivor_path_error": "relative error of the rollout (median over survivors and steps)",
    "closed_form_error": "relative error of the closed form (median over survivors and steps)",
    "left_step": "step at which the rollout leaves the data, of the trials where it does",
}
_SHARES = {
    "left_data_share": ("left_data", "the rollout goes beyond ten times the largest signal"),
    "converged_share": ("converged", "the fit converged for every circle"),
}
# Of A alone, and Lotka–Volterra has more than A.
_LINEAR = ("spectral_abscissa", "spectral_radius", "closed_form_error")
_OF_SURVIVORS = ("survivor_end_error", "survivor_path_error", "closed_form_error")


def dynamics(fits: xr.Dataset) -> pd.DataFrame:
    """Return how well each kind of fit tells the trials that it is fitted to.

    Parameters
    ----------
    fits
        Fits table of an experiment that varies one axis (`fittest.tables.fits.gather_fits`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`; `horizon` is the last step fitted to. A row with a `value` is about the
        trials at that value of the axis. One with a `d_range` is about the trials of all values
        (`all`), of those at d ≥ 64 (`d>=64`) or at d ≥ p (`d>=p`), where there are any.

    Raises
    ------
    ValueError
        Where the table varies several axes.
    """
    axes = sorted(set(map(str, fits.dims)) - {"trial", "fit"})
    if len(axes) > 1:
        raise ValueError(f"dynamics are along one axis, and the table varies {axes}")
    axis = axes[0] if axes else "d"
    table = fits if axes else fits.expand_dims("d")
    horizon = int(table["fitted_step"].max())
    rows: list[dict[str, Any]] = []
    for where, part in _parts(table, axis):
        baseline = {r["statistic"]: r["estimate"] for r in _rows(part, BASELINE, axis)}
        for kind in part["fit"].values:
            for row in _rows(part, kind, axis):
                beside = np.nan if kind == BASELINE else baseline[row["statistic"]]
                rule = RULE if row["statistic"] in _OF_SURVIVORS else ""
                fixed = {"rule": rule, "horizon": horizon, "fit": str(kind), "axis": axis}
                rows.append({**row, **fixed, **where, "baseline": beside})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _parts(table: xr.Dataset, axis: str) -> Iterator[tuple[dict[str, Any], xr.Dataset]]:
    """Yield each value of the axis and each range of them, with the table of its trials."""
    for value in table[axis].values:
        yield {"value": float(value), "d_range": ""}, table.sel({axis: [value]})
    yield {"d_range": "all"}, table
    if axis == "d":
        for name, least in ((f"d>={LARGE_D}", LARGE_D), ("d>=p", int(table["p"]))):
            chosen = table["d"].values >= least
            if chosen.any():
                yield {"d_range": name}, table.isel(d=chosen)


def _rows(part: xr.Dataset, kind: str, axis: str) -> Iterator[dict[str, Any]]:
    table = part.sel(fit=kind).transpose(axis, "trial")
    n_values = table.sizes[axis]
    for name, text in _MEDIANS.items():
        if kind == "lotka-volterra" and name in _LINEAR:
            continue
        method = (
            f"median over trials of: {text}; percentile bootstrap over trials within each value, "
            f"{RESAMPLES} resamples; baseline: no interaction"
        )
        found = median_within(list(table[name].values))
        yield {"statistic": name, **found, "n_values": n_values, "method": method}
    for name, (variable, text) in _SHARES.items():
        method = f"share of trials in which {text}; Wilson; baseline: no interaction"
        flags = table[variable].values
        least = int((flags >= 0).sum(axis=1).min())
        found = {**share_of(flags), "n_least": least}
        yield {"statistic": name, **found, "n_values": n_values, "method": method}
