"""The grammar of an experiment's axes: values and generators of values, expanded to lists."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    PlainValidator,
    Tag,
    model_validator,
)

from fittest.cells import REDRAWN
from fittest.errors import choices, suggestion
from fittest.interventions import number_text, parse_intervention
from fittest.protocol import Strict

_MOST_VALUES = 10_000

LAST_EMBEDDING = 2**31 - 1
"""Greatest index of a shared embedding."""


class Range(Strict):
    """Whole numbers from the first to the last, both included."""

    range: list[int] = Field(min_length=2, max_length=3)
    """[first, last] or [first, last, step]."""

    @model_validator(mode="after")
    def _sane(self) -> Range:
        first, last, *step = self.range
        if last < first:
            raise ValueError(f"range {self.range} is empty: write [first, last] with first ≤ last")
        if step and step[0] < 1:
            raise ValueError(f"range {self.range} has step {step[0]}: a step is at least 1")
        if (last - first) // (step[0] if step else 1) >= _MOST_VALUES:
            raise ValueError(f"range {self.range} has more than {_MOST_VALUES} values")
        return self

    def values(self) -> list[int]:
        """Return the numbers."""
        first, last, *step = self.range
        return list(range(first, last + 1, *step))


class Primes(Strict):
    """The primes from the first to the last number, both included."""

    primes: list[Annotated[int, Field(ge=2, le=100_000)]] = Field(min_length=2, max_length=2)
    """[first, last]."""

    @model_validator(mode="after")
    def _some(self) -> Primes:
        if not self.values():
            raise ValueError(f"primes {self.primes} is empty: no prime lies in that range")
        return self

    def values(self) -> list[int]:
        """Return the primes."""
        first, last = self.primes
        return [n for n in range(first, last + 1) if all(n % m for m in range(2, int(n**0.5) + 1))]


Spaced = Annotated[
    list[float], Field(min_length=3, max_length=3, description="[first, last, how many]")
]


class Linspace(Strict):
    """Evenly spaced numbers, ends included."""

    linspace: Spaced

    @model_validator(mode="after")
    def _whole(self) -> Linspace:
        _check_count(self.linspace)
        return self

    def values(self) -> list[float]:
        """Return the numbers."""
        return _spaced(np.linspace, self.linspace)


class Geomspace(Strict):
    """Numbers evenly spaced on a log scale, ends included; both ends are positive."""

    geomspace: Spaced

    @model_validator(mode="after")
    def _positive(self) -> Geomspace:
        if min(self.geomspace[:2]) <= 0:
            raise ValueError(f"geomspace {self.geomspace}: both ends must be above 0")
        _check_count(self.geomspace)
        return self

    def values(self) -> list[float]:
        """Return the numbers."""
        return _spaced(np.geomspace, self.geomspace)


def _check_count(spec: list[float]) -> None:
    count = spec[2]
    if not 1 <= count <= _MOST_VALUES or count != int(count):
        raise ValueError(
            f"{spec} asks for {number_text(count)} values: the third number is a whole number, "
            f"1 … {_MOST_VALUES}"
        )


def _spaced(function: Any, spec: list[float]) -> list[float]:
    first, last, count = spec
    return [float(x) for x in function(first, last, int(count))]


def _tag(value: Any) -> str:
    if isinstance(value, dict) and len(value) == 1:
        return str(next(iter(value)))
    return "mapping" if isinstance(value, dict) else "value"


class _Unknown(Strict):
    """Stands for a mapping that is no generator, so that the message can say so."""


class _As:
    """Metadata that has pydantic read a field as the type given, whatever its annotation says."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return handler.generate_schema(self.kind)


def listed(scalar: Any, **generators: Any) -> _As:
    """Read one key: a value, a generator, or a list of both, kept as a list."""

    def known(value: Any) -> Any:
        for item in value if isinstance(value, list) else [value]:
            if generators and isinstance(item, dict) and _tag(item) not in generators:
                written = list(item)
                raise ValueError(
                    f"unknown generator {written}. Allowed here: {choices(generators)}, one to a "
                    "mapping." + (suggestion(written[0], generators) if written else "")
                )
        return value if isinstance(value, list) else [value]

    items: Any = Annotated[scalar, Tag("value")]
    for name, model in generators.items():
        items = items | Annotated[model, Tag(name)]
    if generators:
        items = Annotated[items, Discriminator(_tag)]
    several = Annotated[list[items], Field(min_length=1)]
    return _As(Annotated[several, BeforeValidator(known, json_schema_input_type=items | several)])


