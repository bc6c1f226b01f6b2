"""Statistics of trainings of the very same trials in several ways: early agreement, later fates.

A way is an arithmetic or an engine. Ways round differently, so a trial's two lives agree closely at
first and may part later; then what must agree is the distribution of outcomes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.errors import FileError
from fittest.statistics.outcomes import outcomes, share
from fittest.tables.course import RULE

COLUMNS = (
    "statistic",
    "way",
    "other",
    "horizon",
    "decile",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_circles",
    "method",
)

TOLERANCES = {100: 1e-4, 300: 1e-3}
"""Step → largest distance up to it at which two ways still agree: max_k |ΔS_k| / max_k S_k."""

PARTED = 0.01
"""Relative difference of a survivor's signal from which two trainings have parted."""

CALM, VIOLENT = 1e-5, 1e-2
"""Training loss (nats) below which a trial has settled, and above which it has left again."""


def comparison(course: xr.Dataset, survival: xr.Dataset) -> pd.DataFrame:
    """Return how the ways of an experiment agree.

    Parameters
    ----------
    course
        Its course table (`fittest.tables.course.gather_course`).
    survival
        Its survival table, with the ways as dimension `protocol` or `engine`.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. Of each way: `circles`, `rate_of_decile`, `violent_events`,
        `violent_event_step`. Of each pair, `way` and `other`: `early_distance`, `early_agreement`,
        `parted`, `parting_step`, `survivor_distance`, `circles_difference`, `same_survivors`,
        `same_fate`, `decile_difference`. Survival is that of the paper's rule, `relative`.
    """
    along = str(course.attrs["along"])
    ways = list(map(str, course["way"].values))
    if along not in survival.dims or set(ways) != set(map(str, survival[along].values)):
        raise FileError(
            f"the course compares {', '.join(ways)}, and the survival table has "
            f"{along} {np.atleast_1d(survival[along].values) if along in survival else 'no axis'}: "
            "give tables of the same experiment"
        )
    survival = survival.rename({along: "way"}).sel(rule=RULE, way=ways)
    rows: list[dict[str, Any]] = []
    for way in course["way"].values:
        rows += _violence(course.sel(way=way), str(way))
    for i in range(course.sizes["pair"]):
        rows += _distances(course.isel(pair=i))
    for horizon in survival["horizon"].values:
        rows += outcomes(survival.sel(horizon=horizon), int(horizon))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _violence(one: xr.Dataset, way: str) -> list[dict[str, Any]]:
    """Return how many trials left a settled state violently, and when."""
    loss, steps = one["train_loss"].values, one["step"].values
    settled = np.maximum.accumulate(loss < CALM, axis=1)
    left = settled & ~(loss <= VIOLENT)  # not a number is a violent end, too
    events = left.any(axis=1)
    n, last = int(settled[:, -1].sum()), int(steps[-1])
    where = {"way": way, "horizon": last, "n_trials": n}
    rows = [
        {
            "statistic": "violent_events",
            **where,
            **share(int(events.sum()), n),
            "method": f"share of the trials whose training loss fell below {CALM:g} in which it "
            f"then rose above {VIOLENT:g} (at recorded steps); Wilson",
        }
    ]
    if events.any():
        first = steps[left[events].argmax(axis=1)]
        rows.append(
            {
                "statistic": "violent_event_step",
                **where,
                "n_trials": int(events.sum()),
                "estimate": float(np.median(first)),
                "low": int(first.min()),
                "high": int(first.max()),
                "method": f"first recorded step above {VIOLENT:g}: median, least and most over "
                "the trials with one",
            }
        )
    return rows


def _distances(pair: xr.Dataset) -> list[dict[str, Any]]:
    """Return how far the two ways of a pair are apart, early and late."""
    steps = pair["step"].values
    n, last = pair.sizes["trial"], int(steps[-1])
    names = {"way": str(pair["first"].values), "other": str(pair["second"].values)}
    rows = []
    for until, tolerance in TOLERANCES.items():
        if until > last and until != min(TOLERANCES):
            continue
        # A trial that diverges in one way only is not a number, and does not agree.
        most = pair["distance"].values[:, steps <= until].max(axis=1)
        where = {**names, "horizon": min(until, last), "n_trials": n}
        spread = "median, least and most over trials of the largest distance up to the step"
        rows += [
            {
                "statistic": "early_distance",
                **where,
                "estimate": float(np.median(most)),
                "low": float(most.min()),
                "high": float(most.max()),
                "method": f"{spread}: max_k |ΔS_k| / max_k S_k",
            },
            {
                "statistic": "early_agreement",
                **where,
                **share(int((most <= tolerance).sum()), n),
                "method": f"share of trials whose distance stays within {tolerance:g}; Wilson",
            },
        ]
    late = pair["survivor_distance"].values
    diverged = np.isnan(pair["distance"].values)
    parted = (late > PARTED) | diverged
    ever = parted.any(axis=1)
    some = ever | np.isfinite(late).any(axis=1)  # without a survivor there is nothing to part
    rows.append(
        {
            "statistic": "parted",
            **names,
            "horizon": last,
            "n_trials": int(some.sum()),
            **share(int(ever.sum()), int(some.sum())),
            "method": f"share of trials in which a survivor of the first way ever differs by more "
            f"than {PARTED:g} of its signal, or either diverges; Wilson",
        }
    )
    if ever.any():
        first = steps[parted[ever].argmax(axis=1)]
        rows.append(
            {
                "statistic": "parting_step",
                **names,
                "horizon": last,
                "n_trials": int(ever.sum()),
                "estimate": float(np.median(first)),
                "low": int(first.min()),
                "high": int(first.max()),
                "method": "first such step: median, least and most over the trials that parted",
            }
        )
    end = late[np.isfinite(late[:, -1]), -1]
    if len(end):
        rows.append(
            {
                "statistic": "survivor_distance",
                **names,
                "horizon": last,
                "n_trials": len(end),
                "estimate": float(np.median(end)),
                "low": float(end.min()),
                "high": float(end.max()),
                "method": "at the last step, largest relative difference of signal among a "
                "trial's survivors: median, least and most over trials",
            }
        )
    return rows
