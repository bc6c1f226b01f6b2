"""Estimates with their intervals, as text and as the lengths of error bars."""

from __future__ import annotations

import numpy as np
import pandas as pd


def number(row: pd.Series) -> str:
    """Return an estimate with its 95% interval, or `undefined`."""
    if np.isnan(row["estimate"]):
        return "undefined"
    estimate, low, high = (_text(row[name]) for name in ("estimate", "low", "high"))
    return f"{estimate} [{low}, {high}]" if np.isfinite(row["low"]) else estimate


def _text(value: float) -> str:
    text = f"{value:.2f}"
    return "0.00" if text == "-0.00" else text


def spread(
    frame: pd.DataFrame, estimate: str = "estimate", low: str = "low", high: str = "high"
) -> np.ndarray:
    """Return the lengths of error bars, shape (2, row); 0 where there is no interval.

    A share of 0 or 1 is an end of its own interval; rounding may put it 1e-17 outside.
    """
    lengths = np.array([frame[estimate] - frame[low], frame[high] - frame[estimate]], dtype=float)
    return np.clip(np.nan_to_num(lengths), 0, None)


def last(frame: pd.DataFrame, rule: str) -> pd.DataFrame:
    """Return the rows of a rule at its last horizon, without the text of the method."""
    some = frame[frame["rule"] == rule]
    return some[some["horizon"] == some["horizon"].max()].drop(columns="method")
