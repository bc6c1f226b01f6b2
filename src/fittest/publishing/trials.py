"""Which trials of an experiment can be published: those that every one of its cells has.

A table is a rectangle. Half a cell would leave holes that read as trials that diverged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fittest.cells import Block
from fittest.layout import Layout


@dataclass(frozen=True)
class There:
    """What lies in a results folder of one experiment.

    files
        Its trajectory files, in the layout's order.
    held
        The trials that files hold, a set for each cell (under a protocol, by an engine).
    """

    files: tuple[Path, ...]
    held: tuple[frozenset[int], ...]

    def trials(self, beside: int = 0) -> int:
        """Return n where trials 0 … n - 1 of every cell are there; of all, the first `beside`."""
        every = frozenset.intersection(*(trials | set(range(beside)) for trials in self.held))
        return next(n for n in range(len(every) + 1) if n not in every)


def trained(layout: Layout, experiment: str) -> There:
    """Return what is trained of an experiment of a layout's design."""
    files: list[Path] = []
    held: dict[Path, set[int]] = {}
    for path in layout.trajectories(experiment):
        trials = held.setdefault(path.parent, set())
        if path.is_file():
            files.append(path)
            trials.update(Block.from_path(path).trials)
    return There(tuple(files), tuple(map(frozenset, held.values())))


def needed(files: tuple[Path, ...], first: int, end: int) -> list[Path]:
    """Return the files with some of the trials `first` … `end` - 1."""
    return [path for path in files if _overlaps(Block.from_path(path), first, end)]


def _overlaps(block: Block, first: int, end: int) -> bool:
    return block.first < end and block.last >= first


def missing(layout: Layout, published: dict[str, int]) -> Iterator[Path]:
    """Yield the trajectory files that a design plans and of which some trial is not published.

    The first trials of all cells come first, so that whatever is done can be published.

    Parameters
    ----------
    layout
        The design and its results folder.
    published
        Experiment → how many trials of each of its cells are.
    """
    for name in layout.design.experiments:
        paths = layout.trajectories(name)
        for path in sorted(paths, key=lambda path: Block.from_path(path).first):
            if Block.from_path(path).last >= published.get(name, 0) and not path.is_file():
                yield path
