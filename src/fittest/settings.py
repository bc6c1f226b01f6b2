"""Run settings: which design to run, where, and on what. Nothing here shapes a number."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from fittest.design import Design, design_name, load_design
from fittest.engine_names import EngineSetting
from fittest.errors import DesignError, choices, suggestion
from fittest.protocol import Strict
from fittest.validation import explain

DEVICES = ("auto", "cpu", "cuda", "cuda:N")
"""How devices are spelt; N is a GPU's number."""


class Settings(Strict):
    """The keys of config/config.yaml, and of `snakemake --config KEY=VALUE`."""

    design: str = Field("quick", min_length=1)
    """Name of a design in the designs folder, or path of a design file."""

    designs: str = Field("config/designs", min_length=1)
    """Folder of the designs."""

    results: str = Field("results", min_length=1)
    """Folder of everything generated; each design has a folder of its own in it."""

    engine: EngineSetting = "auto"
    """What trains: `auto` is torch on a GPU, else native where it was built, else torch. `native`
    takes the best instruction set the processor has; with one named, machines of a cluster that
    differ all take that one."""

    device: str = "auto"
    """Where to train: `auto` (a GPU where there is one), `cpu`, `cuda` or `cuda:N`."""

    threads: int = Field(1, ge=1, le=1024)
    """Trials that one training job trains at once on the CPU. Jobs in parallel do as well."""

    @field_validator("device")
    @classmethod
    def _known_device(cls, value: str) -> str:
        if not re.fullmatch(r"auto|cpu|cuda(:\d+)?", value):
            # By spelling alone `gpu` would be nearest to `cpu`.
            near = suggestion("cuda" if "gpu" in value.lower() else value, DEVICES)
            raise ValueError(f"unknown device {value!r}. Allowed: {choices(DEVICES)}.{near}")
        return value

    @property
    def design_path(self) -> Path:
        """The design's file."""
        if self.design.endswith((".yaml", ".yml")):
            return Path(self.design)
        return Path(self.designs) / f"{self.design}.yaml"


def read_settings(config: dict[str, Any]) -> Settings:
    """Check run settings; raise DesignError naming key, value, allowed and nearest."""
    try:
        return Settings.model_validate(config)
    except ValidationError as error:
        raise DesignError(explain(error, "config", config)) from None


def read_design(settings: Settings) -> tuple[str, Design]:
    """Return the name and content of the design that the settings name; refuse one not there."""
    path = settings.design_path
    if not os.path.isfile(path):  # Path.is_file raises for a name that is too long
        there = sorted(p.stem for p in Path(settings.designs).glob("*.yaml"))
        raise DesignError(
            f"config: design: {settings.design!r} is no design: there is no file {path}. Allowed: "
            f"the path of a design file, or a name in {settings.designs}: "
            f"{choices(there) or 'which has none'}." + suggestion(path.stem, there)
        )
    return design_name(path), load_design(path)
