"""An experiment: a product of axes, trained for some trials a cell; and what is wrong with one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field

from fittest.analyses import ANALYSES
from fittest.axes import LAST_EMBEDDING, Axes, expand, listed
from fittest.cells import REDRAWN, Cell
from fittest.engine_names import ENGINES
from fittest.errors import DesignError, choices, suggestion
from fittest.interventions import parse_intervention
from fittest.protocol import Protocol, Strict
from fittest.task import training_pairs_count

_MOST_CELLS = 100_000
_MOST_JOBS = 1_000_000

KNOWN = tuple(ANALYSES)
"""Names that figures and claims know. Another name is allowed, but not one a letter away."""


class Experiment(Strict):
    """A product of axes, trained for some trials a cell."""

    protocol: Annotated[list, listed(str)] = Field(default=["standard"])
    """Name of one of the design's protocols, or a list: each cell is trained under each."""

    engines: Annotated[list, listed(str)] = Field(default=[])
    """Engines that train the same trials, for comparing them. Empty: the one of the run settings,
    as for every experiment about networks."""

    axes: Axes = Axes()
    """The values on every axis; one left out has its default."""

    trials: int = Field(ge=1, le=1_000_000)
    """Trials a cell: a multiple of the block."""

    block: int | None = Field(default=None, ge=1)
    """Trials a training job, where it differs from the design's. A cell that experiments share in
    different blocks is trained in blocks of what divides all of them."""

    def cells(self) -> list[Cell]:
        """Return the product of the axes, the last axis fastest."""
        return [Cell(*values) for values in itertools.product(*self.axes.expanded().values())]


def problems_of(
    name: str, experiment: Experiment, protocols: Mapping[str, Protocol], block: int
) -> Iterator[str]:
    """Yield what is wrong with an experiment as `key: message`; `block` is the design's."""
    if name not in KNOWN and (near := suggestion(name, KNOWN, 0.85)):
        yield (
            f"name: unknown experiment {name!r}, and too near one the figures know.{near} "
            "Give your own experiment a name of its own"
        )
    yield from _analysis_problems(name, experiment, protocols)
    yield from _engine_problems(experiment, protocols)
    for protocol in experiment.protocol:
        if protocol not in protocols and protocols:
            yield (
                f"protocol: unknown protocol {protocol!r}. Allowed: "
                f"{choices(protocols)}." + suggestion(protocol, protocols)
            )
    size = experiment.block or block
    if experiment.trials % size:
        low = experiment.trials // size * size
        near_counts = f"{low} or {low + size}" if low else str(size)
        yield (
            f"trials: {experiment.trials} is not on the grid of blocks of {size}. "
            f"Nearest: {near_counts}; or set this experiment's block"
        )
    axes = experiment.axes.expanded()
    for key, values in [
        ("protocol", experiment.protocol),
        ("engines", experiment.engines),
        *((f"axes.{axis}", values) for axis, values in axes.items()),
    ]:
        twice = [v for v, count in Counter(values).items() if count > 1]
        if twice:
            yield f"{key}: {twice[0]} stands twice: name each value once"
    out_of_range = [f"axes.{m}" for m in _range_problems(axes)]
    yield from out_of_range
    if (count := math.prod(len(values) for values in axes.values())) > _MOST_CELLS:
        yield f"axes: {count} cells are too many: at most {_MOST_CELLS}"
    elif (jobs := _jobs(experiment, count, size)) > _MOST_JOBS:
        yield f"trials: {jobs} training jobs are too many: at most {_MOST_JOBS}. Use larger blocks"
    elif not out_of_range:
        yield from _cell_problems(experiment, axes, protocols)


def _jobs(experiment: Experiment, cells: int, block: int) -> int:
    ways = len(experiment.protocol) * max(1, len(experiment.engines))
    return cells * ways * math.ceil(experiment.trials / block)


def _cell_problems(
    experiment: Experiment, axes: dict[str, list], protocols: Mapping[str, Protocol]
) -> Iterator[str]:
    for p, d, text in itertools.product(axes["p"], axes["d"], axes["intervention"]):
        try:
            intervention = parse_intervention(text)
            intervention.check(p, d)
        except DesignError as error:
            yield f"axes.intervention: {text!r}: {error}"
            return
        if intervention.needs_base and experiment.engines:
            yield (
                f"axes.intervention: {text!r} needs the unperturbed trials, which an experiment "
                "that names engines does not have. Leave `engines` out"
            )
            return
    for name, p in itertools.product(experiment.protocol, axes["p"]):
        if name not in protocols:
            continue
        share = protocols[name].train_share
        count = training_pairs_count(p, share)
        if not 1 <= count < p * p:
            yield (
                f"protocol: train_share {share} of the {p * p} pairs at "
                f"p = {p} is {count}: leave at least one pair each for training and test"
            )
            return


