"""Survivors and agreement of horizons: counts, chance and intervals that are known beforehand."""

import json
from itertools import combinations

import numpy as np
import pytest
import xarray as xr

from fittest.design import Survival
from fittest.intervals import wilson
from fittest.statistics.agreement import agreement, chances, measures
from fittest.statistics.selection import decay_rate
from fittest.statistics.survivors import survivors
from fittest.statistics.units import mean_over_units, over_units
from fittest.survival import MISSING, RULES
from fittest.tables.timeline import circles_at, gather_timeline

CIRCLES = 8


def tables(fate, *, accuracy=1.0, ratio=0.005):
    """Return a survival table and timeline of fates, shape (embedding, trial, horizon, circle)."""
    fate = np.asarray(fate, dtype=np.int8)
    flags = fate[..., None].repeat(len(RULES), axis=-1)
    counts = np.where((flags == MISSING).any(axis=3), MISSING, flags.sum(axis=3))
    dims = ("embedding", "trial", "horizon", "frequency", "rule")
    initial = np.full(fate.shape[:2] + fate.shape[3:], 50.0)
    shape = fate.shape[:3]
    table = xr.Dataset(
        {
            "survived": (dims, flags),
            "circles": (("embedding", "trial", "horizon", "rule"), counts.astype(np.int16)),
            "signal": (dims[:4], np.where(fate == 1, 50.0, 50.0 * ratio)),
            "initial_signal": (("embedding", "trial", "frequency"), initial),
            "test_accuracy": (dims[:3], np.broadcast_to(accuracy, shape)),
        },
        coords={"horizon": 1000 * np.arange(1, shape[2] + 1), "rule": list(RULES)},
    )
    timeline = table[["circles"]].rename(horizon="step")
    return table, timeline


