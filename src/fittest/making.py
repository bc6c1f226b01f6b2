"""Making a table or statistics file of any kind that `fittest.analyses` names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import xarray as xr

from fittest.analyses import STATISTICS, TABLES, Kind
from fittest.design import load_design
from fittest.errors import DesignError, choices, suggestion
from fittest.files import csv_text, open_dataset, write_dataset, write_text
from fittest.layout import Layout


def function_of(kind: Kind) -> Callable[..., Any]:
    """Return the function that makes files of a kind."""
    module, _, name = kind.function.partition(":")
    return getattr(import_module(module), name)


def make_table(
    name: str,
    output: Path,
    *,
    inputs: Sequence[Path] = (),
    design: Path | None = None,
    experiment: str | None = None,
    results: Path | None = None,
    by_engine: bool = False,
) -> None:
    """Make a table and write it.

    Parameters
    ----------
    name
        A kind of `TABLES`.
    output
        The file to write.
    inputs
        Trajectory files or tables; or none, where `experiment` says whose they are.
    design
        Design file, for what the kind takes of it.
    experiment, results
        An experiment of the design, and the design's results folder (`RESULTS/DESIGN`): the inputs
        are then those of the layout, however many. Engines are an axis where the experiment names
        them.
    by_engine
        Whether the engine is an axis, for tables that take it.

    Raises
    ------
    DesignError
        Where arguments are missing or too many.
    """
    kind = TABLES[name]
    needed = kind.takes or experiment is not None
    if needed and design is None:
        raise DesignError(f"table {name} needs --design FILE, for {' and '.join(kind.takes)}")
    plan = load_design(design) if needed and design is not None else None
    if experiment is not None and plan is not None:
        if inputs or results is None:
            raise DesignError("--experiment goes with --results FOLDER, and instead of inputs")
        if experiment not in plan.experiments:
            raise DesignError(
                f"{design} has no experiment {experiment!r}. Allowed: {choices(plan.experiments)}."
                + suggestion(experiment, plan.experiments)
            )
        inputs = Layout(results, plan).table_inputs(experiment, name)
        by_engine = bool(plan.experiments[experiment].engines)
    taken: dict[str, Any] = {"by_engine": by_engine}
    if plan is not None:
        taken |= {"thresholds": plan.survival, "horizons": plan.horizons}
    write_dataset(
        table(name, inputs, **{key: taken[key] for key in kind.takes}), output, f"{name} table"
    )


def table(name: str, inputs: Sequence[Path], **taken: Any) -> xr.Dataset:
    """Return a table of a kind; `taken` is what the kind takes of the design."""
    kind = TABLES[name]
    what = ["trajectory file" if read == "first" else f"{read} table" for read in kind.reads]
    if kind.reads == ("trajectories",):
        if not inputs:
            raise DesignError(f"table {name} is made from trajectory files, and none is given")
    elif len(inputs) != len(what):
        raise DesignError(
            f"table {name} needs {len(what)} input{'s' if len(what) > 1 else ''}: "
            f"{', '.join(what)}; {len(inputs)} given"
        )
    function = function_of(kind)
    if kind.from_trajectories:
        return function(list(inputs), **taken)
    return function(*map(open_dataset, inputs, what), **taken)


def make_statistics(name: str, output: Path, *, inputs: Sequence[Path]) -> None:
    """Compute the statistics of a kind of `STATISTICS` from its tables, in order, and write them.

    Raises
    ------
    DesignError
        Where other tables are needed.
    """
    write_text(output, csv_text(statistics(name, inputs)))


def statistics(name: str, inputs: Sequence[Path]) -> pd.DataFrame:
    """Return the statistics of a kind from its tables, in order."""
    kind = STATISTICS[name]
    tables = [f"{table} table" for table in kind.reads]
    if len(inputs) != len(tables):
        raise DesignError(f"statistics {name} needs {len(tables)} inputs: {', '.join(tables)}")
    return function_of(kind)(*map(open_dataset, inputs, tables))
