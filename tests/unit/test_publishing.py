"""Publishing: what is trained so far, added to what was published, and figures drawn from it."""

import shutil
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml

from fittest.cli import main
from fittest.design import load_design
from fittest.errors import DesignError, FileError
from fittest.files import open_dataset
from fittest.layout import Layout
from fittest.publishing.publish import design_of, missing_of, publish, published_trials
from fittest.publishing.redraw import redraw
from fittest.training.block import train_block

DESIGN = {
    "title": "Two primes.",
    "seed": 3,
    "block": 2,
    "horizons": [10, 40],
    "protocols": {
        "standard": {
            "steps": 60,
            "record": {"dense_until": 10, "every": 10, "gradients": 5, "snapshots": [0, 20]},
        }
    },
    "experiments": {
        "modulus": {
            "axes": {"p": [5, 7], "d": 6, "width": 8, "embedding": "redrawn"},
            "trials": 6,
        },
        "weight-decay": {
            "axes": {
                "p": 7,
                "d": 6,
                "width": 8,
                "embedding": "redrawn",
                "weight_decay": [0, 0.5],
            },
            "trials": 2,
        },
    },
}


class Study:
    """A design file, its results, and the folder it is published in."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "config/two.yaml"
        self.root, self.output = folder / "results/two", folder / "results/published/two"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.content = yaml.safe_load(yaml.safe_dump(DESIGN))
        self.write()

    def write(self) -> None:
        self.file.write_text(yaml.safe_dump(self.content))

    def train(self, *firsts: int, experiment: str = "modulus") -> list[Path]:
        """Train the blocks that begin with these trials, of every cell of an experiment."""
        design = load_design(self.file)
        wanted = {f"trials~{first}-{first + 1}.h5" for first in firsts}
        paths = [p for p in Layout(self.root, design).trajectories(experiment) if p.name in wanted]
        for path in paths:
            if not path.exists():
                train_block(path, design.protocols["standard"], design.seed, device="cpu")
        return paths

    def publish(self) -> None:
        publish(self.file, self.root, self.output)

    def table(self, experiment: str = "modulus", kind: str = "survival") -> xr.Dataset:
        return open_dataset(self.output / f"tables/{experiment}/{kind}.nc", f"{kind} table")


@pytest.fixture
def study(tmp_path):
    return Study(tmp_path)


@pytest.fixture(scope="module")
def once(tmp_path_factory):
    """Where the first block of `modulus` is published."""
    folder = tmp_path_factory.mktemp("once")
    study = Study(folder)
    study.train(0)
    study.publish()
    return folder


@pytest.fixture
def published(once, tmp_path):
    """A study of which the first block is published."""
    shutil.copytree(once, tmp_path, dirs_exist_ok=True)
    return Study(tmp_path)


def same(one: xr.Dataset, other: xr.Dataset) -> None:
    """Compare data, and what was trained; not the time a trial took, nor where files come from."""
    xr.testing.assert_equal(one.drop_vars("core_seconds"), other.drop_vars("core_seconds"))
    for name in ("seed", "protocol", "training_version"):
        assert str(one.attrs[name]) == str(other.attrs[name])


def test_trials_that_every_cell_has_are_published(study):
    paths = study.train(0, 2)
    paths[-1].unlink()  # the second block of one cell
    study.publish()
    assert published_trials(study.output) == {"modulus": 2}
    assert study.table()["trial"].values.tolist() == [0, 1]
    assert study.table()["p"].values.tolist() == [5, 7]
    counts = pd.read_csv(study.output / "statistics/modulus/counts.csv")
    assert not counts.empty
    ledger = pd.read_csv(study.output / "claims/claims.csv").set_index("id")
    assert ledger.loc["circles-modulus", "verdict"] == "inconclusive"
    assert ledger.loc["circles-weight-decay", "verdict"] == "not run"
    assert "circles-modulus" in (study.output / "report.html").read_text()


def test_what_is_published_block_by_block_equals_all_at_once(study, tmp_path):
    study.train(0, 2, 4)
    study.train(0, experiment="weight-decay")
    study.publish()
    whole = {name: study.table(name) for name in ("modulus", "weight-decay")}
    data = (study.output / "figures/figure_10.csv").read_bytes()
    shutil.rmtree(study.output)
    for first in (0, 4, 2):  # the second time there is no trial more in a row
        shutil.rmtree(study.root)
        study.train(first)
        if first == 2:
            study.train(first, 4)
            study.train(0, experiment="weight-decay")
        if first != 4:
            study.publish()
    assert published_trials(study.output) == {"modulus": 6, "weight-decay": 2}
    for name, table in whole.items():
        same(study.table(name), table)
    rates = study.table(kind="rates")
    assert int(rates["trials"].max()) == 6
    assert (study.output / "figures/figure_10.csv").read_bytes() == data
    assert not list(study.output.parent.glob(".*")), "nothing is left beside"


def test_what_is_yet_to_be_trained_is_listed_first_trials_first(published):
    study = published
    shutil.rmtree(published.root)
    left = missing_of(published.file, study.root, study.output)
    trials = [path.name for path in left]
    assert trials[:4] == ["trials~2-3.h5"] * 2 + ["trials~4-5.h5"] * 2
    assert trials[4:] == ["trials~0-1.h5"] * 2
    assert all("wd~" in str(path) for path in left)


@pytest.mark.parametrize(
    ("key", "change"),
    [
        ("seed", lambda c: c.update(seed=4)),
        ("horizons", lambda c: c.update(horizons=[10])),
        ("survival", lambda c: c.update(survival={"relative": 3.0})),
        ("protocols.standard", lambda c: c["protocols"]["standard"].update(steps=50)),
        ("experiments.modulus.axes", lambda c: c["experiments"]["modulus"]["axes"].update(p=[5])),
        ("'modulus'", lambda c: c["experiments"].pop("modulus")),
    ],
)
def test_another_design_is_not_mixed_in(published, key, change):
    study = published
    before = study.table()
    change(published.content)
    study.write()
    with pytest.raises(DesignError, match="published") as error:
        study.publish()
    assert key in str(error.value)
    same(published.table(), before)


@pytest.mark.parametrize("name", ["training_version", "seed", "protocol"])
def test_trajectories_that_do_not_belong_to_what_is_published_are_refused(published, name):
    study = published
    path = study.output / "tables/modulus/survival.nc"
    with h5py.File(path, "r+") as file:
        file.attrs[name] = "another"
    shutil.rmtree(published.root)
    study.train(2)
    with pytest.raises(FileError, match=f"survival.nc was published with {name} another"):
        study.publish()
    assert published_trials(published.output) == {"modulus": 2}


def test_nothing_trained_is_said(study):
    study.train(0)[0].unlink()
    with pytest.raises(FileError, match=r"nothing to publish.*snakemake"):
        study.publish()
    assert not study.output.exists()


def test_a_folder_of_something_else_is_left_alone(study):
    study.train(0)
    study.output.mkdir(parents=True)
    (study.output / "mine.txt").write_text("mine")
    with pytest.raises(FileError, match=r"holds no two\.yaml"):
        study.publish()
    assert (study.output / "mine.txt").read_text() == "mine"


def test_the_folder_has_the_designs_name(study):
    study.output = study.output.with_name("three")
    with pytest.raises(DesignError, match=r"Give .*published/two"):
        study.publish()


def test_a_publication_that_fails_leaves_the_former_one(published, monkeypatch):
    study = published
    before = sorted(p.relative_to(published.output) for p in study.output.rglob("*"))
    study.train(2)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fittest.publishing.publish.make_report", full)
    with pytest.raises(OSError, match="No space"):
        study.publish()
    assert published_trials(published.output) == {"modulus": 2}
    assert sorted(p.relative_to(published.output) for p in study.output.rglob("*")) == before
    assert [p.name for p in study.output.parent.iterdir()] == ["two"]


def test_figures_are_redrawn_from_what_is_published(study):
    study.train(0, experiment="weight-decay")
    study.publish()
    shutil.rmtree(study.root)
    figures = study.output / "figures"
    kept = {p.name: p.read_bytes() for p in figures.iterdir()}
    assert set(kept) == {"figure_10.csv", "figure_10.png", "figure_10.txt"}
    (figures / "figure_10.png").unlink()
    flat = study.output.parent / "flat"
    flat.mkdir()
    shutil.copy(figures / "figure_10.csv", flat)
    assert redraw(study.output.parent) == 2
    assert {p.name: p.read_bytes() for p in figures.iterdir()} == kept
    # The data alone draw the same image.
    assert (flat / "figure_10.png").read_bytes() == kept["figure_10.png"]


def test_a_figure_whose_data_come_out_otherwise_is_said(study, capsys):
    study.train(0, experiment="weight-decay")
    study.publish()
    counts = study.output / "statistics/weight-decay/counts.csv"
    frame = pd.read_csv(counts)
    frame["estimate"] = np.where(frame["statistic"] == "circles", 1.25, frame["estimate"])
    frame.to_csv(counts, index=False)
    assert main(["redraw", str(study.output.parent)]) == 1
    assert "figure_10.csv came out otherwise" in capsys.readouterr().err


def test_the_command_publishes_and_lists(study, capsys):
    study.train(0)
    arguments = ["publish", "--design", str(study.file), "--results", str(study.root)]
    arguments += ["-o", str(study.output)]
    assert main(arguments) == 0
    assert design_of(study.output).read_text().startswith("# two.yaml as far as it was trained")
    assert main([*arguments, "--missing"]) == 0
    listed = capsys.readouterr().out.split()
    assert len(listed) == 5  # one is both experiments'
    assert listed[0].endswith("trials~2-3.h5")
