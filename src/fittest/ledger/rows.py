"""The row of a statistics file that a part of a claim stands on, and its words."""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, nan
from typing import Any

import pandas as pd

from fittest.errors import FileError
from fittest.ledger.claim import SIZES, Part
from fittest.ledger.verdicts import number, size_of


def find_row(frame: pd.DataFrame, part: Part) -> dict[str, Any] | None:
    """Return the row of a statistics file that a part of a claim is about, or None.

    Rows of the part's survival rule come before those of none. Of several horizons it is the one
    that the part is about, else the last before it, else the first.

    Raises
    ------
    FileError
        Where several rows fit: the ledger does not choose among numbers.
    """
    rows = frame[frame["statistic"] == part.statistic]
    for column, value in part.keys.items():
        rows = rows[rows[column] == value] if column in rows else rows.iloc[:0]
    if "rule" in rows:
        named = rows[rows["rule"] == part.rule]
        rows = named if len(named) else rows[rows["rule"].isna() | (rows["rule"] == "")]
    if "horizon" in rows and part.horizon is not None and rows["horizon"].notna().any():
        steps = rows["horizon"]
        early = steps[steps <= part.horizon]
        rows = rows[steps == (early.max() if len(early) else steps.min())]
    if len(rows) > 1:
        raise FileError(
            f"{part.file}: {len(rows)} rows are {part.statistic!r} "
            f"({', '.join(f'{k} {v}' for k, v in {'rule': part.rule, **part.keys}.items())}), and "
            "a claim stands on one. Name the others otherwise, or add a key to the claim's part"
        )
    return None if rows.empty else {str(k): v for k, v in rows.iloc[0].items()}


def horizon_of(row: Mapping[str, Any] | None, part: Part) -> float:
    """Return the step that a row is about; NaN without one, or where the part is about none."""
    return nan if row is None or part.horizon is None else number(row, "horizon")


def value_text(row: Mapping[str, Any]) -> str:
    """Return a row's number with its 95% interval, as `0.85 [0.8, 0.9]`."""
    estimate, low, high = (number(row, name) for name in ("estimate", "low", "high"))
    text = number_text(estimate)
    if isnan(low) or isnan(high) or low == high == estimate:
        return text
    return f"{text} [{number_text(low)}, {number_text(high)}]"


def number_text(value: float) -> str:
    """Return a number to three significant digits, or `undefined`."""
    if isnan(value):
        return "undefined"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def sample_text(row: Mapping[str, Any]) -> str:
    """Return a row's sample sizes, as `500 trials, 10 embeddings`."""
    known = {name: size_of(row, name) for name in SIZES if "/" not in name}
    return ", ".join(f"{n:,.0f} {SIZES[name]}" for name, n in known.items() if not isnan(n))


def shortage_text(row: Mapping[str, Any], part: Part) -> str:
    """Return what a row's sample lacks for a verdict; empty where it is large enough."""
    lacking = []
    for name, least in part.least.items():
        size = size_of(row, name)
        if not size >= least:
            found = "an unknown number of" if isnan(size) else f"{size:,.0f}"
            lacking.append(f"{found} {SIZES[name]} and not {least}")
    return " and ".join(lacking)
