"""Tables, statistics and figures of differential equations: known systems, planted signs."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib import pyplot as plt
from scipy import stats
from scipy.linalg import expm
from statsmodels.stats.proportion import proportion_confint

from fittest.design import Survival
from fittest.dynamics import KINDS, Fit
from fittest.figures import figure_9, figure_15, figure_16, generalisation, width
from fittest.files import csv_text
from fittest.flow import RIDGE
from fittest.generalisation import generalise
from fittest.statistics import interactions as interactions_module
from fittest.statistics import pooling
from fittest.statistics.dynamics import dynamics
from fittest.statistics.generalisation import generalisation as generalisation_of
from fittest.statistics.interactions import interactions
from fittest.statistics.pooling import (
    mean_over_groups,
    median_over_groups,
    median_within,
    share_of,
)
from fittest.tables import early as early_module
from fittest.tables.early import early_signals, gather_early
from fittest.tables.example import gather_example
from fittest.tables.fits import fits_of, gather_fits
from fittest.tables.survival import gather_survival
from fittest.trajectories import open_trajectories

K = 5
THRESHOLDS = Survival()


def rng(seed=0):
    return np.random.default_rng(seed)


def system(k=K, seed=0):
    draw = rng(seed)
    return 0.02 * draw.standard_normal((k, k)) - 0.05 * np.eye(k), draw.random(k)


def signals(n=3, steps=80, noise=0.0, seed=0, start=None):
    """Return signals of trials that obey one linear law, shape (trial, step, circle)."""
    a, b = system(seed=seed)
    draw = rng(seed + 1)
    x = 20 + 20 * draw.random((n, K)) if start is None else np.tile(start, (n, 1))
    path = [x]
    for _ in range(steps):
        path.append(path[-1] @ (np.eye(K) + a).T + b + noise * draw.standard_normal((n, K)))
    return np.stack(path, axis=1)


def trajectories(x, steps=None, mean=None):
    """Return what of a trajectory file the tables read."""
    n, length, k = x.shape
    steps = np.arange(length) if steps is None else np.asarray(steps)
    mean = np.full((n, length), 0.1) if mean is None else mean
    return xr.Dataset(
        {"signal": (("trial", "step", "frequency"), x), "mean_signal": (("trial", "step"), mean)},
        coords={"trial": np.arange(n), "step": steps, "frequency": np.arange(1, k + 1)},
    )


# Tables


def test_equations_are_fitted_to_consecutive_steps_only_and_to_no_more_than_the_papers():
    x = np.arange(13.0)[None, :, None] * np.ones((2, 1, K))
    t = trajectories(x, [*range(11), 20, 30])
    assert early_signals(t)["step"].values.tolist() == list(range(11))
    assert early_signals(t).values[0, :, 0].tolist() == list(range(11))
    sparse = early_signals(t.isel(step=[0, 11, 12]))
    assert sparse["step"].values.tolist() == [0, 1]
    assert np.isnan(sparse.values[:, 1]).all()
    long = trajectories(np.ones((1, 1203, 1)))
    assert early_signals(long)["step"].values[-1] == early_module.LAST_STEP == 1000


def test_early_table_keeps_the_first_trials_of_every_cell(paths, monkeypatch):
    whole = gather_early(paths)
    assert dict(whole.sizes) == {"embedding": 2, "trial": 4, "step": 11, "frequency": 6}
    for path in paths:
        t = open_trajectories(path)
        got = whole["signal"].sel(embedding=int(t.attrs["embedding"]), trial=t["trial"].values)
        assert np.array_equal(got, t["signal"].sel(step=range(11)))
    monkeypatch.setattr(early_module, "KEPT", 3)
    some = gather_early(paths)
    assert some["trial"].values.tolist() == [0, 1, 2]
    assert np.array_equal(some["signal"], whole["signal"].isel(trial=[0, 1, 2]))
    monkeypatch.setattr(early_module, "KEPT", 2)
    assert gather_early(paths)["trial"].values.tolist() == [0, 1]


def test_fits_of_a_linear_system_find_it():
    a, _ = system()
    table = fits_of(trajectories(signals()), THRESHOLDS)
    ols, diagonal = (table.sel(fit=kind) for kind in ("ols", "diagonal"))
    np.testing.assert_allclose(ols["r_squared"], 1)
    np.testing.assert_allclose(ols["spectral_abscissa"], np.linalg.eigvals(a).real.max(), atol=1e-7)
    np.testing.assert_allclose(
        ols["spectral_radius"], np.abs(1 + np.linalg.eigvals(a)).max(), atol=1e-7
    )
    assert (ols["end_error"] < 1e-6).all()
    assert (ols["nonzero_share"] == 1).all()
    assert (ols["left_data"] == 0).all()
    assert np.isnan(ols["left_step"]).all()
    assert (diagonal["r_squared"] < 0.99).all()
    assert (diagonal["end_error"] > ols["end_error"]).all()
    assert (diagonal["nonzero_share"] == 1 / K).all()
    assert np.isnan(table["closed_form_error"].sel(fit="lotka-volterra")).all()
    assert (table["fitted_step"] == 80).all()


def test_error_of_the_closed_form_is_that_of_survivors_at_the_last_step_trained():
    a, b = system()
    x = signals(1)
    limit = np.sort(x[0, -1])[-3:].min() * 0.99 / THRESHOLDS.relative  # three circles are above it
    alive = x[0, -1] > THRESHOLDS.relative * limit
    assert alive.sum() == 3
    table = fits_of(trajectories(x, mean=np.full(x.shape[:2], limit)), THRESHOLDS)
    shifted = a + RIDGE * np.eye(K)
    flow = [
        expm(shifted * t) @ x[0, 0] + (expm(shifted * t) - np.eye(K)) @ np.linalg.solve(shifted, b)
        for t in range(81)
    ]
    error = np.abs(np.array(flow) / x[0] - 1)[:, alive]
    found = float(table["closed_form_error"].sel(fit="ols", trial=0))
    assert found == pytest.approx(np.median(error), rel=1e-3)
    dead = fits_of(trajectories(x, mean=np.full(x.shape[:2], 1e6)), THRESHOLDS).sel(fit="ols")
    assert np.isnan(dead["closed_form_error"]).all()
    assert np.isfinite(dead["path_error"]).all()


def test_a_trial_that_diverged_is_missing_and_changes_no_other():
    x = signals()
    broken = x.copy()
    broken[1, 40:] = np.nan
    table, expected = (fits_of(trajectories(v), THRESHOLDS) for v in (broken, x))
    missing = table.sel(trial=1).drop_vars("fitted_step")
    for name, variable in missing.data_vars.items():
        assert (variable == -1).all() if variable.dtype == np.int8 else variable.isnull().all(), (
            name
        )
    xr.testing.assert_identical(table.sel(trial=[0, 2]), expected.sel(trial=[0, 2]))


def test_nothing_but_step_0_gives_missing_numbers_not_an_error():
    table = fits_of(trajectories(signals(2)[:, ::40], [0, 40, 80]), THRESHOLDS)
    assert np.isnan(table["r_squared"]).all()
    assert (table["converged"] == -1).all()


def test_fits_table_lies_on_the_axes_of_its_experiment(paths):
    table = gather_fits(paths, THRESHOLDS)
    assert dict(table.sizes) == {"embedding": 2, "trial": 4, "fit": len(KINDS)}
    t = open_trajectories(paths[0])
    expected = fits_of(t, THRESHOLDS)
    got = table.sel(embedding=int(t.attrs["embedding"]), trial=t["trial"].values)
    np.testing.assert_array_equal(got["r_squared"], expected["r_squared"])


def test_the_paths_of_the_example_follow_its_coefficients(paths):
    path = next(p for p in paths if "embedding~0/" in str(p) and "trials~0-" in str(p))
    table = gather_example([path], THRESHOLDS)
    t = open_trajectories(path).isel(trial=0)
    assert table["source"].values.tolist() == table["frequency"].values.tolist()
    assert np.array_equal(table["signal"], t["signal"].sel(step=range(11)))
    last = t.isel(step=-1)
    alive = (last["signal"] > 2 * last["mean_signal"]).values
    assert np.array_equal(table["survived"].sel(rule="relative") == 1, alive)
    assert int(table["trained_step"]) == 60
    for kind in ("ols", "lasso", "diagonal"):
        of = table.sel(fit=kind)
        a, b = of["coefficient"].values, of["constant"].values
        state = table["signal"].values[0].astype(float)
        for step in range(11):
            np.testing.assert_allclose(of["rollout"].values[step], state, rtol=1e-4)
            state = state + a @ state + b
        block = np.block([[a + RIDGE * np.eye(6), b[:, None]], [np.zeros((1, 7))]])
        end = expm(block * 10) @ [*table["signal"].values[0].astype(float), 1]
        np.testing.assert_allclose(of["closed_form"].values[10], end[:6], rtol=1e-4)
    assert np.isnan(table["closed_form"].sel(fit="lotka-volterra")).all()


# Pooling


def test_median_of_independent_trials_and_its_bootstrap():
    x = rng(1).lognormal(size=60)
    found = median_within([x])
    assert found["estimate"] == np.median(x)
    assert (found["n_trials"], found["n_least"]) == (60, 60)
    expected = stats.bootstrap((x,), np.median, method="percentile", rng=rng(2)).confidence_interval
    np.testing.assert_allclose([found["low"], found["high"]], expected, rtol=0.05)
    # Within groups: what sets them apart is the design's, no accident.
    apart = [np.full(9, 1.0), np.full(9, 2.0), np.full(9, 3.0)]
    assert [median_within(apart)[k] for k in ("low", "estimate", "high")] == [2, 2, 2]
    assert median_over_groups(apart)["high"] == 3


def test_missing_trials_are_left_out_and_infinite_ones_are_the_largest():
    found = median_within([np.array([1.0, np.nan, 3.0]), np.array([np.nan])])
    assert (found["estimate"], found["n_trials"], found["n_least"]) == (2, 2, 2)
    assert median_within([np.array([1.0, 2, np.inf])])["estimate"] == 2
    for values in ([1.0, np.inf, np.inf], [1.0, np.inf]):
        found = median_within([np.array(values)])
        assert found["estimate"] == found["high"] == np.inf
        assert found["low"] == 1
    for nothing in ([], [np.array([np.nan])]):
        for pooled in (median_within, median_over_groups, mean_over_groups):
            found = pooled(nothing)
            assert np.isnan([found["estimate"], found["low"], found["high"]]).all()
            assert found["n_trials"] == 0


def test_of_groups_the_interval_is_over_groups():
    draw = rng(3)
    groups = [m + 0.01 * draw.standard_normal(30) for m in draw.standard_normal(8)]
    found = mean_over_groups(groups)
    means = np.array([g.mean() for g in groups])
    assert found["estimate"] == pytest.approx(means.mean())
    expected = stats.bootstrap((means,), np.mean, method="percentile", rng=rng(4))
    np.testing.assert_allclose(
        [found["low"], found["high"]], expected.confidence_interval, atol=0.06
    )
    assert np.isnan(mean_over_groups(groups[:1])["low"])


def test_the_median_over_groups_is_numpys_for_every_resample():
    groups = [rng(i).integers(0, 9, i + 3).astype(float) for i in range(4)]
    times = rng(9).multinomial(4, np.full(4, 1 / 4), size=50)
    values, group = np.concatenate(groups), np.repeat(range(4), [3, 4, 5, 6])
    order = np.argsort(values)
    found = pooling._weighted_median(values[order], times[:, group[order]])
    drawn = [np.concatenate([np.tile(g, n) for g, n in zip(groups, t, strict=True)]) for t in times]
    np.testing.assert_array_equal(found, [np.median(d) for d in drawn])


def test_a_share_is_of_what_is_known():
    found = share_of(np.array([[1, 0, -1], [1, 1, -1]], dtype=np.int8))
    assert (found["estimate"], found["n_trials"]) == (0.75, 4)
    expected = proportion_confint(3, 4, method="wilson")
    assert (found["low"], found["high"]) == pytest.approx(expected)
    assert np.isnan(share_of(np.array([-1], dtype=np.int8))["estimate"])


# Statistics: dynamics


def fits_table(values, axis="d", p=7, n=4, seed=0):
    """Return a fits table whose numbers are drawn, and grow with the value of the axis."""
    parts = [
        fits_of(trajectories(signals(n, noise=0.5, seed=seed + i)), THRESHOLDS)
        for i in range(len(values))
    ]
    table = xr.concat(parts, axis).assign_coords({axis: list(values)})
    return table.assign_coords({"p": p, **({"d": 64} if axis != "d" else {})})


def pick(frame, statistic, **keys):
    rows = frame[frame["statistic"] == statistic]
    for key, value in keys.items():
        rows = rows[rows[key] == value]
    return rows


def test_dynamics_are_medians_at_every_value_and_over_the_ranges_of_d():
    table = fits_table([4, 64, 80])
    frame = dynamics(table)
    r2 = table["r_squared"].sel(fit="ols")
    for d in (4, 64, 80):
        (row,) = pick(frame, "r_squared", fit="ols", value=d).to_dict("records")
        assert row["estimate"] == pytest.approx(np.median(r2.sel(d=d)))
        assert row["baseline"] == np.median(table["r_squared"].sel(fit="diagonal", d=d))
        assert (row["n_trials"], row["n_values"], row["horizon"]) == (4, 1, 80)
    for name, chosen in (("all", [4, 64, 80]), ("d>=64", [64, 80]), ("d>=p", [64, 80])):
        (row,) = pick(frame, "r_squared", fit="ols", d_range=name).to_dict("records")
        assert row["estimate"] == pytest.approx(np.median(r2.sel(d=chosen)))
        assert (row["n_trials"], row["n_values"]) == (4 * len(chosen), len(chosen))
        assert row["n_least"] == 4
        assert row["low"] <= row["estimate"] <= row["high"]
    (row,) = pick(frame, "closed_form_error", fit="ols", d_range="all").to_dict("records")
    assert row["rule"] == "relative"
    (share,) = pick(frame, "left_data_share", fit="lasso", d_range="all").to_dict("records")
    assert share["estimate"] == (table["left_data"].sel(fit="lasso") == 1).mean()
    # A claim stands on one row: nothing is there twice.
    assert not frame.duplicated(["statistic", "fit", "value", "d_range"]).any()


def test_ranges_without_a_value_are_not_there_and_a_width_has_no_range_of_d():
    assert set(dynamics(fits_table([4, 32]))["d_range"]) == {"", "all", "d>=p"}
    assert set(dynamics(fits_table([4, 5]))["d_range"]) == {"", "all"}
    wide = dynamics(fits_table([16, 128], axis="width"))
    assert set(wide["d_range"]) == {"", "all"}
    assert set(wide["axis"]) == {"width"}


def test_dynamics_of_one_value_and_of_missing_trials():
    table = fits_table([64])
    one = dynamics(table.isel(d=0))
    assert set(one["axis"]) == {"d"}
    assert pick(one, "r_squared", fit="ols", d_range="d>=64")["n_trials"].tolist() == [4]
    gone = table.copy(deep=True)
    for name, variable in gone.data_vars.items():
        if name != "fitted_step":
            variable[:, :2] = -1 if variable.dtype == np.int8 else np.nan
    frame = dynamics(gone)
    row = pick(frame, "r_squared", fit="ols", d_range="all").iloc[0]
    assert row["estimate"] == np.median(table["r_squared"].sel(fit="ols")[0, 2:])
    assert row["n_trials"] == pick(frame, "converged_share", fit="ols")["n_trials"].max() == 2
    with pytest.raises(ValueError, match="one axis"):
        dynamics(table.expand_dims(width=[1, 2]))


# Statistics: interactions


def planted(monkeypatch, linear, alive):
    """Return statistics where the Lasso of each trial is planted: (embedding, trial, k, k)."""
    linear, alive = np.asarray(linear, float), np.asarray(alive, np.int8)
    e, n, k = alive.shape
    marks = np.arange(e * n).reshape(e, n)
    early = xr.Dataset(
        {
            "signal": (
                ("embedding", "trial", "step", "frequency"),
                np.broadcast_to(marks[..., None, None], (e, n, 2, k)),
            )
        },
        coords={"embedding": range(e), "trial": range(n), "step": [0, 1]},
    )
    survival = xr.Dataset(
        {
            "survived": (
                ("embedding", "trial", "frequency", "rule", "horizon"),
                alive[..., None, None],
            )
        },
        coords={
            "embedding": range(e),
            "trial": range(n),
            "rule": ["relative"],
            "horizon": [500],
        },
    )

    def fit(x, kind):
        assert kind == "lasso"
        a = linear.reshape(-1, k, k)[int(x[0, 0])]
        return Fit(kind, a, np.zeros(k), np.zeros((k, 0)), True, 2)

    monkeypatch.setattr(interactions_module, "fit", fit)
    return interactions(early, survival)


def test_signs_are_counted_between_different_survivors_only(monkeypatch):
    a = np.zeros((1, 2, 4, 4))
    a[..., 0, 1], a[..., 1, 0], a[..., 2, 0] = 1, -2, -3
    a[..., 0, 3], a[..., 3, 0] = 5, 5  # of a dead circle
    a[..., 1, 1] = 7  # on itself
    alive = np.ones((1, 2, 4))
    alive[..., 3] = 0
    frame = planted(monkeypatch, a, alive)
    found = {
        name: pick(frame, f"share_{name}").iloc[0] for name in ("positive", "negative", "zero")
    }
    assert found["positive"]["estimate"] == pytest.approx(1 / 6)
    assert found["negative"]["estimate"] == pytest.approx(2 / 6)
    assert found["zero"]["estimate"] == pytest.approx(3 / 6)
    assert found["zero"]["n_comparisons"] == 12
    assert (found["zero"]["n_trials"], found["zero"]["horizon"]) == (2, 500)
    a[0, 1] = np.nan
    frame = planted(monkeypatch, a, alive)
    assert pick(frame, "share_positive")["n_trials"].tolist() == [1]
    nothing = planted(monkeypatch, a, 0 * alive)
    assert nothing["estimate"].isna().all()


def test_agreement_of_signs_is_held_against_chance_and_averaged_over_embeddings(monkeypatch):
    draw = rng(5)
    shared = np.repeat(draw.standard_normal((4, 1, 6, 6)), 8, axis=1)
    alive = np.ones((4, 8, 6))
    frame = planted(monkeypatch, shared, alive)
    agreement, excess = (
        pick(frame, name).iloc[0] for name in ("sign_agreement", "sign_agreement_excess")
    )
    assert agreement["estimate"] == 1
    assert 0.4 < agreement["baseline"] < 0.7
    assert agreement["p_value"] < 1e-6
    assert excess["estimate"] == pytest.approx(1 - agreement["baseline"])
    assert excess["low"] > 0.3
    assert (excess["n_trials"], excess["n_embeddings"], excess["n_least"]) == (32, 4, 8)
    each = pick(frame, "embedding_sign_agreement")
    assert each["embedding"].tolist() == [0, 1, 2, 3]
    assert each["baseline"].mean() == pytest.approx(agreement["baseline"])
    chance = planted(monkeypatch, draw.standard_normal((4, 8, 6, 6)), alive)
    excess = pick(chance, "sign_agreement_excess").iloc[0]
    assert excess["low"] < 0 < excess["high"]
    assert excess["p_value"] > 0.01


def test_with_one_embedding_the_interval_of_agreement_is_over_trials(monkeypatch):
    a = rng(6).standard_normal((1, 1, 6, 6)) + rng(7).standard_normal((1, 8, 6, 6))
    frame = planted(monkeypatch, a, np.ones((1, 8, 6)))
    agreement, excess, each = (
        pick(frame, name).iloc[0]
        for name in ("sign_agreement", "sign_agreement_excess", "embedding_sign_agreement")
    )
    assert (agreement["low"], agreement["high"]) == (each["low"], each["high"])
    assert agreement["low"] < agreement["estimate"] < agreement["high"]
    assert excess["high"] - excess["low"] == pytest.approx(each["high"] - each["low"])
    assert excess["low"] == pytest.approx(each["low"] - each["baseline"])


# Statistics: generalisation


def early_and_survival(x):
    """Return tables of signals (embedding, trial, step, circle), where all survive."""
    e, n, length, k = x.shape
    coords = {"embedding": range(e), "trial": range(n), "step": range(length)}
    early = xr.Dataset({"signal": (("embedding", "trial", "step", "frequency"), x)}, coords=coords)
    flags = np.ones((e, n, k, 1, 1), dtype=np.int8)
    survival = xr.Dataset(
        {"survived": (("embedding", "trial", "frequency", "rule", "horizon"), flags)},
        coords={**coords, "rule": ["relative"], "horizon": [500]},
    )
    return early, survival


def noisy(e=3, n=6, steps=40):
    return np.stack([signals(n, steps, noise=0.3, seed=2) for _ in range(e)]) * (
        1 + 0.01 * np.arange(e)[:, None, None, None]
    )


def test_generalisation_is_the_median_of_held_out_trials():
    x = noisy()
    frame = generalisation_of(*early_and_survival(x))
    expected = [generalise(each, folds=5) for each in x]
    for kind in (*KINDS, "time"):
        row = pick(frame, "r_squared", fit=kind).iloc[0]
        held_out = [h for each in expected for h in each[kind]]
        assert row["estimate"] == np.median([h.score.r2 for h in held_out])
        train = pick(frame, "train_r_squared", fit=kind).iloc[0]
        assert train["estimate"] == np.median([h.train_r2 for h in held_out])
        assert (row["n_trials"], row["n_embeddings"], row["n_least"]) == (18, 3, 6)
        assert row["n_fitted"] == 4  # six trials in five folds: one fold has two
    ols, diagonal = (
        [h.score.r2 for each in expected for h in each[kind]] for kind in ("ols", "diagonal")
    )
    gain = pick(frame, "gain_over_diagonal", fit="ols").iloc[0]
    assert gain["estimate"] == pytest.approx(np.median(np.subtract(ols, diagonal)))
    assert gain["low"] > 0 == gain["baseline"]
    assert pick(frame, "r_squared", fit="ols")["baseline"].iloc[0] == np.median(diagonal)
    assert not frame.duplicated(["statistic", "fit"]).any()


def test_trials_that_diverged_are_not_there_and_without_any_every_number_is_missing():
    x = noisy(2)
    broken = np.concatenate([x, np.full_like(x[:, :1], np.nan)], axis=1)
    broken, x = broken.copy(), x.copy()
    got, expected = (generalisation_of(*early_and_survival(v)) for v in (broken, x))
    pd.testing.assert_frame_equal(got, expected)
    nothing = generalisation_of(*early_and_survival(np.full_like(x, np.nan)))
    assert set(nothing["fit"]) == {*KINDS, "time"}
    assert nothing["estimate"].isna().all()
    alone = generalisation_of(*early_and_survival(x[:1, :1]))
    assert alone["estimate"].isna().all()


# Figures


ALIVE = [2, 5]  # of six circles, so that fates are not those of a network that learned nothing


@pytest.fixture(scope="module")
def small(paths):
    """Everything that the figures read, from networks really trained for 60 steps."""
    early, survival = gather_early(paths), gather_survival(paths, THRESHOLDS, [60])
    path = next(p for p in paths if "embedding~0/" in str(p) and "trials~0-" in str(p))
    example = gather_example([path], THRESHOLDS)
    example["survived"].loc[{"rule": "relative"}] = np.isin(example["frequency"], ALIVE)
    return {
        "example": example,
        "interactions": interactions(early, survival),
        "generalisation": generalisation_of(early, survival),
    }


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def drawn(module, *inputs):
    """Return a figure's tidy data as read back, its caption, and the figure, really laid out."""
    frame = pd.read_csv(StringIO(csv_text(module.data(*inputs))))
    figure = module.draw(frame)
    figure.canvas.draw()
    return frame, module.caption(frame), figure


