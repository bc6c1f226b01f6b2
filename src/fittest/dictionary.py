"""The data dictionary: what every file holds, read from the schema and from files really made.

Names, dims, types and units are those of `fittest.examples`. Only the meaning of attributes and of
CSV columns is written here, and one without a meaning is an error.
"""

from __future__ import annotations

import pandas as pd
import xarray as xr

from fittest.cells import AXES
from fittest.embeddings import KIND as EMBEDDING
from fittest.examples import embedding_example, examples, trajectory_example
from fittest.trajectory_schema import SCHEMA

ATTRIBUTES = {
    "title": "one line for people",
    "kind": "what the file is; readers check it",
    "schema_version": "version of the file format; readers refuse another",
    "complete": "`yes`, written last: a file without it is refused",
    "protocol_name": "name of the protocol in the design; of several, joined by commas",
    "protocol": "every value of the protocol, as JSON; of several, by name",
    "along": "`protocol` or `engine`: what the ways of a course table are",
    "p": "modulus",
    "d": "embedding dimension",
    "weight_decay": "decoupled weight decay",
    "width": "neurons in each hidden layer",
    "embedding": "index of the shared base embedding, or `redrawn`",
    "intervention": "intervention on the initial embedding, or `none`",
    "embedding_index": "index of the shared base embedding",
    "dtype": "type of the trained numbers, `float32` or `float64`",
    "seed": "the design's seed, the root of every draw",
    "training_version": "version of the training code's numbers",
    "engine": "program that trained",
    "device": "device it trained on",
    "threads": "CPU threads of the job",
    "cpu_capability": "instruction set used on the CPU",
    "core_seconds": "processor time of the job's training, in seconds",
    "created": "time of writing, UTC, ISO 8601",
    "git_revision": "revision of the code, `-dirty` if edited, or `unknown`",
    "host": "name of the machine",
    "versions": "versions of Python and the main packages",
}
"""Attribute of a file → meaning."""

