"""What is made of each experiment known by name: the axes it may vary, its tables, its statistics.

The one place that says so. An experiment with another name is trained, and gets the tables that all
get. Imports nothing, so that the workflow can read it while it plans.
"""

from __future__ import annotations

from dataclasses import dataclass

TABLES = ("survival", "rates")
"""Tables of every experiment."""


@dataclass(frozen=True)
class Analysis:
    """What an experiment is analysed along, and what is made of it besides `TABLES`.

    varies
        Axes that may have several values: `engine`, `protocol` or one of a cell.
    tables, statistics
        Kinds of files.
    compares
        Whether the very same trials are trained in several ways, and the ways are the axis.
    """

    varies: tuple[str, ...]
    tables: tuple[str, ...] = ()
    statistics: tuple[str, ...] = ()
    compares: bool = False


ANALYSES = {
    "initial-signal": Analysis(("embedding",), ("timeline", "trial"), ("correlation", "decision")),
    "arithmetic": Analysis(("protocol",), ("course",), ("comparison",), compares=True),
    "engines": Analysis(("engine",), ("course",), ("comparison",), compares=True),
    "modulus": Analysis(("p",), (), ("counts",)),
    "modulus-all": Analysis(("p",), (), ("counts",)),
    "dimension": Analysis(("d",), (), ("counts",)),
    "weight-decay": Analysis(("weight_decay",), (), ("counts",)),
}
"""Name of an experiment → what is made of it."""
