"""Small examples of every file, made up without training and sent through the real functions.

The data dictionary is read from them. Nothing here imports torch.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr

from fittest.analyses import ANALYSES, STATISTICS, TABLES, statistics_of, tables_of
from fittest.cells import Block, Cell
from fittest.design import Survival
from fittest.embeddings import KIND as EMBEDDING
from fittest.embeddings import embedding_dataset
from fittest.figures.registry import FIGURES
from fittest.files import open_dataset, write_dataset
from fittest.fourier import circle_frequencies, mean_signal, signals
from fittest.interventions import Construct, parse_intervention
from fittest.making import function_of
from fittest.protocol import Protocol, Recording
from fittest.provenance import provenance
from fittest.recording import gradient_steps, network_steps, recorded_steps, snapshot_steps
from fittest.survival import RULES
from fittest.trajectories import trajectory_dataset, write_trajectories

TRAINING_ATTRIBUTES = {
    "seed": 0,
    "training_version": 1,
    "engine": "torch",
    "device": "cpu",
    "threads": 1,
    "cpu_capability": "DEFAULT",
    "core_seconds": 0.0,
}
"""What a training job adds to its file, with stand-in values; a test compares a trained file."""

_HORIZON = 4
_STEPS = 8


_CELL = Cell(p=13, d=4, width=2)
_MADE_UP: dict[str, list[tuple[str, Cell]]] = {
    "initial-signal": [("standard", replace(_CELL, embedding=e)) for e in ("0", "1")],
    "arithmetic": [(way, _CELL) for way in ("float64", "float32")],
    "modulus": [("standard", replace(_CELL, p=p)) for p in (11, 13)],
    "modulus-all": [("standard", replace(_CELL, p=p)) for p in (12, 13)],
    "dimension": [("standard", replace(_CELL, d=d)) for d in (2, 3)],
    "weight-decay": [("standard", replace(_CELL, weight_decay=wd)) for wd in (0.0, 0.5)],
    "frozen": [("standard", replace(_CELL, d=d)) for d in (2, 3)],
    "ablation": [
        ("standard", replace(_CELL, intervention=text))
        for text in ("none", "keep-strongest-1-of-base", "keep-strongest-2-of-base")
    ],
    "protocol": [(name, _CELL) for name in ("standard", "relu")],
    "collaboration": [("standard", _CELL)],
    "ode": [("standard", replace(_CELL, d=d)) for d in (4, 13)],
    "width": [("standard", replace(_CELL, width=wide)) for wide in (2, 3)],
    "perturbation": [
        ("standard", replace(_CELL, embedding=e, intervention=f"scale-3-{factor}"))
        for e in ("0", "1")
        for factor in (0.9, 1.1)
    ],
    "construction": [
        ("standard", replace(_CELL, intervention=f"construct-circle-{r}")) for r in (0.5, 1)
    ],
    "gradient": [("standard", _CELL)],
}
"""Experiment → the protocols and cells of which trials are made up, a block each."""
_RULES = {"gradient": "absolute", "svm": "absolute"}
"""Kind of statistics → the only rule it knows, where that is another than `relative`."""
_LIKE = {"engines": "arithmetic"}
"""Experiment → another whose made-up files do for it."""


def examples() -> tuple[dict[str, dict[str, xr.Dataset]], dict[str, tuple[str, pd.DataFrame]]]:
    """Return examples of the tables, statistics and figure data.

    Returns
    -------
    (dict, dict)
        Tables by kind and arithmetic, as a reader gets them: written, then opened; and by path,
        what a CSV file is about and its content.
    """
    tables: dict[str, dict[str, xr.Dataset]] = {}
    statistics: dict[str, tuple[str, pd.DataFrame]] = {}
    with TemporaryDirectory() as folder:
        made = {
            (experiment, arithmetic): _made(Path(folder) / arithmetic, experiment, arithmetic)
            for experiment in _MADE_UP
            for arithmetic in ("float32", "float64")
        }
    for (_, arithmetic), (found, _) in made.items():
        for kind, table in found.items():
            tables.setdefault(kind, {}).setdefault(arithmetic, table)
    for experiment in _MADE_UP:
        for kind, frame in made[experiment, "float32"][1].items():
            path = f"statistics/EXPERIMENT/{kind}.csv"
            statistics.setdefault(path, (_about(kind, frame), frame))
    out = statistics
    for name, figure in FIGURES.items():
        module = import_module(figure.module)
        files = [Path(path) for path in figure.inputs]
        known = [made[_LIKE.get(file.parent.name, file.parent.name), "float32"] for file in files]
        # A table and a statistic may have one name.
        frame = module.data(
            *(
                (t if file.suffix == ".nc" else s)[file.stem]
                for (t, s), file in zip(known, files, strict=True)
            )
        )
        text = f"The data of the figure `{name}`, drawn from " + " and ".join(
            f"`{path}`" for path in figure.inputs
        )
        if "panel" in frame:
            panels = ", ".join(f"`{panel}`" for panel in dict.fromkeys(frame["panel"]))
            text += f". Panels: {panels}; a column that a panel does not use is empty"
        out[f"figures/{name}.csv"] = (text + ".", frame)
    return tables, out


def made_up_experiments() -> tuple[str, ...]:
    """Return the experiments of which there are made-up statistics."""
    return tuple(_MADE_UP)


def statistics_example(experiment: str) -> dict[str, pd.DataFrame]:
    """Return the made-up statistics of an experiment, by kind."""
    with TemporaryDirectory() as folder:
        return _made(Path(folder), experiment, "float32")[1]


def _made(
    folder: Path, experiment: str, arithmetic: str
) -> tuple[dict[str, xr.Dataset], dict[str, pd.DataFrame]]:
    """Return tables of an experiment's made-up trajectories, and in float32 statistics."""
    paths = [
        # An arithmetic is a protocol there, and the same in both.
        _write_made_up(
            folder, cell, name if experiment == "arithmetic" else arithmetic, protocol_name=name
        )
        for name, cell in _MADE_UP[experiment]
    ]
    taken = {"thresholds": Survival(), "horizons": [_HORIZON], "by_engine": False}
    tables: dict[str, xr.Dataset] = {}
    for name in tables_of(experiment):
        kind = TABLES[name]
        inputs: list[Any] = [paths[:1] if kind.reads == ("first",) else paths]
        if not kind.from_trajectories:
            inputs = [tables[read] for read in kind.reads]
        made = function_of(kind)(*inputs, **{key: taken[key] for key in kind.takes})
        tables[name] = _reopened(made, f"{name} table")
    frames: dict[str, pd.DataFrame] = {}
    if arithmetic == "float64":  # tables have its type, statistics do not, and take time
        return tables, frames
    for name in statistics_of(experiment):
        # One rule at one horizon: every row has the same columns, and intervals take time.
        picked = {"rule": [RULES.index(_RULES.get(name, "relative"))], "horizon": [-1]}
        if name == "agreement":  # compares horizons
            del picked["horizon"]
        some = [
            tables[read].isel({d: at for d, at in picked.items() if d in tables[read].dims})
            for read in STATISTICS[name].reads
        ]
        frames[name] = function_of(STATISTICS[name])(*some)
    return tables, frames


