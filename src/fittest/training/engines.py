"""Which engine trains, and on what: chosen at run time, recorded, no part of what a trial is."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from fittest.engine_names import SETTINGS
from fittest.errors import DesignError, choices, suggestion


@dataclass(frozen=True)
class Chosen:
    """An engine, its device, and for the native one the instruction set."""

    engine: str
    device: str
    level: str = ""

    @property
    def gpu(self) -> bool:
        """Whether it trains on a GPU."""
        return self.device != "cpu"

    def attributes(self) -> dict[str, str]:
        """Return what a file records of it."""
        if self.engine == "native":
            return {"engine": "native", "device": _cpu(), "cpu_capability": self.level}
        import torch

        name = f"{self.device} ({torch.cuda.get_device_name(self.device)})" if self.gpu else _cpu()
        capability = torch.backends.cpu.get_cpu_capability()
        return {"engine": "torch", "device": name, "cpu_capability": capability}


def native_levels() -> list[str]:
    """Return the instruction sets the native engine can use here, best first; [] if not built."""
    if importlib.util.find_spec("fittest._native") is None:
        return []
    from fittest import _native

    return _native.levels()


def choose_engine(
    engine: str = "auto", device: str = "auto", arithmetic: str = "float32"
) -> Chosen:
    """Return the engine that trains.

    Parameters
    ----------
    engine
        `auto`: torch where the device is a GPU, else native where it was built, else torch.
        `native-avx512`, `native-avx2`, `native-baseline`: native, with that instruction set.
    device
        `auto` (a GPU where there is one), `cpu`, `cuda` or `cuda:N`.
    arithmetic
        The protocol's.

    Raises
    ------
    DesignError
        Naming what is available, where the one asked for is not; where a GPU is there and cannot
        be used; where the engine's device cannot do the arithmetic.
    """
    chosen = _choose(engine, device)
    if arithmetic == "tf32":
        if not chosen.gpu:
            raise DesignError(
                "the protocol's arithmetic is tf32, which only the torch engine on a GPU can do; "
                f"here the {chosen.engine} engine would train on the CPU. Set `arithmetic: "
                "float32`, or train where there is such a GPU, with engine and device `auto`"
            )
        from fittest.training.gpu import check_tf32

        check_tf32(chosen.device)
    return chosen


def _choose(engine: str, device: str) -> Chosen:
    if engine not in SETTINGS:
        raise DesignError(
            f"unknown engine {engine!r}. Allowed: {choices(SETTINGS)}."
            + suggestion(engine, SETTINGS)
        )
    levels = native_levels()
    if engine.startswith("native"):
        if not levels:
            raise DesignError(
                f"engine {engine!r} was not built: install a C++ compiler (Debian: apt-get install "
                "g++) and install the package again, or use engine 'torch'"
            )
        if device not in ("auto", "cpu"):
            raise DesignError(
                f"engine {engine!r} trains on the CPU, not on {device!r}: use 'torch'"
            )
        return Chosen("native", "cpu", _level(engine, levels))
    device = _device(device)
    if engine == "auto" and device == "cpu" and levels:
        return Chosen("native", "cpu", levels[0])
    return Chosen("torch", device)


def _level(engine: str, levels: list[str]) -> str:
    """Return the instruction set that a native engine's name asks for; refuse one not to be had."""
    asked = engine.partition("-")[2] or levels[0]
    if asked not in levels:
        raise DesignError(
            f"engine {engine!r}: this processor cannot run {asked}. Those it can: "
            f"{choices(f'native-{level}' for level in levels)}; 'native' takes the first"
        )
    return asked


def _device(device: str) -> str:
    """Return the device of a run setting; refuse one that this machine does not have."""
    if device == "cpu" or (device == "auto" and not _may_have_gpu()):
        return "cpu"
    import torch

    count = torch.cuda.device_count()
    if device == "auto":
        if not count:
            return "cpu"
        device = "cuda"
    allowed = ["auto", "cpu", *(["cuda"] if count else []), *(f"cuda:{i}" for i in range(count))]
    if device not in allowed:
        raise DesignError(
            f"device {device!r} is not available here. Allowed on this machine: "
            f"{', '.join(allowed)}"
        )
    from fittest.training.gpu import check_kernels

    check_kernels(device)
    return device


def _may_have_gpu() -> bool:
    """Say whether it is worth importing torch to ask: it takes seconds."""
    return shutil.which("nvidia-smi") is not None or any(Path("/dev").glob("nvidia[0-9]*"))


def _cpu() -> str:
    return f"cpu ({os.cpu_count()} cores)"
