"""What the documents say is so: references are generated, examples run, names and links exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib import import_module
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest
import yaml

from fittest.cells import Block
from fittest.cli import _parser
from fittest.design import Design, load_design, parse_design
from fittest.dictionary import ATTRIBUTES
from fittest.embeddings import write_embedding
from fittest.examples import examples, trajectory_example
from fittest.files import csv_text, open_dataset, write_dataset
from fittest.layout import Layout
from fittest.plan.coefficients import published
from fittest.plan.costs import plan
from fittest.protocol import Strict
from fittest.reference import SECTIONS, UNITS, config_reference
from fittest.tables.rates import survival_rates
from fittest.tables.survival import gather_survival
from fittest.yaml_files import read_yaml

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    ROOT / "config/README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]


def fenced(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def test_config_reference_is_the_generated_one():
    assert (ROOT / "config/README.md").read_text(encoding="utf-8") == config_reference(), (
        "run: python -m fittest.reference > config/README.md"
    )


def test_data_dictionary_is_the_generated_one_and_needs_no_torch():
    code = (
        "import sys; from fittest.cli import main; main(['dictionary']); "
        "sys.exit('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", code], capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert (ROOT / "docs/data-dictionary.md").read_text(encoding="utf-8") == done.stdout, (
        "run: fittest dictionary > docs/data-dictionary.md"
    )


def models(base: type) -> set[type]:
    return {m for sub in base.__subclasses__() for m in {sub, *models(sub)}}


def test_every_key_of_every_model_is_in_the_config_reference():
    text = (ROOT / "config/README.md").read_text(encoding="utf-8")
    public = {m for m in models(Strict) if not m.__name__.startswith("_")}
    assert public == {model for _, _, some in SECTIONS for _, model in some}
    assert Design in public
    for model in public:
        for name, field in model.model_fields.items():
            key = field.alias or name
            assert re.search(rf"^\| `([a-z]+\.)?{key}` \|", text, re.MULTILINE), (model, key)


def test_units_of_the_config_reference_belong_to_keys():
    named = {
        f"{model.__name__}.{key}"
        for _, _, some in SECTIONS
        for _, model in some
        for key in model.model_fields
    }
    assert set(UNITS) <= named


def test_example_design_of_the_config_reference_is_valid(tmp_path):
    (block,) = fenced(config_reference(), "yaml")
    path = tmp_path / "mine.yaml"
    path.write_text(block, encoding="utf-8")
    design = load_design(path)
    assert list(design.experiments) == ["initial-signal", "weight-decay"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory) -> Path:
    """A results folder like that of the quick design, of two embeddings and thirty steps."""
    from fittest.training.block import train_block

    data = read_yaml(ROOT / "config/designs/quick.yaml")
    data["protocols"]["standard"]["steps"] = 30
    data["horizons"] = [10]
    data["experiments"]["initial-signal"]["axes"]["embedding"] = [0, 1]
    data["experiments"]["initial-signal"]["trials"] = data["block"]
    design = parse_design(data)
    layout = Layout(tmp_path_factory.mktemp("results") / "tiny", design)
    paths = layout.trajectories("initial-signal")
    for path in paths:
        cell = Block.from_path(path).cell
        embedding = layout.embedding(cell)
        assert cell.base_index is not None
        write_embedding(embedding, design.seed, cell.p, cell.d, cell.base_index)
        protocol = design.protocols["standard"]
        train_block(path, protocol, design.seed, embedding_file=embedding, device="cpu")
    survival = gather_survival(paths, design.survival, design.horizons)
    write_dataset(survival, layout.table("initial-signal", "survival"), "survival table")
    rates = survival_rates(survival)
    write_dataset(rates, layout.table("initial-signal", "rates"), "rates table")
    return layout.root


BLOCKS = fenced(README, "python")


def test_readme_has_python_for_a_table_a_trajectory_and_training():
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_of_the_readme_runs_and_prints(number, tiny, capsys):
    code = BLOCKS[number].replace("results/quick", str(tiny))
    exec(compile(code, f"README.md, block {number}", "exec"), {})
    assert code.rstrip().splitlines()[-1].startswith("print(")
    assert capsys.readouterr().out.strip()


def test_dictionary_knows_the_attributes_of_a_trained_file(tiny):
    (path, *_) = sorted(tiny.rglob("trials~*.h5"))
    trained = set(open_dataset(path).attrs)
    assert trained <= set(ATTRIBUTES)
    assert trained == set(trajectory_example().attrs), "examples.TRAINING_ATTRIBUTES is out of date"


def test_command_lines_of_the_readme_parse():
    lines = "".join(fenced(README, "sh")).replace("\\\n", " ").splitlines()
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("fittest ")]
    assert len(commands) >= 4
    for command in commands:
        _parser().parse_args(command)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_and_images_exist(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"https?://|#", target):
            assert (path.parent / target.split("#")[0]).exists(), target


def test_both_commands_stand_on_the_first_screen():
    first = "\n".join(README.splitlines()[:24])
    assert "make quick" in first
    assert "make test" in first


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_make_targets_exist(path):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = path.read_text(encoding="utf-8")
    code = re.findall(r"`(make [^`\n]+)`", text) + re.findall(r"^make .+", text, re.MULTILINE)
    for line in code:
        word = line.split()[1]
        assert word in targets, line


def test_targets_of_the_readme_are_those_of_the_workflow():
    table = README.split("## Running more")[1].split("## Designs")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {word for row in rows for word in re.findall(r"`([a-z_0-9]+)`", row)}
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--list-target-rules"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    # Each line: name (docstring).
    rules = set(re.findall(r"^([a-z_0-9]+)(?: \(|$)", done.stdout, re.MULTILINE))
    assert named == rules - {"all"}


def _span(numbers: set[int]) -> str:
    return "–".join(f"{n:,}" for n in dict.fromkeys((min(numbers), max(numbers))))


def test_designs_of_the_readme_are_those_there_are():
    table = README.split("## Designs")[1].split("## In Python")[0]
    rows = [[c.strip() for c in r.split("|")[1:-1]] for r in table.splitlines() if "| `" in r]
    said = {row[0].strip("`"): row[2:6] for row in rows}
    found = {}
    for path in (ROOT / "config/designs").glob("*.yaml"):
        design = load_design(path)
        rows, together = plan(design, published())
        cells = [cell for one in design.experiments.values() for cell in one.cells()]
        sizes = [{getattr(cell, axis) for cell in cells} for axis in "pd"]
        found[path.stem] = [
            str(len(rows)),
            f"{together.cost.trials:,}",  # those that experiments share once
            ", ".join(map(_span, sizes)),
            _span(set(together.steps)),
        ]
    assert said == found


def test_figures_of_the_registry_stand_in_the_readme_and_have_a_caption_from_their_data():
    from fittest.figures.registry import FIGURES

    frames = examples()[1]
    for name, figure in FIGURES.items():
        assert f"| `{name}` |" in README
        frame = pd.read_csv(StringIO(csv_text(frames[f"figures/{name}.csv"][1])))
        caption = import_module(figure.module).caption(frame)
        assert caption.endswith(".")
        assert re.search(r"\d", caption), "a caption says how much it stands on"
        assert len(caption) < 900


def test_citation_file_has_what_the_format_requires():
    content = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(content)
    assert content["cff-version"] == "1.2.0"
    assert content["authors"]
    (paper,) = content["references"]
    assert {"type", "title", "authors"} <= set(paper)
    assert "2405.17420" in paper["url"]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{content["version"]}"' in project


def test_other_yaml_of_the_project_parses():
    for name in (".pre-commit-config.yaml", ".snakemake-workflow-catalog.yml"):
        assert yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_findings_are_made_from_the_published_statistics():
    from fittest.findings import findings

    written = (ROOT / "docs/findings.md").read_text(encoding="utf-8")
    published = ROOT / "results/published"
    assert written == findings(published), "run `python -m fittest.findings > docs/findings.md`"
    # One of its numbers, read by hand.
    frame = pd.read_csv(published / "arithmetic/comparison.csv")
    last = frame[(frame["statistic"] == "circles") & (frame["horizon"] == 30_000)]
    naive = last[last["way"] == "float32-naive"].iloc[0]
    assert f"{naive['estimate']:.2f} [{naive['low']:.2f}, {naive['high']:.2f}]" in written


@pytest.mark.parametrize("name", ["arithmetic", "arithmetic-31", "engines"])
def test_a_published_figure_is_redrawn_from_its_data(name, tmp_path):
    from importlib import import_module

    from fittest.figures.drawing import save

    folder = ROOT / "results/published" / name
    (data,) = [path for path in folder.glob("*.csv") if path.name != "comparison.csv"]
    save(import_module(f"fittest.figures.{data.stem}"), pd.read_csv(data), tmp_path / data.stem)
    assert (tmp_path / f"{data.stem}.png").stat().st_size > 50_000
