"""A design: which experiments to run, under which protocols. The only place that knows the grammar.

`load_design` reads and checks a file before anything runs; `schema` is what editors use.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from fittest.cells import NAME, Block, Cell
from fittest.errors import DesignError, choices, suggestion
from fittest.experiments import Experiment, problems_of
from fittest.interventions import parse_intervention
from fittest.protocol import Protocol, Strict
from fittest.recording import recorded_steps
from fittest.validation import explain
from fittest.yaml_files import read_yaml

_MOST_RECORDS = 1_000_000
_MOST_NETWORKS = 10_000
_RESERVED = ("published", "benchmarks")


class Survival(Strict):
    """Thresholds of the three survival rules; data and labels both read them here."""

    relative: float = Field(default=2.0, gt=0)
    """`relative`: S_k above this many times the mean over all p DFT bins."""

    absolute: float = Field(default=10.0, gt=0)
    """`absolute`: S_k above this signal."""

    retained: float = Field(default=0.1, gt=0)
    """`retained`: S_k above this share of its initial value."""


class Design(Strict):
    """What to train, and how to judge survival."""

    title: str = ""
    """One line about the design, for people."""

    seed: int = Field(default=0, ge=0, lt=2**63)
    """Root of every random draw."""

    block: int = Field(default=50, ge=1)
    """Trials a training job. Blocks lie on a fixed grid: 0 … block-1, block … 2·block-1, …"""

    horizons: list[Annotated[int, Field(ge=1)]] = Field(
        default=[1000, 4000, 10000, 30000], min_length=1
    )
    """Steps at which tables evaluate survival, up to what was trained; the last step always is."""

    survival: Survival = Survival()
    """Thresholds of the survival rules."""

    protocols: dict[str, Protocol] = Field(default={"standard": Protocol()})
    """Named sets of everything that shapes a trial and is not an axis."""

    experiments: dict[str, Experiment] = Field(min_length=1)
    """The experiments by name."""

    @model_validator(mode="after")
    def _consistent(self) -> Design:
        problems: list[str] = []
        for kind, names in (("protocols", self.protocols), ("experiments", self.experiments)):
            problems += [
                f"{kind}: name {name!r} is not allowed. Names are lower-case words joined by "
                "hyphens, as in 'initial-signal'"
                for name in names
                if not NAME.fullmatch(name)
            ]
        if not self.protocols:
            problems.append(
                "protocols: {} names none. Name one, or leave the key out to have 'standard'"
            )
        if len(set(self.horizons)) < len(self.horizons):
            problems.append(f"horizons: {self.horizons} names a step twice: name each once")
        for name, protocol in self.protocols.items():
            problems += [f"protocols.{name}.{m}" for m in _protocol_problems(protocol)]
        for name in self.experiments:
            problems += [
                f"experiments.{name}.{message}"
                for message in problems_of(name, self.experiments[name], self.protocols, self.block)
            ]
        problems = problems or self._horizon_problems()
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _horizon_problems(self) -> list[str]:
        problems = []
        for name, protocol in self.protocols.items():
            steps = recorded_steps(protocol.record, protocol.steps)
            for horizon in self.horizons:
                if horizon <= protocol.steps and horizon not in steps:
                    nearest = min(steps, key=lambda s: abs(s - horizon))
                    problems.append(
                        f"horizons: {horizon} is not a step that protocol {name!r} records. "
                        f"The nearest is {nearest}"
                    )
        return problems

    @cached_property
    def _block_sizes(self) -> dict[tuple[str, Cell], int]:
        """Protocol and cell → trials a job.

        Experiments that share a cell and differ in block split it by what divides both: each asks
        for whole files, and no trial is trained twice.
        """
        sizes: dict[tuple[str, Cell], int] = {}
        for experiment in self.experiments.values():
            if experiment.engines:  # their trajectories are shared with no other experiment
                continue
            block = experiment.block or self.block
            for key in _shared_keys(experiment):
                sizes[key] = math.gcd(sizes.get(key, 0), block)
        return sizes


def _shared_keys(experiment: Experiment) -> Iterator[tuple[str, Cell]]:
    for protocol, cell in itertools.product(experiment.protocol, experiment.cells()):
        yield protocol, _unperturbed(cell)


def _unperturbed(cell: Cell) -> Cell:
    """Return the cell whose trials an intervention is resolved from, or the cell itself.

    Both are in blocks of one size, since a job reads one file.
    """
    if parse_intervention(cell.intervention).needs_base:
        return replace(cell, intervention="none")
    return cell


def _protocol_problems(protocol: Protocol) -> list[str]:
    problems = []
    for key in ("frozen", "redraw"):
        values = getattr(protocol, key)
        if len(set(values)) < len(values):
            problems.append(f"{key}: {values} names one twice: name each once")
    dense, every = protocol.record.dense_until, protocol.record.every
    if (count := min(dense, protocol.steps) + protocol.steps // every) > _MOST_RECORDS:
        problems.append(
            f"record: dense_until {dense} and every {every} record about {count} of "
            f"{protocol.steps} steps: at most {_MOST_RECORDS}"
        )
    networks = protocol.record.networks
    if networks and (count := protocol.steps // networks) > _MOST_NETWORKS:
        problems.append(
            f"record: networks {networks} stores about {count} networks of a block's first trial: "
            f"at most {_MOST_NETWORKS}"
        )
    return problems


def blocks(design: Design, name: str) -> list[Block]:
    """Return the blocks of an experiment, protocol by protocol and cell by cell."""
    experiment = design.experiments[name]
    own = experiment.block or design.block
    found = []
    for protocol, cell in itertools.product(experiment.protocol, experiment.cells()):
        key = protocol, _unperturbed(cell)
        size = own if experiment.engines else design._block_sizes[key]
        found += [
            Block(protocol, cell, first, first + size - 1)
            for first in range(0, experiment.trials, size)
        ]
    return found


def design_name(path: Path) -> str:
    """Return the name of a design file, which names its results folder; refuse an unusable one."""
    name = path.stem
    if not NAME.fullmatch(name) or name in _RESERVED:
        raise DesignError(
            f"design name {name!r} is not allowed: it names a folder of results. Use lower-case "
            f"words joined by hyphens, other than {choices(_RESERVED)}"
        )
    return name


def load_design(path: str | Path) -> Design:
    """Read and check a design file.

    Raises
    ------
    DesignError
        Naming the file, and for every problem the key, the value, what is allowed and the nearest
        right spelling.
    """
    path = Path(path)
    if not os.path.isfile(path):  # Path.is_file raises for a name that is too long
        there = sorted(p.stem for p in path.parent.glob("*.yaml"))
        raise DesignError(
            f"no design {path}. Allowed: {choices(there)}." + suggestion(path.stem, there)
        )
    design_name(path)
    return parse_design(read_yaml(path), str(path))


def parse_design(data: Any, source: str = "design") -> Design:
    """Check the content of a design file; `source` starts each message."""
    if not isinstance(data, dict):
        raise DesignError(f"{source}: a design is a mapping of keys, not {data!r}")
    try:
        return Design.model_validate(data)
    except ValidationError as error:
        raise DesignError(explain(error, source, data)) from None


def schema() -> str:
    """Return the JSON schema of a design file, as text that ends in a newline."""
    content = Design.model_json_schema(mode="validation")
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def parse_protocol(text: str, source: str) -> Protocol:
    """Check a protocol given as JSON text; `source` starts each message."""
    try:
        data = json.loads(text)
    except ValueError as error:
        raise DesignError(f"{source}: {text!r} is not valid JSON: {error}") from None
    try:
        return Protocol.model_validate(data)
    except ValidationError as error:
        raise DesignError(explain(error, source, data)) from None
