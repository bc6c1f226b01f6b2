"""Initial signal against survival: estimates, intervals and chance, against known answers."""

from __future__ import annotations

import warnings
from dataclasses import astuple

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from statsmodels.stats.proportion import proportion_confint

from fittest import fitness, intervals
from fittest.statistics import decision

Z = stats.norm.ppf(0.975)
RESAMPLES = 300


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def planted(n_embeddings=10, n_circles=29, slope=1.0, between=0.0, seed=1):
    """Return z-like signals and noisy rates; `between` spreads the embeddings' slopes."""
    draw = rng(seed)
    signal = draw.standard_normal((n_embeddings, n_circles))
    slopes = slope + between * draw.standard_normal((n_embeddings, 1))
    return signal, slopes * signal + draw.standard_normal(signal.shape)


def pooled(signal, rate, seed=0, resamples=RESAMPLES):
    return fitness.pooled_correlation(
        signal, rate, n_trials=500, rng=rng(seed), resamples=resamples
    )


def within(signal, rate, seed=0, resamples=RESAMPLES):
    return fitness.within_correlation(
        signal, rate, n_trials=500, rng=rng(seed), resamples=resamples
    )


def slope(signal, survived, trials, seed=0, resamples=100):
    return fitness.logistic_slope(signal, survived, trials, rng=rng(seed), resamples=resamples)


def binomial(n_embeddings=10, trials=50, true_slope=1.0, seed=2):
    draw = rng(seed)
    signal = draw.standard_normal((n_embeddings, 29))
    chance = expit(-1 + true_slope * stats.zscore(signal, axis=None))
    return signal, draw.binomial(trials, chance), np.full(signal.shape, trials)


def width(estimate) -> float:
    return estimate.high - estimate.low


def numbers(estimate) -> np.ndarray:
    return np.array([estimate.estimate, estimate.low, estimate.high])


# Wilson


@pytest.mark.parametrize("n", [1, 10, 50])
def test_wilson_of_none_and_all_is_the_closed_form(n):
    low, high = intervals.wilson(np.array([0, n]), np.array([n, n]))
    np.testing.assert_allclose(low, [0, n / (n + Z**2)], atol=1e-12)
    np.testing.assert_allclose(high, [Z**2 / (n + Z**2), 1], atol=1e-12)


def test_wilson_is_that_of_statsmodels_for_every_count():
    trials, count = (grid.ravel() for grid in np.meshgrid(np.arange(1, 41), np.arange(41)))
    trials, count = trials[count <= trials], count[count <= trials]
    theirs = proportion_confint(count, trials, method="wilson")
    np.testing.assert_allclose(intervals.wilson(count, trials), theirs, rtol=0, atol=1e-14)


def test_wilson_keeps_shape_and_is_missing_without_trials():
    low, high = intervals.wilson(np.array([[0, 3], [2, 0]]), np.array([[0, 10], [4, 0]]))
    assert np.array_equal(np.isnan(low), [[True, False], [False, True]])
    assert np.array_equal(np.isnan(high), np.isnan(low))
    assert (low[0, 1], high[0, 1]) == pytest.approx(proportion_confint(3, 10, method="wilson"))


# Correlations


def test_perfect_line_has_correlation_one_everywhere():
    signal, _ = planted()
    estimate = pooled(signal, 3 * signal - 1)
    np.testing.assert_allclose(numbers(estimate), 1)
    assert estimate.p_value < 1e-100
    estimate, each, spread = within(signal, 3 * signal - 1)
    np.testing.assert_allclose(numbers(estimate), 1)
    np.testing.assert_allclose(each, 1)
    assert spread == pytest.approx(0, abs=1e-12)


def test_pooled_correlation_is_scipys_over_the_present_points():
    signal, rate = planted()
    signal[0, 3] = rate[1, 4] = np.nan
    rate[2] = np.nan
    ok = ~np.isnan(signal * rate)
    estimate = pooled(signal, rate)
    reference = stats.pearsonr(signal[ok], rate[ok])
    assert estimate.estimate == pytest.approx(reference.statistic)
    assert estimate.p_value == pytest.approx(reference.pvalue, rel=1e-6, abs=0)
    assert (estimate.n_embeddings, estimate.n_circles, estimate.n_trials) == (9, 9 * 29 - 2, 500)