COLUMNS = {
    "statistic": "which number, see above",
    "rule": "survival rule",
    "horizon": "step at which survival is evaluated, or last step that the number is about",
    "estimate": "the number",
    "low": "lower end of its 95% interval, or the least where `method` says so",
    "high": "upper end of its 95% interval, or the most where `method` says so",
    "baseline": "what chance gives",
    "p_value": "p value, where there is one",
    "n_embeddings": "embeddings it comes from",
    "n_trials": "trials it comes from",
    "n_circles": "(embedding, circle) points it comes from",
    "method": "how estimate, interval and baseline were made",
    "step": "optimiser steps done",
    "auc": "ROC AUC of the signal as predictor of survival, mean over trials",
    "panel": "part of the figure that the row belongs to",
    "frequency": "Fourier frequency k of the circle",
    "survived": "1 survived, 0 died, -1 missing; of a histogram, whose it is",
    "gradient_signal": "norm of the DFT of the loss's gradient by the embedding (nats/embedding "
    "unit)",
    "signal": "signal S_k (embedding unit)",
    "initial_signal": "signal S_k at step 0 (embedding unit)",
    "token": "token (row of the embedding)",
    "x": "first coordinate in the plane (embedding unit)",
    "y": "second coordinate in the plane (embedding unit)",
    "index": "place of the singular value or plane, from 0",
    "value": "value on the axis; in `figure_3`, singular value of the centred embedding, in "
    "`figure_1`, entry of the embedding at step 0 (embedding unit)",
    "axis": "axis that the experiment varies",
    "n_values": "values on the axis that it comes from",
    "prime": "1 where the modulus is prime",
    "angle": "largest principal angle between the two planes (degrees)",
    "ambiguous": "1 where nearly equal singular values make the pairing arbitrary",
    "token_increment": "token increment Δ between neighbours on the circle",
    "embedding": "index of the shared base embedding",
    "rate": "survival rate",
    "rate_low": "lower end of its Wilson 95% interval",
    "rate_high": "upper end of its Wilson 95% interval",
    "trials": "trials in which the circle exists, or that have so many circles",
    "way": "arithmetic (protocol) or engine; of a pair, the first",
    "other": "second of the pair",
    "decile": "decile of initial signal, 1 the weakest",
    "trial": "trial number",
    "train_loss": "mean training loss (nats)",
    "circles": "number of surviving circles",
    "against": "horizon that the earlier one is compared with",
    "model": "predictors that were fitted: one alone, or all `together`",
    "predictor": "predictor that the coefficient belongs to",
    "predicted": "mean probability of survival predicted for the circles of the bin",
    "standard_error": "standard error of the estimate, clustered by embedding",
    "n_planes": "pairs of principal axes it comes from",
    "dimension": "embedding dimension (column)",
    "fate": "circles that it is a mean of: `survived` or `died`",
    "set": "kept set of circle i: `one` {i}; `two` {strongest, i}; `three` {strongest, third "
    "strongest survivor, i}; `all`: the whole network",
    "kept": "circles in the kept set; -1 where too few survive to make it",
    "loss": "mean loss on all pairs (nats)",
    "distance": "largest relative difference of signal among a trial's survivors",
    "p": "modulus",
    "d": "embedding dimension",
    "experiment": "experiment of App. C: `O`, `A`, `B`, `C`, `D`, or `ACD-OB`, the mean "
    "of three minus that of two",
    "n_censored": "trials or pairs of them, among `n_trials`, in which the low loss is not reached",
    "n_left_out": "pairs of trials besides `n_trials` in which neither reaches it",
    "protocol": "name of the protocol",
    "mlp": "how the protocol draws the MLP",
    "activation": "activation of the protocol",
    "arithmetic": "arithmetic of the protocol, and form of its loss",
    "test_loss": "test loss (nats): of a trial, the largest in a window of steps; in `protocol`, "
    "median over trials",
    "test_accuracy": "test accuracy, mean over trials",
    "low_quartile": "lower quartile of test loss over trials (nats)",
    "high_quartile": "upper quartile of test loss over trials (nats)",
    "median": "median over trials of the largest test loss in a window of steps (nats)",
    "fit": "kind of differential equation",
    "d_range": "values of the axis that a row pools, empty where it is about one of them",
    "n_least": "fewest trials of any group (value of the axis, embedding or cell) that has some; in "
    "`frozen.csv` and `rank.csv` of any at all",
    "n_fitted": "fewest trials that a fit had",
    "n_comparisons": "coefficients between survivors, or pairs of trials that share one",
    "path": "`observed`, or what tells the signal: the rollout of a fit, or a closed form",
    "source": "frequency k of the circle that acts",
    "source_survived": "1 if that circle survived, 0 died, -1 missing",
    "coefficient": "what the source does to the circle (per step)",
    "r_squared": "R² of the change of a signal in one step, mean over circles",
    "distance": "in `arithmetic`, largest relative difference of signal among a trial's survivors; "
    "of a perturbed circle, its initial signal minus the mean of the others (embedding unit), and "
    "of a fifth, where it begins",
    "factor": "factor by which the circle's initial signal was multiplied",
    "ratio": "initial signal of the second constructed circle over the first's",
    "n_draws": "pairs of circles drawn that it comes from; trials at several ratios share them",
    "update": "optimiser update i, whose gradient it is about",
    "gradient": "gradient (S_k(i) - S_k(i-1))/S_k(0) of update i; of a bin, its mean",
    "bin_low": "lower edge of the bin",
    "bin_high": "upper edge of the bin",
    "recipe": "how the support vector machine was trained and tested",
    "d": "embedding dimension",
}
"""Column of a CSV file → meaning (unit)."""

_PREAMBLE = """# Data dictionary

Generated by `fittest dictionary`; don't edit it by hand. A test keeps the two equal.

HDF5 and NetCDF files open with `xarray.open_dataset(path, engine="h5netcdf")`, or with
`fittest.open_dataset(path)`, which refuses an incomplete file and says how to remake it. In the
tables below, type `float` is that of the trial's arithmetic (float32 unless the protocol says
float64), unit `1` is dimensionless, and "embedding unit" is the unit of the embedding's entries,
whose initial standard deviation is 1. A *flag* is an int8: 0 no, 1 yes, -1 missing (its fill value;
xarray shows it as NaN). A circle that does not exist at a cell's p is missing, never dead.

Paths are below `results/DESIGN/`. A step, horizon or update counts optimiser updates; what is
recorded at step t is evaluated with the parameters after t updates, 0 being initialisation.
"""
_TABLE_NOTE = """In the tables of an experiment, an axis with several values is a dimension (shown
here: `embedding`), and an axis with one value is a scalar coordinate.
"""


