"""The ledger: one row a claim, with what was measured, on how much, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isnan, nan
from typing import Any

import pandas as pd

from fittest.design import Design
from fittest.ledger.claim import Claim, Part
from fittest.ledger.claims import CLAIMS, PAPER
from fittest.ledger.cost import Cost
from fittest.ledger.rows import (
    find_row,
    horizon_of,
    number_text,
    sample_text,
    shortage_text,
    value_text,
)
from fittest.ledger.sizes import differences, sizes_text
from fittest.ledger.verdicts import NOT_RUN, REPORTED, combined, number, verdict_of

COLUMNS = {
    "id": "claim",
    "where": "section, figure or appendix of the paper",
    "text": "what is claimed",
    "published": "the paper's value, where it gives one",
    "measured": "the numbers that count, each with its 95% interval",
    "estimate": "the first of them",
    "low": "lower end of its 95% interval",
    "high": "upper end of its 95% interval",
    "sample": "what it comes from",
    "n_trials": "trials it comes from",
    "horizon": "step at which it holds",
    "verdict": "verdict",
    "as_in_paper": "p, d and steps are the paper's",
    "sizes": "what the design trains for it",
    "rule": "when the claim is reproduced",
    "note": "what to know when reading the row",
}
"""Column of the ledger → meaning."""

PART_COLUMNS = {
    "id": "claim",
    "place": "place among the claim's numbers, from 0",
    "text": "what the number is",
    "region": "where it must lie, empty where it does not count",
    "estimate": "the number",
    "low": "lower end of its 95% interval",
    "high": "upper end of its 95% interval",
    "n_trials": "trials it comes from",
    "horizon": "step at which it holds",
    "verdict": "verdict on it",
    "file": "statistics file",
    "statistic": "row of that file",
    "method": "how it was made",
}
"""Column of the ledger's long form, one row a number → meaning."""