def test_within_correlation_is_the_mean_of_scipys_over_embeddings():
    signal, rate = planted()
    signal[0, 3] = rate[1, 4] = np.nan
    estimate, each, spread = within(signal, rate)
    expected = []
    for x, y in zip(signal, rate, strict=True):
        ok = ~np.isnan(x * y)
        expected.append(stats.pearsonr(x[ok], y[ok]).statistic)
    np.testing.assert_allclose(each, expected)
    assert estimate.estimate == pytest.approx(np.mean(expected))
    assert spread == pytest.approx(np.std(expected, ddof=1))


def test_within_correlation_ignores_differences_between_embeddings_that_pooling_sees():
    signal, rate = planted(slope=0)
    level = 20 * np.arange(10)[:, np.newaxis]
    shifted = (1 + level) * (signal + level), (1 + level) * (rate + level)
    assert pooled(*shifted).estimate > 0.8
    a, b = within(*shifted)[0], within(signal, rate)[0]
    np.testing.assert_allclose(numbers(a), numbers(b))
    assert (a.baseline, a.p_value) == pytest.approx((b.baseline, b.p_value))


def test_within_correlation_leaves_out_undefined_embeddings_but_keeps_their_place():
    signal, rate = planted(5)
    rate[1] = 0.25  # constant
    signal[3, 2:] = np.nan  # two points, on which r is ±1
    estimate, each, _ = within(signal, rate)
    assert np.array_equal(np.isnan(each), [False, True, False, True, False])
    alone, *_ = within(signal[[0, 2, 4]], rate[[0, 2, 4]])
    np.testing.assert_allclose(numbers(estimate), numbers(alone))
    assert (estimate.n_embeddings, estimate.n_circles) == (3, 87)


def test_embedding_without_points_changes_nothing():
    signal, rate = planted(6)
    empty = np.full((1, 29), np.nan)
    more = np.concatenate([empty, signal]), np.concatenate([rate[:1], rate])
    assert astuple(pooled(*more)) == astuple(pooled(signal, rate))
    count, trials = np.full((6, 29), 3), np.full((6, 29), 10)
    count[:, ::2] = 7
    bigger = [np.concatenate([a[:1], a]) for a in (count, trials)]
    assert astuple(slope(more[0], *bigger)) == pytest.approx(
        astuple(slope(signal, count, trials)), nan_ok=True
    )


def test_permutation_baseline_is_what_chance_gives():
    signal, rate = planted(slope=3)
    # Without means of embeddings, which a permutation within them would leave correlated.
    signal, rate = (a - a.mean(axis=1, keepdims=True) for a in (signal, rate))
    assert pooled(signal, rate).estimate > 0.9
    # r of n exchangeable points has mean 0 and variance 1/(n - 1); here ten times 29 points.
    chance = pytest.approx(Z / np.sqrt(10 * 28), rel=0.1)
    assert pooled(signal, rate, resamples=4000).baseline == chance
    assert within(signal, rate, resamples=4000)[0].baseline == chance


def test_permutation_stays_within_embeddings():
    # All correlation is between embeddings, so permuting within them must leave it.
    level = np.repeat(np.arange(10.0)[:, np.newaxis], 29, axis=1)
    noise = 1e-3 * rng().standard_normal((2, 10, 29))
    assert pooled(level + noise[0], level + noise[1]).baseline > 0.99


def test_permutation_keeps_every_point_when_some_are_missing():
    # Three of 9 points present: a permutation that moved NaN too would lose most pairs.
    signal, rate = planted(50, 9)
    signal[:, 3:] = np.nan
    rate -= rate[:, :3].mean(axis=1, keepdims=True)
    # r of 3 exchangeable points has variance 1/2, whatever their values.
    estimate, *_ = within(signal, rate, resamples=4000)
    assert estimate.baseline == pytest.approx(Z * np.sqrt(0.5 / 50), rel=0.1)
    # Σ x·y of one embedding has variance 3 var x · 3 var y / 2, and mean 0 as y is centred.
    x, y = signal[:, :3], rate[:, :3]
    variance = np.sum(9 * x.var(axis=1) * y.var(axis=1) / 2) / (150**2 * x.var() * y.var())
    chance = pytest.approx(Z * np.sqrt(variance), rel=0.1)
    assert pooled(signal, rate, resamples=4000).baseline == chance


