"""What the report says, gathered from a design, its ledger and its figures."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xarray as xr

from fittest.design import Design
from fittest.errors import FileError
from fittest.figures.registry import FIGURES
from fittest.ledger.verdicts import VERDICTS

MARKS = dict(zip(VERDICTS, ("✓", "✗", "?", "–", "i"), strict=True))
"""Verdict → a mark that tells it apart without colour."""

_PNG = b"\x89PNG\r\n\x1a\n"
_CELLS = ("where", "text", "published", "measured", "sample", "verdict", "sizes", "rule", "note")


@dataclass(frozen=True)
class Shown:
    """A figure as the report shows it.

    image
        Its PNG as a data URI.
    width, height
        Size on the page (CSS pixels): half its own, so that it is sharp on fine screens.
    inputs
        The files it was drawn from, below the results folder.
    """

    name: str
    title: str
    caption: str
    image: str
    width: int
    height: int
    inputs: tuple[str, ...]


def claims_of(ledger: xr.Dataset) -> list[dict[str, Any]]:
    """Return the ledger's rows: texts by name, `id`, and `smaller` where sizes are not the paper's.

    Parameters
    ----------
    ledger
        A ledger file's content.
    """
    rows = []
    for i, name in enumerate(ledger["claim"].values):
        row = {key: str(ledger[key].values[i]) for key in _CELLS}
        other = ledger["as_in_paper"].values[i] == 0
        rows.append(row | {"id": str(name), "smaller": bool(other)})
    return rows


def counts_of(claims: list[dict[str, Any]]) -> dict[str, int]:
    """Return how many claims have each verdict, in the order of verdicts, without zeros."""
    verdicts = [claim["verdict"] for claim in claims]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict in verdicts}


def figure_of(name: str, folder: Path) -> Shown | None:
    """Return a figure of a folder, or None where it was not drawn."""
    image, caption = folder / f"{name}.png", folder / f"{name}.txt"
    if not image.is_file():
        return None
    content = image.read_bytes()
    if content[:8] != _PNG:
        raise FileError(f"{image} is no PNG. Remove it and make it again.")
    width, height = struct.unpack(">II", content[16:24])
    return Shown(
        name,
        FIGURES[name].title,
        caption.read_text(encoding="utf-8").strip() if caption.is_file() else "",
        "data:image/png;base64," + base64.b64encode(content).decode(),
        width // 2,
        height // 2,
        FIGURES[name].inputs,
    )


def protocols_of(design: Design) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Return names of a design's protocols, and for each of their keys the values, in that order.

    Keys inside others are joined by a dot, as `optimizer.lr`.
    """
    flat = {name: _flat(protocol.model_dump()) for name, protocol in design.protocols.items()}
    keys = dict.fromkeys(key for values in flat.values() for key in values)
    return list(flat), [(key, [values[key] for values in flat.values()]) for key in keys]


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, str]:
    out: dict[str, str] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            out |= _flat(value, f"{prefix}{key}.")
        elif isinstance(value, (list, tuple)):
            out[f"{prefix}{key}"] = ", ".join(map(str, value)) or "none"
        else:
            out[f"{prefix}{key}"] = str(value)
    return out
