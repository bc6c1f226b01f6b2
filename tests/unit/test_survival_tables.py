"""Tables say of every circle what its trajectory says, and missing is never dead."""

import shutil

import numpy as np
import pytest
import xarray as xr
from statsmodels.stats.proportion import proportion_confint

from fittest.cells import Cell
from fittest.design import Survival
from fittest.errors import FileError
from fittest.fourier import circularity
from fittest.survival import RULES, survived
from fittest.tables.rates import survival_rates
from fittest.tables.survival import gather_survival, survival_of
from fittest.tables.timeline import gather_timeline, timeline_rows
from fittest.tables.trial import gather_trial
from fittest.trajectories import open_trajectories

THRESHOLDS = Survival()


@pytest.fixture(scope="module")
def table(trained, paths):
    return gather_survival(paths, trained.design.survival, trained.design.horizons)


def test_the_rules_are_those_of_the_paper():
    signal = np.array([[30.0, 9.0, 10.0, 20.0]])
    initial = np.array([[30.0, 95.0, 10.0, 10.0]])
    flags = survived(signal, initial, np.array([10.0]), THRESHOLDS)
    # relative: above twice the mean; absolute: above 10; retained: above a tenth of the start.
    assert flags[0, :, RULES.index("relative")].tolist() == [1, 0, 0, 0]
    assert flags[0, :, RULES.index("absolute")].tolist() == [1, 0, 0, 1]
    assert flags[0, :, RULES.index("retained")].tolist() == [1, 0, 1, 1]
    assert flags.dtype == np.int8


def test_nothing_survives_relatively_where_nothing_decays():
    flags = survived(np.full((1, 5), 90.0), np.full((1, 5), 90.0), np.array([85.0]), THRESHOLDS)
    assert flags[0].sum(axis=0).tolist() == [0, 5, 5]


def test_a_diverged_circle_is_missing():
    flags = survived(
        np.array([[np.nan, 50.0]]), np.full((1, 2), 90.0), np.array([10.0]), THRESHOLDS
    )
    assert flags[0].tolist() == [[-1, -1, -1], [1, 1, 1]]


def test_thresholds_come_from_the_design():
    strict = Survival(relative=4.0, absolute=50.0, retained=0.9)
    flags = survived(np.array([[30.0]]), np.array([[90.0]]), np.array([10.0]), strict)
    assert flags[0, 0].tolist() == [0, 0, 0]


def test_the_table_says_what_the_trajectories_say(table, paths):
    assert dict(table.sizes) == {
        "embedding": 2,
        "trial": 4,
        "frequency": 6,
        "horizon": 3,
        "rule": 3,
        "update": 4,
    }
    assert table["horizon"].values.tolist() == [10, 40, 60]
    for path in paths:
        t = open_trajectories(path)
        at = table.sel(embedding=int(t.attrs["embedding"]), trial=t["trial"].values)
        later = t.sel(step=[10, 40, 60])
        expected = later["signal"] > 2 * later["mean_signal"]
        got = at["survived"].sel(rule="relative").transpose("trial", "horizon", "frequency")
        assert np.array_equal(got.values == 1, expected.values)
        assert np.array_equal(at["circles"].sel(rule="relative"), expected.sum("frequency"))
        assert np.array_equal(at["initial_signal"], t["signal"][:, 0])
        assert np.array_equal(at["test_loss"], later["test_loss"])
        change = (t["signal"][:, 4] - t["signal"][:, 3]) / t["signal"][:, 0]
        np.testing.assert_allclose(at["gradient"].sel(update=4), change, rtol=1e-3, atol=1e-6)
        np.testing.assert_allclose(
            at["circularity"], circularity(t["initial_embedding"].values), rtol=1e-6
        )


