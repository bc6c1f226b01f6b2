# What all rules share. No logic here: the package decides, rules connect files.
import os
import sys
from functools import cache
from pathlib import Path

from fittest.analyses import STATISTICS, TABLES
from fittest.cells import AXES, Block
from fittest.errors import DesignError, choices, suggestion
from fittest.engine_names import ENGINES
from fittest.figures.registry import FIGURES, drawable
from fittest.layout import Layout
from fittest.ledger.claims import PAPER
from fittest.ledger.inputs import statistics_read, tables_read
from fittest.ledger.sizes import sizes_text
from fittest.plan.coefficients import published
from fittest.plan.resources import device_of, request
from fittest.settings import read_design, read_settings
from fittest.sources import source_files
from fittest.training.version import TRAINING_VERSION

try:
    settings = read_settings(config)
    design_name, design = read_design(settings)
except DesignError as error:
    raise WorkflowError(str(error)) from None

# Jobs call `fittest` by name: that of this environment, activated or not.
os.environ["PATH"] = os.pathsep.join(
    [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
)

root = Path(settings.results) / design_name
layout = Layout(root, design)
measured = published()


wildcard_constraints:
    protocol="[a-z0-9-]+",
    figure="|".join(FIGURES),
    engine="|".join(ENGINES),
    p=r"\d+",
    d=r"\d+",
    wd=r"[0-9.e+-]+",
    width=r"\d+",
    embedding=r"\d+|redrawn",
    intervention="[a-z0-9.+-]+",
    trials=r"\d+-\d+",
    experiment="[a-z0-9-]+",
    table="|".join(TABLES),
    statistic="|".join(STATISTICS),


def code(*modules):
    """The package's files that a stage comes from; relative, so that a moved folder stays done."""
    return [os.path.relpath(path) for path in source_files(*modules)]


def known_protocol(name):
    if name not in design.protocols:
        raise WorkflowError(
            f"design {design_name} has no protocol {name!r}. Allowed: "
            f"{choices(design.protocols)}.{suggestion(name, design.protocols)}"
        )
    return design.protocols[name]


def trained_block(wildcards):
    cell = "/".join(f"{axis}~{wildcards[axis]}" for axis in AXES.values())
    return Block.from_path(f"{wildcards.protocol}/{cell}/trials~{wildcards.trials}.h5")


def training_inputs(wildcards):
    return layout.inputs(trained_block(wildcards))


def asked(wildcards, attempt=1, engine=settings.engine):
    """What a training job asks of a cluster; on one machine it matters to nothing."""
    known_protocol(wildcards.protocol)
    return asked_for(trained_block(wildcards), attempt, engine)


@cache
def asked_for(block, attempt, engine):
    return request(
        block,
        design,
        measured,
        engine=engine,
        device=settings.device,
        threads=settings.threads,
        attempt=attempt,
    )


def needs(experiment):
    """Refuse a target whose experiment the design does not have."""
    if experiment not in design.experiments:
        raise WorkflowError(
            f"design {design_name} has no experiment {experiment!r}, which this target needs. "
            f"It has: {', '.join(design.experiments)}. Add it to {settings.design_path}, or choose "
            "another design with --config design=NAME."
        )


def table_inputs(experiment, kind):
    needs(experiment)
    return layout.table_inputs(experiment, kind)


def statistic_inputs(experiment, kind):
    needs(experiment)
    return layout.statistic_inputs(experiment, kind)


def taken(experiment, kind):
    """What of the design a table depends on: Snakemake remakes it when that changes."""
    needs(experiment)
    values = {
        "thresholds": design.survival.model_dump_json(),
        "horizons": design.horizons,
        "by_engine": bool(design.experiments[experiment].engines),
    }
    return [f"{key}: {values[key]}" for key in TABLES[kind].takes]


def figure_names():
    """The figures whose experiments the design has."""
    return drawable(design.experiments)


def figure_files(name):
    for experiment in FIGURES[name].experiments:
        needs(experiment)
    return [
        layout.figure(name, suffix) for suffix in ("png", "pdf", "svg", "csv", "txt")
    ]


def figure_inputs(name):
    return [root / path for path in FIGURES[name].inputs]
