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
    "scores": Kind(f"{_TABLES}.scores:gather_scores", _ALL),
    "losses": Kind(f"{_TABLES}.scores:gather_losses", _ALL, ("thresholds",)),
    "rank": Kind(f"{_TABLES}.rank:gather_rank", _ALL),
    "planes": Kind(f"{_TABLES}.planes:gather_planes", _ALL, ("thresholds",)),
    "gradients": Kind(f"{_TABLES}.gradients:gather_gradients", _ALL, ("thresholds",)),
    "kept": Kind(f"{_TABLES}.kept:gather_kept", _ALL, ("thresholds",)),
    "early": Kind(f"{_TABLES}.early:gather_early", _ALL),
    "fits": Kind(f"{_TABLES}.fits:gather_fits", _ALL, ("thresholds",)),
    "example": Kind(f"{_TABLES}.example:gather_example", ("first",), ("thresholds",)),
    "named": Kind(f"{_TABLES}.named:gather_named", _ALL),
}
"""Kind of table → how it is made."""

STATISTICS = {
    "correlation": Kind(f"{_STATISTICS}.correlation:correlation", ("rates", "survival")),
    "decision": Kind(f"{_STATISTICS}.decision:decision", ("timeline",)),
    "comparison": Kind(f"{_STATISTICS}.comparison:comparison", ("course", "survival")),
    "counts": Kind(f"{_STATISTICS}.counts:counts", ("survival",)),
    "frozen": Kind(f"{_STATISTICS}.frozen:frozen", ("scores",)),
    "rank": Kind(f"{_STATISTICS}.rank:rank", ("rank",)),
    "ablation": Kind(f"{_STATISTICS}.ablation:ablation", ("survival", "losses")),
    "protocols": Kind(f"{_STATISTICS}.protocols:protocols", ("survival",)),
    "decay": Kind(f"{_STATISTICS}.decay:decay", ("survival",)),
    "survivors": Kind(f"{_STATISTICS}.survivors:survivors", ("survival", "timeline")),
    "agreement": Kind(f"{_STATISTICS}.agreement:agreement", ("survival",)),
    "predictors": Kind(f"{_STATISTICS}.predictors:predictors", ("survival",)),
    "planes": Kind(f"{_STATISTICS}.planes:planes", ("planes",)),
    "gradients": Kind(f"{_STATISTICS}.gradients:gradients", ("gradients",)),
    "kept": Kind(f"{_STATISTICS}.kept:kept", ("kept",)),
    "dynamics": Kind(f"{_STATISTICS}.dynamics:dynamics", ("fits",)),
    "generalisation": Kind(f"{_STATISTICS}.generalisation:generalisation", ("early", "survival")),
    "interactions": Kind(f"{_STATISTICS}.interactions:interactions", ("early", "survival")),
    "perturbation": Kind(f"{_STATISTICS}.perturbation:perturbation", ("survival",)),
    "construction": Kind(f"{_STATISTICS}.construction:construction", ("survival", "named")),
    "gradient": Kind(f"{_STATISTICS}.gradient:gradient", ("survival",)),
    "svm": Kind(f"{_STATISTICS}.svm:svm", ("survival",)),
    "circularity": Kind(f"{_STATISTICS}.circularity:circularity", ("survival",)),
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
    intervention
        First word of the interventions that it is about; all are of one circle, or one phase.
    """

    varies: tuple[str, ...]
    statistics: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    compares: bool = False
    networks: bool = False
    intervention: str = ""


ANALYSES = {
    "initial-signal": Analysis(
        ("embedding",),
        (
            "correlation",
            "decision",
            "survivors",
            "agreement",
            "predictors",
            "planes",
            "gradients",
            "generalisation",
            "interactions",
        ),
        ("trial", "example"),
    ),
    "arithmetic": Analysis(("protocol",), ("comparison",), compares=True),
    "engines": Analysis(("engine",), ("comparison",), compares=True),
    "modulus": Analysis(("p",), ("counts",)),
    "modulus-all": Analysis(("p",), ("counts",)),
    "dimension": Analysis(("d",), ("counts", "rank", "circularity")),
    "weight-decay": Analysis(("weight_decay",), ("counts", "decay")),
    "frozen": Analysis(("d",), ("frozen",)),
    "ablation": Analysis(("intervention",), ("ablation",)),
    "protocol": Analysis(("protocol",), ("protocols",), ("scores",)),
    "collaboration": Analysis((), ("kept",), networks=True),
    "ode": Analysis(("d",), ("dynamics",)),
    "width": Analysis(("width",), ("dynamics",)),
    "perturbation": Analysis(
        ("embedding", "intervention"), ("perturbation",), intervention="scale"
    ),
    "construction": Analysis(("intervention",), ("construction",), intervention="construct"),
    "gradient": Analysis((), ("gradient", "svm")),
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