def test_within_p_value_is_small_for_an_effect_and_uniform_for_none():
    assert within(*planted(slope=1))[0].p_value == pytest.approx(1 / (RESAMPLES + 1))
    assert within(*planted(slope=-1))[0].p_value == pytest.approx(1 / (RESAMPLES + 1))
    p = [within(*planted(slope=0, seed=s), resamples=99)[0].p_value for s in range(60)]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_bootstrap_interval_covers_the_truth_about_as_often_as_it_says():
    truth = 1 / np.sqrt(2)
    hits = [
        [estimate.low < truth < estimate.high for estimate in (pooled(*data), within(*data)[0])]
        for data in (planted(20, seed=s) for s in range(60))
    ]
    # 95% nominal; the percentile interval of 20 embeddings covers a little less.
    assert np.all(np.mean(hits, axis=0) > 0.82)
    assert np.all(np.mean(hits, axis=0) < 1)


def test_interval_is_the_percentile_bootstrap_of_scipy_over_embeddings():
    signal, rate = planted(between=1)
    estimate, each, _ = within(signal, rate, resamples=20000)
    reference = stats.bootstrap(
        (each,), np.mean, n_resamples=20000, method="percentile", rng=rng(1)
    ).confidence_interval
    assert (estimate.low, estimate.high) == pytest.approx(tuple(reference), abs=0.01)

    def pooled_r(rows):
        return stats.pearsonr(signal[rows].ravel(), rate[rows].ravel()).statistic

    reference = stats.bootstrap(
        (np.arange(10),), pooled_r, n_resamples=2000, method="percentile", vectorized=False,
        rng=rng(1),
    ).confidence_interval  # fmt: skip
    estimate = pooled(signal, rate, resamples=2000)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(reference), abs=0.02)


def test_interval_is_wider_when_embeddings_differ():
    same, different = planted(between=0), planted(between=1.5)
    assert width(pooled(*different)) > 2 * width(pooled(*same))
    assert width(within(*different)[0]) > 2 * width(within(*same)[0])


def test_duplicating_circles_within_an_embedding_does_not_shrink_the_interval():
    once = planted(between=0.5)
    twice = [np.tile(a, (1, 4)) for a in once]
    np.testing.assert_allclose(numbers(pooled(*twice)), numbers(pooled(*once)))
    np.testing.assert_allclose(numbers(within(*twice)[0]), numbers(within(*once)[0]))
    signal, survived, trials = binomial()
    a = slope(signal, survived, trials)
    b = slope(*(np.tile(v, (1, 4)) for v in (signal, survived, trials)))
    np.testing.assert_allclose(numbers(b), numbers(a), rtol=1e-5)


def test_one_embedding_has_an_estimate_but_no_interval():
    signal, rate = planted(1)
    for estimate in (pooled(signal, rate), within(signal, rate)[0], slope(*binomial(1))):
        assert np.isfinite(estimate.estimate)
        assert np.isnan([estimate.low, estimate.high]).all()
        assert estimate.n_embeddings == 1
    assert np.isnan(within(signal, rate)[2])


def test_interval_is_missing_where_too_many_resamples_are_undefined():
    # Half the resamples of two embeddings are one of them twice; one has constant rates.
    signal, rate = planted(2)
    rate[0] = 0.1
    estimate = pooled(signal, rate)
    assert np.isfinite(estimate.estimate)
    assert np.isnan([estimate.low, estimate.high]).all()


DEGENERATE = {
    "constant rate": (planted(3)[0], np.full((3, 29), 0.3)),
    "constant signal": (np.full((3, 29), 0.1), planted(3)[0]),
    "two points": (np.array([[1.0, 2.0]]), np.array([[0.0, 1.0]])),
    "all missing": (np.full((3, 29), np.nan), planted(3)[0]),
    "no circles": (np.empty((3, 0)), np.empty((3, 0))),
    "no embeddings": (np.empty((0, 29)), np.empty((0, 29))),
}


