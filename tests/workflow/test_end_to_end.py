"""The tiny design, really run: what comes out, and that it is what went in."""

import subprocess

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from fittest.analyses import tables_of
from fittest.figures.drawing import draw_figure, save
from fittest.figures.registry import FIGURES
from fittest.survival import RULES

# Of the tiny design; the smoke design draws them all.
DRAWN = [name for name, figure in FIGURES.items() if figure.experiments == ["initial-signal"]]
SUFFIXES = ("png", "pdf", "svg")
MAGIC = {"png": b"\x89PNG\r\n", "pdf": b"%PDF-", "svg": b"<?xml"}


@pytest.fixture
def results(finished_once):
    """The finished results, to read only."""
    return finished_once.results


def figure_bytes(folder, name) -> dict[str, bytes]:
    return {suffix: (folder / f"{name}.{suffix}").read_bytes() for suffix in SUFFIXES}


@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_is_there_in_three_formats_with_its_data(results, name):
    for suffix, content in figure_bytes(results / "figures", name).items():
        assert content.startswith(MAGIC[suffix])
        assert len(content) > 3000
    assert len(pd.read_csv(results / f"figures/{name}.csv")) > 0


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_a_function_of_its_data_alone(results, tmp_path, name):
    from importlib import import_module

    frame = pd.read_csv(results / f"figures/{name}.csv")
    save(import_module(FIGURES[name].module), frame, tmp_path / name)
    assert figure_bytes(tmp_path, name) == figure_bytes(results / "figures", name)


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_drawn_again_from_its_tables_is_the_same_bytes(results, tmp_path, name):
    inputs = [results / path for path in FIGURES[name].inputs]
    draw_figure(name, inputs, tmp_path / name)
    assert figure_bytes(tmp_path, name) == figure_bytes(results / "figures", name)
    data = (results / f"figures/{name}.csv").read_bytes()
    assert (tmp_path / f"{name}.csv").read_bytes() == data


def test_every_data_file_opens_with_xarray_alone_and_explains_each_variable(results):
    paths = [*results.rglob("*.nc"), *results.rglob("*.h5")]
    # Two embeddings, five blocks, the ledger, and the tables of two experiments.
    tables = [*tables_of("initial-signal"), *tables_of("mine")]
    assert len(paths) == 2 + 5 + 1 + len(tables)
    for path in paths:
        with xr.open_dataset(path, engine="h5netcdf") as dataset:
            assert dataset.attrs["complete"] == "yes"
            for name, variable in dataset.variables.items():
                assert variable.attrs["long_name"], (path, name)
                # xarray takes the units of a duration away; there is none here.
                assert "units" in variable.attrs, (path, name)


@pytest.mark.parametrize("experiment", ["initial-signal", "mine"])
def test_survival_rates_are_survivors_counted_by_hand(results, experiment):
    protocol, embeddings = {
        "initial-signal": ("standard", (0, 1)),
        "mine": ("other", ("redrawn",)),
    }[experiment]
    rates = xr.open_dataset(results / f"tables/{experiment}/rates.nc", engine="h5netcdf")
    assert list(rates["horizon"]) == [20, 40, 60]
    for embedding in embeddings:
        at_embedding = rates.sel(embedding=embedding) if len(embeddings) > 1 else rates
        count, trials = {}, 0
        for path in sorted((results / f"trajectories/{protocol}").rglob("*.h5")):
            if f"embedding~{embedding}" not in path.parts:
                continue
            with xr.open_dataset(path, engine="h5netcdf") as t:
                for trial in t["trial"].values:
                    trials += 1
                    for horizon in (20, 40, 60):
                        now = t.sel(trial=trial, step=horizon)
                        first = t["signal"].sel(trial=trial, step=0)
                        for k in (1, 2, 3):
                            s = float(now["signal"].sel(frequency=k))
                            survived = {
                                "relative": s > 2 * float(now["mean_signal"]),
                                "absolute": s > 10,
                                "retained": s > 0.1 * float(first.sel(frequency=k)),
                            }
                            for rule in RULES:
                                key = (horizon, k, rule)
                                count[key] = count.get(key, 0) + survived[rule]
        assert trials == {"initial-signal": 4, "mine": 2}[experiment]
        for (horizon, k, rule), number in count.items():
            cell = at_embedding.sel(horizon=horizon, frequency=k, rule=rule)
            assert int(cell["survived_count"]) == number
            assert int(cell["trials"]) == trials
            assert float(cell["rate"]) == number / trials


def test_recorded_signals_are_those_of_the_recorded_embeddings(results):
    for path in sorted((results / "trajectories").rglob("*.h5")):
        with xr.open_dataset(path, engine="h5netcdf") as t:
            for step, embedding in ((0, "initial_embedding"), (60, "final_embedding")):
                norms = np.linalg.norm(np.fft.fft(t[embedding].astype("f8"), axis=1), axis=2)
                at = t.sel(step=step)
                np.testing.assert_allclose(at["signal"], norms[:, 1:4], rtol=1e-5)
                np.testing.assert_allclose(at["mean_signal"], norms.mean(1), rtol=1e-5)


@pytest.mark.parametrize("program", ["ncdump", "h5ls"])
@pytest.mark.parametrize("kind", ["trajectory", "table"])
def test_common_programs_print_every_variable(results, tool, program, kind):
    tool(program, "netcdf-bin hdf5-tools")
    if kind == "trajectory":
        path = sorted((results / "trajectories").rglob("*.h5"))[0]
    else:
        path = results / "tables/initial-signal/survival.nc"
    done = subprocess.run([program, path], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    with xr.open_dataset(path, engine="h5netcdf") as dataset:
        for name, variable in dataset.variables.items():
            if program == "ncdump":
                dims = f"({', '.join(variable.dims)})" if variable.dims else ""
                assert f" {name}{dims} ;" in done.stdout
                assert f"\n {name} =" in done.stdout
            else:
                assert any(line.split()[0] == name for line in done.stdout.splitlines()), name
