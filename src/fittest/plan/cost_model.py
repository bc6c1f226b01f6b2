"""A cost model of training: what a step does, times what each of it costs on a core.

The cost of a step is a constant plus a price for each kind of work, all at least zero, fitted to
measured cells. A recorded step adds a forward pass over the pairs held out, at the same prices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from fittest.plan.products import Size, floor_products, flops, test_products

KINDS = ("step", "mflop", "thousand_activations", "thousand_logits", "thousand_parameters")
"""Kinds of work: the step itself, matrix products, N·h, N·p, and what the optimiser updates."""


def step_work(size: Size) -> list[float]:
    """Return the work of one training step, in the order of `KINDS`."""
    rows = size.rows / 1000
    products = flops(floor_products(size)) / 1e6
    return [1, products, rows * size.width, rows * size.p, size.parameters / 1000]


def record_work(size: Size) -> list[float]:
    """Return the work that recording adds to a step: the forward pass over the pairs held out.

    Its activations and logits go forward only, which is counted as half of a training step's.
    """
    rows = (size.p**2 - size.rows) / 1000 / 2
    return [0, flops(test_products(size)) / 1e6, rows * size.width, rows * size.p, 0]


@dataclass(frozen=True)
class CostModel:
    """Core-milliseconds of each kind of work, in the order of `KINDS`."""

    prices: tuple[float, ...]

    @classmethod
    def fit(cls, sizes: Sequence[Size], core_ms: Sequence[float] | np.ndarray) -> CostModel:
        """Fit to measured core-ms per trial-step, by non-negative least squares.

        Residuals are relative to the measured time, so that small cells count as much as large.
        """
        measured = np.asarray(core_ms, dtype=float)
        work = np.array([step_work(size) for size in sizes])
        # Columns on one scale, which the solver's tolerances want.
        scale = (work / measured[:, None]).max(axis=0)
        prices, _ = nnls(work / measured[:, None] / scale, np.ones(len(measured)))
        return cls(tuple(float(x) for x in prices / scale))

    @classmethod
    def from_results(cls, results: dict[str, float]) -> CostModel:
        """Read what `results` wrote."""
        return cls(tuple(results[f"core_ms_per_{kind}"] for kind in KINDS))

    def results(self) -> dict[str, float]:
        """Return the prices by name."""
        return {f"core_ms_per_{k}": x for k, x in zip(KINDS, self.prices, strict=True)}

    def step_ms(self, size: Size) -> float:
        """Return the core-ms of one step of one trial that is not recorded."""
        return float(np.dot(self.prices, step_work(size)))

    def predict(self, size: Size, steps: int, trials: int, recorded: int = 0) -> float:
        """Return the core-seconds of some trials of `steps` steps, `recorded` of them recorded."""
        extra = float(np.dot(self.prices, record_work(size)))
        return trials * (steps * self.step_ms(size) + recorded * extra) / 1000

    def residuals(
        self, sizes: Sequence[Size], core_ms: Sequence[float] | np.ndarray
    ) -> list[float]:
        """Return predicted over measured time, less one."""
        return [self.step_ms(size) / float(ms) - 1 for size, ms in zip(sizes, core_ms, strict=True)]
