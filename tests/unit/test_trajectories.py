"""The trajectory file explains itself, opens everywhere, and stays small."""

import dataclasses
import json
import shutil
import subprocess

import h5py
import numpy as np
import pytest
import xarray as xr

from fittest.cells import Block, Cell
from fittest.embeddings import read_embedding
from fittest.errors import DesignError, FileError
from fittest.files import open_dataset
from fittest.fourier import circle_frequencies, signals
from fittest.gathering import gather
from fittest.protocol import Protocol
from fittest.recording import gradient_steps, recorded_steps, snapshot_steps
from fittest.seeds import draw_embedding
from fittest.training.arrays import Parameters
from fittest.training.block import train_block
from fittest.training.engines import choose_engine, native_levels
from fittest.training.record import Record
from fittest.trajectories import open_trajectories, trajectory_dataset, write_trajectories
from fittest.trajectory_schema import NETWORK, SCHEMA, STORED


@pytest.fixture(scope="module")
def path(paths):
    return next(p for p in paths if "embedding~0" in str(p) and p.stem == "trials~0-1")


def test_every_variable_is_described_and_every_dimension_has_a_coordinate(path):
    with xr.open_dataset(path, engine="h5netcdf") as t:
        assert {name for name, v in SCHEMA.items() if v.always} == set(t.variables)
        for name, variable in t.variables.items():
            assert variable.attrs["long_name"] == SCHEMA[name].long_name
            assert variable.attrs["units"] == SCHEMA[name].units
        assert set(t.dims) == set(t.coords)


def test_provenance_says_what_how_where_and_when(path):
    attrs = open_trajectories(path).attrs
    assert json.loads(attrs["protocol"])["steps"] == 60
    assert Protocol.model_validate(json.loads(attrs["protocol"])).record.every == 10
    assert (attrs["p"], attrs["d"], attrs["width"], attrs["weight_decay"]) == (13, 6, 8, 0.5)
    assert (attrs["embedding"], attrs["intervention"], attrs["seed"]) == ("0", "none", 3)
    for name in ("dtype", "device", "engine", "versions", "git_revision", "created", "complete"):
        assert isinstance(attrs[name], str), name
        assert attrs[name], name


def test_attributes_are_plain_and_dtypes_portable(path):
    with h5py.File(path) as file:
        for value in file.attrs.values():
            assert isinstance(value, str | bytes | int | float | np.number | np.ndarray)
            assert not isinstance(value, bool | np.bool_)
            assert len(str(value)) < 64_000
        kinds = {file[name].dtype.kind for name in file if isinstance(file[name], h5py.Dataset)}
    assert kinds <= {"i", "f"}


def test_the_content_is_what_was_drawn_and_trained(path):
    t = open_trajectories(path)
    embedding = draw_embedding(3, 13, 6, embedding=0)
    np.testing.assert_array_equal(t["initial_embedding"][1], embedding.astype(np.float32))
    np.testing.assert_allclose(t["signal"][0, 0], signals(embedding), rtol=1e-6)
    np.testing.assert_allclose(t["signal"][:, -1], signals(t["final_embedding"].values), rtol=1e-5)
    assert t["train_pair"].sum("pair").values.tolist() == [135, 135]
    assert t["step"].values.tolist() == [*range(11), 20, 30, 40, 50, 60]


def test_a_block_with_its_embedding_file_is_the_block_without(
    trained, path, embedding_file, tmp_path
):
    again = tmp_path / Block.from_path(path).path
    train_block(again, trained.protocol, 3, embedding_file=embedding_file, device="cpu")
    xr.testing.assert_equal(
        open_trajectories(again).drop_attrs(), open_trajectories(path).drop_attrs()
    )


def test_another_embedding_than_asked_for_is_refused(embedding_file):
    assert read_embedding(embedding_file, 3, 13, 6, 0).shape == (13, 6)
    for asked in ((4, 13, 6, 0), (3, 13, 6, 1), (3, 11, 6, 0)):
        with pytest.raises(FileError, match="holds the embedding of"):
            read_embedding(embedding_file, *asked)