def test_trials_share_the_processor_time_of_their_job_and_a_gpus_is_unknown(table, paths):
    spent = [open_trajectories(path).attrs["core_seconds"] for path in paths]
    assert float(table["core_seconds"].sum()) == pytest.approx(sum(spent))
    t = open_trajectories(paths[0])
    one = survival_of(t, THRESHOLDS, [60])["core_seconds"].values
    assert one.tolist() == [pytest.approx(spent[0] / 2)] * 2
    elsewhere = survival_of(t.assign_attrs(device="cuda (H200)"), THRESHOLDS, [60])
    assert np.isnan(elsewhere["core_seconds"]).all()


def test_the_mean_signal_counts_all_p_bins(paths):
    t = open_trajectories(paths[0])
    bins = np.linalg.norm(np.fft.fft(t["final_embedding"].values, axis=1), axis=2)
    np.testing.assert_allclose(t["mean_signal"][:, -1], bins.mean(axis=1), rtol=1e-5)


def test_single_valued_axes_are_scalars_and_several_valued_are_dimensions(table):
    assert {n: table[n].item() for n in ("p", "d", "width", "weight_decay", "intervention")} == {
        "p": 13,
        "d": 6,
        "width": 8,
        "weight_decay": 0.5,
        "intervention": "none",
    }
    assert table["embedding"].values.tolist() == [0, 1]


def test_circles_that_do_not_exist_are_missing_never_dead(trained):
    cells = [Cell(p=p, d=6, width=wide, embedding="redrawn") for p in (7, 13) for wide in (5, 8)]
    paths = [trained.train(cell, 0, 1) for cell in cells]
    table = gather_survival(paths, THRESHOLDS, [60])
    assert {"p", "width"} < set(table.dims)
    assert table["embedding"].item() == "redrawn"
    seven = table.sel(p=7)
    assert seven["survived"].sel(frequency=[4, 5, 6]).values.tolist() == (
        np.full(seven["survived"].sel(frequency=[4, 5, 6]).shape, -1).tolist()
    )
    assert (seven["survived"].sel(frequency=[1, 2, 3]) >= 0).all()
    assert np.isnan(seven["initial_signal"].sel(frequency=6)).all()
    assert (table["circles"] >= 0).all()
    rates = survival_rates(table)
    assert (rates["trials"].sel(p=7, frequency=5) == 0).all()
    assert np.isnan(rates["rate"].sel(p=7, frequency=5)).all()
    assert (rates["trials"].sel(p=13) == 2).all()


def test_rates_count_survivors_and_carry_wilson_intervals(table):
    rates = survival_rates(table)
    flags = table["survived"].transpose(..., "trial")
    assert np.array_equal(rates["survived_count"], (flags == 1).sum("trial"))
    assert (rates["trials"] == 4).all()
    low, high = proportion_confint(rates["survived_count"].values, 4, method="wilson")
    np.testing.assert_allclose(rates["rate_low"], low)
    np.testing.assert_allclose(rates["rate_high"], high)
    np.testing.assert_allclose(rates["rate"], rates["survived_count"] / 4)


def test_mixed_protocols_or_seeds_are_refused(trained, paths, tmp_path):
    with pytest.raises(FileError, match="of one seed, and of one protocol a name"):
        gather_survival([], THRESHOLDS, [60])
    from fittest.training.block import train_block

    other = tmp_path / "standard" / paths[0].relative_to(trained.root / "trajectories/standard")
    train_block(other, trained.protocol, 4, device="cpu")
    with pytest.raises(FileError, match="of one seed, and of one protocol a name"):
        gather_survival([*paths, other], THRESHOLDS, [60])


def test_the_timeline_keeps_log_spaced_steps_with_first_and_last(trained, paths):
    timeline = gather_timeline(paths, THRESHOLDS, [60])
    steps = timeline["step"].values
    assert steps[0] == 0
    assert steps[-1] == 60
    t = open_trajectories(paths[0]).sel(step=steps)
    at = timeline.sel(embedding=int(t.attrs["embedding"]), trial=t["trial"].values)
    assert np.array_equal(at["signal"].transpose("trial", "step", "frequency"), t["signal"])


