"""Making the ledger of a design's results, and writing it: NetCDF, CSV and Markdown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from fittest.design import load_design
from fittest.errors import FileError
from fittest.files import csv_text, describe, open_dataset, write_dataset, write_text
from fittest.layout import Layout
from fittest.ledger.cost import training_cost
from fittest.ledger.inputs import statistics_read, tables_read
from fittest.ledger.ledger import COLUMNS, PART_COLUMNS, ledger
from fittest.ledger.page import page
from fittest.provenance import provenance

KIND = "ledger"
_FLAGS = {"as_in_paper": {"flag_values": [0, 1], "flag_meanings": "no yes"}}


def make_ledger(design_file: Path, root: Path, stem: Path) -> None:
    """Judge every claim on the statistics that lie in a results folder.

    Parameters
    ----------
    design_file
        The design that the results come from.
    root
        Its results folder, `RESULTS/DESIGN`. A claim whose files are not there was not run.
    stem
        Path without suffix: `.nc`, `.csv`, `.md` and `-parts.csv`, one row a number, are written.
    """
    layout = Layout(root, load_design(design_file))
    statistics = {
        name: _read(path) for name, path in statistics_read(layout).items() if path.is_file()
    }
    tables = [path for path in tables_read(layout) if path.is_file()]
    opened = (open_dataset(path, "survival table") for path in tables)
    cost = training_cost(opened, layout.design)
    claims, parts = ledger(statistics, layout.design, cost)
    write_dataset(as_dataset(claims, parts), Path(f"{stem}.nc"), KIND)
    write_text(Path(f"{stem}.csv"), csv_text(claims))
    write_text(Path(f"{stem}-parts.csv"), csv_text(parts))
    write_text(Path(f"{stem}.md"), page(claims, layout.design.title or root.name))


def as_dataset(claims: pd.DataFrame, parts: pd.DataFrame) -> xr.Dataset:
    """Return the ledger and its long form as one dataset, along `claim` and `part`."""
    dataset = xr.Dataset(
        coords={
            "claim": ("claim", _text(claims["id"]), describe("claim")),
            "part": ("part", np.arange(len(parts)), describe("number that claims stand on")),
        }
    )
    for dim, frame, meanings in (("claim", claims, COLUMNS), ("part", parts, PART_COLUMNS)):
        prefix = "" if dim == "claim" else "part_"
        for name, meaning in meanings.items():
            column = frame[name]
            values = column.to_numpy() if pd.api.types.is_numeric_dtype(column) else _text(column)
            if name in _FLAGS:
                values = values.astype(np.int8)
            units = "step" if name == "horizon" else "1"
            described = describe(meaning, units, **_FLAGS.get(name, {}))
            dataset[f"{prefix}{name}"] = (dim, values, described)
    return dataset.drop_vars("id").assign_attrs(provenance())


def _text(column: pd.Series) -> np.ndarray:
    return column.astype(str).to_numpy(dtype=object)


def _read(path: Path) -> pd.DataFrame:
    try:
        frame = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read ({error}). Remove it and make it again.") from error
    if "statistic" not in frame:
        raise FileError(f"{path} holds no statistics: there is no column 'statistic'")
    return frame