@pytest.mark.parametrize("case", DEGENERATE)
def test_undefined_correlation_is_nan_without_warning_or_exception(case):
    signal, rate = DEGENERATE[case]
    estimate, each, spread = within(signal, rate)
    assert each.shape == (len(signal),)
    assert np.isnan(each).all()
    assert np.isnan(spread)
    for e in (estimate, pooled(signal, rate)):
        assert np.isnan([*numbers(e), e.baseline, e.p_value]).all()


def test_shapes_that_differ_are_refused():
    signal, rate = planted(3)
    for function in (pooled, within, fitness.least_squares):
        with pytest.raises(ValueError, match=r"\(3, 29\) and \(3, 28\)"):
            function(signal, rate[:, 1:])
    with pytest.raises(ValueError, match="same"):
        pooled(signal[0], rate[0])


# Least squares


def test_least_squares_recovers_a_line_and_leaves_out_missing_points():
    signal, _ = planted()
    rate = 3 * signal - 1
    rate[0, 0], signal[1, 1] = np.nan, np.nan
    assert fitness.least_squares(signal, rate) == pytest.approx((3, -1))


def test_least_squares_is_nan_where_no_line_is_best():
    for signal in (np.full((2, 3), 0.1), np.full((2, 3), np.nan), np.empty((0, 3))):
        assert np.isnan(fitness.least_squares(signal, np.ones(signal.shape))).all()
    assert fitness.least_squares(np.arange(6.0).reshape(2, 3), np.full((2, 3), 0.5)) == (0, 0.5)


# Logistic slope


def test_logistic_slope_is_statsmodels_on_trials_one_by_one():
    signal, survived, trials = binomial(3, trials=5)
    z = np.repeat(stats.zscore(signal, axis=None).ravel(), 5)
    outcome = (np.arange(5) < survived.ravel()[:, np.newaxis]).ravel().astype(float)
    reference = sm.Logit(outcome, sm.add_constant(z)).fit(disp=False).params[1]
    estimate = slope(signal, survived, trials)
    assert estimate.estimate == pytest.approx(reference, rel=1e-6)
    assert estimate.baseline == 0
    assert np.isnan(estimate.p_value)
    assert (estimate.n_embeddings, estimate.n_trials, estimate.n_circles) == (3, 15, 87)


@pytest.mark.parametrize("true", [-0.7, 0.0, 1.5])
def test_logistic_interval_contains_the_planted_slope(true):
    estimate = slope(*binomial(true_slope=true), resamples=300)
    assert estimate.low < true < estimate.high
    assert width(estimate) < 0.5


def test_logistic_slope_is_per_standard_deviation_of_all_points():
    signal, survived, trials = binomial()
    np.testing.assert_allclose(
        numbers(slope(80 + 4 * signal, survived, trials)),
        numbers(slope(signal, survived, trials)),
        rtol=1e-6,
    )


def test_logistic_interval_keeps_the_full_datas_unit():
    # Every point lies on one curve, so every resample has the same slope: only a unit that moved
    # with the resample could widen the interval. The spread of signals differs 9-fold.
    signal = rng(3).standard_normal((6, 29)) * np.array([[1], [9], [1], [3], [1], [5]])
    trials = np.full(signal.shape, 1e5)
    survived = np.round(trials * expit(0.2 * signal))
    estimate = slope(signal, survived, trials)
    assert estimate.estimate == pytest.approx(0.2 * signal.std(), rel=1e-4)
    assert width(estimate) < 1e-4


def test_logistic_interval_resamples_embeddings():
    signal, survived, trials = binomial(4)
    survived[0] = trials[0] - survived[0]  # one that differs, so that its count matters

    def fit(rows):
        counts = np.stack([survived[rows].ravel(), (trials - survived)[rows].ravel()], axis=1)
        z = ((signal - signal.mean()) / signal.std())[rows].ravel()
        return sm.GLM(counts, sm.add_constant(z), sm.families.Binomial()).fit().params[1]

    reference = stats.bootstrap(
        (np.arange(4),), fit, n_resamples=400, method="percentile", vectorized=False, rng=rng(1)
    ).confidence_interval
    estimate = slope(signal, survived, trials, resamples=400)
    assert (estimate.low, estimate.high) == pytest.approx(tuple(reference), abs=0.03)