def test_figure_9_draws_the_medians_and_the_paths(small):
    table = fits_table([4, 64, 80])
    frame, caption, figure = drawn(figure_9, dynamics(table), small["example"])
    top, *paths = figure.axes
    expected = [np.median(table["r_squared"].sel(fit="lasso", d=d)) for d in (4, 64, 80)]
    line = next(line for line in top.lines if line.get_label() == "Lasso")
    np.testing.assert_allclose(line.get_ydata(), expected, rtol=1e-6)
    assert "3 values, 4 trials each" in top.get_title(loc="left")
    assert "d ≥ 64 (8 trials)" in caption
    seen = frame[frame["path"] == "observed"]
    for k, some in seen.groupby("frequency"):
        real = small["example"]["signal"].sel(frequency=k, step=some["step"].values)
        np.testing.assert_allclose(some["signal"], real, rtol=1e-6)
    assert len(paths) == 2


def test_figure_15_shows_the_coefficients_survivors_first(small):
    _, caption, figure = drawn(figure_15, small["example"], small["interactions"])
    order = [*ALIVE, 1, 3, 4, 6]
    a = small["example"]["coefficient"].sel(fit="ols", frequency=order, source=order)
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), a, rtol=1e-6)
    assert "nan" not in caption
    known = small["interactions"].copy()
    known.loc[known["statistic"] == "share_positive", ["estimate", "n_trials"]] = 0.4, 7
    _, caption, _ = drawn(figure_15, small["example"], known)
    assert "Over 7 trials of 2 embeddings, 40% of" in caption


