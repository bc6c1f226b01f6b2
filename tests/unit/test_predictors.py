"""Predictors of survival: fits and scores against other programs, and effects that were planted."""

import numpy as np
import pytest
import statsmodels.api as sm
import xarray as xr
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.metrics import log_loss as sklearn_log_loss

from fittest.figures import predictors as figure
from fittest.figures.drawing import save
from fittest.statistics.logistic import coefficients, held_out
from fittest.statistics.predictors import COLUMNS, PREDICTORS, TOGETHER, predictors
from fittest.statistics.scores import bins, brier, log_loss, mean_score, pooled_auc, within_auc
from fittest.survival import MISSING, RULES


def planted(*, effects=(0.0, 1.5, 0.0), embeddings=6, trials=20, circles=12, seed=0):
    """Return a survival table: log-odds from z scores of initial signal, gradient, circularity."""
    rng = np.random.default_rng(seed)
    fixed = rng.normal(size=(2, embeddings, 1, circles)).repeat(trials, axis=2)
    z = np.stack([fixed[0], rng.normal(size=(embeddings, trials, circles)), fixed[1]])
    chance = 1 / (1 + np.exp(1 - np.tensordot(effects, z, axes=1)))
    fate = (rng.random(chance.shape) < chance).astype(np.int8)
    dims = ("embedding", "trial", "frequency")
    noise = rng.normal(size=(embeddings, trials, 3, circles))
    gradient = np.concatenate([noise, 0.01 * z[1][:, :, None]], axis=2)
    return xr.Dataset(
        {
            "survived": (
                (*dims, "horizon", "rule"),
                fate[..., None, None].repeat(len(RULES), axis=-1),
            ),
            "initial_signal": (dims, 45 + 3 * z[0]),
            "gradient": (("embedding", "trial", "update", "frequency"), gradient),
            "circularity": (dims, 0.5 + 0.1 * z[2]),
        },
        coords={
            "embedding": np.arange(embeddings),
            "horizon": [4000],
            "rule": list(RULES),
            "update": [1, 2, 3, 4],
        },
    )


def grouped(n=400, groups=8, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2)) * [3, 0.1] + [10, 0]
    chance = 1 / (1 + np.exp(-(features[:, 0] - 10) / 3))
    return features, (rng.random(n) < chance).astype(int), rng.integers(0, groups, n)


def rows(frame, statistic, model=None):
    some = frame[frame["statistic"] == statistic]
    return some if model is None else some[some["model"] == model]


def test_coefficients_are_those_of_a_clustered_binomial_model_a_standard_deviation():
    features, outcome, group = grouped()
    found = coefficients(features, outcome, group)
    z = (features - features.mean(axis=0)) / features.std(axis=0)
    other = sm.GLM(outcome, sm.add_constant(z), sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": group}
    )
    np.testing.assert_allclose(found.estimate, other.params[1:], rtol=1e-5)
    np.testing.assert_allclose(found.error, other.bse[1:], rtol=0.01)
    assert found.low[0] < 1 < found.high[0]
    assert (found.low < found.estimate).all()
    assert (found.estimate < found.high).all()
    scaled = coefficients(features * 1000, outcome, group)
    np.testing.assert_allclose(scaled.estimate, found.estimate, rtol=1e-5)


def test_the_bootstrap_agrees_with_clustered_errors_where_groups_are_many():
    features, outcome, group = grouped(n=1200, groups=60)
    found = coefficients(features, outcome, group)
    widths = (found.high - found.low) / (2 * 1.96 * found.error)
    assert ((widths > 0.75) & (widths < 1.3)).all()


def test_copies_of_a_group_widen_the_interval_that_takes_rows_for_independent_would_not():
    features, outcome, group = grouped(n=60, groups=6)
    once = coefficients(features, outcome, group)
    copied = coefficients(*(np.concatenate([x] * 10) for x in (features, outcome, group)))
    # Ten copies of each row say nothing new: errors by group hardly shrink, others by √10.
    assert copied.error[0] > 0.8 * once.error[0]
    assert copied.high[0] - copied.low[0] > 0.8 * (once.high[0] - once.low[0])


def test_what_separates_the_outcomes_has_no_finite_coefficient():
    features, _, group = grouped()
    outcome = (features[:, 0] > 10).astype(int)
    for found in (
        coefficients(features, outcome, group),
        coefficients(features, np.zeros(len(group), dtype=int), group),
        coefficients(np.ones((400, 1)), outcome, group),
        coefficients(np.empty((0, 2)), np.empty(0), np.empty(0)),
    ):
        assert np.isnan(found.estimate).all()
        assert np.isnan(found.low).all()
    alone = coefficients(*grouped()[:2], np.zeros(400, dtype=int))
    assert np.isfinite(alone.estimate).all()
    assert np.isnan([alone.error, alone.low, alone.high]).all()


def test_held_out_predictions_come_from_the_other_groups():
    features, outcome, group = grouped()
    probability = held_out(features, outcome, group)
    for g in range(8):
        others = group != g
        fit = sm.Logit(outcome[others], sm.add_constant(features[others])).fit(disp=0)
        expected = fit.predict(sm.add_constant(features[~others]))
        np.testing.assert_allclose(probability[~others], expected, atol=1e-4)
    flipped = np.where(group == 3, 1 - outcome, outcome)
    changed = held_out(features, flipped, group) != probability
    assert not changed[group == 3].any()
    assert changed[group != 3].all()
    base = held_out(features[:, :0], outcome, group)
    assert base[group == 2] == pytest.approx(outcome[group != 2].mean())
    assert np.isnan(held_out(features, outcome, np.zeros(400))).all()