def test_logistic_points_without_trials_are_missing():
    signal, survived, trials = binomial()
    expected = slope(signal[:, 1:], survived[:, 1:], trials[:, 1:])
    trials[:5, 0] = survived[:5, 0] = 0
    signal[5:, 0] = np.nan
    assert astuple(slope(signal, survived, trials)) == pytest.approx(astuple(expected), nan_ok=True)


@pytest.mark.parametrize("case", ["all dead", "all alive", "separated", "touching", "constant"])
def test_logistic_slope_without_finite_answer_is_nan_without_warning_or_exception(case):
    signal, survived, trials = binomial(3)
    if case in ("all dead", "all alive"):
        survived = trials * (case == "all alive")
    elif case == "constant":
        signal = np.full(signal.shape, 0.1)
    else:
        survived = trials * (signal > np.median(signal))
        if case == "touching":  # both outcomes at the boundary alone: the slope is still infinite
            survived = np.where(signal == np.median(signal), 20, survived)
    assert np.isnan(numbers(slope(signal, survived, trials))).all()


def test_logistic_fit_that_has_not_converged_is_nan(monkeypatch):
    fit = sm.GLM.fit
    monkeypatch.setattr(sm.GLM, "fit", lambda self, start_params: fit(self, start_params, 1))
    assert np.isnan(numbers(slope(*binomial(3)))).all()


@pytest.mark.parametrize("shape", [(3, 0), (0, 29), (3, 29)])
def test_logistic_slope_of_nothing_is_nan(shape):
    nothing = np.full(shape, np.nan)
    estimate = slope(nothing, nothing, nothing)
    assert np.isnan(numbers(estimate)).all()
    assert (estimate.n_embeddings, estimate.n_trials, estimate.n_circles) == (0, 0, 0)


# AUC over time


def trials_with_survivors(n=40, steps=6, circles=11, seed=4):
    """Return signals on a coarse grid, so with ties, that grow with survival over the steps."""
    draw = rng(seed)
    survived = (draw.random((n, circles)) < 0.3).astype(np.int8)
    drift = np.linspace(0, 2, steps)[:, np.newaxis] * survived[:, np.newaxis]
    return np.round(draw.standard_normal((n, steps, circles)) + drift), survived


def each_auc(signal, survived):
    values = np.full(signal.shape[:2], np.nan)
    for trial, step in np.ndindex(values.shape):
        ok = (survived[trial] >= 0) & ~np.isnan(signal[trial, step])
        y = survived[trial, ok]
        if 0 < y.sum() < len(y):
            values[trial, step] = roc_auc_score(y, signal[trial, step, ok])
    return values


def test_auc_is_sklearns_with_ties_and_missing_circles():
    signal, survived = trials_with_survivors()
    survived[3, 2:4] = -1
    survived[5], survived[6] = 1, 0  # no competition, no AUC
    survived[7] = -1
    signal[8, 2, 5] = np.nan
    signal[9, 1] = np.nan
    expected = each_auc(signal, survived)
    curve = decision.auc_over_time(signal, survived, rng=rng(), resamples=RESAMPLES)
    np.testing.assert_allclose(curve.auc, np.nanmean(expected, axis=0), rtol=1e-12)
    assert np.array_equal(curve.n_trials, (~np.isnan(expected)).sum(axis=0))
    assert curve.n_trials[1] == curve.n_trials[0] - 1
    assert curve.baseline == 0.5


def test_auc_compares_circles_of_one_trial_only():
    survived = np.array([[1, 0, 0], [1, 0, 0]], dtype=bool)
    signal = np.array([[[3.0, 2, 1]], [[300, 200, 100]]])
    curve = decision.auc_over_time(signal, survived, rng=rng(), resamples=50)
    assert (curve.auc[0], curve.low[0], curve.high[0]) == (1, 1, 1)