def test_the_embedding_file_holds_its_spectrum(embedding_file):
    e = open_dataset(embedding_file, "embedding")
    full = np.fft.fft(draw_embedding(3, 13, 6, embedding=0), axis=0)
    np.testing.assert_allclose(e["coefficient_real"] + 1j * e["coefficient_imag"], full[:7])
    np.testing.assert_allclose(e["signal"], np.linalg.norm(full[1:7], axis=1))


def test_an_intervention_resolved_from_the_base_records_its_circles(trained, path, tmp_path):
    cell = dataclasses.replace(Block.from_path(path).cell, intervention="keep-strongest-2-of-base")
    kept = tmp_path / Block("standard", cell, 0, 1).path
    train_block(kept, trained.protocol, 3, base_file=path, device="cpu")
    final = open_trajectories(path)["signal"][:, -1].values
    for named, signal in zip(open_trajectories(kept)["named_frequency"].values, final, strict=True):
        assert sorted(named) == sorted(np.argsort(signal)[-2:] + 1)
    other = dataclasses.replace(cell, intervention="none")
    wrong = trained.train(other, 2, 3)
    with pytest.raises(FileError, match="does not hold trials 0-1"):
        train_block(kept, trained.protocol, 3, base_file=wrong, device="cpu")


def test_a_file_with_a_missing_or_reshaped_variable_is_refused(path, tmp_path):
    t = open_trajectories(path)
    for broken, says in (
        (t.drop_vars("test_loss"), "has no variable 'test_loss'"),
        (t.transpose("frequency", "step", ...), "'signal' has dims"),
    ):
        write_trajectories(broken, tmp_path / "broken.h5")
        with pytest.raises(FileError, match=says):
            open_trajectories(tmp_path / "broken.h5")


