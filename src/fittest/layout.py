"""Where everything of a design lies below its results folder. The one place that names folders."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from fittest.analyses import STATISTICS, TABLES, Kind, statistics_of, tables_of
from fittest.cells import Block, Cell
from fittest.design import Design, blocks
from fittest.interventions import parse_intervention


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
        """A table of an experiment, of a kind in `fittest.analyses.TABLES`."""
        return self.root / "tables" / experiment / f"{kind}.nc"

    def statistic(self, experiment: str, kind: str) -> Path:
        """Statistics of an experiment, of a kind in `fittest.analyses.STATISTICS`."""
        return self.root / "statistics" / experiment / f"{kind}.csv"

    def table_inputs(self, experiment: str, kind: str) -> list[Path]:
        """What a table is made from, in order."""
        return self._inputs(experiment, TABLES[kind])

    def statistic_inputs(self, experiment: str, kind: str) -> list[Path]:
        """The tables that statistics are made from, in order."""
        return self._inputs(experiment, STATISTICS[kind])

    def _inputs(self, experiment: str, made: Kind) -> list[Path]:
        if made.from_trajectories:
            files = self.trajectories(experiment)
            return files[:1] if made.reads == ("first",) else files
        return [self.table(experiment, kind) for kind in made.reads]

    def tables(self) -> list[Path]:
        """All tables of the design."""
        return [
            self.table(name, kind) for name in self.design.experiments for kind in tables_of(name)
        ]

    def statistics(self) -> list[Path]:
        """All statistics of the design."""
        return [
            self.statistic(name, kind)
            for name in self.design.experiments
            for kind in statistics_of(name)
        ]

    def figure(self, name: str, suffix: str) -> Path:
        """A figure's file: `pdf`, `svg`, `png`, its caption `txt`, or `csv`, its data."""
        return self.root / "figures" / f"{name}.{suffix}"
