"""Whether principal planes of the trained embedding are its circles' planes (paper, Fig. 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.intervals import quiet
from fittest.planes import SIGNIFICANT
from fittest.statistics.outcomes import share
from fittest.statistics.selection import by_embedding, known
from fittest.statistics.units import over_units

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_embeddings",
    "n_trials",
    "n_planes",
    "method",
)

MARGIN = 1
"""Significant singular values may differ by so many from two a circle."""


def planes(table: xr.Dataset) -> pd.DataFrame:
    """Return whether significant singular values come in pairs, and how near each is to a circle.

    Parameters
    ----------
    table
        A planes table (`fittest.tables.planes.gather_planes`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. By every rule `pairs_match`, the share of trials with two significant
        singular values a circle, give or take `MARGIN`. Medians of the largest principal angle to
        the nearest Fourier plane (degrees): `plane_angle`, of all pairs of all trials;
        `plane_angle_first`, by every rule, of a trial's first pairs, as many as circles survive;
        `plane_angle_apart`, of pairs whose singular values are apart from their neighbours'. NaN
        where no trial has a pair.
    """
    table = by_embedding(table)
    horizon = {"horizon": int(table["horizon"][-1])}
    significant = known(table["significant"], "embedding", "trial")
    dims = ("embedding", "trial", "plane")
    angle, initial = (table[n].transpose(*dims).values for n in ("angle", "initial_angle"))
    rows: list[dict[str, Any]] = []
    for rule in table["rule"].values:
        circles = known(table["circles"].isel(horizon=-1).sel(rule=rule), "embedding", "trial")
        first = table["plane"].values < circles[..., None]
        found = {
            "pairs_match": _match(significant, circles),
            "plane_angle_first": _angle(
                angle, initial, first, "a trial's first pairs, one a surviving circle,"
            ),
        }
        rows += [{"statistic": name, "rule": str(rule)} | row for name, row in found.items()]
    apart = table["ambiguous"].transpose(*dims).values == 0
    rows += [
        {"statistic": name} | _angle(angle, initial, some, what)
        for name, some, what in (
            ("plane_angle", ~np.isnan(angle), "pairs of significant principal axes"),
            (
                "plane_angle_apart",
                apart,
                "pairs whose singular values are not nearly those of another pair",
            ),
        )
    ]
    return pd.DataFrame([row | horizon for row in rows], columns=list(COLUMNS))


def _match(significant: np.ndarray, circles: np.ndarray) -> dict[str, Any]:
    """Compare the number of singular values with that of circles: shape (embedding, trial)."""
    there = ~np.isnan(significant + circles)
    values, twice = significant[there], 2 * circles[there]
    n = len(values)
    match = np.abs(values[:, None] - twice) <= MARGIN
    own = int(np.trace(match))
    return {
        **share(own, n),
        "baseline": (match.sum() - own) / (n * (n - 1)) if n > 1 else np.nan,
        "n_embeddings": int(there.any(axis=1).sum()),
        "n_trials": n,
        "method": f"share of trials whose singular values above {SIGNIFICANT:g} of the largest are "
        f"two a circle, give or take {MARGIN}; Wilson; baseline: against the circles of another "
        "trial",
    }


def _angle(angle: np.ndarray, initial: np.ndarray, some: np.ndarray, what: str) -> dict[str, Any]:
    angle, initial = np.where(some, angle, np.nan), np.where(some, initial, np.nan)
    median = over_units(angle)
    with quiet():
        baseline = float(np.nanmedian(initial))
    return {
        **median,
        "baseline": baseline,
        "n_planes": int((~np.isnan(angle)).sum()),
        "method": f"median over {what} of the largest principal angle to the nearest Fourier plane;"
        f" {median['text']}; baseline: as many pairs of the embedding at step 0",
    }
