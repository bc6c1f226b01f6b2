"""Small examples of every file, made up without training and sent through the real functions.

The data dictionary is read from them. Nothing here imports torch.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import xarray as xr

from fittest import comparison, counts, statistics
from fittest.cells import Block, Cell
from fittest.course import gather_course
from fittest.design import Survival
from fittest.embeddings import KIND as EMBEDDING
from fittest.embeddings import embedding_dataset
from fittest.figures.registry import FIGURES
from fittest.files import open_dataset, write_dataset
from fittest.fourier import circle_frequencies, mean_signal, signals
from fittest.protocol import Protocol, Recording
from fittest.provenance import provenance
from fittest.recording import gradient_steps, recorded_steps, snapshot_steps
from fittest.survival import survival_rates
from fittest.tables import gather_survival, gather_timeline, gather_trial
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


def examples() -> tuple[dict[str, dict[str, xr.Dataset]], dict[str, tuple[str, pd.DataFrame]]]:
    """Return examples of the tables, statistics and figure data.

    Returns
    -------
    (dict, dict)
        Tables by kind and arithmetic, as a reader gets them: written, then opened; and by path,
        what a CSV file is about and its content.
    """
    tables: dict[str, dict[str, xr.Dataset]] = {}
    with TemporaryDirectory() as folder:
        for arithmetic in ("float32", "float64"):
            paths = [_write_made_up(Path(folder) / arithmetic, i, arithmetic) for i in (0, 1)]
            survival = gather_survival(paths, Survival(), [_HORIZON])
            for kind, table in {
                "survival": survival,
                "rates": survival_rates(survival),
                "timeline": gather_timeline(paths, Survival(), [_HORIZON]),
                "trial": gather_trial(paths[0], 0, Survival()),
            }.items():
                tables.setdefault(kind, {})[arithmetic] = _reopened(table, f"{kind} table")
        ways = [_write_made_up(Path(folder), 0, way, way) for way in ("float64", "float32")]
        course = gather_course(ways, Survival())
        tables["course"] = {"float32": _reopened(course, "course table")}
        compared = gather_survival(ways, Survival(), [_HORIZON])
        sizes = [_write_made_up(Path(folder), 0, "float32", d=d) for d in (2, 3)]
        along = gather_survival(sizes, Survival(), [_HORIZON])
    latest = {kind: list(versions.values())[-1] for kind, versions in tables.items()}
    # One rule at one horizon: every row has the same columns, and intervals take time.
    latest |= {kind: latest[kind].isel(rule=[0], horizon=[-1]) for kind in ("survival", "rates")}
    frames = {
        "correlation": statistics.correlation(latest["rates"], latest["survival"]),
        "decision": statistics.decision(latest["timeline"]),
        "comparison": comparison.comparison(latest["course"], compared),
        "counts": counts.counts(along),
    }
    named = {
        kind: ", ".join(f"`{name}`" for name in dict.fromkeys(frames[kind]["statistic"]))
        for kind in ("correlation", "comparison", "counts")
    }
    texts = {
        "correlation": f"Rows, each per rule and horizon: {named['correlation']}.",
        "decision": "One row per rule, horizon and step.",
        "counts": "Of experiments that vary one numeric axis. Rows, each per rule and horizon: "
        f"{named['counts']}.",
        "comparison": "Of experiments that train the same trials in several ways, by the rule "
        f"`relative`. Rows of each way, or of each pair `way` and `other`: {named['comparison']}.",
    }
    out = {f"statistics/EXPERIMENT/{kind}.csv": (texts[kind], frames[kind]) for kind in frames}
    known = latest | frames
    for name, figure in FIGURES.items():
        module = import_module(figure.module)
        frame = module.data(*(known[Path(path).stem] for path in figure.inputs))
        text = f"The data of the figure `{name}`, drawn from " + " and ".join(
            f"`{path}`" for path in figure.inputs
        )
        if "panel" in frame:
            panels = ", ".join(f"`{panel}`" for panel in dict.fromkeys(frame["panel"]))
            text += f". Panels: {panels}; a column that a panel does not use is empty"
        out[f"figures/{name}.csv"] = (text + ".", frame)
    return tables, out


def _write_made_up(
    folder: Path, embedding: int, arithmetic: str, protocol_name: str = "standard", d: int = 4
) -> Path:
    """Write a trajectory file of three made-up trials and return its path."""
    cell = Cell(p=13, d=d, width=2, embedding=str(embedding))
    block = Block(protocol_name, cell, 0, 2)
    protocol = Protocol.model_validate(
        {"steps": _STEPS, "arithmetic": arithmetic, "record": Recording(snapshots=[0, 4])}
    )
    rng = np.random.default_rng(embedding)
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
    # Stands for the trainer's Record, whose module imports torch.
    record = SimpleNamespace(
        **{name: array.astype(arithmetic) for name, array in arrays.items()},
        step=np.array(steps),
        gradient_step=np.array(grads),
        snapshot_step=np.array(shots),
        final=SimpleNamespace(embedding=embeddings[:, -1].astype(arithmetic)),
    )
    dataset = trajectory_dataset(
        block,
        protocol,
        cast(Any, record),
        initial_embedding=first[:, 0],
        train_pairs=np.tile(np.arange(100), (trials, 1)),
        named_frequencies=np.empty((trials, 0), dtype=np.int64),
        attributes={**TRAINING_ATTRIBUTES, **provenance()},
    )
    path = folder / block.path
    write_trajectories(dataset, path)
    return path


def trajectory_example() -> xr.Dataset:
    """Return the file of a block of trials."""
    with TemporaryDirectory() as folder:
        return open_dataset(_write_made_up(Path(folder), 0, "float32"))


def embedding_example() -> xr.Dataset:
    """Return the file of a shared base embedding."""
    return _reopened(embedding_dataset(0, 5, 2, 0), EMBEDDING)


def _reopened(dataset: xr.Dataset, kind: str) -> xr.Dataset:
    """Return a dataset as a reader gets it: written, then opened."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "example.nc"
        write_dataset(dataset, path, kind)
        return open_dataset(path, kind)
