"""The verdict on a number, and on a claim that stands on several."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan, nan
from typing import Any

from fittest.ledger.claim import Part

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
INCONCLUSIVE = "inconclusive"
NOT_RUN = "not run"
REPORTED = "reported"
VERDICTS = (REPRODUCED, NOT_REPRODUCED, INCONCLUSIVE, NOT_RUN, REPORTED)


def verdict_of(part: Part, row: Mapping[str, Any] | None) -> str:
    """Return the verdict on one number.

    Parameters
    ----------
    part
        Which number it is, and the region it must lie in.
    row
        Its row of the statistics, or None where there is none.

    Returns
    -------
    str
        `not run` without a row; `inconclusive` where the sample is smaller than the rule asks or of
        unknown size; `reproduced` where the whole 95% interval lies in the region, `not reproduced`
        where none of it does, else `inconclusive`, as where an end of it is missing. Of a part that
        is judged as seen the number stands for the interval. `reported` where no region judges it.
    """
    if row is None:
        return NOT_RUN
    if part.region is None:
        return REPORTED
    # Written so that an unknown size is too small.
    if not all(size_of(row, name) >= least for name, least in part.least.items()):
        return INCONCLUSIVE
    low, high = (number(row, name) for name in (("estimate",) * 2 if part.seen else _ENDS))
    if isnan(low) or isnan(high):
        return INCONCLUSIVE
    if part.region.contains(low, high):
        return REPRODUCED
    return NOT_REPRODUCED if part.region.excludes(low, high) else INCONCLUSIVE


_ENDS = ("low", "high")


def combined(verdicts: Iterable[str]) -> str:
    """Return the verdict on a claim that holds only if all its parts do.

    One part that fails refutes it, whatever the others are. Otherwise a part that was not run
    leaves it open, and says what to do; then one that is inconclusive.
    """
    found = set(verdicts)
    for verdict in (NOT_REPRODUCED, NOT_RUN, INCONCLUSIVE, REPRODUCED):
        if verdict in found:
            return verdict
    return REPORTED


def size_of(row: Mapping[str, Any], name: str) -> float:
    """Return a sample size of a row, a key of `fittest.ledger.claim.SIZES`; NaN if unknown."""
    above, _, under = name.partition("/")
    count = number(row, above)
    if not under:
        return count
    groups = number(row, under)
    return count / groups if groups else nan


def number(row: Mapping[str, Any], name: str) -> float:
    """Return a number of a row, NaN where it has none."""
    value = row.get(name)
    return nan if value is None else float(value)