def _engine_problems(experiment: Experiment, protocols: Mapping[str, Protocol]) -> Iterator[str]:
    native = [engine for engine in experiment.engines if engine.startswith("native")]
    if "native" in native and len(native) > 1:
        yield (
            f"engines: 'native' is the best instruction set of the machine, and may be the same as "
            f"{native[1] if native[0] == 'native' else native[0]!r}. Name either 'native' or levels"
        )
    for name in experiment.protocol:
        if native and name in protocols and protocols[name].arithmetic == "tf32":
            yield (
                f"engines: {native[0]!r} cannot train protocol {name!r}: tf32 is for 'torch' on a "
                "GPU. Leave the engine or the protocol out"
            )
    for engine in experiment.engines:
        if engine not in ENGINES:
            yield (
                f"engines: unknown engine {engine!r}. Allowed: {choices(ENGINES)}."
                + suggestion(engine, ENGINES)
            )


def _analysis_problems(
    name: str, experiment: Experiment, protocols: Mapping[str, Protocol]
) -> Iterator[str]:
    """Refuse before training what the experiment's own statistics would refuse after it."""
    analysis = ANALYSES.get(name)
    if analysis is None:
        return
    sizes = {axis: len(expand(items)) for axis, items in experiment.axes}
    sizes |= {"protocol": len(experiment.protocol), "engine": len(experiment.engines)}
    for axis, size in sizes.items():
        if axis not in analysis.varies and size > 1:
            key = {"protocol": "protocol", "engine": "engines"}.get(axis, f"axes.{axis}")
            along = f"{' and '.join(analysis.varies)} only, not" if analysis.varies else "not"
            yield (
                f"{key}: {name} varies {along} {axis}. Give one "
                "value, or give the experiment another name"
            )
    if analysis.intervention:
        yield from _intervention_problems(name, analysis.intervention, experiment)
    if "embedding" in analysis.varies and REDRAWN in expand(experiment.axes.embedding):
        yield (
            f"axes.embedding: {name} compares shared embeddings, and {REDRAWN!r} shares none. Give "
            "indices, or give the experiment another name"
        )
    if analysis.compares and all(sizes[axis] < 2 for axis in analysis.varies):
        key = {"protocol": "protocol", "engine": "engines"}[analysis.varies[0]]
        yield f"{key}: {name} compares two or more: name them in a list"
    for protocol in experiment.protocol:
        if analysis.networks and protocol in protocols and not protocols[protocol].record.networks:
            yield (
                f"protocol: {name} needs whole networks, and protocol {protocol!r} stores none. "
                "Give it a protocol with `record: {networks: 100}`, or give the experiment another "
                "name"
            )
    drawn = {
        key: {str(getattr(protocols[p], key)) for p in experiment.protocol if p in protocols}
        for key in ("init", "train_share", "redraw", "steps", "record")
    }
    for key, values in drawn.items():
        if analysis.compares and len(values) > 1:
            yield (
                f"protocol: {name} compares trainings from the same arrays at the same steps, and "
                f"{key} differs ({', '.join(sorted(values))}). Give all the same"
            )


def _intervention_problems(name: str, kind: str, experiment: Experiment) -> Iterator[str]:
    """Refuse interventions of other kinds than an experiment is about, or of several circles."""
    found = [parse_intervention(text) for text in expand(experiment.axes.intervention)]
    for what in found:
        if what.text.partition("-")[0] != kind:
            yield (
                f"axes.intervention: {name} is about {kind!r} interventions, not {what.text!r}. "
                "Leave it out, or give the experiment another name"
            )
            return
    for names, key in (("circles", "frequencies"), ("phases", "phase")):
        if len({getattr(what, key, None) for what in found}) > 1:
            yield (
                f"axes.intervention: {name} compares factors, and these interventions name several "
                f"{names}. Name one, or give the experiment another name"
            )


def _range_problems(axes: dict[str, list]) -> Iterator[str]:
    """Check what generators made: a field's own limits only see values that were written out."""
    limits = {"p": (3, 1000), "d": (1, 100_000), "width": (1, 100_000), "weight_decay": (0, 1e3)}
    for axis, (low, high) in limits.items():
        bad = [v for v in axes[axis] if not low <= v <= high]
        if bad:
            yield f"{axis}: {bad[0]} is outside {low} … {high:g}"
    for value in axes["embedding"]:
        if value != REDRAWN and int(value) < 0:
            yield f"embedding: {value} is negative: indices start at 0"
        if value != REDRAWN and int(value) > LAST_EMBEDDING:
            yield f"embedding: {value} is too great: at most {LAST_EMBEDDING}"
