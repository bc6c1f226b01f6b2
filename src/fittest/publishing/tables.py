"""Published tables: made from trajectories, or from those and what was published before."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from fittest.analyses import TABLES, tables_of
from fittest.design import Design
from fittest.errors import FileError
from fittest.files import open_dataset, write_dataset
from fittest.layout import Layout
from fittest.making import table
from fittest.publishing.trials import There, needed
from fittest.trajectories import open_trajectories

VERSION = "training_version"
_SAME = ("seed", "protocol_name", "protocol", VERSION)
"""Attributes in which tables that are joined must agree."""


def make_tables(
    experiment: str, source: Layout, there: There, target: Layout, old: Layout | None, had: int
) -> None:
    """Write all tables of an experiment.

    Parameters
    ----------
    experiment
        Its name.
    source
        Design and results folder that hold the trajectories.
    there
        What of them is trained.
    target
        Where the tables go; of its design's experiment, the trials are those to publish.
    old
        What was published before, or None.
    had
        Trials of each cell that `old` has.

    Raises
    ------
    FileError
        Where trajectories and what was published do not belong together.
    """
    trials = target.design.experiments[experiment].trials
    if alone := there.trials() >= trials:  # files alone hold all: what was published is not needed
        had = 0
    for kind in tables_of(experiment):
        made, taken = TABLES[kind], _taken(target.design, experiment, kind)
        old_file = None if alone or old is None else old.table(experiment, kind)
        if not made.from_trajectories:
            inputs = [target.table(experiment, one) for one in made.reads]
            dataset = table(kind, inputs, **taken)
        elif old_file is None:
            files = needed(there.files, 0, trials)
            dataset = _made(kind, files[:1] if made.reads == ("first",) else files, taken)
            dataset = _first(dataset, trials)
        else:
            dataset = open_dataset(old_file, f"{kind} table")
            files = needed(there.files, had, trials)
            if files and made.reads != ("first",):
                new = _first(_made(kind, files, taken), trials)
                dataset = _joined(old_file, dataset, new)
        write_dataset(dataset, target.table(experiment, kind), f"{kind} table")


def _first(dataset: xr.Dataset, trials: int) -> xr.Dataset:
    """Return the first trials of a table; one of a single trial has no such dimension."""
    return dataset.sel(trial=dataset["trial"] < trials) if "trial" in dataset.dims else dataset


def _taken(design: Design, experiment: str, kind: str) -> dict[str, Any]:
    values = {
        "thresholds": design.survival,
        "horizons": design.horizons,
        "by_engine": bool(design.experiments[experiment].engines),
    }
    return {key: values[key] for key in TABLES[kind].takes}


def _made(kind: str, files: Sequence[Path], taken: dict[str, Any]) -> xr.Dataset:
    dataset = table(kind, files, **taken)
    return dataset.assign_attrs({VERSION: _version(files)})


def _version(files: Sequence[Path]) -> int:
    """Return the training version of files; refuse several."""
    versions = {int(np.asarray(open_trajectories(path).attrs[VERSION])) for path in files}
    if len(versions) > 1:
        raise FileError(
            f"{files[0]} and others were trained by versions {sorted(versions)} of the training "
            "code, and are not published together. Remove the older files and train again."
        )
    return versions.pop()


def _joined(path: Path, old: xr.Dataset, new: xr.Dataset) -> xr.Dataset:
    """Return what was published, of a file, and what is new as one table."""
    for name in _SAME:
        ours, theirs = (str(np.asarray(t.attrs.get(name, "unknown"))) for t in (new, old))
        if ours != theirs:
            raise FileError(
                f"{path} was published with {name} {theirs}, and the trajectories have {ours}: "
                "they are not mixed. Publish under another name, or remove the published folder "
                "to begin anew."
            )
    new = new.sel(trial=~new["trial"].isin(old["trial"]))
    for name in old.indexes:
        if name != "trial" and (name not in new.indexes or not new[name].equals(old[name])):
            raise FileError(
                f"{path} was published with other values of {name!r} than the new trajectories "
                "give: they are not joined. Train all trials of every cell, or remove the "
                "published folder to begin anew."
            )
    joined = xr.concat([old, new], "trial", data_vars="all", combine_attrs="override")
    return joined.sortby("trial").assign_attrs(new.attrs)
