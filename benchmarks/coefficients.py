"""What `fittest plan` uses of published measurements: `python -m benchmarks.coefficients`.

Writes src/fittest/plan/coefficients.json; a test holds it equal to results/published/benchmarks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.costs import ROOT
from fittest.files import write_text
from fittest.plan.coefficients import FILE

PUBLISHED = ROOT / "results/published/benchmarks"


def coefficients(folder: Path = PUBLISHED) -> dict[str, Any]:
    """Return what the package needs of the measurements in a folder."""
    growth, sizes = (
        json.loads((folder / f"{name}.json").read_text("utf-8"))
        for name in ("growth", "file_sizes")
    )
    native, about = growth["native"], growth["machine"]
    return {
        "core_time": {
            "measured": about["measured"]["native"],
            "cost_model": native["cost_model"],
            "float64_over_float32": native["float64_over_float32"],
            "off_by": _span(x for x in native["residuals_unseen"].values()),
        },
        "file_sizes": {
            "measured": {key: sizes["machine"][key] for key in ("date", "git_revision")},
            "compression": sizes["compression"],
            "off_by": _span(x - 1 for x in sizes["estimated_over_real_unseen"].values()),
        },
    }


def _span(values: Any) -> list[float]:
    found = list(values)
    return [min(found), max(found)]


if __name__ == "__main__":
    write_text(FILE, json.dumps(coefficients(), indent=2) + "\n")
    print(f"written to {FILE}")
