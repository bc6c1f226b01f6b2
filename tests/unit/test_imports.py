"""Only training imports torch, and a stage's sources are what it imports."""

import subprocess
import sys
from pathlib import Path

import pytest

import fittest
from fittest.analyses import STATISTICS, TABLES
from fittest.figures.registry import FIGURES
from fittest.sources import source_files

LIGHT = [
    "fittest",
    "fittest.cli",
    "fittest.design",
    "fittest.layout",
    "fittest.settings",
    "fittest.sources",
    "fittest.embeddings",
    "fittest.trajectories",
    "fittest.analyses",
    "fittest.making",
    "fittest.ledger.making",
    "fittest.report.making",
    "fittest.survival",
    *(kind.module for kind in (*TABLES.values(), *STATISTICS.values())),
    "fittest.headline",
    "fittest.doctor",
    "fittest.plan.resources",
    "fittest.figures.drawing",
    "fittest.training.version",
    "fittest.training.arrays",
    "fittest.training.fingerprint",
    *(figure.module for figure in FIGURES.values()),
]


def imported_with(statement):
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_planning_tables_and_figures_never_import_torch():
    modules = imported_with("; ".join(f"import {name}" for name in LIGHT))
    assert set(LIGHT) <= set(modules)
    assert "torch" not in modules


def test_importing_the_package_imports_nothing_heavy():
    modules = imported_with("import fittest; fittest.__all__; fittest.__version__")
    assert not {"numpy", "xarray", "matplotlib", "torch"} & set(modules)


def test_which_files_claims_and_figures_read_is_known_without_reading_any():
    modules = imported_with("import fittest.ledger.claims, fittest.figures.registry")
    assert "fittest.ledger.claims" in modules
    assert not {"numpy", "pandas", "xarray", "matplotlib"} & set(modules)


@pytest.mark.parametrize("name", fittest.__all__)
def test_every_public_name_resolves(name):
    assert getattr(fittest, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        fittest.nonsense  # noqa: B018


@pytest.mark.parametrize(
    "module",
    ["fittest.tables.survival", "fittest.statistics.correlation", "fittest.figures.drawing"],
)
def test_a_stages_sources_are_the_modules_it_really_imports(module):
    root = Path(fittest.__file__).parent
    really = {
        Path(root, *name.split(".")[1:])
        for name in imported_with(f"import {module}")
        if name.split(".")[0] == "fittest"
    }
    really = {p / "__init__.py" if p.is_dir() else p.with_suffix(".py") for p in really}
    # A package's own file holds a docstring or lazy names.
    really = {path for path in really if path.name != "__init__.py"}
    assert really <= set(source_files(module))


def test_tables_do_not_come_from_the_training_loop_nor_figures_from_each_other():
    names = {path.name for path in source_files("fittest.tables.survival")}
    assert "survival.py" in names
    assert not {"ensemble.py", "recorder.py", "correlation.py"} & names
    names = {path.name for path in source_files("fittest.figures.figure_6")}
    assert {"figure_6.py", "signal_survival.py", "style.py", "selection.py"} <= names
    assert "figure_2.py" not in names
