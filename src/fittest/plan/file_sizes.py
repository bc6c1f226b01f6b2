"""How many bytes a trajectory file will have: what it holds, times how well that compresses.

What it holds follows from `fittest.trajectory_schema.SCHEMA` and the recording. How well each kind
of content compresses, and what a file costs besides, is measured (`python -m
benchmarks.file_sizes`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fittest.cells import Block
from fittest.interventions import Keep, Scale, Unperturbed, parse_intervention
from fittest.protocol import Protocol
from fittest.recording import gradient_steps, network_steps, recorded_steps, snapshot_steps
from fittest.trajectory_schema import NETWORK, SCHEMA, STORED

KINDS = {
    "signal": "signals",
    "mean_signal": "series",
    "train_loss": "series",
    "test_loss": "series",
    "parameter_norm": "series",
    "train_accuracy": "accuracies",
    "test_accuracy": "accuracies",
    "gradient_signal": "gradients",
    "initial_embedding": "embeddings",
    "final_embedding": "embeddings",
    "snapshot_embedding": "embeddings",
    "train_pair": "flags",
    **dict.fromkeys(NETWORK, "networks"),
}
"""Variable → kind of content, each of which compresses in its own way; all others are `numbers`."""


def kind(variable: str, block: Block, protocol: Protocol) -> str:
    """Return the kind of content of a variable in a block's file."""
    if variable == "signal" and "embedding" in protocol.frozen:
        return "constant signals"
    if variable == "initial_embedding" and block.cell.base_index is not None:
        same = isinstance(parse_intervention(block.cell.intervention), Unperturbed | Scale | Keep)
        return "repeated embeddings" if same else "embeddings"
    return KINDS.get(variable, "numbers")


def variables(protocol: Protocol) -> list[str]:
    """Return the variables of a file, whether or not an intervention names circles."""
    stored = protocol.record.networks > 0
    return [name for name, one in SCHEMA.items() if one.only != STORED or stored]


def content(block: Block, protocol: Protocol) -> dict[str, int]:
    """Return the uncompressed bytes of a block's trajectories by kind of content."""
    cell = block.cell
    sizes = {
        "trial": len(block.trials),
        "step": len(recorded_steps(protocol.record, protocol.steps)),
        "frequency": (cell.p - 1) // 2,
        "gradient_step": len(gradient_steps(protocol.record, protocol.steps)),
        "snapshot_step": len(snapshot_steps(protocol.record, protocol.steps)),
        "token": cell.p,
        "dimension": cell.d,
        "pair": cell.p**2,
        "named": 1,  # a few more at most, and a few bytes each
        "network_step": len(network_steps(protocol.record, protocol.steps)),
        "input": 2 * cell.d,
        "neuron_1": cell.width,
        "neuron_2": cell.width,
        "answer": cell.p,
    }
    found: dict[str, int] = {}
    for name in variables(protocol):
        variable = SCHEMA[name]
        dtype = np.dtype(protocol.dtype if variable.dtype == "float" else variable.dtype)
        held = dtype.itemsize * math.prod(sizes[dim] for dim in variable.dims)
        content = kind(name, block, protocol)
        found[content] = found.get(content, 0) + held
    return found


@dataclass(frozen=True)
class Compression:
    """What is left of each kind of content in a file, and what a file costs besides.

    bytes_besides
        Of HDF5 and attributes, for each variable of a file.
    share
        Arithmetic's type → kind of content → stored bytes over uncompressed ones.
    """

    bytes_besides: float
    share: Mapping[str, Mapping[str, float]]

    @classmethod
    def from_results(cls, results: Mapping[str, Any]) -> Compression:
        """Read what `results` wrote."""
        return cls(results["bytes_besides"], results["share"])

    def results(self) -> dict[str, Any]:
        """Return the numbers by name."""
        return {"bytes_besides": self.bytes_besides, "share": self.share}

    def file_bytes(self, block: Block, protocol: Protocol) -> float:
        """Return the bytes of the block's trajectory file."""
        share = self.share[protocol.dtype]
        held = content(block, protocol)
        besides = self.bytes_besides * len(variables(protocol))
        return besides + sum(share[one] * size for one, size in held.items())
