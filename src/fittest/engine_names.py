"""The names of the engines, where a design, a run setting and training can all see them."""

from __future__ import annotations

from typing import Literal, get_args

Level = Literal["avx512", "avx2", "baseline"]
"""Instruction sets of the native engine."""

EngineSetting = Literal[
    "auto", "native", "native-avx512", "native-avx2", "native-baseline", "torch"
]
"""What the run setting `engine` may be; `native` is the best instruction set of the processor."""

LEVELS: tuple[str, ...] = get_args(Level)
SETTINGS: tuple[str, ...] = get_args(EngineSetting)
ENGINES: tuple[str, ...] = SETTINGS[1:]
"""Engines by name: all but `auto`."""