def random_fates(embeddings=4, trials=10, horizons=2, alive=3, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.random((embeddings, trials, horizons, CIRCLES))
    return (scores.argsort(axis=-1) < alive).astype(np.int8)


def row(frame, statistic, rule="relative", horizon=None):
    some = frame[(frame["statistic"] == statistic) & (frame["rule"] == rule)]
    return some[some["horizon"] == (horizon or some["horizon"].max())].iloc[0]


def test_shares_of_trials_are_counted_with_wilson_intervals():
    fate = np.zeros((2, 4, 1, CIRCLES), dtype=np.int8)
    for trial, count in enumerate([1, 2, 3, 4, 5, 6, 3]):
        fate[trial // 4, trial % 4, 0, :count] = 1
    fate[1, 3] = MISSING
    frame = survivors(*tables(fate))
    few = row(frame, "share_3_to_5")
    low, high = wilson(np.array(4), np.array(7))
    assert (few["estimate"], few["low"], few["high"]) == pytest.approx(
        (4 / 7, float(low), float(high))
    )
    assert (few["n_trials"], few["n_embeddings"]) == (7, 2)


def test_a_single_circle_counts_only_where_the_task_was_solved():
    fate = np.zeros((1, 4, 1, CIRCLES), dtype=np.int8)
    fate[0, :, 0, 0] = 1
    fate[0, 1, 0, 1] = 1
    accuracy = np.array([0.5, 0.99, 1.0, np.nan]).reshape(1, 4, 1)
    single = row(survivors(*tables(fate, accuracy=accuracy)), "share_single")
    assert (single["estimate"], single["n_trials"]) == (0.5, 2)
    none = row(survivors(*tables(fate, accuracy=0.2)), "share_single")
    assert np.isnan(none["estimate"])
    assert none["n_trials"] == 0


def test_the_dead_ratio_is_the_median_of_the_dead_beside_decay_alone():
    fate = random_fates()
    table, timeline = tables(fate, ratio=0.02)
    # One dead circle is far from dead, a survivor grows: neither moves the median of the dead.
    table["signal"].values[0, 0, 0, int(np.argmin(fate[0, 0, 0]))] = 40
    table["signal"].values[table["survived"].values[..., 0] == 1] = 1000
    table.attrs["protocol"] = json.dumps({"optimizer": {"lr": 0.01}})
    table = table.assign_coords(weight_decay=0.5)
    found = row(survivors(table, timeline), "dead_ratio")
    assert found["estimate"] == pytest.approx(0.02)
    assert found["baseline"] == pytest.approx(0.995**2000)
    assert found["n_circles"] == 4 * 10 * (CIRCLES - 3)


def test_circles_over_time_leave_out_what_diverged():
    fate = random_fates(embeddings=1, trials=5)
    fate[0, 0, 1] = MISSING
    frame = survivors(*tables(fate))
    assert row(frame, "circles", horizon=1000)["n_trials"] == 5
    last = row(frame, "circles", horizon=2000)
    assert (last["estimate"], last["n_trials"]) == (3, 4)


def test_the_timeline_counts_circles_as_the_survival_table_does(trained, paths):
    timeline = gather_timeline(paths, trained.design.survival, [40])
    assert timeline["circles"].dims == ("embedding", "trial", "step", "rule")
    for horizon in (40, 60):
        flags = timeline["survived"].sel(horizon=horizon).sum("frequency")
        now = timeline["circles"].sel(step=horizon)
        xr.testing.assert_equal(now.drop_vars("step"), flags.drop_vars("horizon").astype(np.int16))


def test_a_step_of_the_timeline_is_judged_against_step_0():
    signal = np.array([[100.0, 100, 100], [50, 50, 4], [15, 5, 5]])[None]
    t = xr.Dataset(
        {
            "signal": (("trial", "step", "frequency"), signal),
            "mean_signal": (("trial", "step"), np.array([[100.0, 20, 7]])),
        },
        coords={"step": [0, 10, 20]},
    )
    found = circles_at(t.isel(step=[1, 2]), t, Survival())
    assert found.shape == (1, 2, len(RULES))
    assert found[0].tolist() == [[2, 2, 2], [1, 1, 1]]
    t["signal"][0, 2, 0] = np.nan
    assert circles_at(t.isel(step=[2]), t, Survival()).tolist() == [[[MISSING] * 3]]


def test_embeddings_are_resampled_and_trials_where_there_is_one():
    # All spread is between embeddings: resampling trials would give far too short an interval.
    values = np.repeat(np.arange(8.0)[:, None], 50, axis=1)
    between = mean_over_units(values)
    assert "over embeddings" in between["text"]
    assert between["high"] - between["low"] > 2
    within = mean_over_units(values.reshape(1, -1))
    assert "over trials" in within["text"]
    assert within["high"] - within["low"] < 1
    alone = mean_over_units(np.array([[3.0]]))
    assert alone["estimate"] == 3
    assert np.isnan(alone["low"])
    nothing = mean_over_units(np.full((2, 3), np.nan))
    assert np.isnan(nothing["estimate"])
    assert nothing["n_trials"] == 0
    assert np.isnan(over_units(np.full((2, 3), np.nan))["estimate"])


def test_the_bootstrap_over_embeddings_covers_as_often_as_it_says():
    values = np.random.default_rng(3).normal(size=(20, 3, 400)) + 1
    found = mean_over_units(values)
    assert 0.87 < np.mean((found["low"] <= 1) & (found["high"] >= 1)) < 0.98
    one = over_units(values[..., 0], np.mean)
    assert one["estimate"] == pytest.approx(found["estimate"][0])
    assert one["low"] == pytest.approx(found["low"][0], abs=0.03)
    assert one["high"] == pytest.approx(found["high"][0], abs=0.03)


def test_agreement_with_itself_is_whole_and_chance_is_that_of_random_sets():
    once = random_fates(horizons=1, seed=1)
    same = agreement(tables(np.concatenate([once, once], axis=2))[0])
    assert (same["estimate"] == 1).all()
    assert set(same["against"]) == {2000}
    assert set(same["horizon"]) == {1000}
    apart = agreement(tables(random_fates(trials=400, seed=2))[0])
    for statistic in ("same_fate", "same_survivors", "jaccard", "precision", "recall"):
        found = row(apart, statistic)
        assert found["baseline"] < row(same, statistic)["estimate"]
        assert found["low"] - 0.02 < found["baseline"] < found["high"] + 0.02, statistic


def test_chance_is_the_mean_over_all_random_sets():
    late = np.array([True, True, True, False, False, False])
    early = np.array([list(np.isin(range(6), s)) for s in combinations(range(6), 2)])
    found = measures(early, np.broadcast_to(late, early.shape))
    expected = chances(early[0], late)
    for name, values in found.items():
        assert values.mean() == pytest.approx(float(expected[name])), name
    equal = chances(late, late)
    assert equal["same_survivors"] == pytest.approx(1 / 20)


def test_agreement_is_counted_by_circle_and_by_trial():
    fate = np.zeros((1, 2, 2, CIRCLES), dtype=np.int8)
    fate[0, :, 1, :3] = 1
    fate[0, 0, 0, :3] = 1
    fate[0, 1, 0, 1:5] = 1
    frame = agreement(tables(fate)[0])
    assert row(frame, "same_fate")["estimate"] == (1 + 5 / 8) / 2
    assert row(frame, "same_survivors")["estimate"] == 0.5
    assert row(frame, "jaccard")["estimate"] == (1 + 2 / 5) / 2
    assert row(frame, "precision")["estimate"] == (1 + 2 / 4) / 2
    assert row(frame, "recall")["estimate"] == pytest.approx((1 + 2 / 3) / 2)
    # Nobody survived early in any trial: precision is undefined, and what diverged is left out.
    fate[0, :, 0] = 0
    fate[0, 1, 1] = MISSING
    none = agreement(tables(fate)[0])
    assert np.isnan(row(none, "precision")["estimate"])
    assert row(none, "recall")["estimate"] == 0
    assert row(none, "recall")["n_trials"] == 1
    assert row(none, "same_fate")["n_trials"] == 1
    assert row(none, "same_fate")["estimate"] == 5 / 8


def test_one_horizon_agrees_with_none():
    assert agreement(tables(random_fates(horizons=1))[0]).empty


def test_the_decay_a_step_is_the_tables_own():
    table = xr.Dataset(attrs={"protocol": json.dumps({"optimizer": {"lr": 0.01}})})
    assert decay_rate(table.assign_coords(weight_decay=0.5)) == pytest.approx(0.005)
    several = table.assign_coords(weight_decay=[0.1, 0.5])
    assert np.isnan([decay_rate(several), decay_rate(xr.Dataset())]).all()
