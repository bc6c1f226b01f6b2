"""From times to results: ratios within rounds, tables, and the file that keeps them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bars import Results
from benchmarks.contestants import Contestant
from fittest.files import write_text
from fittest.plan.products import Size, floor_products, flops


def take_turns(entrants: list[Contestant], rounds: int) -> np.ndarray:
    """Return core-ms per trial-step, shape (rounds, contestants)."""
    return np.array([[entrant.run() for entrant in entrants] for _ in range(rounds)])


def summarise(keys: list[str], times: np.ndarray) -> Results:
    """Return each contestant's time and its ratios to the float64 loop, the floor, torch.compile.

    Parameters
    ----------
    keys
        Of the contestants, `float64_loop` and `floor` among them.
    times
        Shape (rounds, contestants).

    Returns
    -------
    dict
        By key: `core_ms_per_trial_step`; `ratio_to_float64_loop`, how many times faster than that
        loop; `ratio_to_floor`, how many times the floor's time; where `torch_compile` took part
        `ratio_to_torch_compile`, how many times faster than it; `…_least` and `…_most` of each.
    """
    ratios = {
        "ratio_to_float64_loop": times[:, [keys.index("float64_loop")]] / times,
        "ratio_to_floor": times / times[:, [keys.index("floor")]],
    }
    if "torch_compile" in keys:
        ratios["ratio_to_torch_compile"] = times[:, [keys.index("torch_compile")]] / times
    results = {}
    for i, key in enumerate(keys):
        results[key] = {"core_ms_per_trial_step": float(np.median(times[:, i]))}
        for name, ratio in ratios.items():
            results[key] |= {
                name: float(np.median(ratio[:, i])),
                f"{name}_least": float(ratio[:, i].min()),
                f"{name}_most": float(ratio[:, i].max()),
            }
    return results


def product_rate(size: Size, milliseconds: float) -> float:
    """Return the GFLOP/s of a step's matrix products, given what the whole step takes."""
    return flops(floor_products(size)) / milliseconds / 1e6


def table(entrants: list[Contestant], results: Results) -> str:
    """Return the results of a size as an aligned table."""
    head = ("core-ms per trial-step", "", "times faster than float64 loop", "times the floor")
    rows: list[tuple[str, ...]] = [head]
    for entrant in entrants:
        r = results[entrant.key]
        cells = [
            f"{r[name]:.2f} ({r[name + '_least']:.2f}-{r[name + '_most']:.2f})"
            for name in ("ratio_to_float64_loop", "ratio_to_floor")
        ]
        rows.append((entrant.label, f"{r['core_ms_per_trial_step']:.2f}", *cells))
    return "\n".join(f"{a:<32}{b:>8}{c:>32}{d:>22}" for a, b, c, d in rows)


def summary(results: dict[Size, Results], rate: float) -> str:
    """Return one row a size: the native engine against everything else.

    Ratios and GFLOP/s are of the native engine that records every 100 steps, and where two are
    given, first of the one that records every step. `-` is what was not measured.

    Parameters
    ----------
    results
        By size.
    rate
        GFLOP/s of one large product, of which the share is taken.
    """
    head = ("size", "loop ms", "native ms", "over loop", "over compile", "over floor", "GFLOP/s")
    rows: list[tuple[str, ...]] = [head]
    for size, found in results.items():
        dense, sparse = (found.get(key, {}) for key in ("native", "native_sparse_record"))
        time, loop = "core_ms_per_trial_step", "ratio_to_float64_loop"
        speed = "-"
        if time in sparse:
            reached = product_rate(size, sparse[time])
            speed = f"{reached:.1f} ({reached / rate:.0%})"
        rows.append(
            (
                f"({size.p}, {size.d})" + (f" x {size.width}" if size.width != 100 else ""),
                _number(found["float64_loop"].get(time)),
                f"{_number(dense.get(time))} / {_number(sparse.get(time))}",
                f"{_number(dense.get(loop))} / {_number(sparse.get(loop))}",
                _number(sparse.get("ratio_to_torch_compile")),
                _number(sparse.get("ratio_to_floor")),
                speed,
            )
        )
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def merge(path: Path, report: dict[str, Any]) -> None:
    """Write a report; what the file has on what was not measured now stays."""
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    measured = old.get("machine", {}).get("measured", {}) | report["machine"]["measured"]
    merged = old | report
    merged["machine"] = report["machine"] | {"measured": measured}
    write_text(path, json.dumps(merged, indent=2) + "\n")
