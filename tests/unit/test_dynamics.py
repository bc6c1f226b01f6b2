"""Linear ODEs of the signals against known systems, integrators and scikit-learn."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score

from fittest import dynamics, flow, forecasts, generalisation, interactions
from fittest.dynamics import Fit, fit

K = 5


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def system(k=K, seed=0, size=0.02, loss=0.05):
    """Return a known A, which settles, and b."""
    draw = rng(seed)
    return size * draw.standard_normal((k, k)) - loss * np.eye(k), draw.random(k)


def model(a, b) -> Fit:
    return Fit("ols", np.asarray(a, float), np.asarray(b, float), np.zeros((len(b), 0)), True, 0)


def euler(change, start, steps):
    """Return a path made here step by step, not by the code under test."""
    path = [np.asarray(start, float)]
    for _ in range(steps):
        path.append(path[-1] + change(path[-1]))
    return np.array(path)


def trials(n=6, k=K, steps=60, seed=0, noise=0.0, **keywords):
    """Return trials of one known system from different starts: (trial, step, circle), A, b."""
    a, b = system(k, seed, **keywords)
    draw = rng(seed + 1)

    def change(x):
        return a @ x + b + noise * draw.standard_normal(k)

    starts = 5 + 10 * draw.random((n, k))
    return np.array([euler(change, start, steps) for start in starts]), a, b


# Fits


def test_least_squares_recovers_a_known_system_from_one_trial_or_several():
    x, a, b = trials()
    for data in (x, x[0]):
        found = fit(data, "ols")
        np.testing.assert_allclose(found.linear, a, atol=1e-9)
        np.testing.assert_allclose(found.constant, b, atol=1e-8)
        assert found.converged
        assert found.n_rows == 60 * (6 if data is x else 1)
        np.testing.assert_allclose(found.change(data[..., :-1, :]), np.diff(data, axis=-2))


def test_rows_never_go_from_one_trial_to_the_next():
    # Each trial obeys the same law exactly; a row from the end of one to the start of another
    # would not.
    x, a, _ = trials(steps=12)
    np.testing.assert_allclose(fit(x, "ols").linear, a, atol=1e-8)
    np.testing.assert_allclose(fit(x[::-1], "ols").linear, fit(x, "ols").linear, atol=1e-8)


def test_diagonal_fit_is_a_regression_of_each_circle_on_itself_and_worse_on_coupled_data():
    x, *_ = trials(noise=0.1)
    found = fit(x, "diagonal")
    rows, change = x[:, :-1].reshape(-1, K), np.diff(x, axis=1).reshape(-1, K)
    each = [LinearRegression().fit(rows[:, [i]], change[:, i]) for i in range(K)]
    np.testing.assert_allclose(found.linear, np.diag([m.coef_[0] for m in each]), atol=1e-12)
    np.testing.assert_allclose(found.constant, [m.intercept_ for m in each])
    full = fit(x, "ols")
    errors = [((m.change(x[:, :-1]) - np.diff(x, axis=1)) ** 2).mean() for m in (full, found)]
    assert errors[0] < 0.5 * errors[1]


def test_diagonal_fit_recovers_circles_that_do_not_interact():
    a, b = np.diag([-0.1, -0.05, 0.01]), np.array([1.0, 0.0, 0.2])
    x = euler(lambda s: a @ s + b, [1, 20, 3], 50)
    found = fit(x, "diagonal")
    np.testing.assert_allclose(found.linear, a, atol=1e-12)
    np.testing.assert_allclose(found.constant, b, atol=1e-12)


def test_signal_that_never_changes_has_a_diagonal_of_zero():
    x = euler(lambda s: np.array([0.0, -0.1]) * s, [0.1, 3], 30)
    found = fit(x, "diagonal")
    np.testing.assert_allclose(found.linear, np.diag([0, -0.1]), atol=1e-12)
    np.testing.assert_allclose(found.constant, 0, atol=1e-12)
    x[-1, 0] = 0.2  # constant as a feature, not as a target
    assert fit(x, "diagonal").linear[0, 0] == 0
    assert fit(x, "diagonal").constant[0] == pytest.approx(0.1 / 30)


def test_lasso_zeroes_what_is_not_there_and_meets_its_optimality_conditions():
    a, b = np.zeros((K, K)), np.ones(K)
    a[np.arange(K), np.arange(K)] = -0.1
    a[0, 1] = 0.08
    draw = rng(3)
    start = 10 * draw.random((400, K))  # two steps each, so that rows are independent
    x = np.array([euler(lambda s: a @ s + b + draw.normal(0, 0.02, K), s, 1) for s in start])
    found = fit(x, "lasso")
    assert found.converged
    assert np.array_equal(found.linear != 0, a != 0)
    assert (fit(x, "ols").linear != 0).all()
    # A subgradient of ‖y − x w‖²/(2n) + α‖w‖₁ at its minimum: correlation α where w ≠ 0, else less.
    rows, change = x[:, :-1].reshape(-1, K), np.diff(x, axis=1).reshape(-1, K)
    residual = change - found.change(rows)
    np.testing.assert_allclose(residual.mean(axis=0), 0, atol=1e-10)
    gradient = residual.T @ (rows - rows.mean(axis=0)) / len(rows)
    kept = found.linear != 0
    expected = dynamics.PENALTY * np.sign(found.linear[kept])
    np.testing.assert_allclose(gradient[kept], expected, atol=2e-3)
    assert (np.abs(gradient[~kept]) < 1.2 * dynamics.PENALTY).all()


def test_lasso_that_stops_early_says_so_without_a_warning(monkeypatch):
    x, *_ = trials(noise=0.1)
    assert fit(x, "lasso").converged
    monkeypatch.setattr(dynamics, "_MOST_ITERATIONS", 2)
    found = fit(x, "lasso")
    assert not found.converged
    assert np.isfinite(found.linear).all()


def test_lotka_volterra_recovers_a_known_system():
    r = np.array([0.05, -0.04])
    c = np.array([[0.0, -0.01, 0.0], [0.0, 0.008, -0.002]])  # of x0 x0, x0 x1, x1 x1

    def change(s):
        return 0.01 + r * s + c @ [s[0] * s[0], s[0] * s[1], s[1] * s[1]]

    x = np.array([euler(change, s, 150) for s in ([8, 3], [4, 6], [2, 2])])
    found = fit(x, "lotka-volterra")
    np.testing.assert_allclose(found.linear, np.diag(r), atol=1e-9)
    np.testing.assert_allclose(found.quadratic, c, atol=1e-10)
    np.testing.assert_allclose(found.constant, 0.01, atol=1e-8)
    np.testing.assert_allclose(flow.rollout(found, x[0, 0], 150), x[0], rtol=1e-6)
    assert np.abs(fit(x, "ols").change(x[0, :-1]) - np.diff(x[0], axis=0)).max() > 1e-2
    with pytest.raises(ValueError, match="no closed form"):
        flow.closed_form(found, x[0, 0], 5)


@pytest.mark.parametrize("kind", dynamics.KINDS)
def test_one_circle_is_enough(kind):
    x = euler(lambda s: 1 - 0.1 * s, [3.0], 40)
    found = fit(x, kind)
    assert found.linear.shape == (1, 1)
    assert found.constant.shape == (1,)
    assert found.change(x[:-1]).shape == (40, 1)
    assert found.linear[0, 0] == pytest.approx(-0.1, abs=0.01)


@pytest.mark.parametrize("kind", dynamics.KINDS)
def test_trial_with_a_missing_signal_is_left_out_and_nothing_but_such_trials_is_nan(kind):
    x, *_ = trials(noise=0.1)
    broken = x.copy()
    broken[2, 7, 1], broken[4, 30:] = np.nan, np.inf
    expected = fit(x[[0, 1, 3, 5]], kind)
    found = fit(broken, kind)
    assert found.n_rows == 4 * 60
    np.testing.assert_array_equal(found.linear, expected.linear)
    for nothing in (broken[2], broken[[2, 4]], x[:0]):
        found = fit(nothing, kind)
        assert found.linear.shape == (K, K)
        assert np.isnan([*found.linear.ravel(), *found.constant]).all()
        assert (found.converged, found.n_rows) == (False, 0)
        assert np.isnan(found.change(x[0])).all()
        assert np.isnan(flow.rollout(found, x[0, 0], 3)[1:]).all()


def test_fit_refuses_unknown_kinds_and_shapes():
    x, *_ = trials()
    with pytest.raises(ValueError, match=r"'ridge' is none of ols, lasso, diagonal"):
        fit(x, "ridge")
    for bad in (x[0, 0], x[:, :1], x[np.newaxis]):
        with pytest.raises(ValueError, match="two steps"):
            fit(bad, "ols")


# Paths


def test_closed_form_solves_the_differential_equation():
    a, b = system(size=0.1)
    start = np.arange(1.0, K + 1)
    solved = solve_ivp(
        lambda t, x: a @ x + b, (0, 40), start, t_eval=np.arange(41), rtol=1e-12, atol=1e-12
    )
    path = flow.closed_form(model(a, b), start, 40)
    np.testing.assert_allclose(path, solved.y.T, rtol=1e-9, atol=1e-9)


def test_closed_form_with_ridge_is_the_papers_formula():
    a, b = system(size=0.1)
    start, eye = np.arange(1.0, K + 1), np.eye(K)
    shifted = a + flow.RIDGE * eye
    inverse = np.linalg.inv(shifted)
    paper = [expm(shifted * t) @ start + (expm(shifted * t) - eye) @ inverse @ b for t in range(60)]
    path = flow.closed_form(model(a, b), start, 59, ridge=flow.RIDGE)
    np.testing.assert_allclose(path, paper, rtol=1e-11)
    exact = flow.closed_form(model(a, b), start, 59)
    assert 1e-9 < np.abs(exact - paper).max() / np.abs(paper).max() < 1e-6


def test_closed_form_needs_no_inverse():
    # x₁ is driven by x₀ and nothing else: A is nilpotent, x₁ = s₁ + s₀ t + t²/2 by hand.
    a, b = np.array([[0.0, 0], [1, 0]]), np.array([1.0, 0])
    t = np.arange(8.0)
    path = flow.closed_form(model(a, b), np.array([2.0, 3]), 7)
    np.testing.assert_allclose(path, np.stack([2 + t, 3 + 2 * t + t**2 / 2], axis=1), rtol=1e-13)


@pytest.mark.parametrize("steps", [0, 1, 7, 64, 1000])
def test_discrete_closed_form_is_the_rollout_to_rounding(steps):
    a, b = system()
    start = np.arange(1.0, K + 1)
    path = flow.discrete_closed_form(model(a, b), start, steps)
    np.testing.assert_allclose(path, euler(lambda s: a @ s + b, start, steps), rtol=1e-12)
    np.testing.assert_allclose(path, flow.rollout(model(a, b), start, steps), rtol=1e-12)
    assert path.shape == (steps + 1, K)


def test_euler_bound_holds_and_is_exact_for_one_circle():
    start = np.arange(1.0, K + 1)
    for size in (0.001, 0.02, 0.1):
        fitted = model(*system(size=size, seed=4))
        gap = flow.closed_form(fitted, start, 200) - flow.rollout(fitted, start, 200)
        bound = flow.euler_bound(fitted, start, 200)
        distance = np.linalg.norm(gap, axis=1)
        assert (distance <= bound * (1 + 1e-9) + 1e-12).all()
        assert distance[1] == pytest.approx(bound[1])
        norm, velocity = np.linalg.norm(fitted.linear, 2), fitted.change(start)
        n = np.arange(201)
        simple = n * norm / 2 * np.exp(n * norm) * np.linalg.norm(velocity)
        assert (bound <= simple + 1e-12).all()
    for a in (-0.5, -0.01, 1e-9, 0.2):
        one = model([[a]], [0.3])
        gap = flow.closed_form(one, np.array([2.0]), 30) - flow.rollout(one, np.array([2.0]), 30)
        bound = flow.euler_bound(one, np.array([2.0]), 30)
        np.testing.assert_allclose(np.abs(gap[:, 0]), bound, rtol=1e-6, atol=1e-12)


def test_rollout_comes_to_the_closed_form_at_first_order():
    # The flow of A/m over m·t steps is that of A over t; Euler's step is then 1/m.
    a, b = system(size=0.1)
    start, gaps, bounds = np.arange(1.0, K + 1), [], []
    for m in (16, 32, 64):
        fine = model(a / m, b / m)
        gap = flow.closed_form(fine, start, 10 * m) - flow.rollout(fine, start, 10 * m)
        gaps.append(np.linalg.norm(gap[-1]))
        bounds.append(flow.euler_bound(fine, start, 10 * m)[-1])
    np.testing.assert_allclose(np.divide(gaps[:-1], gaps[1:]), 2, rtol=0.02)
    np.testing.assert_allclose(np.divide(bounds[:-1], bounds[1:]), 2, rtol=0.02)


def test_overflow_is_quiet():
    wild = model(np.diag([3.0, 1, 1, 1, 1]), np.ones(K))
    squared = Fit("lotka-volterra", np.zeros((K, K)), np.ones(K), np.ones((K, 15)), True, 0)
    start = np.ones(K)
    for path in (
        flow.rollout(wild, start, 2000),
        flow.rollout(squared, start, 100),
        flow.closed_form(wild, start, 2000),
        flow.discrete_closed_form(wild, start, 2000),
    ):
        assert np.isfinite(path[:4]).all()
        assert not np.isfinite(path[-1, 0])
    assert (squared.change(1e200 * start) == np.inf).all()
    # Of the second the flow settles, and the rollout alone grows, twofold a step.
    for fitted in (wild, model(-3 * np.eye(K), np.ones(K))):
        bound = flow.euler_bound(fitted, start, 2000)
        assert np.isfinite(bound[:4]).all()
        assert not np.isfinite(bound[-1])


def test_paths_of_a_missing_fit_are_nan():
    nothing = fit(np.full((5, K), np.nan), "ols")
    for path in (flow.closed_form, flow.discrete_closed_form, flow.euler_bound):
        assert np.isnan(path(nothing, np.ones(K), 4)[1:]).all()
    assert np.isnan(flow.spectral_abscissa(nothing.linear))
    assert np.isnan(flow.spectral_radius(nothing.linear))


def test_spectra_are_those_of_a_rotation():
    turning = np.array([[-0.1, -2.0], [2.0, -0.1]])  # eigenvalues −0.1 ± 2i
    assert flow.spectral_abscissa(turning) == pytest.approx(-0.1)
    # The flow settles and the rollout does not: a step of 1 is too long for it.
    assert flow.spectral_radius(turning) == pytest.approx(np.hypot(0.9, 2))
    path = flow.rollout(model(turning, [0, 0]), np.ones(2), 20)
    assert np.linalg.norm(path[-1]) == pytest.approx(np.sqrt(2) * np.hypot(0.9, 2) ** 20)


# Scores


def test_r_squared_is_sklearns_for_every_circle_and_trial():
    x, *_ = trials(noise=0.5)
    actual = np.diff(x, axis=1)
    predicted = fit(x, "ols").change(x[:, :-1])
    found = forecasts.r_squared(predicted, actual)
    expected = [
        r2_score(a, p, multioutput="raw_values") for a, p in zip(actual, predicted, strict=True)
    ]
    np.testing.assert_allclose(found, expected)
    assert forecasts.score(predicted[0], x[0], x[0]).r2 == pytest.approx(
        r2_score(actual[0], predicted[0])
    )
    assert (forecasts.r_squared(-predicted, actual) < 0).any()


def test_circle_whose_change_is_constant_has_no_r_squared_and_stays_out_of_the_mean():
    x, *_ = trials(1, noise=0.5)
    x = x[0].copy()
    x[:, 1] = 0.1  # rounding of its mean would leave a spread
    change = np.diff(x, axis=0)
    predicted = fit(x, "ols").change(x[:-1])
    each = forecasts.r_squared(predicted, change)
    assert np.array_equal(np.isnan(each), np.arange(K) == 1)
    assert forecasts.score(predicted, x, x).r2 == pytest.approx(np.delete(each, 1).mean())
    assert np.isnan(forecasts.r_squared(np.full((30, 1), 0.2), np.full((30, 1), 0.1))).all()


def test_relative_error_is_a_share_infinite_beyond_numbers_and_nan_without_a_signal():
    path = np.array([[1.1, 4.0, np.nan, np.inf, 3.0, np.nan]])
    seen = np.array([[1.0, 5.0, 1.0, 1.0, 0.0, np.nan]])
    expected = [[0.1, 0.2, np.inf, np.inf, np.nan, np.nan]]
    np.testing.assert_allclose(forecasts.relative_error(path, seen), expected)


def test_a_path_leaves_the_data_at_the_step_that_growth_says():
    seen = np.array([[1.0, 2.0], [3.0, -4.0]])  # range 4, limit 40
    path = np.stack([2.0 ** np.arange(12), np.ones(12)], axis=1)
    assert forecasts.left_data(path, seen) == 6  # 2⁵ = 32, 2⁶ = 64
    assert forecasts.left_data(-path, seen) == 6
    assert forecasts.left_data(path, seen, factor=100) == 9
    assert forecasts.left_data(path[:6], seen) is None
    path[3, 1] = np.nan
    assert forecasts.left_data(path, seen) == 3
    assert forecasts.left_data(np.array([[40.0]]), np.array([[4.0]])) is None


def test_blow_up_of_a_lotka_volterra_rollout_is_found_and_counts_as_infinite_error():
    # dx = x²/10 from 1 is beyond any number within a hundred steps; the data are a short stretch.
    seen = euler(lambda s: s * s / 10, [1.0], 8)
    found = fit(seen, "lotka-volterra")
    path = flow.rollout(found, seen[0], 60)
    true = euler(lambda s: s * s / 10, [1.0], 20)
    assert forecasts.left_data(path, seen) == np.argmax(true > 10 * seen.max())
    long = np.linspace(1, 2, 61)[:, np.newaxis]
    score = forecasts.score(found.change(long[:-1]), path, long, np.array([1]))
    assert score.end_error == score.survivor_end_error == np.inf
    assert np.isfinite(score.path_error) == (np.isfinite(path).mean() > 0.5)


def test_score_takes_medians_over_survivors_and_over_all():
    seen = np.full((5, 4), 10.0) + np.arange(5)[:, np.newaxis] ** 2
    wrong = np.array([0.1, 0.2, 0.5, 0.7])
    path = seen * (1 + wrong * np.arange(5)[:, np.newaxis] / 4)
    change = np.diff(seen, axis=0)
    score = forecasts.score(change, path, seen, np.array([1, 1, 0, -1]))
    assert score.r2 == 1
    assert score.end_error == pytest.approx(0.35)
    assert score.survivor_end_error == pytest.approx(0.15)
    error = wrong * np.arange(5)[:, np.newaxis] / 4
    assert score.path_error == pytest.approx(np.median(error))
    assert score.survivor_path_error == pytest.approx(np.median(error[:, :2]))
    assert score.left_at is None
    unknown = forecasts.score(change, path, seen)
    assert np.isnan([unknown.survivor_end_error, unknown.survivor_path_error]).all()
    assert unknown.end_error == score.end_error


def test_score_of_a_missing_trial_is_nan_and_shapes_that_disagree_are_refused():
    x = trials()[0][0]
    broken = x.copy()
    broken[3, 1] = np.nan
    for change, path, seen in ((np.diff(x, axis=0), x, broken), (np.nan * x[1:], x, x)):
        score = forecasts.score(change, path, seen, np.ones(K))
        assert np.isnan([score.r2, score.end_error, score.survivor_path_error]).all()
        assert score.left_at is None
    with pytest.raises(ValueError, match="one step shorter"):
        forecasts.score(x, x, x)


# Generalisation


def test_the_right_model_generalises_and_the_diagonal_one_does_not():
    x, *_ = trials(noise=0.005)
    found = generalisation.generalise(x, np.ones((6, K)), kinds=("ols", "diagonal", "time"))
    ols, diagonal, time = (found[kind] for kind in ("ols", "diagonal", "time"))
    assert [h.trial for h in ols] == list(range(6))
    assert all(h.n_fitted == 5 and h.converged for h in ols)
    assert min(h.score.r2 for h in ols) > 0.9
    for other in (diagonal, time):
        assert np.mean([h.score.r2 for h in other]) < np.mean([h.score.r2 for h in ols]) - 0.1
    for h in ols:
        assert h.score.end_error < 0.1
        assert h.score.survivor_end_error == h.score.end_error
        assert abs(h.train_r2 - h.score.r2) < 0.1


def test_held_out_scores_are_those_of_a_fit_to_the_other_folds():
    x, *_ = trials(noise=0.3)
    alive = rng(5).random((6, K)) < 0.6
    for folds, n_fitted in ((None, 5), (3, 4), (2, 3)):
        for kind in dynamics.KINDS:
            found = generalisation.generalise(x, alive, kinds=[kind], folds=folds)[kind]
            for i, h in enumerate(found):
                others = np.arange(6) % (folds or 6) != i % (folds or 6)
                assert (h.trial, h.fold, h.n_fitted) == (i, i % (folds or 6), n_fitted)
                fitted = fit(x[others], kind)
                expected = forecasts.score(
                    fitted.change(x[i, :-1]), flow.rollout(fitted, x[i, 0], 60), x[i], alive[i]
                )
                assert h.score == expected
                each = [r2_score(np.diff(y, axis=0), fitted.change(y[:-1])) for y in x[others]]
                assert h.train_r2 == pytest.approx(np.mean(each))


def test_overfitting_shows_in_held_out_trials_only():
    x, *_ = trials(4, steps=10, noise=1.0)  # 30 rows, 21 coefficients a circle
    for h in generalisation.generalise(x, kinds=["lotka-volterra"])["lotka-volterra"]:
        assert h.train_r2 > 0.7
        assert h.score.r2 < h.train_r2 - 0.3


def test_forecast_by_time_alone_is_the_mean_of_the_other_trials():
    x, *_ = trials(3, noise=0.1)
    x[:, 0] = x[0, 0]
    h = generalisation.generalise(x, kinds=["time"])["time"][0]
    change = np.diff(x[1:].mean(axis=0), axis=0)
    assert h.score.r2 == pytest.approx(r2_score(np.diff(x[0], axis=0), change))
    path = x[1:].mean(axis=0)
    assert h.score.end_error == pytest.approx(np.median(np.abs(path[-1] / x[0, -1] - 1)))


def test_missing_trials_are_neither_fitted_on_nor_scored():
    x, *_ = trials(noise=0.1)
    broken = x.copy()
    broken[2, 5, 1] = np.nan
    found = generalisation.generalise(broken)
    expected = generalisation.generalise(x[[0, 1, 3, 4, 5]])
    assert set(found) == {"ols", "lasso", "diagonal", "lotka-volterra", "time"}
    for kind in found:
        kept = [h for h in found[kind] if h.trial != 2]
        assert [h.score.r2 for h in kept] == [h.score.r2 for h in expected[kind]]
        assert [h.n_fitted for h in found[kind]] == [4, 4, 5, 4, 4, 4]
        assert np.isnan(found[kind][2].score.r2)


@pytest.mark.parametrize("kind", [*dynamics.KINDS, "time"])
def test_a_single_trial_has_nothing_to_generalise_from(kind):
    x, *_ = trials(1)
    (h,) = generalisation.generalise(x, kinds=[kind])[kind]
    assert (h.n_fitted, h.converged) == (0, False)
    assert np.isnan([h.train_r2, h.score.r2, h.score.path_error]).all()
    assert generalisation.generalise(x[:0], kinds=[kind])[kind] == []


def test_generalise_refuses_what_makes_no_sense():
    x, *_ = trials()
    for folds in (1, 7):
        with pytest.raises(ValueError, match=r"2 … 6"):
            generalisation.generalise(x, folds=folds)
    with pytest.raises(ValueError, match="must be"):
        generalisation.generalise(x[0])
    with pytest.raises(ValueError, match="must be"):
        generalisation.generalise(x, np.ones((6, K - 1)))
    with pytest.raises(ValueError, match="none of"):
        generalisation.generalise(x, kinds=["ridge"])


# Interactions


def test_nonzero_share_counts_entries_with_or_without_the_diagonal():
    a = np.array([[1.0, 0, 0], [2, 1, 0], [0, 0, 0]])
    assert interactions.nonzero_share(a) == pytest.approx(3 / 9)
    assert interactions.nonzero_share(a, interactions_only=True) == pytest.approx(1 / 6)
    assert np.isnan(interactions.nonzero_share(a[:1, :1], interactions_only=True))
    assert np.isnan(interactions.nonzero_share(np.full((2, 2), np.nan)))


def agreement(linear, survived, seed=0, resamples=200):
    return interactions.sign_agreement(linear, survived, rng=rng(seed), resamples=resamples)


def coefficients(n=12, k=6, noise=0.0, seed=0, shared=True):
    """Return A of n trials that share interactions of both signs, or do not."""
    draw = rng(seed)
    common = draw.standard_normal((k, k))
    own = draw.standard_normal((n, k, k))
    return (common if shared else 0) + (noise if shared else 1) * own


def test_trials_that_agree_have_agreement_one_far_beyond_chance():
    found = agreement(coefficients(), np.ones((12, 6)))
    assert (found.estimate, found.low, found.high) == (1, 1, 1)
    assert found.p_value == pytest.approx(1 / 201)
    assert 0.49 < found.baseline < found.baseline_high < 0.7
    assert 0 < found.positive < 1
    assert (found.n_trials, found.n_comparisons) == (12, 66 * 30)


def test_agreement_is_counted_over_pairs_of_trials_survivors_and_nonzero_coefficients():
    a = np.zeros((3, 3, 3))
    a[:, 0, 1] = [1, 2, -1]  # one pair of trials of three agrees
    a[:, 1, 0] = [-1, 0, -3]  # the zero is not compared: one of one
    a[:, 0, 2] = [1, -1, 1]  # circle 2 dies in trial 1: one of one
    a[:, 2, 2] = [1, -1, 1]  # no interaction
    alive = np.array([[1, 1, 1], [1, 1, 0], [1, 1, 1]])
    found = agreement(a, alive)
    assert found.n_comparisons == 5
    assert found.estimate == pytest.approx(3 / 5)
    assert found.positive == pytest.approx(4 / 7)
    assert agreement(a, np.where(alive == 0, -1, alive)).estimate == found.estimate
    assert agreement(a, alive == 1).estimate == found.estimate


def test_disagreement_and_a_surplus_of_one_sign_are_not_beyond_chance():
    opposed = coefficients(2)
    opposed[1] *= -1
    assert agreement(opposed, np.ones((2, 6))).estimate == 0
    assert agreement(opposed, np.ones((2, 6))).p_value == 1
    positive = np.abs(coefficients())
    found = agreement(positive, np.ones((12, 6)))
    assert (found.estimate, found.baseline, found.p_value, found.positive) == (1, 1, 1, 1)
    # Nine tenths positive in places of no meaning: agreement is high and so is chance.
    many = np.where(rng(8).random((12, 6, 6)) < 0.9, 1.0, -1.0)
    found = agreement(many, np.ones((12, 6)))
    assert found.estimate > 0.75
    assert found.estimate == pytest.approx(found.baseline, abs=0.03)


def test_chance_of_two_trials_is_hypergeometric():
    # 15 of 30 places are positive in each; X of them in both, so 2 X of 30 agree.
    a = np.zeros((2, 6, 6))
    signs = np.repeat([1.0, -1.0], 15)
    a[:, ~np.eye(6, dtype=bool)] = [signs, np.roll(signs, 5)]
    found = agreement(a, np.ones((2, 6)), resamples=4000)
    both = stats.hypergeom(30, 15, 15)
    assert found.estimate == pytest.approx(20 / 30)
    assert found.baseline == pytest.approx(0.5, abs=0.01)
    assert found.baseline_high == pytest.approx(2 * both.ppf(0.975) / 30)
    assert found.p_value == pytest.approx(both.sf(9), abs=0.02)


def test_p_value_is_uniform_where_trials_share_nothing():
    p = [
        agreement(coefficients(5, shared=False, seed=s), np.ones((5, 6)), seed=s, resamples=99)
        for s in range(60)
    ]
    values = np.array([f.p_value for f in p])
    assert 0.35 < values.mean() < 0.65
    assert (values < 0.1).mean() < 0.2
    assert np.mean([f.estimate > f.baseline_high for f in p]) < 0.1


def test_interval_of_agreement_is_the_bootstrap_over_trials():
    a, alive = coefficients(8, noise=1.0), np.ones((8, 6))
    found = agreement(a, alive, resamples=4000)
    signs = np.sign(a)[:, ~np.eye(6, dtype=bool)]
    drawn, draw = [], rng(1)
    for _ in range(2000):
        chosen = draw.integers(0, 8, 8)
        # A trial drawn twice is not compared with itself: that would always agree.
        same = [
            np.mean(signs[i] == signs[j])
            for n, i in enumerate(chosen)
            for j in chosen[:n]
            if i != j
        ]
        drawn.append(np.mean(same))
    expected = np.quantile(drawn, [0.025, 0.975])
    np.testing.assert_allclose([found.low, found.high], expected, atol=0.01)
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize("case", ["dead", "missing", "one trial", "no trials", "zero"])
def test_agreement_of_nothing_is_nan(case):
    n = {"one trial": 1, "no trials": 0}.get(case, 4)
    a = coefficients(n) * {"missing": np.nan, "zero": 0}.get(case, 1)
    found = agreement(a, np.zeros((n, 6)) if case == "dead" else np.ones((n, 6)))
    values = [found.estimate, found.low, found.high, found.baseline, found.p_value]
    assert np.isnan(values).all()
    assert np.isnan(found.positive) == (case != "one trial")
    assert found.n_comparisons == 0


def test_agreement_refuses_shapes_that_disagree_and_is_decided_by_the_generator():
    a, alive = coefficients(noise=1.0), np.ones((12, 6))
    with pytest.raises(ValueError, match="same trials and circles"):
        agreement(a, alive[:, 1:])
    assert agreement(a, alive, seed=1) == agreement(a, alive, seed=1)
    assert agreement(a, alive, seed=1) != agreement(a, alive, seed=2)


# All


def test_inputs_are_left_as_they_were():
    x, *_ = trials(noise=0.1)
    a, alive = coefficients(), np.ones((12, 6))
    before = [v.copy() for v in (x, a, alive)]
    generalisation.generalise(x, np.ones((6, K)))
    found = fit(x, "ols")
    linear = found.linear.copy()
    for path in (flow.closed_form, flow.discrete_closed_form, flow.rollout, flow.euler_bound):
        path(found, x[0, 0], 9)
    flow.closed_form(found, x[0, 0], 9, ridge=1.0)
    agreement(a, alive)
    for now, then in zip((x, a, alive, found.linear), (*before, linear), strict=True):
        np.testing.assert_array_equal(now, then)
