"""Which representation does a network learn? Ensembles on modular addition, from design to figure.

Names are imported when first used: `import fittest` costs nothing, and only training imports torch.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import Any

_WHERE = {
    "Design": "design",
    "Protocol": "protocol",
    "Cell": "cells",
    "Block": "cells",
    "load_design": "design",
    "open_dataset": "files",
    "open_trajectories": "trajectories",
    "signals": "fourier",
    "circularity": "fourier",
    "survived": "survival",
    "survival_rates": "tables.rates",
    "Parameters": "training.arrays",
    "initial_state": "training.arrays",
    "train_ensemble": "training.ensemble",
    "FittestError": "errors",
    "DesignError": "errors",
    "FileError": "errors",
}
__all__ = sorted([*_WHERE, "__version__"])


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return metadata.version("fittest")
    if name not in _WHERE:
        raise AttributeError(f"module 'fittest' has no attribute {name!r}")
    return getattr(import_module(f"fittest.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return __all__
