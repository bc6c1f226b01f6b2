"""What a design's results say, in a few lines: printed at the end of `make quick`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fittest.errors import FileError

RULE = "relative"


def headline(folder: Path) -> str:
    """Return the headline of a design's results folder.

    Raises
    ------
    FileError
        Where the design's statistics are missing, with the command that makes them.
    """
    path = folder / "statistics/initial-signal/correlation.csv"
    places = f"""  Report   {folder / "report.html"}
  Figures  {folder / "figures"}
  Tables   {folder / "tables"}  (NetCDF: xarray.open_dataset(path, engine="h5netcdf"))"""
    if not path.parent.is_dir() and (folder / "report.html").is_file():
        return f"Design {folder.name} has no experiment initial-signal, so no headline.\n\n{places}"
    if not path.is_file():
        raise FileError(f"{path} does not exist. Run `make run DESIGN={folder.name}`.")
    table = pd.read_csv(path)
    last = int(table["horizon"].max())
    rows = table[(table["rule"] == RULE) & (table["horizon"] == last)].set_index("statistic")
    within, pooled = rows.loc["pearson_within"], rows.loc["pearson_pooled"]
    circles, slope = rows.loc["circles"], rows.loc["logistic_slope"]
    chance = {name: _text(rows.loc[name, "baseline"]) for name in rows.index}
    return f"""Does a circle's initial signal decide whether it survives? (design {folder.name})

  Pearson r of initial signal and survival rate at step {last:,}:
    within an embedding, mean  {_estimate(within)}   chance < {chance["pearson_within"]}
    all circles pooled         {_estimate(pooled)}   chance < {chance["pearson_pooled"]}
  Log-odds of survival per standard deviation of signal:  {_estimate(slope)}
  Circles that survive in a trial, mean:  {_estimate(circles)}
  From {int(circles["n_trials"])} trials on {int(circles["n_embeddings"])} embeddings, \
{int(pooled["n_circles"])} circles; survival rule `{RULE}`.
  Brackets: 95% intervals by bootstrap over embeddings. Chance: 97.5% of permutations.

{places}
  Numbers  {path}"""


def _estimate(row: pd.Series) -> str:
    interval = f" [{_text(row['low'])}, {_text(row['high'])}]" if np.isfinite(row["low"]) else ""
    return f"{_text(row['estimate'])}{interval}"


def _text(value: float) -> str:
    return f"{value:.2f}" if np.isfinite(value) else "undefined"
