"""Numbers of docs/cluster.md are those of the plan, and its commands those there are."""

import re
import shlex
from pathlib import Path

import pytest

from fittest.analyses import tables_of
from fittest.cli import _parser
from fittest.design import blocks, load_design, parse_design
from fittest.plan.coefficients import published
from fittest.plan.costs import plan
from fittest.plan.resources import START_MINUTES, request
from fittest.yaml_files import read_yaml

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
FILE = ROOT / "config/designs/paper.yaml"
PAPER = load_design(FILE)
MEASURED = published()


def row(name):
    """Return the cells of the one row that begins with a name."""
    (found,) = re.findall(rf"^\| {re.escape(name)} \|(.*)\|$", PAGE, re.MULTILINE)
    return [cell.strip() for cell in found.split("|")]


def test_the_papers_numbers_are_the_plans():
    together = plan(PAPER, MEASURED)[1]
    assert row("V100-hours, calculated, a least time") == [
        f"{together.cost.card_hours['V100']:.1f}"
    ]
    assert row("core-hours, if it trains on CPUs") == [f"{together.cost.core_hours:.0f}"]
    assert row("bytes of trajectories") == [f"{together.cost.file_bytes / 1e9:.2f} GB"]
    assert row("jobs for tables, without a GPU") == [
        str(sum(len(tables_of(name)) for name in PAPER.experiments))
    ]
    (here,) = re.findall(r"^\| training jobs \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    assert here == f"{together.jobs:,}"


def test_what_jobs_ask_for_is_what_they_ask_for():
    asked = [
        request(block, PAPER, MEASURED)
        for name in PAPER.experiments
        for block in blocks(PAPER, name)
    ]
    for name, values in (
        ("minutes that a job asks for", [each.runtime for each in asked]),
        ("MB of main memory that a job asks for", [each.mem_mb for each in asked]),
    ):
        assert row(name) == [f"{min(values):,}–{max(values):,}"]
    # "a job then asks for up to ten hours", in blocks ten times as large
    most = max(each.runtime for each in asked) - START_MINUTES
    assert 9 <= (10 * most + START_MINUTES) / 60 <= 10


@pytest.fixture(scope="module")
def larger():
    """The paper's design with a hundred times the trials, in ten times larger blocks."""
    design = read_yaml(FILE)
    design["block"] *= 10
    for experiment in design["experiments"].values():
        experiment["trials"] *= 100
        if "block" in experiment:
            experiment["block"] *= 10
    return plan(parse_design(design), MEASURED)[1]


def test_numbers_at_a_hundred_times_the_size_are_the_plans(larger):
    together = plan(PAPER, MEASURED)[1]
    jobs, trials, hours, size = re.findall(
        r"^\| (?:training jobs|trials|V100-hours, calculated|trajectories) \| (\S+).*? \| (\S+)",
        PAGE.split("## A hundred times")[1],
        re.MULTILINE,
    )
    assert jobs == (f"{100 * together.jobs:,}", f"{larger.jobs:,}")
    assert trials == (f"{100 * together.cost.trials:,}", f"{larger.cost.trials:,}")
    card = [100 * together.cost.card_hours["V100"], larger.cost.card_hours["V100"]]
    assert hours == tuple(f"{each:,.0f}" for each in card)
    stored = [100 * together.cost.file_bytes, larger.cost.file_bytes]
    assert size == tuple(f"{each / 1e9:.0f}" for each in stored)


def test_its_commands_parse_and_its_profiles_exist():
    code = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    lines = re.findall(r"\b(fittest (?:doctor|plan).*)$", code, re.MULTILINE)
    assert len(lines) == 2
    for line in lines:
        _parser().parse_args(shlex.split(line)[1:])
    for profile in re.findall(r"profiles/[\w-]+", PAGE):
        assert (ROOT / profile / "config.yaml").is_file()