_Floats = Annotated[list, listed(float, linspace=Linspace, geomspace=Geomspace)]


def _not_negative(key: str, items: list) -> None:
    for value in expand(items):
        if value < 0:
            raise ValueError(f"{key} {number_text(value)} is negative: write 0 or more")


class ScaleSweep(Strict):
    """`scale-K-FACTOR` for every factor."""

    class Values(Strict):
        """What is scaled, and by how much."""

        frequency: int = Field(ge=1)
        """The circle that is scaled."""

        factor: _Floats
        """Multipliers of its two rows of the spectrum."""

        @model_validator(mode="after")
        def _sane(self) -> ScaleSweep.Values:
            _not_negative("factor", self.factor)
            return self

    scale: Values

    def values(self) -> list[str]:
        """Return the interventions' texts."""
        return [f"scale-{self.scale.frequency}-{number_text(x)}" for x in expand(self.scale.factor)]


class ConstructSweep(Strict):
    """`construct-PHASE-RATIO` for every ratio."""

    class Values(Strict):
        """What is constructed."""

        phase: Literal["circle", "line"] = "circle"
        """`circle`: orthonormal directions; `line`: one direction for both halves."""

        ratio: _Floats
        """Signal of the second circle over the first's."""

        @model_validator(mode="after")
        def _sane(self) -> ConstructSweep.Values:
            _not_negative("ratio", self.ratio)
            return self

    # The alias is the key of the file: pydantic's models have a method `construct` already.
    built: Values = Field(alias="construct")

    def values(self) -> list[str]:
        """Return the interventions' texts."""
        return [f"construct-{self.built.phase}-{number_text(x)}" for x in expand(self.built.ratio)]


def _intervention(text: Any) -> Any:
    return parse_intervention(text).text if isinstance(text, str) else text


def _embedding(value: Any) -> int | str:
    if value != REDRAWN and (type(value) is not int or not 0 <= value <= LAST_EMBEDDING):
        raise ValueError(
            f"unknown embedding {value!r}. Allowed: {REDRAWN!r} or an index 0, 1, 2, …."
            + suggestion(value, [REDRAWN])
        )
    return value


_Embedding = Annotated[
    int | str,
    PlainValidator(
        _embedding, json_schema_input_type=Annotated[int, Field(ge=0)] | Literal["redrawn"]
    ),
]
_Size = Annotated[int, Field(ge=1, le=100_000)]


class Axes(Strict):
    """One entry for each experiment axis: a value, a generator, or a list of both."""

    p: Annotated[list, listed(Annotated[int, Field(ge=3, le=1000)], range=Range, primes=Primes)] = (
        Field(default=[59])
    )
    """Modulus, 3 or more; even and composite ones are allowed (they have ⌊(p - 1)/2⌋ circles)."""

    d: Annotated[list, listed(_Size, range=Range)] = Field(default=[128])
    """Embedding dimension."""

    weight_decay: Annotated[
        list,
        listed(Annotated[float, Field(ge=0, le=1e3)], linspace=Linspace, geomspace=Geomspace),
    ] = Field(default=[0.5])
    """Decoupled weight decay."""

    width: Annotated[list, listed(_Size, range=Range)] = Field(default=[100])
    """Neurons in each hidden layer."""

    embedding: Annotated[list, listed(_Embedding, range=Range)] = Field(default=[0])
    """Index of a shared base embedding, or `redrawn`: each trial draws its own."""

    intervention: Annotated[
        list,
        listed(
            Annotated[str, BeforeValidator(_intervention)],
            scale=ScaleSweep,
            construct=ConstructSweep,
        ),
    ] = Field(default=["none"])
    """What is done to the initial embedding."""

    def expanded(self) -> dict[str, list]:
        """Return the values of every axis, in the order written, each as its path spells it."""
        out = {name: expand(getattr(self, name)) for name in type(self).model_fields}
        out["weight_decay"] = [float(number_text(x)) for x in out["weight_decay"]]
        out["embedding"] = [str(x) for x in out["embedding"]]
        return out


def expand(items: list) -> list:
    """Return the values of a list of values and generators."""
    values: list = []
    for item in items:
        values.extend(item.values() if hasattr(item, "values") else [item])
    return values
