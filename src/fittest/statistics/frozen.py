"""Networks whose embedding is frozen: test loss against d, and whether it falls at d = p (Fig. 4).

The change point is that of two lines that need not meet, fitted to log₁₀ loss against d: loss may
rise or fall on either side of the drop. Two constants, a cruder model, stand beside it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.intervals import RESAMPLES, SEED, interval, quiet
from fittest.segments import LEAST_VALUES, change_point
from fittest.statistics.estimates import BOOTSTRAP, draws, mean, median
from fittest.tables.scores import PAPER_STEPS, row_at

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "axis",
    "value",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_values",
    "n_least",
    "p",
    "method",
)

SPAN = 20
"""How far from p the dip's two ranges of d reach; and the largest d called small."""

_WITHIN = BOOTSTRAP.replace("trials", "trials within each d")


def frozen(scores: xr.Dataset) -> pd.DataFrame:
    """Return test loss and accuracy at every d, and what the loss does around d = p (Fig. 4).

    Parameters
    ----------
    scores
        Scores table of an experiment that varies d only (`gather_scores`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. At each of the paper's steps, or where training was shorter the last
        recorded before it (`horizon` says which): `log10_test_loss` (median over trials) and
        `test_accuracy` (mean) at each `value` of d; `dip` (log₁₀ loss at p - 20 ≤ d < p minus that
        at p ≤ d ≤ p + 20, medians over trials), `descent` (at d ≤ 20 minus at 20 < d < p),
        `change_point` and `change_point_constant` (d minus p).

    Raises
    ------
    ValueError
        Where the table varies another axis than d.
    """
    if "d" not in scores["test_loss"].dims:
        scores = scores.expand_dims("d")
    other = sorted(set(map(str, scores["test_loss"].dims)) - {"d", "trial", "step"})
    if other:
        raise ValueError(f"these statistics are along d, and the table varies {', '.join(other)}")
    d, p = scores["d"].values.astype(int), int(scores["p"])
    steps = scores["step"].values
    rows: list[dict[str, Any]] = []
    for row in dict.fromkeys(row_at(steps, step) for step in PAPER_STEPS):
        at = scores.isel(step=row)
        where = {"horizon": int(steps[row]), "axis": "d", "p": p}
        with quiet():
            level = np.log10(at["test_loss"].transpose("d", "trial").values.astype(np.float64))
        accuracy = at["test_accuracy"].transpose("d", "trial").values.astype(np.float64)
        for name, values, middle in (
            ("log10_test_loss", level, median),
            ("test_accuracy", accuracy, mean),
        ):
            rows += [
                {
                    "statistic": name,
                    **where,
                    "value": value,
                    **middle(cell),
                    "n_values": 1,
                    "n_least": len(cell),
                    "method": f"{middle.__name__} over the trials of a d; {BOOTSTRAP}",
                }
                for value, cell in zip(d, _finite(values), strict=True)
            ]
        rows += [{**where, **found} for found in _around(d, _finite(level), p)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _finite(values: np.ndarray) -> list[np.ndarray]:
    """Return of each row the values that are there: a trial that diverged has none."""
    return [row[np.isfinite(row)] for row in values]


def _around(d: np.ndarray, cells: list[np.ndarray], p: int) -> list[dict[str, Any]]:
    """Return what log₁₀ loss does at d = p and at small d."""
    below, above = (d >= p - SPAN) & (d < p), (d >= p) & (d <= p + SPAN)
    small, middle = (d <= SPAN) & (d < p), (d > SPAN) & (d < p)
    rows = [
        {
            "statistic": "dip",
            **_difference(cells, below, above),
            "method": f"median log10 test loss over trials at p - {SPAN} ≤ d < p, minus that at "
            f"p ≤ d ≤ p + {SPAN}; {_WITHIN}",
        },
        {
            "statistic": "descent",
            **_difference(cells, small, middle),
            "method": f"median log10 test loss over trials at d ≤ {SPAN}, minus that at "
            f"{SPAN} < d < p; {_WITHIN}",
        },
    ]
    for name, lines, what in (
        ("change_point", True, "lines that need not meet"),
        ("change_point_constant", False, "constants"),
    ):
        found = change_point(d, cells, np.random.default_rng(SEED), lines=lines)
        rows.append(
            {
                "statistic": name,
                **dict(zip(("estimate", "low", "high"), np.array(found) - p, strict=True)),
                **_sizes(cells),
                "method": f"first d of the second of two {what}, least squares of log10 test loss "
                f"of all trials, each over {LEAST_VALUES} or more values of d; minus p; "
                f"{_WITHIN}",
            }
        )
    return rows


def _difference(cells: list[np.ndarray], first: np.ndarray, second: np.ndarray) -> dict[str, Any]:
    """Return the median over the trials of some values minus that of others, with its interval."""
    sides = [[cells[i] for i in np.flatnonzero(side)] for side in (first, second)]
    rng = np.random.default_rng(SEED)
    medians, drawn = [], []
    with quiet():  # where a side has no trial
        for side in sides:
            medians.append(np.median(np.concatenate([np.empty(0), *side])))
            parts = [np.empty((RESAMPLES, 0)), *(draws(cell, rng) for cell in side)]
            drawn.append(np.median(np.concatenate(parts, axis=1), axis=1))
    sizes = _sizes(sides[0] + sides[1])
    low, high = interval(drawn[0] - drawn[1], sizes["n_least"])
    return {
        "estimate": float(medians[0] - medians[1]),
        "low": float(low),
        "high": float(high),
        "baseline": 0.0,
        **sizes,
    }


def _sizes(cells: list[np.ndarray]) -> dict[str, int]:
    lengths = [len(cell) for cell in cells]
    return {
        "n_trials": sum(lengths),
        "n_values": len(lengths),
        "n_least": min(lengths, default=0),
    }
