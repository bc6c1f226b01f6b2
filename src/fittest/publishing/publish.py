"""Publishing what is trained of a design: all that is made of it, without the trajectories.

The published folder is laid out as the results of a design are, so the same code makes statistics,
figures, ledger and report from it. It holds a copy of the design as far as it was trained.
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import yaml

from fittest.analyses import statistics_of
from fittest.design import Design, load_design, parse_design
from fittest.errors import DesignError, FileError
from fittest.figures.drawing import draw_figure
from fittest.figures.registry import FIGURES, drawable
from fittest.files import write_text
from fittest.layout import Layout
from fittest.ledger.making import make_ledger
from fittest.making import make_statistics
from fittest.publishing.tables import make_tables
from fittest.publishing.trials import There, missing, trained
from fittest.report.making import make_report
from fittest.yaml_files import read_yaml

log = logging.getLogger("fittest")

IMAGES = ("png",)
"""Formats that a published figure has: its data make the others."""

_COMPARED = ("seed", "survival", "horizons")


def design_of(folder: Path) -> Path:
    """Return the design file of a published folder: `NAME/NAME.yaml`."""
    return folder / f"{folder.name}.yaml"


def published_trials(folder: Path) -> dict[str, int]:
    """Return how many trials of each cell a published folder has, by experiment."""
    if not design_of(folder).is_file():
        return {}
    design = load_design(design_of(folder))
    return {name: experiment.trials for name, experiment in design.experiments.items()}


def missing_of(design_file: Path, root: Path, folder: Path) -> list[Path]:
    """Return trajectory files of a design that are neither there nor published, first trials first.

    Arguments as of `publish`.
    """
    return list(missing(Layout(root, load_design(design_file)), published_trials(folder)))


def publish(design_file: Path, root: Path, folder: Path) -> None:
    """Publish what is trained of a design, adding to what the folder has.

    Parameters
    ----------
    design_file
        The design.
    root
        Its results folder, `RESULTS/DESIGN`, with trajectories; those that are only published may
        be gone.
    folder
        Where to: a folder of the design's name. Until all is made, the old one stands.

    Raises
    ------
    DesignError
        Where what is published is of another design.
    FileError
        Where nothing can be published, or a folder is there that is none of ours.
    """
    source = Layout(root, load_design(design_file))
    if folder.name != design_file.stem:
        raise DesignError(
            f"-o {folder}: results of design {design_file.stem!r} are published in a folder of "
            f"that name. Give {folder.parent / design_file.stem}"
        )
    if folder.exists() and not design_of(folder).is_file():
        raise FileError(
            f"{folder} is there and holds no {design_of(folder).name}: it was not published by "
            "this command. Move it away."
        )
    had = published_trials(folder)
    old = Layout(folder, load_design(design_of(folder))) if had else None
    if old is not None:
        _refuse_another(source.design, old)
    there = {name: trained(source, name) for name in source.design.experiments}
    trials = {name: _whole(source.design, name, found, had) for name, found in there.items()}
    trials = {name: n for name, n in trials.items() if n}
    _say(source.design, trials, had)
    if not trials:
        raise FileError(
            f"nothing to publish: no experiment of {design_file} has a trial in every cell yet. "
            f"Train more: snakemake --profile profiles/local trajectories "
            f"--config design={design_file.stem}"
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as beside:
        new = Path(beside) / folder.name
        _make(design_file, source, there, trials, new, old, had)
        _replace(folder, new, Path(beside) / "before")


def _whole(design: Design, name: str, there: There, had: dict[str, int]) -> int:
    """Return how many trials of every cell are there or published: whole blocks of them."""
    experiment = design.experiments[name]
    size = experiment.block or design.block
    return min(there.trials(had.get(name, 0)), experiment.trials) // size * size


def _refuse_another(design: Design, old: Layout) -> None:
    """Refuse to add to what was published under other settings."""
    for key in _COMPARED:
        _same(key, getattr(design, key), getattr(old.design, key), old.root)
    for name, before in old.design.experiments.items():
        if name not in design.experiments:
            raise DesignError(
                f"{old.root} has experiment {name!r}, and the design has not. Add it, or remove "
                "the published folder to begin anew."
            )
        now = design.experiments[name]
        _same(f"experiments.{name}.axes", now.axes.expanded(), before.axes.expanded(), old.root)
        _same(f"experiments.{name}.protocol", now.protocol, before.protocol, old.root)
        for protocol in before.protocol:
            ours, theirs = design.protocols[protocol], old.design.protocols[protocol]
            _same(f"protocols.{protocol}", ours.identity, theirs.identity, old.root)


def _same(key: str, ours: Any, theirs: Any, folder: Path) -> None:
    if ours != theirs:
        raise DesignError(
            f"{key} is {ours}, and {folder} was published with {theirs}: the two are not mixed. "
            "Give the design another name, or remove the published folder to begin anew."
        )


def _say(design: Design, trials: dict[str, int], had: dict[str, int]) -> None:
    for name, experiment in design.experiments.items():
        more = f", {had[name]} of them before" if had.get(name) else ""
        log.info(
            "%s: %d of %d trials in every cell%s%s",
            name,
            trials.get(name, 0),
            experiment.trials,
            more,
            "" if trials.get(name) else "; not published",
        )


def _make(
    design_file: Path,
    source: Layout,
    there: dict[str, There],
    trials: dict[str, int],
    folder: Path,
    old: Layout | None,
    had: dict[str, int],
) -> None:
    """Make the whole folder: design, tables, and all that follows from them."""
    content = _as_trained(read_yaml(design_file), trials)
    target = Layout(folder, parse_design(content, str(design_file)))
    text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
    write_text(design_of(folder), f"# {design_file.name} as far as it was trained.\n{text}")
    for name in trials:
        make_tables(name, source, there[name], target, old, had.get(name, 0))
    derive(folder)


def derive(folder: Path) -> None:
    """Make statistics, figures, ledger and report of a published folder from its tables."""
    layout = Layout(folder, load_design(design_of(folder)))
    for name in layout.design.experiments:
        for kind in statistics_of(name):
            inputs = layout.statistic_inputs(name, kind)
            make_statistics(kind, layout.statistic(name, kind), inputs=inputs)
        log.info("%s: statistics made", name)
    for name in drawable(layout.design.experiments):
        inputs = [folder / path for path in FIGURES[name].inputs]
        draw_figure(name, inputs, folder / "figures" / name, IMAGES)
    make_ledger(design_of(folder), folder, folder / "claims/claims")
    make_report(design_of(folder), folder, folder / "report.html")


def _as_trained(content: dict[str, Any], trials: dict[str, int]) -> dict[str, Any]:
    """Return the content of a design with the experiments and trials that are published."""
    experiments = {
        name: {**(values or {}), "trials": trials[name]}
        for name, values in content["experiments"].items()
        if name in trials
    }
    return {**content, "experiments": experiments}


def _replace(folder: Path, new: Path, before: Path) -> None:
    """Put a finished folder in place of the one that is there."""
    if folder.exists():
        os.replace(folder, before)
    os.replace(new, folder)
    shutil.rmtree(before, ignore_errors=True)
