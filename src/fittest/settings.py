"""Run settings: which design to run, where, and on what. Nothing here shapes a number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from fittest.design import Design, design_name, load_design
from fittest.errors import DesignError
from fittest.protocol import Strict
from fittest.validation import explain


class Settings(Strict):
    """The keys of config/config.yaml, and of `snakemake --config KEY=VALUE`."""

    design: str = Field("quick", min_length=1)
    """Name of a design in the designs folder, or path of a design file."""

    designs: str = Field("config/designs", min_length=1)
    """Folder of the designs."""

    results: str = Field("results", min_length=1)
    """Folder of everything generated; each design has a folder of its own in it."""

    device: str = Field("auto", pattern=r"^(auto|cpu|cuda|cuda:\d+)$")
    """Where to train: `auto` (a GPU where there is one), `cpu`, `cuda` or `cuda:N`."""

    threads: int = Field(1, ge=1, le=1024)
    """CPU threads of one training job. Jobs in parallel use cores better than threads in a job."""

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
    """Return the name and content of the design that the settings name."""
    return design_name(settings.design_path), load_design(settings.design_path)