def test_timeline_rows_are_few_sorted_and_unique():
    steps = np.array([*range(1001), *range(1100, 30_001, 100)])
    rows = timeline_rows(steps)
    assert len(rows) <= 122
    assert (np.diff(rows) > 0).all()
    assert steps[rows][[0, 1, -1]].tolist() == [0, 1, 30_000]


def test_the_trial_table_is_the_first_trial_of_its_block(trained, paths):
    path = next(p for p in paths if p.stem == "trials~0-1")
    t, one = open_trajectories(path), gather_trial([path], THRESHOLDS)
    assert np.array_equal(one["signal"], t["signal"][0])
    assert np.array_equal(one["snapshot_embedding"], t["snapshot_embedding"])
    assert one["token_increment"].values.tolist()[:2] == [12, 6]
    assert one.attrs["protocol"] == t.attrs["protocol"]
    with pytest.raises(FileError, match="does not begin with trial 0"):
        gather_trial([next(p for p in paths if p.stem == "trials~2-3")], THRESHOLDS)


def test_even_and_composite_moduli_have_their_circles(trained):
    path = trained.train(Cell(p=12, d=6, width=8, embedding="redrawn"), 0, 1)
    table = gather_survival([path], THRESHOLDS, [60])
    assert table["frequency"].values.tolist() == [1, 2, 3, 4, 5]
    trial = gather_trial([path], THRESHOLDS)
    # Neither 1 nor 11 is even, and 5·5 = 25 ≡ 1; 2, 3 and 4 share a factor with 12.
    assert trial["token_increment"].values.tolist() == [1, -1, -1, -1, 5]


def test_tables_survive_a_round_trip_through_their_file(table, tmp_path):
    from fittest.files import open_dataset, write_dataset

    write_dataset(table, tmp_path / "t.nc", "survival table")
    back = open_dataset(tmp_path / "t.nc", "survival table")
    xr.testing.assert_equal(back, table)
    xr.testing.assert_equal(survival_rates(back), survival_rates(table))


def test_a_file_in_the_wrong_place_or_given_twice_is_refused(paths, trained, tmp_path):
    other = next(p for p in paths if "embedding~1" in str(p))
    wrong = tmp_path / str(other.relative_to(trained.root)).replace("embedding~1", "embedding~0")
    wrong.parent.mkdir(parents=True)
    shutil.copy(other, wrong)
    with pytest.raises(FileError, match=r"does not hold trials .* Remove it"):
        gather_survival([wrong], THRESHOLDS, [60])
    with pytest.raises(FileError, match="given twice"):
        gather_survival([other, other], THRESHOLDS, [60])


def test_a_trial_that_diverged_has_no_number_of_circles(paths):
    t = open_trajectories(paths[0])
    t["signal"][0, -1] = np.nan
    table = survival_of(t, THRESHOLDS, [60])
    assert (table["circles"].isel(trial=0, horizon=-1) == -1).all()
    assert (table["circles"].isel(trial=1) >= 0).all()


def test_gradients_of_updates_that_were_not_recorded_are_missing(paths):
    t = open_trajectories(paths[0])
    sparse = survival_of(t.drop_sel(step=[2]), THRESHOLDS, [60])["gradient"]
    dense = survival_of(t, THRESHOLDS, [60])["gradient"]
    assert np.isnan(sparse.sel(update=[2, 3])).all()
    assert np.array_equal(sparse.sel(update=[1, 4]), dense.sel(update=[1, 4]))


def test_shared_and_redrawn_embeddings_stand_in_one_table(trained, paths):
    redrawn = trained.train(Cell(p=13, d=6, width=8, embedding="redrawn"), 0, 1)
    table = gather_survival([*paths, redrawn], THRESHOLDS, [60])
    assert table["embedding"].values.tolist() == ["0", "1", "redrawn"]
    assert (table["survived"].sel(embedding="redrawn", trial=[2, 3]) == -1).all()
