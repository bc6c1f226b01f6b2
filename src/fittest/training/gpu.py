"""What a GPU must be able to do: run the installed torch's kernels, and TF32 where it is asked for.

Nothing falls back to the CPU in silence: a GPU that is there and cannot be used is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import torch

from fittest.errors import DesignError

Capability = tuple[int, int]

TF32_FROM: Capability = (8, 0)
"""Ampere."""

_VOLTA_LAST: Capability = (7, 2)
_VOLTA = (
    "PyTorch wheels built for CUDA 12.8 and later lack kernels for Volta (7.0) and older GPUs, and "
    "CUDA 13 dropped them: install a wheel built for CUDA 12.6 or earlier, for example "
    "`pip install torch --index-url https://download.pytorch.org/whl/cu126`"
)


def runs_on(kernels: str, capability: Capability) -> bool:
    """Say whether kernels of an architecture run on a GPU.

    Machine code (`sm_86`) runs on the same major and no older minor version, `sm_90a` on exactly
    its own; PTX (`compute_90`) is compiled by the driver for anything no older.
    """
    found = re.fullmatch(r"(sm|compute)_(\d+)(\d)([a-z]?)", kernels)
    if not found:
        return False
    made_for = (int(found[2]), int(found[3]))
    if found[4] == "a":
        return made_for == capability
    if found[1] == "compute":
        return made_for <= capability
    return made_for[0] == capability[0] and made_for[1] <= capability[1]


def check_kernels(device: str) -> None:
    """Raise DesignError where the installed torch has no kernels for a GPU, with the remedy."""
    if torch.version.cuda is None:
        return  # another maker's GPU: architectures are spelt otherwise there
    try:
        capability = torch.cuda.get_device_capability(device)
        name = torch.cuda.get_device_name(device)
    except RuntimeError as error:  # the driver is too old, or the GPU is another's
        raise DesignError(
            f"there is a GPU, and torch cannot use it: {str(error).strip().splitlines()[0]} "
            "Mend that, or set `device: cpu`"
        ) from None
    kernels = torch.cuda.get_arch_list()
    if any(runs_on(each, capability) for each in kernels):
        return
    newer = "install a torch that has them, built for a newer CUDA"
    raise DesignError(
        f"torch {torch.__version__} has no kernels for the GPU here, {name} (compute capability "
        f"{capability[0]}.{capability[1]}): it has {', '.join(kernels)}. "
        f"{_VOLTA if capability <= _VOLTA_LAST else newer}; or set `device: cpu`"
    )


def check_tf32(device: str) -> None:
    """Raise DesignError where a GPU cannot multiply in TF32."""
    capability = torch.cuda.get_device_capability(device)
    if torch.version.cuda is None or capability < TF32_FROM:
        raise DesignError(
            f"the protocol's arithmetic is tf32, which the GPU here, "
            f"{torch.cuda.get_device_name(device)}, cannot do: it needs one of compute capability "
            "8.0 (Ampere) or newer. Set `arithmetic: float32`"
        )


@contextmanager
def matrix_products(arithmetic: str) -> Iterator[None]:
    """Let float32 matrix products on GPUs be rounded to TF32 if the arithmetic is `tf32`, else not.

    It is a setting of the whole process, put back at the end.
    """
    settings = torch.backends.cuda.matmul
    values = ("ieee", "tf32")
    name = "fp32_precision"
    if not hasattr(settings, name):  # torch before 2.9
        values, name = (False, True), "allow_tf32"  # type: ignore[assignment]
    before = getattr(settings, name)
    setattr(settings, name, values[arithmetic == "tf32"])
    try:
        yield
    finally:
        setattr(settings, name, before)