def ledger(
    statistics: Mapping[str, pd.DataFrame], design: Design, cost: Cost | None = None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the ledger and its long form.

    Parameters
    ----------
    statistics
        File, as `statistics/EXPERIMENT/KIND.csv` → its content. What is not there was not run.
    design
        What they come from.
    cost
        What training it took, where that is known.

    Returns
    -------
    (pandas.DataFrame, pandas.DataFrame)
        Columns `COLUMNS`, one row for each of `CLAIMS`, and `PART_COLUMNS`, one for each number.
    """
    claims, parts = [], []
    for claim in CLAIMS.values():
        rows = [
            None if part.file not in statistics else find_row(statistics[part.file], part)
            for part in claim.parts
        ]
        verdicts = [verdict_of(part, row) for part, row in zip(claim.parts, rows, strict=True)]
        found = list(zip(claim.parts, rows, verdicts, strict=True))
        measured = _compute(cost) if claim.id == "compute" else _measured(found)
        experiments = _experiments(claim, design)
        run = measured["verdict"] != NOT_RUN
        other = differences(design, experiments) if run else []
        missing = _missing(found, design)
        claims.append(
            {
                "id": claim.id,
                "where": claim.where,
                "text": claim.text,
                "published": claim.published,
                **measured,
                "as_in_paper": int(not other) if run else -1,
                "sizes": sizes_text(design, experiments)
                if claim.parts
                else f"{len(experiments)} of the paper's {len(PAPER)} experiments",
                "rule": claim.rule,
                "note": _note(claim, found, measured["note"], other, missing),
            }
        )
        parts += [_part(claim, place, *one) for place, one in enumerate(found)]
    return (
        pd.DataFrame(claims, columns=list(COLUMNS)),
        pd.DataFrame(parts, columns=list(PART_COLUMNS)),
    )


Found = tuple[Part, dict[str, Any] | None, str]


def _measured(found: Iterable[Found]) -> dict[str, Any]:
    """Return what was measured of a claim, from its parts, their rows and verdicts."""
    judged = [one for one in found if one[0].region is not None]
    texts = [f"{part.text.rstrip(',')}: {value_text(row)}" for part, row, _ in judged if row]
    part, row, _ = judged[0]
    some = next((row for _, row, _ in judged if row), None)
    return {
        "measured": "; ".join(texts),
        **_numbers(row),
        "sample": "" if some is None else sample_text(some),
        "horizon": horizon_of(row, part),
        "verdict": combined(verdict for *_, verdict in judged),
        "note": "",
    }


def _numbers(row: Mapping[str, Any] | None) -> dict[str, float]:
    names = ("estimate", "low", "high", "n_trials")
    return {name: nan if row is None else number(row, name) for name in names}


def _compute(cost: Cost | None) -> dict[str, Any]:
    """Return what training took: core time as the training jobs measured it."""
    if cost is None:
        return dict(_NOTHING)
    elsewhere = f"{cost.elsewhere:,} trials trained on a GPU are not in it. " * bool(cost.elsewhere)
    return {
        "measured": f"core-hours measured: {number_text(cost.core_hours)}; V100-hours calculated, "
        f"at the least: {number_text(cost.v100_hours)}",
        **_numbers({"estimate": cost.core_hours, "n_trials": cost.trials}),
        "sample": f"{cost.trials:,} trials",
        "horizon": nan,
        "verdict": REPORTED,
        "note": "Of the paper's experiments in this design, each trial once. "
        f"{elsewhere}The V100-hours are a calculated bound (fittest plan), not a measurement",
    }


_NOTHING = {"verdict": NOT_RUN, "measured": "", "sample": "", "horizon": nan, "note": ""}


def _experiments(claim: Claim, design: Design) -> list[str]:
    """Return the experiments a claim is about."""
    named = [part.experiment for part in claim.parts]
    return list(dict.fromkeys(named)) or [name for name in PAPER if name in design.experiments]


def _note(
    claim: Claim, found: Iterable[Found], more: str, other: list[str], missing: list[str]
) -> str:
    """Return what to know when reading a row."""
    notes = [claim.note, more]
    if other:
        what = "; ".join(other) if claim.parts else f"{len(other)} differences"
        notes.append(f"Not the paper's sizes: {what}")
    reported, seen = [], {}
    for part, row, verdict in found:
        if row is None:
            continue
        if verdict == REPORTED:
            reported.append(f"{part.text} {value_text(row)}")
            continue
        if lacking := shortage_text(row, part):
            seen[f"Too little for a verdict: {lacking}"] = part
        step = horizon_of(row, part)
        if not isnan(step) and step != part.horizon:
            seen[f"At step {step:,.0f}, and the claim is about step {part.horizon:,}"] = part
    notes += [f"Reported: {', '.join(reported)}" if reported else "", *seen, *missing]
    return ". ".join(text for text in notes if text)


def _missing(found: Iterable[Found], design: Design) -> list[str]:
    """Return why numbers are missing: no such experiment in the design, or no such number."""
    lacking: dict[str, list[str]] = {}
    for part, row, _ in found:
        if row is None and part.experiment not in design.experiments:
            lacking[f"The design has no experiment {part.experiment}"] = []
        elif row is None:
            lacking.setdefault(f"Missing in {part.file}: ", []).append(part.statistic)
    return [why + ", ".join(dict.fromkeys(names)) for why, names in lacking.items()]


def _part(
    claim: Claim, place: int, part: Part, row: dict[str, Any] | None, verdict: str
) -> dict[str, Any]:
    return {
        "id": claim.id,
        "place": place,
        "text": part.text,
        "region": "" if part.region is None else str(part.region),
        **_numbers(row),
        "horizon": horizon_of(row, part),
        "verdict": verdict,
        "file": part.file,
        "statistic": part.statistic,
        "method": "" if row is None else str(row.get("method", "")),
    }
