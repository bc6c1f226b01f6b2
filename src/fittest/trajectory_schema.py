"""What a trajectory file holds: every variable with its dimensions, type, name and units.

docs/data-dictionary.md is generated from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fittest.files import FLAG, describe


@dataclass(frozen=True)
class Variable:
    """One variable of a file: dims, dtype (`float` is that of the arithmetic), name and units.

    `only` says where it is present, if not everywhere.
    """

    dims: tuple[str, ...]
    dtype: str
    long_name: str
    units: str = "1"
    flag: bool = False
    only: str = ""

    @property
    def always(self) -> bool:
        """Whether every file has it."""
        return not self.only

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes it is written with."""
        return describe(self.long_name, self.units, **(FLAG if self.flag else {}))


_NAMED = "where the intervention names circles"
STORED = "where networks are stored"
"""Where the variables of whole networks are present."""

SCHEMA = {
    "trial": Variable(("trial",), "int64", "trial number within the cell"),
    "step": Variable(("step",), "int64", "optimiser steps done", "step"),
    "frequency": Variable(("frequency",), "int64", "Fourier frequency k of a circle", "1/p"),
    "gradient_step": Variable(("gradient_step",), "int64", "optimiser steps done", "step"),
    "snapshot_step": Variable(("snapshot_step",), "int64", "optimiser steps done", "step"),
    "token": Variable(("token",), "int64", "token (row of the embedding)"),
    "dimension": Variable(("dimension",), "int64", "embedding dimension (column)"),
    "pair": Variable(("pair",), "int64", "ordered pair (a, b) as a·p + b"),
    "signal": Variable(
        ("trial", "step", "frequency"), "float", "signal S_k, norm of F_k", "embedding unit"
    ),
    "mean_signal": Variable(
        ("trial", "step"), "float", "mean signal over all p DFT bins", "embedding unit"
    ),
    "train_loss": Variable(("trial", "step"), "float", "mean loss on training pairs", "nat"),
    "test_loss": Variable(("trial", "step"), "float", "mean loss on test pairs", "nat"),
    "train_accuracy": Variable(("trial", "step"), "float", "share of training pairs right"),
    "test_accuracy": Variable(("trial", "step"), "float", "share of test pairs right"),
    "parameter_norm": Variable(
        ("trial", "step"), "float", "Euclidean norm of all parameters", "parameter unit"
    ),
    "gradient_signal": Variable(
        ("trial", "gradient_step", "frequency"),
        "float",
        "norm of the DFT of the loss's gradient by the embedding",
        "nat/embedding unit",
    ),
    "initial_embedding": Variable(
        ("trial", "token", "dimension"), "float", "embedding at step 0", "embedding unit"
    ),
    "final_embedding": Variable(
        ("trial", "token", "dimension"), "float", "embedding at the last step", "embedding unit"
    ),
    "snapshot_embedding": Variable(
        ("snapshot_step", "token", "dimension"),
        "float",
        "embedding of the block's first trial",
        "embedding unit",
    ),
    "train_pair": Variable(("trial", "pair"), "int8", "pair is for training", flag=True),
    "named_frequency": Variable(
        ("trial", "named"),
        "int64",
        "circles that the intervention resolved to, in the order named",
        "1/p",
        only=_NAMED,
    ),
    "named": Variable(("named",), "int64", "place among the circles named", only=_NAMED),
    "network_step": Variable(
        ("network_step",), "int64", "optimiser steps done", "step", only=STORED
    ),
    "input": Variable(
        ("input",), "int64", "input of the network: dimensions of E_a, then of E_b", only=STORED
    ),
    "neuron_1": Variable(("neuron_1",), "int64", "neuron of the first hidden layer", only=STORED),
    "neuron_2": Variable(("neuron_2",), "int64", "neuron of the second hidden layer", only=STORED),
    "answer": Variable(("answer",), "int64", "answer c, a class of the output", only=STORED),
    **{
        f"network_{name}": Variable(
            ("network_step", *dims),
            "float",
            f"{what} of the block's first trial",
            unit,
            only=STORED,
        )
        for name, dims, what, unit in (
            ("embedding", ("token", "dimension"), "embedding", "embedding unit"),
            ("w1", ("input", "neuron_1"), "weights of the first layer", "parameter unit"),
            ("b1", ("neuron_1",), "biases of the first layer", "parameter unit"),
            ("w2", ("neuron_1", "neuron_2"), "weights of the second layer", "parameter unit"),
            ("b2", ("neuron_2",), "biases of the second layer", "parameter unit"),
            ("w3", ("neuron_2", "answer"), "weights of the last layer", "parameter unit"),
            ("b3", ("answer",), "biases of the last layer", "parameter unit"),
        )
    },
}
"""Name → variable."""

LAYERS = ("input", "neuron_1", "neuron_2", "answer")
"""The layers of a network, each a dimension."""

NETWORK = tuple(f"network_{name}" for name in ("embedding", "w1", "b1", "w2", "b2", "w3", "b3"))
"""The variables of a whole network, in the order of `fittest.training.arrays.Parameters`."""
