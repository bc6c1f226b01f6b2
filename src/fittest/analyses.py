"""What is made of each experiment: kinds of tables and statistics, and which it has.

The one place that says so: rules, commands, data dictionary and layout read it. An experiment with
another name is trained, and gets the tables that all get. Imports nothing, so that the workflow can
read it while it plans.
"""

from __future__ import annotations

from dataclasses import dataclass

EVERY_TABLE = ("survival", "rates")
"""Tables of every experiment."""


@dataclass(frozen=True)
class Kind:
    """How files of one kind are made.

    function
        `module:name` of what makes one: a table's returns an `xarray.Dataset`, a statistic's a
        `pandas.DataFrame` with a column `method`.
    reads
        For a table `trajectories` (the function's first argument is the list of all files of the
        experiment), or `first` (a list of the one file that begins its first cell). Otherwise kinds
        of the experiment's tables, each an argument.
    takes
        What of the design a table's function takes as keyword: `thresholds`, `horizons`,
        `by_engine`.
    """

    function: str
    reads: tuple[str, ...]
    takes: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module that makes it."""
        return self.function.partition(":")[0]

    @property
    def from_trajectories(self) -> bool:
        """Whether it reads trajectories and not tables."""
        return self.reads in (("trajectories",), ("first",))


_ALL = ("trajectories",)
_TABLES = "fittest.tables"
_STATISTICS = "fittest.statistics"

TABLES = {
    "survival": Kind(
        f"{_TABLES}.survival:gather_survival", _ALL, ("thresholds", "horizons", "by_engine")
    ),
    "rates": Kind(f"{_TABLES}.rates:survival_rates", ("survival",)),
    "timeline": Kind(f"{_TABLES}.timeline:gather_timeline", _ALL, ("thresholds", "horizons")),
    "trial": Kind(f"{_TABLES}.trial:gather_trial", ("first",), ("thresholds",)),
    "course": Kind(f"{_TABLES}.course:gather_course", _ALL, ("thresholds", "by_engine")),
    "kept": Kind(f"{_TABLES}.kept:gather_kept", _ALL, ("thresholds",)),
    "early": Kind(f"{_TABLES}.early:gather_early", _ALL),
    "fits": Kind(f"{_TABLES}.fits:gather_fits", _ALL, ("thresholds",)),
    "example": Kind(f"{_TABLES}.example:gather_example", ("first",), ("thresholds",)),
}
"""Kind of table → how it is made."""

STATISTICS = {
    "correlation": Kind(f"{_STATISTICS}.correlation:correlation", ("rates", "survival")),
    "decision": Kind(f"{_STATISTICS}.decision:decision", ("timeline",)),
    "comparison": Kind(f"{_STATISTICS}.comparison:comparison", ("course", "survival")),
    "counts": Kind(f"{_STATISTICS}.counts:counts", ("survival",)),
    "kept": Kind(f"{_STATISTICS}.kept:kept", ("kept",)),
    "dynamics": Kind(f"{_STATISTICS}.dynamics:dynamics", ("fits",)),
    "generalisation": Kind(f"{_STATISTICS}.generalisation:generalisation", ("early", "survival")),
    "interactions": Kind(f"{_STATISTICS}.interactions:interactions", ("early", "survival")),
}
"""Kind of statistics → how they are made."""


@dataclass(frozen=True)
class Analysis:
    """What an experiment is analysed along, and what is made of it besides `EVERY_TABLE`.

    varies
        Axes that may have several values: `engine`, `protocol` or one of a cell.
    statistics
        Kinds of statistics.
    tables
        Kinds of tables that figures need and no statistic reads; those that one reads are there.
    compares
        Whether the very same trials are trained in several ways, and the ways are the axis.
    networks
        Whether it needs whole networks, which a protocol must store.
    """

    varies: tuple[str, ...]
    statistics: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    compares: bool = False
    networks: bool = False


ANALYSES = {
    "initial-signal": Analysis(
        ("embedding",),
        ("correlation", "decision", "generalisation", "interactions"),
        ("trial", "example"),
    ),
    "arithmetic": Analysis(("protocol",), ("comparison",), compares=True),
    "engines": Analysis(("engine",), ("comparison",), compares=True),
    "modulus": Analysis(("p",), ("counts",)),
    "modulus-all": Analysis(("p",), ("counts",)),
    "dimension": Analysis(("d",), ("counts",)),
    "weight-decay": Analysis(("weight_decay",), ("counts",)),
    "collaboration": Analysis((), ("kept",), networks=True),
    "ode": Analysis(("d",), ("dynamics",)),
    "width": Analysis(("width",), ("dynamics",)),
}
"""Name of an experiment → what is made of it."""


def tables_of(experiment: str) -> tuple[str, ...]:
    """Return the kinds of tables made of an experiment, what another reads before it."""
    analysis = ANALYSES.get(experiment, Analysis(()))
    kinds: dict[str, None] = {}

    def add(kind: str) -> None:
        if not TABLES[kind].from_trajectories:
            for needed in TABLES[kind].reads:
                add(needed)
        kinds[kind] = None

    for kind in (*EVERY_TABLE, *analysis.tables):
        add(kind)
    for statistic in analysis.statistics:
        for kind in STATISTICS[statistic].reads:
            add(kind)
    return tuple(kinds)


def statistics_of(experiment: str) -> tuple[str, ...]:
    """Return the kinds of statistics made of an experiment."""
    return ANALYSES[experiment].statistics if experiment in ANALYSES else ()
