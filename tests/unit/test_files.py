"""No half-written file is ever taken for a result."""

import os

import h5py
import numpy as np
import pytest
import xarray as xr

from fittest.errors import FileError
from fittest.files import describe, open_dataset, replacing, write_dataset


@pytest.fixture
def dataset():
    return xr.Dataset(
        {
            "value": ("trial", np.array([1.5, np.nan]), describe("a value", "nat")),
            "flag": (
                "trial",
                np.array([1, -1], dtype=np.int8),
                describe("a flag", flag_values=[0, 1], flag_meanings="no yes"),
            ),
        },
        coords={"trial": ("trial", [3, 4], describe("trial number"))},
    )


@pytest.fixture
def path(tmp_path, dataset):
    write_dataset(dataset, tmp_path / "some.h5", "some kind")
    return tmp_path / "some.h5"


def edit(path, **attributes):
    with h5py.File(path, "r+") as file:
        for name, value in attributes.items():
            if value is None:
                del file.attrs[name]
            else:
                file.attrs[name] = value


def test_a_file_reads_back_with_flags_as_flags(path, dataset):
    back = open_dataset(path, "some kind")
    xr.testing.assert_identical(back.drop_attrs(), dataset.drop_attrs())
    assert back["flag"].dtype == np.int8
    assert back["value"].attrs == {"long_name": "a value", "units": "nat"}


def test_a_missing_flag_is_missing_to_anyone_who_decodes_it(path):
    with xr.open_dataset(path, engine="h5netcdf") as decoded:
        assert np.isnan(decoded["flag"].values[1])


@pytest.mark.parametrize("size", [0, 1, 100, 0.5, 0.999])
def test_a_truncated_file_is_refused_with_the_remedy(path, size):
    whole = path.stat().st_size
    os.truncate(path, int(size if size >= 1 else size * whole))
    with pytest.raises(FileError, match=r"some\.h5 is empty, truncated or not HDF5.*Remove it"):
        open_dataset(path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"complete": None}, "incomplete"),
        ({"kind": None}, "not written by fittest"),
        ({"schema_version": 0}, "has schema 0, and this version reads 1"),
        ({"schema_version": 2}, "has schema 2"),
        ({"kind": "other"}, "holds 'other', not 'some kind'"),
    ],
)
def test_a_foreign_older_or_incomplete_file_is_refused_with_the_remedy(path, change, says):
    edit(path, **change)
    with pytest.raises(FileError, match=f"{says}.*Remove it, then make it again"):
        open_dataset(path, "some kind")


def test_a_foreign_hdf5_file_and_a_text_file_are_refused(tmp_path):
    with h5py.File(tmp_path / "foreign.h5", "w") as file:
        file["x"] = np.arange(3)
    (tmp_path / "text.h5").write_text("hello")
    for name in ("foreign.h5", "text.h5", "missing.h5"):
        with pytest.raises(FileError, match=name):
            open_dataset(tmp_path / name)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, dataset):
    before = path.read_bytes()

    def write_half():
        with replacing(path) as beside:
            beside.write_text("half of ")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["some.h5"]


def test_a_leftover_of_a_kill_is_removed(path, dataset):
    leftover = path.with_name(".some.h5.123.partial")
    busy = path.with_name(".some.h5.456.partial")
    for file in (leftover, busy):
        file.write_text("half a file")
    os.utime(leftover, (0, 0))
    write_dataset(dataset, path, "some kind")
    assert not leftover.exists()
    assert busy.exists(), "another writer's file is not ours to remove"
    open_dataset(path, "some kind")


def test_completeness_is_marked_last(tmp_path, dataset, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "fittest.files._flush",
        lambda p: seen.append("complete" in h5py.File(p).attrs) if p.suffix == ".partial" else None,
    )
    write_dataset(dataset, tmp_path / "x.h5", "some kind")
    assert seen == [True]


def test_a_variable_without_units_is_refused(tmp_path, dataset):
    del dataset["value"].attrs["units"]
    with pytest.raises(ValueError, match=r"'value'.*units"):
        write_dataset(dataset, tmp_path / "x.h5", "some kind")
    assert os.listdir(tmp_path) == []
