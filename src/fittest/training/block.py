"""One training job: a block of trials, from its path and protocol to its trajectory file."""

from __future__ import annotations

import logging
import time
from pathlib import Path

import numpy as np

from fittest.cells import Block
from fittest.embeddings import read_embedding
from fittest.errors import FileError
from fittest.progress import Progress, duration
from fittest.protocol import Protocol
from fittest.provenance import provenance
from fittest.training.arrays import initial_state
from fittest.training.engines import choose_engine
from fittest.training.ensemble import train_ensemble
from fittest.training.version import TRAINING_VERSION
from fittest.trajectories import (
    open_block,
    protocol_of,
    trajectory_dataset,
    write_trajectories,
)

log = logging.getLogger("fittest")


def train_block(
    path: Path,
    protocol: Protocol,
    seed: int,
    *,
    embedding_file: Path | None = None,
    base_file: Path | None = None,
    engine: str = "auto",
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
    engine
        `auto`, `native`, `native-LEVEL` or `torch`.
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
    chosen = choose_engine(engine, device, protocol.arithmetic)
    embedding = signal = None
    if embedding_file is not None and cell.base_index is not None:
        embedding = read_embedding(embedding_file, seed, cell.p, cell.d, cell.base_index)
    if base_file is not None:
        signal = _final_signal(base_file, block, protocol, seed)
    start = initial_state(
        cell,
        protocol,
        seed,
        block.trials,
        base_embedding=embedding,
        base_final_signal=signal,
    )
    name = f"embedding {cell.embedding}, trials {block.first}-{block.last}"
    log.info(
        "%s: %s by %s on %s, %d steps",
        name,
        block.path,
        f"{chosen.engine} engine{f' ({chosen.level})' if chosen.level else ''}",
        chosen.device,
        protocol.steps,
    )
    if engine == "auto" and chosen.engine == "torch" and not chosen.gpu:
        log.info("the native engine was not built (no C++ compiler at installation): torch serves")
    began, cpu = time.monotonic(), time.process_time()
    record = train_ensemble(
        start.parameters,
        start.train_pairs,
        protocol,
        weight_decay=cell.weight_decay,
        engine=engine,
        device=chosen.device,
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
            "threads": threads,
            **chosen.attributes(),
            "core_seconds": time.process_time() - cpu,
            **provenance(),
        },
    )
    write_trajectories(dataset, path)
    log.info("%s: done in %s", name, duration(time.monotonic() - began))


def _final_signal(path: Path, block: Block, protocol: Protocol, seed: int) -> np.ndarray:
    """Return the final signals of the same trials without intervention, shape (T, K)."""
    base = open_block(path, block.base)
    if protocol_of(base, path) != protocol or int(base.attrs["seed"]) != seed:
        raise FileError(f"{path} was trained with another protocol or seed. Remove it.")
    signal = base["signal"].isel(step=-1).values
    if not np.isfinite(signal).all():
        raise FileError(f"{path} has a trial that diverged: it has no strongest circles")
    return signal