def stored_otherwise(source, path, change):
    """Copy a file, with its protocol's text changed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, path)
    with h5py.File(path, "r+") as file:
        values = json.loads(file.attrs["protocol"])
        change(values)
        file.attrs["protocol"] = json.dumps(values, indent=1)
    return path


def older(values):
    """A protocol as files had it before networks could be stored."""
    assert values["record"].pop("networks") == 0


def another(values):
    values["record"]["every"] = 11


def unknown(values):
    values["momentum"] = 0.5


def test_a_file_from_before_a_key_existed_stands_beside_one_that_has_it(paths, tmp_path):
    first, second = (
        next(p for p in paths if "embedding~0" in str(p) and p.stem == stem)
        for stem in ("trials~0-1", "trials~2-3")
    )

    def gathered(change):
        copy = stored_otherwise(second, tmp_path / Block.from_path(second).path, change)
        return gather([first, copy], lambda t: t[["train_loss"]])

    table = gathered(older)
    assert table["trial"].values.tolist() == [0, 1, 2, 3]
    assert json.loads(table.attrs["protocol"])["record"]["networks"] == 0
    with pytest.raises(FileError, match="2 protocols of 1 name"):
        gathered(another)
    with pytest.raises(FileError, match=r"cannot read(.|\n)*'momentum'"):
        gathered(unknown)


def test_a_base_from_before_a_key_existed_is_a_base(trained, path, tmp_path):
    cell = dataclasses.replace(Block.from_path(path).cell, intervention="keep-strongest-1-of-base")
    kept = tmp_path / Block("standard", cell, 0, 1).path
    base = tmp_path / Block.from_path(path).path

    def train(change):
        base_file = stored_otherwise(path, base, change)
        train_block(kept, trained.protocol, 3, base_file=base_file, device="cpu")

    with pytest.raises(FileError, match="another protocol"):
        train(another)
    train(older)
    assert open_trajectories(kept)["named_frequency"].shape == (2, 1)


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_whole_networks_of_the_first_trial_are_stored_when_asked_for(tmp_path, engine):
    if engine == "native" and not native_levels():
        pytest.skip("not built")
    block = Block("standard", Cell(p=7, d=4, width=5), 0, 2)
    plain = Protocol.model_validate({"steps": 25, "record": {"snapshots": [0, 20]}})
    record = plain.record.model_copy(update={"networks": 10})
    files = []
    for i, protocol in enumerate((plain, plain.model_copy(update={"record": record}))):
        files.append(tmp_path / str(i) / block.path)
        train_block(files[-1], protocol, 3, engine=engine, device="cpu")
    without, stored = map(open_trajectories, files)
    assert not set(NETWORK) & set(without.variables)
    # Storing changes nothing else.
    new = {name for name, v in SCHEMA.items() if v.only == STORED}
    assert set(stored.variables) == set(without.variables) | new
    xr.testing.assert_identical(stored.drop_vars(new).drop_attrs(), without.drop_attrs())

    assert stored["network_step"].values.tolist() == [0, 10, 20, 25]
    assert {name: stored[name].shape[1:] for name in NETWORK} == {
        "network_embedding": (7, 4),
        "network_w1": (8, 5),
        "network_b1": (5,),
        "network_w2": (5, 5),
        "network_b2": (5,),
        "network_w3": (5, 7),
        "network_b3": (7,),
    }
    for row, embedding in ((0, "initial_embedding"), (-1, "final_embedding")):
        assert np.array_equal(stored["network_embedding"][row], stored[embedding][0])
    assert np.array_equal(stored["network_embedding"][2], stored["snapshot_embedding"][1])
    # They are the parameters whose norm was recorded at those steps.
    squares = [
        (stored[name].astype(float) ** 2).sum([d for d in stored[name].dims if "step" not in d])
        for name in NETWORK
    ]
    norm = stored["parameter_norm"][0].sel(step=stored["network_step"])
    np.testing.assert_allclose(np.sqrt(sum(squares)), norm, rtol=1e-6)
    assert (set(stored.dims) - set(stored.coords)) == set()


def test_a_device_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(DesignError, match=r"device 'cuda:99'.*Allowed.*auto, cpu"):
        choose_engine("auto", "cuda:99")
    assert choose_engine("torch", "cpu").device == "cpu"


@pytest.mark.parametrize(
    ("name", "option", "package"), [("ncdump", "-h", "netcdf-bin"), ("h5ls", "-v", "hdf5-tools")]
)
def test_common_tools_list_every_variable(path, tool, name, option, package):
    command = [tool(name, package), option, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for name, variable in SCHEMA.items():
        if variable.always:
            assert name in done.stdout


def incompressible_record(trials, p=59, d=128, steps=30_000):
    """A record of the default sizes filled with noise, which does not compress."""
    rng = np.random.default_rng(0)
    record = Protocol().record
    step = recorded_steps(record, steps)
    k = len(circle_frequencies(p))

    def noise(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    scalars = ("mean_signal", "train_loss", "test_loss", "train_accuracy", "test_accuracy")
    gradient, snapshot = gradient_steps(record, steps), snapshot_steps(record, steps)
    return Record(
        step=np.array(step),
        signal=noise(trials, len(step), k),
        **{name: noise(trials, len(step)) for name in (*scalars, "parameter_norm")},
        gradient_step=np.array(gradient),
        gradient_signal=noise(trials, len(gradient), k),
        snapshot_step=np.array(snapshot),
        snapshot_embedding=noise(len(snapshot), p, d),
        final=Parameters(
            noise(trials, p, d),
            *(np.zeros((trials, *s)) for s in ((2 * d, 1), (1,), (1, 1), (1,), (1, p), (p,))),
        ),
    )


def test_a_default_trial_of_30000_steps_takes_at_most_300_kilobytes(tmp_path):
    trials = 50
    rng = np.random.default_rng(1)
    pairs = np.stack([np.sort(rng.permutation(59**2)[:2784]) for _ in range(trials)])
    record = incompressible_record(trials)
    dataset = trajectory_dataset(
        Block("standard", Cell(), 0, trials - 1),
        Protocol(),
        record,
        initial_embedding=rng.standard_normal((trials, 59, 128)),
        train_pairs=pairs,
        named_frequencies=np.zeros((trials, 0), dtype=np.int64),
        attributes={},
    )
    assert dataset["step"].size == 1291
    assert dataset["gradient_step"].size == pytest.approx(150, abs=35)
    write_trajectories(dataset, tmp_path / "block.h5")
    assert (tmp_path / "block.h5").stat().st_size / trials <= 300_000
