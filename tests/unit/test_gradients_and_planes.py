"""Gradients, slopes and principal planes: tables and statistics of what is known beforehand."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy.linalg import subspace_angles

from fittest.figures import figure_13
from fittest.figures.drawing import save
from fittest.fourier import circle_frequencies, plane
from fittest.planes import principal_planes, singular_values
from fittest.statistics.gradients import gradients
from fittest.statistics.planes import planes
from fittest.survival import MISSING, RULES
from fittest.tables.gradients import fall_slope, gather_gradients, late_slope
from fittest.tables.planes import gather_planes
from fittest.tables.survival import survival_of
from fittest.trajectories import open_trajectories

STEPS = np.unique(np.geomspace(1, 5000, 150).round()).astype(int)
RATE = 0.005


def gradient_table(life, *, fate=None, slope=-RATE, embeddings=2, trials=5):
    """Return a gradients table in which every circle has the same life, shape (step,)."""
    shape = (embeddings, trials, len(STEPS), 4)
    fate = np.array([1, 0, 0, 0] if fate is None else fate, dtype=np.int8)
    dims = ("embedding", "trial", "gradient_step", "frequency")
    flags = np.broadcast_to(fate[:, None, None], (embeddings, trials, 4, 1, 3))
    slopes = np.where(fate == 1, 7.0, slope)  # a survivor's slope must not matter
    each = (("embedding", "trial", "frequency"), np.broadcast_to(slopes, (embeddings, trials, 4)))
    return xr.Dataset(
        {
            "gradient_signal": (dims, np.broadcast_to(life[:, None], shape).copy()),
            "survived": (("embedding", "trial", "frequency", "horizon", "rule"), flags.copy()),
            "late_slope": each,
            "fall_slope": each,
        },
        coords={
            "gradient_step": STEPS,
            "frequency": [1, 2, 3, 4],
            "horizon": [5000],
            "rule": list(RULES),
            "weight_decay": 0.5,
        },
        attrs={"protocol": json.dumps({"optimizer": {"lr": 0.01}})},
    )


def bump(at, height=1.0):
    return height * np.exp(-((np.log(STEPS / at) / 0.5) ** 2))


def row(frame, statistic, rule=None):
    some = frame[frame["statistic"] == statistic]
    return (some if rule is None else some[some["rule"] == rule]).iloc[0]


def test_signals_under_weight_decay_alone_fall_at_its_rate():
    steps = np.concatenate([np.arange(0, 1001), np.arange(1100, 5001, 100)])
    decayed = 80 * (1 - RATE) ** steps
    constant = np.full(len(steps), 80.0)
    signal = np.stack([decayed, constant, constant * np.nan], axis=-1)[None]
    for slope in (late_slope, fall_slope):
        found = slope(steps, signal)
        assert found.shape == (1, 3)
        assert found[0, 0] == pytest.approx(np.log(1 - RATE), rel=1e-9)
        assert np.isnan(found[0, 2])
    assert late_slope(steps, signal)[0, 1] == pytest.approx(0, abs=1e-12)
    assert np.isnan(fall_slope(steps, signal)[0, 1])  # never falls so far


def test_a_floor_hides_decay_from_late_slopes_but_not_from_the_fall():
    steps = np.arange(5001)
    signal = np.maximum(80 * np.exp(-RATE * steps), 10)[None, :, None]
    assert late_slope(steps, signal)[0, 0] == pytest.approx(0, abs=1e-12)
    assert fall_slope(steps, signal)[0, 0] == pytest.approx(-RATE)


def test_slopes_of_short_or_vanished_lives_are_missing():
    steps = np.arange(1005)
    assert np.isnan(late_slope(steps, np.ones((2, 1005, 3)))).all()
    signal = np.zeros((1, 2001, 1))
    assert np.isnan(late_slope(np.arange(2001), signal)).all()
    # Falls through the first share and not the second.
    half = np.linspace(80, 40, 50)[None, :, None]
    assert np.isnan(fall_slope(np.arange(50), half)).all()
    # All at once, between two recorded steps: there is no rate to tell.
    jump = np.where(np.arange(50) < 7, 10.0, 1.0)[None, :, None]
    assert np.isnan(fall_slope(np.arange(50), jump)).all()


def test_the_peak_is_where_it_was_put_and_a_second_one_is_seen():
    frame = gradients(gradient_table(bump(100)))
    assert row(frame, "peak_step")["estimate"] == pytest.approx(100, rel=0.05)
    assert row(frame, "last_peak_step")["estimate"] == row(frame, "peak_step")["estimate"]
    assert row(frame, "share_at_100")["estimate"] == pytest.approx(1, abs=0.01)
    assert row(frame, "peak_step")["n_trials"] == 10
    two = gradients(gradient_table(bump(12, 10) + bump(100)))
    assert row(two, "peak_step")["estimate"] == pytest.approx(12, abs=1)
    assert row(two, "last_peak_step")["estimate"] == pytest.approx(100, rel=0.1)
    assert row(two, "share_at_100")["estimate"] == pytest.approx(0.1, rel=0.2)


def test_the_late_share_is_the_median_after_step_1000_over_the_peak():
    life = np.where(STEPS > 1000, 0.02, bump(100))
    frame = gradients(gradient_table(life))
    assert row(frame, "late_share")["estimate"] == pytest.approx(0.02, rel=0.01)


def test_decay_is_judged_by_the_dead_and_by_the_tables_own_rate():
    frame = gradients(gradient_table(bump(100), slope=-RATE / 2))
    for name in ("decay_slope_ratio", "fall_slope_ratio"):
        found = row(frame, name, "relative")
        assert found["estimate"] == pytest.approx(0.5)
        assert (found["n_circles"], found["baseline"], found["horizon"]) == (30, 1, 5000)
    alive = gradients(gradient_table(bump(100), fate=[1, 1, 1, 1]))
    assert np.isnan(row(alive, "decay_slope_ratio", "relative")["estimate"])
    nothing_decays = gradient_table(bump(100)).assign_coords(weight_decay=0.0)
    assert np.isnan(row(gradients(nothing_decays), "decay_slope_ratio", "relative")["estimate"])


def test_a_trial_that_diverged_has_no_peak(tmp_path):
    table = gradient_table(bump(100))
    table["gradient_signal"][0, 0, 50:] = np.nan
    table["survived"][0, 0] = MISSING
    frame = gradients(table)
    assert row(frame, "peak_step")["n_trials"] == 9
    assert row(frame, "decay_slope_ratio", "relative")["n_circles"] == 27
    data = figure_13.data(table, frame)
    shown = data[data["panel"] == "trial"]
    assert shown["gradient_signal"].notna().all()
    assert set(shown[shown["survived"] == 1]["frequency"]) == {1}
    assert data.loc[data["panel"] == "fate", "n_trials"].max() == 9
    assert "peaks at step 1" in figure_13.caption(data)
    save(figure_13, data, tmp_path / "figure")


def test_without_gradients_everything_is_nan_and_the_figure_says_so(tmp_path):
    none = gradient_table(bump(100)).isel(gradient_step=slice(0))
    gone = gradient_table(bump(100) * np.nan, fate=[MISSING] * 4)
    early = gradient_table(bump(100)).isel(gradient_step=slice(20))
    for name, table in (("none", none), ("gone", gone), ("early", early)):
        frame = gradients(table)
        assert np.isnan(row(frame, "late_share")["estimate"])
        data = figure_13.data(table, frame)
        assert "nan" not in figure_13.caption(data)
        drawn = figure_13.draw(data)
        texts = " ".join(t.get_text() for ax in drawn.axes for t in ax.texts)
        assert "no gradient recorded" in texts
        save(figure_13, data, tmp_path / name)


def test_the_gradients_table_holds_what_was_recorded(trained, paths):
    table = gather_gradients(paths, trained.design.survival)
    t = open_trajectories(next(p for p in paths if "embedding~1" in str(p) and p.stem[7] == "0"))
    there = table.sel(embedding=1, trial=t["trial"].values)
    dims = ("trial", "gradient_step", "frequency")
    np.testing.assert_array_equal(
        there["gradient_signal"].transpose(*dims), t["gradient_signal"].transpose(*dims)
    )
    fate = survival_of(t, trained.design.survival, [])["survived"]
    np.testing.assert_array_equal(there["survived"].transpose(*fate.dims), fate)
    assert np.isnan(table["late_slope"]).all()


def circles(amplitudes, p=31, d=40, noise=0.0, seed=0):
    """Return an embedding of orthogonal circles: frequency → amplitude."""
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.standard_normal((d, 2 * len(amplitudes))))
    angle = 2 * np.pi * np.outer(np.arange(p), list(amplitudes)) / p
    size = np.array(list(amplitudes.values()))
    waves = np.concatenate([np.cos(angle) * size, np.sin(angle) * size], axis=1)
    return waves @ basis.T + noise * rng.standard_normal((p, d))


def plane_table(embeddings, counts):
    """Return a planes table of final embeddings, one trial each, that have so many circles."""
    n, most = len(embeddings), min(embeddings[0].shape) // 2
    angle, ambiguous = np.full((n, most), np.nan), np.full((n, most), MISSING, dtype=np.int8)
    for i, embedding in enumerate(embeddings):
        for found in principal_planes(embedding):
            angle[i, found.index], ambiguous[i, found.index] = found.angle, found.ambiguous
    values = [singular_values(e)[0] for e in embeddings]
    significant = [int((v > 0.05 * v[0]).sum()) for v in values]
    number = np.repeat(np.array(counts, dtype=np.int16)[:, None, None], 3, axis=2)
    return xr.Dataset(
        {
            "significant": ("trial", np.array(significant, dtype=np.int16)),
            "circles": (("trial", "horizon", "rule"), number),
            "angle": (("trial", "plane"), angle),
            "initial_angle": (("trial", "plane"), np.where(np.isnan(angle), np.nan, 80.0)),
            "ambiguous": (("trial", "plane"), ambiguous),
        },
        coords={"plane": np.arange(most), "horizon": [4000], "rule": list(RULES)},
    )


def test_the_nearest_plane_is_the_one_of_scipys_smallest_angle():
    embedding = np.random.default_rng(4).standard_normal((17, 9))
    _, axes = singular_values(embedding)
    found = principal_planes(embedding)
    assert len(found) == 4
    for pair in found:
        basis = axes[2 * pair.index : 2 * pair.index + 2].T
        angles = {
            k: np.degrees(subspace_angles(basis, np.transpose(plane(embedding, k)))[0])
            for k in circle_frequencies(17)
        }
        assert pair.frequency == min(angles, key=angles.get)
        assert pair.angle == pytest.approx(angles[pair.frequency])
    assert [p.frequency for p in principal_planes(embedding, 2)] == [p.frequency for p in found[:2]]


def test_pure_circles_match_and_their_planes_are_fourier_planes():
    clean = circles({4: 10.0, 9: 6.0, 13: 3.0})
    table = plane_table([clean] * 4, [3, 3, 3, 2])
    frame = planes(table)
    match = row(frame, "pairs_match", "relative")
    assert (match["estimate"], match["n_trials"]) == (0.75, 4)
    assert match["low"] < 0.75 < match["high"]
    assert match["baseline"] == 0.75  # each trial's six values against the others' circles
    angle = row(frame, "plane_angle")
    assert angle["estimate"] < 1e-4
    assert (angle["baseline"], angle["n_planes"], angle["n_trials"]) == (80, 12, 4)
    first = row(frame, "plane_angle_first", "relative")
    assert first["n_planes"] == 11


def test_planes_that_turn_into_each_other_are_told_apart():
    turned = circles({4: 10.0, 9: 9.9, 13: 3.0}, noise=0.05)
    found = [p.ambiguous for p in principal_planes(turned)]
    frame = planes(plane_table([turned] * 2, [3, 3]))
    apart = row(frame, "plane_angle_apart")
    assert apart["n_planes"] == 2 * found.count(False) > 0
    assert apart["estimate"] < row(frame, "plane_angle")["estimate"]


def test_a_trial_that_diverged_has_no_planes():
    table = plane_table([circles({4: 10.0})] * 3, [1, 1, MISSING])
    table["significant"][2] = MISSING
    table["angle"][2] = np.nan
    frame = planes(table)
    assert row(frame, "pairs_match", "relative")["n_trials"] == 2
    assert row(frame, "plane_angle")["n_trials"] == 2
    gone = planes(table.isel(trial=[2]))
    assert gone["estimate"].isna().all()


def test_the_planes_table_is_of_the_final_and_first_embeddings(trained, paths):
    table = gather_planes(paths, trained.design.survival)
    t = open_trajectories(next(p for p in paths if "embedding~0" in str(p) and p.stem[7] == "2"))
    there = table.sel(embedding=0, trial=3)
    found = principal_planes(t["final_embedding"].values[1].astype(float))
    n = len(found)
    assert n > 0
    np.testing.assert_allclose(there["angle"][:n], [p.angle for p in found])
    assert there["nearest"].values[:n].tolist() == [p.frequency for p in found]
    assert (there["nearest"].values[n:] == MISSING).all()
    first = principal_planes(t["initial_embedding"].values[1].astype(float), n)
    np.testing.assert_allclose(there["initial_angle"][: len(first)], [p.angle for p in first])