def test_scores_are_scikit_learns():
    rng = np.random.default_rng(1)
    probability = rng.random(300).round(1) * 0.98 + 0.01  # with ties
    outcome = (rng.random(300) < probability).astype(int)
    group, trial = np.arange(300) // 60, np.arange(300) // 20
    estimate, low, high = pooled_auc(probability, outcome, group)
    assert estimate == pytest.approx(roc_auc_score(outcome, probability))
    draws = [rng.integers(0, 5, 5) for _ in range(1000)]
    at = [np.concatenate([np.flatnonzero(group == g) for g in some]) for some in draws]
    direct = [roc_auc_score(outcome[i], probability[i]) for i in at]
    assert (low, high) == pytest.approx(tuple(np.quantile(direct, (0.025, 0.975))), abs=0.01)
    within = within_auc(probability, outcome, trial)
    for t in range(15):
        assert within[t] == pytest.approx(
            roc_auc_score(outcome[trial == t], probability[trial == t])
        )
    assert brier(probability, outcome).mean() == pytest.approx(
        brier_score_loss(outcome, probability)
    )
    assert log_loss(probability, outcome).mean() == pytest.approx(
        sklearn_log_loss(outcome, probability)
    )
    assert np.isfinite(log_loss(np.array([0.0]), np.array([1]))).all()


def test_undefined_scores_are_nan_and_left_out():
    within = within_auc(
        np.array([0.1, 0.9, 0.5, 0.5]), np.array([0, 1, 1, 1]), np.repeat([0, 1], 2)
    )
    assert within[0] == 1
    assert np.isnan(within[1])
    assert mean_score(within, np.array([0, 1]))[0] == 1
    assert np.isnan(mean_score(np.full(3, np.nan), np.zeros(3, dtype=int))).all()
    assert np.isnan(pooled_auc(np.array([0.5]), np.array([1]), np.array([0]))).all()


def test_bins_are_of_equal_count_and_keep_equal_probabilities_together():
    place = bins(np.random.default_rng(0).random(1000))
    assert np.bincount(place).tolist() == [100] * 10
    tied = bins(np.repeat([0.1, 0.2], [900, 100]))
    assert len(np.unique(tied)) == 2
    assert len(np.unique(tied[:900])) == 1


@pytest.fixture(scope="module")
def found():
    return predictors(planted())


def test_the_planted_predictor_is_the_best(found):
    assert tuple(found.columns) == COLUMNS
    assert set(found["model"]) == {*PREDICTORS, TOGETHER}
    auc = rows(found, "auc_within").set_index("model")
    assert auc["estimate"].drop(TOGETHER).idxmax() == "gradient"
    assert auc.loc["gradient", "low"] > 0.75
    assert rows(found, "auc_gain").set_index("model").loc["gradient", "low"] > 0
    joint = rows(found, "coefficient", TOGETHER).set_index("predictor")
    assert joint.loc["gradient", "low"] < 1.5 < joint.loc["gradient", "high"]
    assert (joint.loc["gradient", "p_value"], joint.loc["gradient", "baseline"]) < (1e-3, 1)
    for score in ("brier", "log_loss"):
        some = rows(found, score).set_index("model")
        assert some.loc["gradient", "high"] < some.loc["gradient", "baseline"]
        assert some["baseline"].nunique() == 1
    assert (found["n_trials"] == 120).all()
    assert (found["n_embeddings"] == 6).all()
    assert "too small with fewer than 10 embeddings" in rows(found, "coefficient")["method"].iloc[0]


def test_rank_orders_a_trials_circles_as_the_signal_does():
    frame = predictors(planted(effects=(1.5, 0.0, 0.0)))
    auc = rows(frame, "auc_within").set_index("model")["estimate"]
    assert auc["rank"] == auc["initial_signal"] > 0.75


def test_predictions_of_a_true_model_are_calibrated(found):
    calibration = rows(found, "calibration")
    assert calibration["n_circles"].iloc[0] == 144
    np.testing.assert_allclose(calibration["predicted"], calibration["estimate"], atol=0.12)
    assert calibration["predicted"].is_monotonic_increasing
    assert calibration["predicted"].iloc[-1] - calibration["predicted"].iloc[0] > 0.5


def test_one_embedding_predicts_no_other_and_nothing_is_no_error(tmp_path):
    one = predictors(planted(embeddings=1))
    scored = one[one["statistic"] != "coefficient"]
    assert scored[["estimate", "low", "high"]].isna().all(axis=None)
    assert rows(one, "coefficient")["low"].isna().all()
    gone = planted(embeddings=2, trials=2)
    gone["survived"] = xr.full_like(gone["survived"], MISSING)
    nothing = predictors(gone)
    assert nothing["estimate"].isna().all()
    assert (nothing["n_trials"] == 0).all()
    for name, frame in (("one", one), ("nothing", nothing)):
        data = figure.data(frame)
        assert "nan" not in figure.caption(data)
        save(figure, data, tmp_path / name)
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_a_trial_that_diverged_is_left_out():
    table = planted()
    table["survived"][0, 0] = MISSING
    table["gradient"][1, 1] = np.nan
    assert (predictors(table)["n_trials"] == 118).all()


def test_the_figure_says_what_it_stands_on(found):
    data = figure.data(found)
    title = figure.draw(data).get_suptitle()
    assert "120 trials on 6 embeddings" in title
    best = rows(found, "auc_within", "gradient")["estimate"].iloc[0]
    assert f"{best:.2f} for the best alone (gradient at update 4)" in figure.caption(data)
