"""One training job: a block of trials, from its path and protocol to its trajectory file."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import numpy as np
import torch

from fittest.cells import Block
from fittest.embeddings import read_embedding
from fittest.errors import DesignError, FileError
from fittest.progress import Progress, duration
from fittest.protocol import Protocol
from fittest.provenance import provenance
from fittest.training.arrays import initial_state
from fittest.training.ensemble import train_ensemble
from fittest.training.version import TRAINING_VERSION
from fittest.trajectories import open_trajectories, trajectory_dataset, write_trajectories

log = logging.getLogger("fittest")


def train_block(
    path: Path,
    protocol: Protocol,
    seed: int,
    *,
    embedding_file: Path | None = None,
    base_file: Path | None = None,
    device: str = "auto",
    threads: int = 1,
) -> None:
    """Train the block that a path spells and write its trajectory file there.

    Parameters
    ----------
    path
        The trajectory file; its tail spells protocol name, cell and trials.
    protocol, seed
        The protocol's values and the design's seed.
    embedding_file
        File of the shared base embedding; drawn from the seed when None.
    base_file
        Trajectory file of the same trials without intervention, where the intervention is resolved
        from it.
    device
        `auto` (a GPU where there is one), `cpu`, `cuda` or `cuda:N`.
    threads
        Trials trained at once on the CPU. A trial does not depend on it.

    Raises
    ------
    DesignError, FileError
        Before any training, where the path, device or an input file cannot be used.
    """
    block = Block.from_path(path)
    cell = block.cell
    device = choose_device(device)
    embedding = signal = None
    if embedding_file is not None and cell.base_index is not None:
        embedding = read_embedding(embedding_file, seed, cell.p, cell.d, cell.base_index)
    if base_file is not None:
        signal = _final_signal(base_file, block)
    start = initial_state(
        cell,
        protocol,
        seed,
        block.trials,
        base_embedding=embedding,
        base_final_signal=signal,
    )
    name = f"embedding {cell.embedding}, trials {block.first}-{block.last}"
    log.info("%s: %s on %s, %d steps", name, block.path, device, protocol.steps)
    began, cpu = time.monotonic(), time.process_time()
    record = train_ensemble(
        start.parameters,
        start.train_pairs,
        protocol,
        weight_decay=cell.weight_decay,
        device=device,
        threads=threads,
        progress=Progress(name, protocol.steps * len(block.trials)),
    )
    dataset = trajectory_dataset(
        block,
        protocol,
        record,
        initial_embedding=start.parameters.embedding,
        train_pairs=start.train_pairs,
        named_frequencies=start.named_frequencies,
        attributes={
            "seed": seed,
            "training_version": TRAINING_VERSION,
            "engine": "torch",
            "device": _device_name(device),
            "threads": threads,
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "core_seconds": time.process_time() - cpu,
            **provenance(),
        },
    )
    write_trajectories(dataset, path)
    log.info("%s: done in %s", name, duration(time.monotonic() - began))


def choose_device(device: str) -> str:
    """Return the torch device of a run setting; refuse one that this machine does not have."""
    count = torch.cuda.device_count()
    if device == "auto":
        return "cuda" if count else "cpu"
    allowed = ["auto", "cpu", *(["cuda"] if count else []), *(f"cuda:{i}" for i in range(count))]
    if device not in allowed:
        raise DesignError(
            f"device {device!r} is not available here. Allowed on this machine: "
            f"{', '.join(allowed)}"
        )
    return device


def _device_name(device: str) -> str:
    if device == "cpu":
        return f"cpu ({os.cpu_count()} cores)"
    return f"{device} ({torch.cuda.get_device_name(device)})"


def _final_signal(path: Path, block: Block) -> np.ndarray:
    base = open_trajectories(path)
    if list(base["trial"].values) != list(block.trials):
        raise FileError(f"{path} does not hold trials {block.first}-{block.last}. Remove it.")
    return base["signal"].isel(step=-1).values