def test_auc_of_constant_signal_is_one_half_and_of_reversed_signal_is_mirrored():
    signal, survived = trials_with_survivors()
    flat = decision.auc_over_time(np.ones_like(signal), survived, rng=rng(), resamples=50)
    np.testing.assert_allclose(flat.auc, 0.5)
    up, down = (
        decision.auc_over_time(s * signal, survived, rng=rng(), resamples=50) for s in (1, -1)
    )
    np.testing.assert_allclose(up.auc + down.auc, 1)


def test_auc_interval_is_the_percentile_bootstrap_of_scipy_over_trials():
    signal, survived = trials_with_survivors()
    signal[::3, 2] = np.nan  # a step that some trials lack
    values = each_auc(signal, survived)
    values = values[~np.isnan(values).all(axis=1)]
    assert np.isnan(values).any()
    curve = decision.auc_over_time(signal, survived, rng=rng(), resamples=20000)
    reference = stats.bootstrap(
        (values,), np.nanmean, n_resamples=20000, method="percentile", axis=0, rng=rng(1)
    ).confidence_interval
    np.testing.assert_allclose(curve.low, reference.low, atol=0.005)
    np.testing.assert_allclose(curve.high, reference.high, atol=0.005)


def test_auc_uses_the_same_resamples_at_every_step():
    signal, survived = trials_with_survivors(steps=1)
    curve = decision.auc_over_time(
        np.repeat(signal, 3, axis=1), survived, rng=rng(), resamples=RESAMPLES
    )
    np.testing.assert_allclose(curve.low, curve.low[0], rtol=1e-12)
    np.testing.assert_allclose(curve.high, curve.high[0], rtol=1e-12)


def test_auc_undefined_trials_change_nothing():
    signal, survived = trials_with_survivors()
    more = np.concatenate([signal[:1], signal]), np.concatenate([0 * survived[:1], survived])
    expected = decision.auc_over_time(signal, survived, rng=rng(), resamples=RESAMPLES)
    curve = decision.auc_over_time(*more, rng=rng(), resamples=RESAMPLES)
    np.testing.assert_array_equal([curve.auc, curve.low], [expected.auc, expected.low])


def test_auc_that_is_nowhere_defined_is_nan_and_of_one_trial_has_no_interval():
    signal, survived = trials_with_survivors()
    curve = decision.auc_over_time(signal, 0 * survived, rng=rng(), resamples=50)
    assert np.isnan([curve.auc, curve.low, curve.high]).all()
    assert np.array_equal(curve.n_trials, np.zeros(6))
    one = survived.copy()
    one[1:] = -1
    curve = decision.auc_over_time(signal, one, rng=rng(), resamples=50)
    assert np.isfinite(curve.auc).all()
    assert np.isnan([curve.low, curve.high]).all()


def test_auc_refuses_shapes_that_disagree():
    signal, survived = trials_with_survivors()
    with pytest.raises(ValueError, match="same trials and circles"):
        decision.auc_over_time(signal, survived[:, 1:], rng=rng())


# All


def test_everything_is_decided_by_the_generator():
    data, counts, trials = planted(), binomial(), trials_with_survivors()

    def auc(seed):
        curve = decision.auc_over_time(*trials, rng=rng(seed), resamples=RESAMPLES)
        return (*curve.low, *curve.high)

    for run in (
        lambda seed: numbers(pooled(*data, seed=seed)),
        lambda seed: pooled(*data, seed=seed).baseline,
        lambda seed: numbers(within(*data, seed=seed)[0]),
        lambda seed: within(*data, seed=seed)[0].baseline,
        lambda seed: numbers(slope(*counts, seed=seed)),
        auc,
    ):
        assert np.array_equal(run(1), run(1))
        assert not np.array_equal(run(1), run(2))


def test_inputs_are_left_as_they_were():
    data, counts, trials = planted(), binomial(), trials_with_survivors()
    before = [a.copy() for a in (*data, *counts, *trials)]
    pooled(*data), within(*data), slope(*counts)
    decision.auc_over_time(*trials, rng=rng(), resamples=50)
    for a, b in zip((*data, *counts, *trials), before, strict=True):
        np.testing.assert_array_equal(a, b)