def test_figure_16_has_a_panel_for_every_circle_and_names_survivors(small):
    _, caption, figure = drawn(figure_16, small["example"])
    bold = [
        ax.get_title() for ax in figure.axes if ax.get_title() and ax.title.get_weight() == "bold"
    ]
    assert bold == [f"k = {k}" for k in ALIVE]
    assert sum(bool(ax.lines) for ax in figure.axes) == 6
    assert "All 6 circles of one trial" in caption


def test_width_and_generalisation_say_how_many_trials(small):
    table = fits_table([16, 128], axis="width")
    _, caption, figure = drawn(width, dynamics(table))
    assert "2 values, 4 trials each" in figure.get_suptitle()
    assert "at width 16 and at width 128" in caption
    assert figure.axes[0].get_xscale() == "log"
    _, caption, figure = drawn(generalisation, small["generalisation"])
    assert "8 trials of 2 embeddings" in figure.get_suptitle()
    assert "8 trials of 2 embeddings" in caption


def test_figures_of_a_trial_that_diverged_are_empty_not_an_error(small):
    example = small["example"].copy(deep=True)
    for name in ("signal", "rollout", "closed_form", "coefficient", "constant", "r_squared"):
        example[name][:] = np.nan
    example["survived"][:] = -1
    nothing = dynamics(fits_table([4, 64])).assign(estimate=np.nan, low=np.nan, high=np.nan)
    gone = small["interactions"].assign(estimate=np.nan, low=np.nan, high=np.nan)
    _, _, figure = drawn(figure_9, nothing, example)
    assert "no surviving circle" in {text.get_text() for ax in figure.axes for text in ax.texts}
    _, _, figure = drawn(figure_15, example, gone)
    assert "nothing could be fitted" in {text.get_text() for ax in figure.axes for text in ax.texts}
    drawn(figure_16, example)
    drawn(width, dynamics(fits_table([1, 2], axis="width")).assign(estimate=np.nan))
    frame = small["generalisation"].assign(estimate=np.nan, low=np.nan, high=np.nan)
    _, caption, _ = drawn(generalisation, frame)
    assert "undefined" in caption
