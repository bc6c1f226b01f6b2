"""Frozen embeddings: planted drops are found where they are, and as deep as they are."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from fittest.cells import Block
from fittest.figures import figure_4
from fittest.figures.drawing import save
from fittest.segments import best_split, change_point
from fittest.statistics.frozen import COLUMNS, frozen
from fittest.survival import MISSING
from fittest.tables.scores import PAPER_STEPS, gather_losses, gather_scores, row_at
from fittest.tables.survival import gather_survival
from fittest.trajectories import open_trajectories, write_trajectories

P = 30
D = np.arange(6, 61, 2)  # with p - 20, p and p + 20 themselves


def table(level, d=D, steps=(500, 1000, 5000, 10000), p=P):
    """Return a scores table of log10 losses, shape (d, trial), the same at every step."""
    loss = np.repeat(10.0 ** np.asarray(level)[:, :, None], len(steps), axis=2)
    return xr.Dataset(
        {
            "test_loss": (("d", "trial", "step"), loss),
            "test_accuracy": (("d", "trial", "step"), np.full(loss.shape, 0.25)),
        },
        coords={"d": d, "step": list(steps), "p": p},
    )


def steep(depth, trials=5, noise=0.05, seed=0, at=P, slope=0.0, d=D):
    """Return log10 losses that fall by a depth from the first d that is at least `at`."""
    rng = np.random.default_rng(seed)
    line = slope * (d - at) - depth * (d >= at)
    return line[:, None] + noise * rng.standard_normal((len(d), trials))


def row(frame, statistic, horizon=5000):
    (one,) = frame[(frame["statistic"] == statistic) & (frame["horizon"] == horizon)].to_dict(
        "records"
    )
    return one


def by_hand(x, y):
    """Return the first x of the second of two lines of least squares, each split tried in turn."""
    best = []
    for split in range(3, len(x) - 2):
        total = 0.0
        for part in (slice(None, split), slice(split, None)):
            fit = stats.linregress(np.repeat(x[part], y.shape[1]), y[part].ravel())
            total += ((y[part] - fit.intercept - fit.slope * x[part][:, None]) ** 2).sum()
        best.append((total, x[split]))
    return min(best)[1]


def test_a_jump_between_two_lines_is_found_exactly():
    x = np.arange(20)
    for jump in (3, 8, 17):
        y = 100 + np.where(x < jump, 0.3 * x, 7 - 0.1 * x)
        found = change_point(x, [np.full(2, v) for v in y], np.random.default_rng(0))
        assert found == (jump, jump, jump)
    constant = np.where(x < 8, 5.0, 2.0)
    cells = [np.full(2, v) for v in constant]
    assert change_point(x, cells, np.random.default_rng(0), lines=False) == (8, 8, 8)


def test_the_change_point_is_that_of_the_least_squares_by_hand():
    rng = np.random.default_rng(1)
    x = np.array([3.0, 4, 6, 9, 10, 14, 15, 20, 22, 30])
    for _ in range(20):
        y = rng.standard_normal((len(x), 4))
        found = change_point(x, list(y), rng, resamples=200)
        assert found[0] == by_hand(x, y)
        assert found[1] <= found[2]


def test_trend_does_not_pass_for_a_jump_where_segments_are_lines():
    # Falling by 0.1 a d, two constants part the range nearer its middle than the jump of 1 is.
    frame = frozen(table(steep(1.0, slope=-0.1, at=46)))
    assert row(frame, "change_point")["estimate"] == 46 - P
    assert row(frame, "change_point_constant")["estimate"] < 46 - P


def test_trials_count_as_often_as_they_are():
    # Two trials against one: weights decide which split is best.
    x, n = np.arange(7.0), np.array([1, 1, 1, 5, 1, 1, 1.0])
    y = np.array([0, 0, 0, 1, 2, 2, 2.0])
    split = best_split(x - 3, n, (n * y)[None], (n * y**2)[None], lines=False)
    repeated = [np.full(int(k), v) for k, v in zip(n, y, strict=True)]
    assert x[split[0]] == change_point(x, repeated, np.random.default_rng(0), lines=False)[0]


def test_nothing_to_fit_is_no_number():
    x = np.arange(8)
    rng = np.random.default_rng(0)
    assert np.isnan(change_point(x, [np.ones(3)] * 8, rng)).all()
    assert np.isnan(change_point(x[:5], list(rng.random((5, 3))), rng)).all()
    alone = change_point(x, list(rng.random((8, 1))), rng)
    assert np.isfinite(alone[0])
    assert np.isnan(alone[1:]).all()
    gaps = [np.empty(0), *rng.random((7, 3))]
    assert change_point(x, gaps, rng)[0] in x[1:]


def test_the_dip_is_the_planted_drop_and_says_how_few_trials_it_has():
    level = steep(1.5, noise=0.1)
    level[3, 0] = np.nan  # a trial that diverged
    frame = frozen(table(level))
    assert list(frame.columns) == list(COLUMNS)
    dip = row(frame, "dip")
    below, above = (D >= P - 20) & (D < P), (D >= P) & (D <= P + 20)
    assert dip["estimate"] == pytest.approx(np.nanmedian(level[below]) - np.nanmedian(level[above]))
    assert dip["low"] < 1.5 < dip["high"]
    assert (dip["n_least"], dip["n_values"]) == (4, below.sum() + above.sum())
    assert dip["n_trials"] == 5 * (below.sum() + above.sum()) - 1
    assert row(frame, "change_point")["estimate"] == 0


def test_the_descent_is_of_small_d_against_those_below_p():
    level = np.where(D <= 20, -2.0, np.where(D < P, 1.0, -5.0))[:, None] + np.zeros((1, 4))
    found = row(frozen(table(level)), "descent", 10000)
    assert [found[key] for key in ("estimate", "low", "high")] == pytest.approx([-3, -3, -3])
    assert found["n_trials"] == 4 * (D < P).sum()


def test_losses_of_each_d_are_medians_of_their_trials():
    level = steep(1.0)
    frame = frozen(table(level))
    some = frame[(frame["statistic"] == "log10_test_loss") & (frame["horizon"] == 1000)]
    np.testing.assert_allclose(some["estimate"], np.median(level, axis=1))
    assert some["value"].tolist() == D.tolist()
    assert ((some["low"] <= some["estimate"]) & (some["estimate"] <= some["high"])).all()
    accuracy = frame[frame["statistic"] == "test_accuracy"]
    assert set(accuracy["estimate"]) == {0.25}
    assert sorted(set(frame["horizon"])) == list(PAPER_STEPS)


def test_a_shorter_run_says_at_which_step_it_is():
    frame = frozen(table(steep(1.0), steps=(0, 400, 600, 2000)))
    assert sorted(set(frame["horizon"])) == [400, 600, 2000]
    assert (frame["statistic"] == "dip").sum() == 3


@pytest.mark.parametrize("d", [np.array([40, 44]), np.array([8]), np.array([8, 10, 12])])
def test_a_design_without_d_on_both_sides_has_no_dip(d):
    frame = frozen(table(np.zeros((len(d), 2)), d=d))
    for name in ("dip", "change_point"):
        assert np.isnan([row(frame, name)[key] for key in ("estimate", "low", "high")]).all()


def test_another_axis_is_refused():
    with pytest.raises(ValueError, match="varies width"):
        frozen(table(steep(1.0)).expand_dims(width=[1, 2]))


def test_rows_of_steps():
    steps = np.array([0, 1, 10, 100])
    assert [row_at(steps, step) for step in (0, 5, 10, 99, 1000)] == [0, 1, 2, 2, 3]


def test_scores_have_the_last_recorded_step_before_the_papers(paths, monkeypatch):
    # Recorded every step to 10, then every 10 to 60.
    monkeypatch.setattr("fittest.tables.scores.PAPER_STEPS", (37, 55, 10000))
    monkeypatch.setattr("fittest.tables.timeline.TIMELINE_STEPS", 3)
    found = gather_scores(paths)
    assert {30, 50, 60} <= set(found["step"].values.tolist())
    assert set(found.data_vars) == {"train_loss", "test_loss", "train_accuracy", "test_accuracy"}


def test_losses_count_circles_at_every_recorded_step(trained, paths):
    found = gather_losses(paths, trained.design.survival)
    assert found["step"].values.tolist() == [*range(11), 20, 30, 40, 50, 60]
    survival = gather_survival(paths, trained.design.survival, [40])
    for horizon in (40, 60):
        now = found.sel(step=horizon)
        xr.testing.assert_equal(
            now["circles"].drop_vars("step"),
            survival["circles"]
            .sel(horizon=horizon)
            .drop_vars("horizon")
            .transpose(*now["circles"].dims),
        )
        np.testing.assert_array_equal(now["test_loss"], survival["test_loss"].sel(horizon=horizon))


def test_a_trial_that_diverged_has_no_number_of_circles(trained, paths, tmp_path):
    t = open_trajectories(paths[0])
    t["signal"][1, 12:] = np.nan
    path = tmp_path / Block.from_path(paths[0]).path
    write_trajectories(t, path)
    circles = gather_losses([path], trained.design.survival)["circles"]
    assert (circles.transpose("trial", "step", "rule")[1, 12:] == MISSING).all()
    assert (circles.transpose("trial", "step", "rule")[1, :12] >= 0).all()
    assert (circles.isel(trial=0) >= 0).all()


def test_figure_4_says_its_trials_and_survives_what_diverged(tmp_path):
    level = steep(1.0, noise=0.2)
    level[0], level[1, :3] = np.nan, np.nan
    frame = figure_4.data(frozen(table(level)))
    points = frame[(frame["panel"] == "loss") & (frame["horizon"] == 500)]
    assert np.isnan(points["test_loss"].iloc[0])
    np.testing.assert_allclose(points["test_loss"][1:], 10 ** np.nanmedian(level[1:], axis=1))
    save(figure_4, frame, tmp_path / "x")
    assert "0 to 5 trials" in figure_4.caption(frame)
    gone = figure_4.data(frozen(table(np.full((3, 2), np.nan), d=D[:3])))
    texts = [t.get_text() for ax in figure_4.draw(gone).axes for t in ax.texts]
    assert "all diverged" in texts
    assert "undefined" in figure_4.caption(gone)