def data_dictionary() -> str:
    """Return the data dictionary as Markdown that ends in a newline."""
    tables, frames = examples()
    embedding = embedding_example()
    axes = "/".join(f"{short}~…" for short in AXES.values())
    parts = [
        _PREAMBLE,
        f"## Embeddings: `embeddings/p~P/d~D/{EMBEDDING}~INDEX.h5`\n",
        "A shared base embedding and its DFT over tokens. One file for each (p, d, index).\n",
        *_found_variables({"float64": embedding}),
        f"\n## Trajectories: `trajectories/PROTOCOL/{axes}/trials~FIRST-LAST.h5`\n",
        "The recorded life of one block of trials of one cell.\n",
        _row("variable", "dims", "type", "unit", "meaning"),
        "|---|---|---|---|---|",
        *(
            _row(
                f"`{name}`",
                ", ".join(v.dims),
                "flag" if v.flag else v.dtype,
                v.units,
                v.long_name + (f" (only {v.only})" if v.only else ""),
            )
            for name, v in SCHEMA.items()
        ),
        f"\n## Tables: `tables/EXPERIMENT/{{{','.join(tables)}}}.nc`\n",
        _TABLE_NOTE,
    ]
    attributes = {*trajectory_example().attrs, *embedding.attrs}
    for kind, versions in tables.items():
        parts += [f"### `{kind}.nc`\n", *_found_variables(versions), ""]
        attributes |= set(versions["float32"].attrs)
    parts += [
        "## Attributes of HDF5 and NetCDF files\n",
        "Each file has those that apply to it: a trajectory all but `embedding_index`.\n",
        _row("attribute", "meaning"),
        "|---|---|",
        *(_row(f"`{name}`", ATTRIBUTES[name]) for name in sorted(attributes, key=_place)),
        "",
    ]
    parts += ["## Statistics and figure data: CSV, numbers to nine significant digits\n"]
    for path, (text, frame) in frames.items():
        parts += [f"### `{path}`\n", text + "\n", *_found_columns(frame), ""]
    return "\n".join(parts).rstrip("\n") + "\n"


def _place(attribute: str) -> int:
    """Return the attribute's place in `ATTRIBUTES`; an error where it has none there."""
    if attribute not in ATTRIBUTES:
        raise KeyError(f"no meaning in fittest.dictionary.ATTRIBUTES for {attribute!r}")
    return list(ATTRIBUTES).index(attribute)


def _found_variables(versions: dict[str, xr.Dataset]) -> list[str]:
    """Return the rows of a table of variables; a type that follows the arithmetic is `float`."""
    rows = [_row("variable", "dims", "type", "unit", "meaning"), "|---|---|---|---|---|"]
    first = next(iter(versions.values()))
    order = [*first.dims, *(name for name in first.variables if name not in first.dims)]
    for name in order:
        variable = first[name]
        types = {_type(dataset[name]) for dataset in versions.values()}
        kind = types.pop() if len(types) == 1 else "float"
        dims = ", ".join(map(str, variable.dims)) or "—"
        rows.append(
            _row(f"`{name}`", dims, kind, variable.attrs["units"], variable.attrs["long_name"])
        )
    return rows


def _type(variable: xr.DataArray) -> str:
    if "flag_values" in variable.attrs:
        return "flag"
    return "text" if variable.dtype.kind in "OUST" else str(variable.dtype)


def _found_columns(frame: pd.DataFrame) -> list[str]:
    rows = [_row("column", "meaning"), "|---|---|"]
    for column in frame.columns:
        if column not in COLUMNS:
            raise KeyError(f"no meaning in fittest.dictionary.COLUMNS for {column!r}")
        rows.append(_row(f"`{column}`", COLUMNS[column]))
    return rows


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"
