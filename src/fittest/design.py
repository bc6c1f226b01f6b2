"""A design: which experiments to run, under which protocols. The only place that knows the grammar.

`load_design` reads and checks a file before anything runs; `schema` is what editors use.
"""

from __future__ import annotations

import itertools
import json
import math
import os
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError, model_validator

from fittest.axes import LAST_EMBEDDING, Axes, expand
from fittest.cells import NAME, REDRAWN, Block, Cell, parse_intervention
from fittest.errors import DesignError, choices, suggestion
from fittest.protocol import Protocol, Strict
from fittest.recording import recorded_steps
from fittest.task import training_pairs_count
from fittest.validation import explain
from fittest.yaml_files import read_yaml

_MOST_CELLS = 100_000
_MOST_RECORDS = 1_000_000
_RESERVED = ("published", "benchmarks")
PAPER_EXPERIMENTS = (
    "initial-signal",
    "gradient",
    "perturbation",
    "construction",
    "modulus",
    "modulus-all",
    "dimension",
    "frozen",
    "weight-decay",
    "ablation",
    "collaboration",
    "ode",
    "protocol",
    "width",
)
"""Names that figures and claims know. Another name is allowed, but not one a letter away."""

VARIES = {"initial-signal": ("embedding",)}
"""Axes that an experiment known to figures and statistics may vary: those it is analysed along."""


class Survival(Strict):
    """Thresholds of the three survival rules; data and labels both read them here."""

    relative: float = Field(default=2.0, gt=0)
    """`relative`: S_k above this many times the mean over all p DFT bins."""

    absolute: float = Field(default=10.0, gt=0)
    """`absolute`: S_k above this signal."""

    retained: float = Field(default=0.1, gt=0)
    """`retained`: S_k above this share of its initial value."""


class Experiment(Strict):
    """A product of axes, trained for some trials a cell."""

    protocol: str = "standard"
    """Name of one of the design's protocols."""

    axes: Axes = Axes()
    """The values on every axis; one left out has its default."""

    trials: int = Field(ge=1, le=1_000_000)
    """Trials a cell: a multiple of the block."""

    block: int | None = Field(default=None, ge=1)
    """Trials a training job, where it differs from the design's."""


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
            problems += [f"experiments.{name}.{m}" for m in self._experiment_problems(name)]
        problems = problems or [*self._horizon_problems(), *self._block_problems()]
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _experiment_problems(self, name: str) -> list[str]:
        experiment = self.experiments[name]
        problems = []
        if name not in PAPER_EXPERIMENTS and (near := suggestion(name, PAPER_EXPERIMENTS, 0.85)):
            problems.append(
                f"name: unknown experiment {name!r}, and too near one the figures know.{near} "
                "Give your own experiment a name of its own"
            )
        problems += _analysis_problems(name, experiment)
        protocol = self.protocols.get(experiment.protocol)
        if protocol is None and self.protocols:
            problems.append(
                f"protocol: unknown protocol {experiment.protocol!r}. Allowed: "
                f"{choices(self.protocols)}." + suggestion(experiment.protocol, self.protocols)
            )
        block = experiment.block or self.block
        if experiment.trials % block:
            low = experiment.trials // block * block
            near_counts = f"{low} or {low + block}" if low else str(block)
            problems.append(
                f"trials: {experiment.trials} is not on the grid of blocks of {block}. "
                f"Nearest: {near_counts}; or set this experiment's block"
            )
        axes = experiment.axes.expanded()
        for axis, values in axes.items():
            twice = [v for v, count in Counter(values).items() if count > 1]
            if twice:
                problems.append(f"axes.{axis}: {twice[0]} stands twice: name each value once")
        problems += [f"axes.{m}" for m in _range_problems(axes)]
        if (count := math.prod(len(values) for values in axes.values())) > _MOST_CELLS:
            return [*problems, f"axes: {count} cells are too many: at most {_MOST_CELLS}"]
        if not problems:
            for p, d, text in itertools.product(axes["p"], axes["d"], axes["intervention"]):
                try:
                    parse_intervention(text).check(p, d)
                except DesignError as error:
                    problems.append(f"axes.intervention: {text!r}: {error}")
                    break
        if not problems and protocol is not None:
            for p in axes["p"]:
                count = training_pairs_count(p, protocol.train_share)
                if not 1 <= count < p * p:
                    problems.append(
                        f"protocol: train_share {protocol.train_share} of the {p * p} pairs at "
                        f"p = {p} is {count}: leave at least one pair each for training and test"
                    )
        return problems

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

    def _block_problems(self) -> list[str]:
        grid: dict[tuple[str, Cell], tuple[str, int]] = {}
        for name, experiment in self.experiments.items():
            block = experiment.block or self.block
            for cell in cells(experiment):
                other, size = grid.setdefault((experiment.protocol, cell), (name, block))
                if size != block:
                    return [
                        f"experiments.{name}.block: {block}, but experiment {other!r} shares the "
                        f"cell {cell.path} in blocks of {size}. Give both the same block"
                    ]
        return []


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
    return problems


def _analysis_problems(name: str, experiment: Experiment) -> list[str]:
    """Refuse before training what the experiment's own statistics would refuse after it."""
    if name not in VARIES:
        return []
    problems = [
        f"axes.{axis}: {name} varies {' and '.join(VARIES[name])} only, not {axis}. Give one "
        "value, or give the experiment another name"
        for axis, items in experiment.axes
        if axis not in VARIES[name] and len(expand(items)) > 1
    ]
    if REDRAWN in expand(experiment.axes.embedding):
        problems.append(
            f"axes.embedding: {name} compares shared embeddings, and {REDRAWN!r} shares none. Give "
            "indices, or give the experiment another name"
        )
    return problems


def _range_problems(axes: dict[str, list]) -> list[str]:
    """Check what generators made: a field's own limits only see values that were written out."""
    limits = {"p": (3, 1000), "d": (1, 100_000), "width": (1, 100_000), "weight_decay": (0, 1e3)}
    problems = []
    for axis, (low, high) in limits.items():
        bad = [v for v in axes[axis] if not low <= v <= high]
        if bad:
            problems.append(f"{axis}: {bad[0]} is outside {low} … {high:g}")
    for value in axes["embedding"]:
        if value != REDRAWN and int(value) < 0:
            problems.append(f"embedding: {value} is negative: indices start at 0")
        if value != REDRAWN and int(value) > LAST_EMBEDDING:
            problems.append(f"embedding: {value} is too great: at most {LAST_EMBEDDING}")
    return problems


def cells(experiment: Experiment) -> list[Cell]:
    """Return the cells of an experiment: the product of its axes, the last axis fastest."""
    axes = experiment.axes.expanded()
    return [Cell(*values) for values in itertools.product(*axes.values())]


def blocks(design: Design, name: str) -> list[Block]:
    """Return the blocks of an experiment, cell by cell."""
    experiment = design.experiments[name]
    size = experiment.block or design.block
    return [
        Block(experiment.protocol, cell, first, first + size - 1)
        for cell in cells(experiment)
        for first in range(0, experiment.trials, size)
    ]


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
