"""The measured figures that a plan uses; `benchmarks.coefficients` makes the JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fittest.plan.cost_model import CostModel
from fittest.plan.file_sizes import Compression

FILE = Path(__file__).with_name("coefficients.json")


@dataclass(frozen=True)
class Coefficients:
    """What was measured, and on what.

    core_time
        Of the native engine in float32, on one core.
    float64
        How many times longer float64 takes.
    compression
        Of trajectory files.
    core_time_off_by, file_sizes_off_by
        Least and greatest relative error on cells, and on files, that nothing was fitted to.
    cpu, level, date
        Processor, instruction set, and the day that core time was measured.
    """

    core_time: CostModel
    float64: float
    compression: Compression
    core_time_off_by: tuple[float, float]
    file_sizes_off_by: tuple[float, float]
    cpu: str
    level: str
    date: str

    @classmethod
    def from_results(cls, results: dict[str, Any]) -> Coefficients:
        """Read what `benchmarks.coefficients` wrote."""
        time, sizes = results["core_time"], results["file_sizes"]
        return cls(
            CostModel.from_results(time["cost_model"]),
            time["float64_over_float32"],
            Compression.from_results(sizes["compression"]),
            tuple(time["off_by"]),
            tuple(sizes["off_by"]),
            time["measured"]["cpu"],
            time["measured"]["native_level"],
            time["measured"]["date"][:10],
        )


def published() -> Coefficients:
    """Return the figures that come with the package."""
    return Coefficients.from_results(json.loads(FILE.read_text(encoding="utf-8")))
