"""The paper's design at this machine's own pace: `python -m benchmarks.paper_cost`.

As `fittest plan config/designs/paper.yaml`, but with the core time that `python -m
benchmarks.growth` measured here. Nothing is trained.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from benchmarks.costs import ROOT
from benchmarks.growth import RESULTS
from fittest.plan.coefficients import published
from fittest.plan.cost_model import CostModel
from fittest.plan.report import text

DESIGN = ROOT / "config/designs/paper.yaml"
CORES = 2


def main(arguments: list[str] | None = None) -> int:
    """Print the costs; return 1 where growth has not been measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.paper_cost", description=__doc__)
    parser.add_argument("--growth", type=Path, default=RESULTS, help=f"default {RESULTS}")
    parser.add_argument("--torch", action="store_true", help="the torch engine's core time")
    options = parser.parse_args(arguments)

    engine = "torch" if options.torch else "native"
    measured = json.loads(options.growth.read_text()) if options.growth.exists() else {}
    if engine not in measured:
        print(f"{options.growth} has no {engine} engine: run python -m benchmarks.growth first")
        return 1
    about, found = measured["machine"]["measured"][engine], measured[engine]
    off_by = found["residuals_unseen"].values()
    coefficients = replace(
        published(),
        core_time=CostModel.from_results(found["cost_model"]),
        float64=found["float64_over_float32"],
        core_time_off_by=(min(off_by), max(off_by)),
        cpu=about["cpu"],
        level=engine if options.torch else about["native_level"],
        date=about["date"][:10],
    )
    print(text([DESIGN], coefficients, CORES))
    return 0


if __name__ == "__main__":
    sys.exit(main())
