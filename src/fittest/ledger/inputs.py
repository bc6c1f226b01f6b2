"""Which files of a design the ledger reads. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path

from fittest.layout import Layout
from fittest.ledger.claims import PAPER, files_read


def statistics_read(layout: Layout) -> dict[str, Path]:
    """Return the statistics that claims read and the design makes: name in a claim → file."""
    made = {path.relative_to(layout.root).as_posix(): path for path in layout.statistics()}
    return {name: made[name] for name in files_read() if name in made}


def tables_read(layout: Layout) -> list[Path]:
    """Return the survival tables of the paper's experiments in the design, for what they cost."""
    return [layout.table(name, "survival") for name in PAPER if name in layout.design.experiments]
