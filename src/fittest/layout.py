"""Where everything of a design lies below its results folder. The one place that names folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fittest.analyses import ANALYSES, TABLES
from fittest.cells import Block, Cell, parse_intervention
from fittest.design import Design, blocks


@dataclass(frozen=True)
class Layout:
    """The files of one design.

    root
        `RESULTS/DESIGN`.
    design
        What is planned.
    """

    root: Path
    design: Design

    def embedding(self, cell: Cell) -> Path:
        """File of the shared base embedding of a cell."""
        return self.root / f"embeddings/p~{cell.p}/d~{cell.d}" / f"embedding~{cell.embedding}.h5"

    def trajectory(self, block: Block, engine: str | None = None) -> Path:
        """Trajectory file of a block; of an engine named for comparison, in a folder of its own."""
        folder = self.root if engine is None else self.root / "engines" / engine
        return folder / "trajectories" / block.path

    def trajectories(self, experiment: str) -> list[Path]:
        """Trajectory files of an experiment, cell by cell."""
        engines: list = self.design.experiments[experiment].engines or [None]
        return [
            self.trajectory(block, engine)
            for engine in engines
            for block in blocks(self.design, experiment)
        ]

    def first_trajectory(self, experiment: str) -> Path:
        """The block that holds trial 0 of an experiment's first cell."""
        return self.trajectories(experiment)[0]

    def inputs(self, block: Block) -> dict[str, Path]:
        """What training a block reads: its shared embedding, and its unperturbed trajectory.

        Raises DesignError where the intervention is not possible at the cell's p and d.
        """
        needed = {}
        intervention = parse_intervention(block.cell.intervention)
        intervention.check(block.cell.p, block.cell.d)
        if block.cell.base_index is not None:
            needed["embedding"] = self.embedding(block.cell)
        if intervention.needs_base:
            needed["base"] = self.trajectory(block.base)
        return needed

    def table(self, experiment: str, kind: str) -> Path:
        """A table of an experiment: `survival`, `rates`, `timeline`, `trial` or `course`."""
        return self.root / "tables" / experiment / f"{kind}.nc"

    def statistic(self, experiment: str, kind: str) -> Path:
        """Statistics of an experiment: `correlation`, `decision`, `comparison` or `counts`."""
        return self.root / "statistics" / experiment / f"{kind}.csv"

    def tables(self) -> list[Path]:
        """All tables of the design."""
        return [
            self.table(name, kind)
            for name in self.design.experiments
            for kind in (*TABLES, *(ANALYSES[name].tables if name in ANALYSES else ()))
        ]

    def statistics(self) -> list[Path]:
        """All statistics of the design."""
        return [
            self.statistic(name, kind)
            for name in self.design.experiments
            if name in ANALYSES
            for kind in ANALYSES[name].statistics
        ]

    def figure(self, name: str, suffix: str) -> Path:
        """A figure's file: `pdf`, `svg`, `png`, or `csv` for the data it was drawn from."""
        return self.root / "figures" / f"{name}.{suffix}"
