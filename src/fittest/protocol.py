"""A protocol: a named set of everything that shapes a trial and is not an axis.

The engine is not part of it: which program trains a trial is chosen at run time and recorded.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from fittest.errors import choices, suggestion


class Strict(BaseModel):
    """A model that refuses unknown keys by name and never converts one type to another."""

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            allowed = [field.alias or name for name, field in cls.model_fields.items()]
            for key in data:
                if key not in allowed:
                    raise ValueError(
                        f"unknown key {key!r}. Allowed: {choices(allowed)}."
                        + suggestion(key, allowed)
                    )
        return data


class Init(Strict):
    """How parameters are drawn."""

    embedding: Literal["normal"] = "normal"
    """Entries of the embedding: `normal` is N(0, 1)."""

    mlp: Literal["uniform", "normal"] = "uniform"
    """Every weight and bias of the MLP: `uniform` on ±1/√fan_in (the protocol behind the published
    numbers), `normal` is N(0, 1) (as the paper's App. E says)."""


class Optimizer(Strict):
    """The optimiser and its numbers. Weight decay is an axis, not a protocol value."""

    name: Literal["adamw"] = "adamw"
    """`adamw`: decoupled weight decay on every trained parameter, biases included."""

    lr: float = Field(default=0.01, gt=0, le=1e6)
    """Learning rate."""

    betas: list[Annotated[float, Field(ge=0, lt=1)]] = Field(
        default=[0.9, 0.999], min_length=2, max_length=2
    )
    """Decay rates of the two moments."""

    eps: float = Field(default=1e-8, gt=0, le=1)
    """Added to the root of the second moment."""


class Recording(Strict):
    """At which steps a trial is recorded. The last step always is."""

    dense_until: int = Field(default=1000, ge=0)
    """Record at every step from 0 to this one."""

    every: int = Field(default=100, ge=1)
    """After that, record at every multiple of this many steps."""

    gradients: int = Field(default=150, ge=0)
    """About how many log-spaced steps record the embedding's gradient in the Fourier basis."""

    snapshots: list[Annotated[int, Field(ge=0)]] = [0, 100, 300, 1000, 3000, 10000, 15000, 30000]
    """Steps at which the embedding of a block's first trial is stored whole."""

    networks: int = Field(default=0, ge=0)
    """The whole network of a block's first trial is stored at every multiple of this many steps,
    and at step 0 and the last; 0: never. At the defaults a network takes 200 kB."""


DTYPES = {"float32": "float32", "float64": "float64", "tf32": "float32"}
"""Arithmetic of a protocol → type in which its numbers are stored."""


class Protocol(Strict):
    """Everything else that shapes a trial (method: Sec. 2 and App. E of the paper)."""

    family: Literal["mlp"] = "mlp"
    """Network family. `mlp`: [E_a, E_b] → width → width → p, biases everywhere."""

    operation: Literal["addition"] = "addition"
    """The modular operation: `addition` is c = (a + b) mod p."""

    activation: Literal["silu", "relu"] = "silu"
    """Activation of both hidden layers."""

    init: Init = Init()
    """How parameters are drawn."""

    optimizer: Optimizer = Optimizer()
    """The optimiser and its numbers."""

    loss: Literal["exact", "naive"] = "exact"
    """Form of the cross-entropy. `exact` keeps the true class's gradient in float32; `naive` is the
    framework's own, which loses it, for showing what it does."""

    arithmetic: Literal["float32", "float64", "tf32"] = "float32"
    """Floating-point type of parameters, activations and moments. `tf32` is float32 whose matrix
    products are rounded to TF32; only the torch engine on a GPU from Ampere on can do it."""

    steps: int = Field(default=30000, ge=1, le=100_000_000)
    """Optimiser steps."""

    train_share: float = Field(default=0.8, gt=0, lt=1)
    """Share of the p² ordered pairs used for training, drawn without replacement; full batch."""

    frozen: list[Literal["embedding"]] = []
    """What is not trained: neither stepped nor decayed."""

    redraw: list[Literal["mlp", "split"]] = ["mlp", "split"]
    """What is drawn anew for each trial; what is not listed is that of trial 0 in every trial."""

    record: Recording = Recording()
    """What is recorded, and when."""

    @property
    def dtype(self) -> str:
        """The type in which numbers are stored: `float32` or `float64`."""
        return DTYPES[self.arithmetic]

    @property
    def identity(self) -> str:
        """The values that differ from the defaults, as JSON with sorted keys.

        Snakemake compares this text: a key added later with a default retrains nothing.
        """
        return json.dumps(self.model_dump(exclude_defaults=True), sort_keys=True)

    @property
    def without_networks(self) -> Protocol:
        """The same, but that no network is stored: for all but the first trial of a block."""
        record = self.record.model_copy(update={"networks": 0})
        return self.model_copy(update={"record": record})

    @field_validator("frozen", "redraw")
    @classmethod
    def _sorted(cls, names: list[str]) -> list[str]:
        """Sort what has no order, so that two spellings are one protocol."""
        return sorted(names)

    @property
    def full(self) -> str:
        """Every value, as JSON with sorted keys: what a file records."""
        return json.dumps(self.model_dump(), sort_keys=True)