def _about(kind: str, frame: pd.DataFrame) -> str:
    """Return which experiments have statistics of a kind, and its rows by name."""
    experiments = [f"`{name}`" for name in ANALYSES if kind in statistics_of(name)]
    text = f"Of {', '.join(experiments)}."
    if "statistic" in frame:
        named = ", ".join(f"`{name}`" for name in dict.fromkeys(frame["statistic"]))
        text += f" Rows: {named}."
    return text


def _write_made_up(
    folder: Path, cell: Cell, arithmetic: str, *, protocol_name: str = "standard"
) -> Path:
    """Write a trajectory file of three made-up trials and return its path."""
    block = Block(protocol_name, cell, 0, 2)
    protocol = Protocol.model_validate(
        {
            "steps": _STEPS,
            "arithmetic": arithmetic,
            "record": Recording(snapshots=[0, 4], networks=4),
        }
    )
    rng = np.random.default_rng(int(cell.embedding))
    trials, p, d = len(block.trials), cell.p, cell.d
    steps = recorded_steps(protocol.record, protocol.steps)
    # Some circles shrink from step to step: the statistics then have something to say.
    life = 0.3 ** (np.arange(len(steps)) / len(steps))
    first = rng.standard_normal((trials, 1, p, d))
    embeddings = first * life[:, None, None]
    kept = rng.integers(1, (p + 1) // 2, (trials, 1))
    wave = np.cos(2 * np.pi * kept * np.arange(p) / p)
    embeddings = embeddings + 3 * wave[:, None, :, None] * (1 - life)[:, None, None]
    shape = (trials, len(steps))
    grads, shots = gradient_steps(protocol.record, _STEPS), snapshot_steps(protocol.record, _STEPS)
    scores = ("train_loss", "test_loss", "train_accuracy", "test_accuracy", "parameter_norm")
    arrays = {
        "signal": signals(embeddings),
        "mean_signal": mean_signal(embeddings),
        "gradient_signal": np.ones((trials, len(grads), len(circle_frequencies(p)))),
        "snapshot_embedding": embeddings[0, shots],
        **{name: np.ones(shape) for name in scores},
    }
    whole = network_steps(protocol.record, _STEPS)
    h = cell.width
    layers = ((2 * d, h), (h,), (h, h), (h,), (h, p), (p,))
    network = [
        embeddings[0, whole],
        *(np.broadcast_to(rng.standard_normal(s), (len(whole), *s)) for s in layers),
    ]
    network = [array.astype(arithmetic) for array in network]
    # Stands for the trainer's Record, whose module imports torch.
    record = SimpleNamespace(
        **{name: array.astype(arithmetic) for name, array in arrays.items()},
        step=np.array(steps),
        gradient_step=np.array(grads),
        snapshot_step=np.array(shots),
        final=SimpleNamespace(embedding=embeddings[:, -1].astype(arithmetic)),
        network_step=np.array(whole),
        networks=SimpleNamespace(arrays=lambda: network),
    )
    dataset = trajectory_dataset(
        block,
        protocol,
        cast(Any, record),
        initial_embedding=first[:, 0],
        train_pairs=np.tile(np.arange(p * p * 3 // 5), (trials, 1)),
        named_frequencies=_named(cell, trials),
        attributes={**TRAINING_ATTRIBUTES, **provenance()},
    )
    path = folder / block.path
    write_trajectories(dataset, path)
    return path


def _named(cell: Cell, trials: int) -> np.ndarray:
    """Return the circles that a cell's intervention names, shape (trial, named)."""
    what = parse_intervention(cell.intervention)
    named = (1, 2) if isinstance(what, Construct) else getattr(what, "frequencies", ())
    return np.tile(np.array(named, dtype=np.int64), (trials, 1))


def trajectory_example() -> xr.Dataset:
    """Return the file of a block of trials."""
    with TemporaryDirectory() as folder:
        return open_dataset(_write_made_up(Path(folder), _CELL, "float32"))


def embedding_example() -> xr.Dataset:
    """Return the file of a shared base embedding."""
    return _reopened(embedding_dataset(0, 5, 2, 0), EMBEDDING)


def _reopened(dataset: xr.Dataset, kind: str) -> xr.Dataset:
    """Return a dataset as a reader gets it: written, then opened."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "example.nc"
        write_dataset(dataset, path, kind)
        return open_dataset(path, kind)
