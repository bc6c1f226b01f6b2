"""Gradients of the first updates, the linear SVM, and circularity, against known answers."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.svm import SVC

from fittest.figures import figure_7, figure_11
from fittest.figures.drawing import save
from fittest.fourier import circularity as circularity_of
from fittest.statistics.circularity import COLUMNS as CIRCULARITY
from fittest.statistics.circularity import circularity
from fittest.statistics.gradient import COLUMNS as GRADIENT
from fittest.statistics.gradient import gradient
from fittest.statistics.svm import COLUMNS as SVM
from fittest.statistics.svm import fit_line, held_out, split, svm
from tests.unit.planted import circular, early, survival_table


def rows(frame, statistic, **keys):
    some = frame[frame["statistic"] == statistic]
    for key, value in keys.items():
        some = some[some[key] == value]
    return some


def one(frame, statistic, **keys):
    (found,) = (row for _, row in rows(frame, statistic, **keys).iterrows())
    return found


# Gradient


@pytest.fixture(scope="module")
def table():
    return early()


@pytest.fixture(scope="module")
def gradients(table):
    return gradient(table)


def test_the_slope_is_that_of_a_logistic_regression(table, gradients):
    assert tuple(gradients.columns) == GRADIENT
    fate = table["survived"].isel(horizon=0, rule=0).values.ravel()
    for update in (1, 4):
        x = table["gradient"].sel(update=update).values.ravel()
        z = (x - x.mean()) / x.std()
        reference = sm.Logit(fate, sm.add_constant(z)).fit(disp=False).params[1]
        found = one(gradients, "logistic_slope", update=update)
        assert found["estimate"] == pytest.approx(reference, rel=1e-6)
        assert (found["n_trials"], found["n_circles"]) == (60, 660)
    # Only the last update's gradient decides.
    assert one(gradients, "logistic_slope", update=4)["low"] > 0.5
    first = one(gradients, "logistic_slope", update=1)
    assert first["low"] < 0 < first["high"]
    assert set(gradients["rule"]) == {"absolute"}


def test_rates_are_of_tenths_and_cover_every_circle_once(table, gradients):
    found = rows(gradients, "rate", update=4)
    x = table["gradient"].sel(update=4).values
    fate = table["survived"].isel(horizon=0, rule=0).values
    assert found["n_circles"].tolist() == [66] * 10
    total = (found["estimate"] * found["n_circles"]).sum()
    assert total == pytest.approx(fate.sum())
    top = x >= np.quantile(x, 0.9)
    assert found["estimate"].iloc[-1] == pytest.approx(fate[top].mean())
    assert found["gradient"].iloc[-1] == pytest.approx(x[top].mean())
    assert ((found["low"] <= found["estimate"]) & (found["estimate"] <= found["high"])).all()
    assert found["baseline"].iloc[0] == pytest.approx(fate.mean())


def test_histograms_of_both_fates_have_the_same_bins_and_hold_every_circle(table, gradients):
    fate = table["survived"].isel(horizon=0, rule=0).values
    dead, alive = (rows(gradients, "histogram", survived=s) for s in (0, 1))
    assert dead["bin_low"].tolist() == alive["bin_low"].tolist()
    assert dead["estimate"].sum() == pytest.approx(1)
    assert alive["estimate"].sum() == pytest.approx(1)
    assert set(alive["n_circles"]) == {fate.sum()}
    assert set(dead["n_circles"]) == {(1 - fate).sum()}


def test_missing_fates_and_gradients_are_left_out(table):
    flags = table["survived"].values.copy()
    flags[:10] = -1
    frame = gradient(table.assign(survived=(table["survived"].dims, flags)))
    assert one(frame, "logistic_slope", update=4)["n_trials"] == 50
    nothing = gradient(table.assign(gradient=table["gradient"] * np.nan))
    assert set(nothing["statistic"]) == {"logistic_slope"}
    assert nothing["estimate"].isna().all()


def test_an_experiment_with_axes_has_no_single_plane(table):
    for function in (gradient, svm):
        with pytest.raises(ValueError, match=r"varies d.*know no axis only"):
            function(table.expand_dims(d=[1, 2]))


# The support vector machine


def test_what_a_line_separates_is_answered_rightly():
    table = early(slope=0, signal=0)
    x = table["gradient"].sel(update=4).values
    fate = (x > np.quantile(x, 0.7)).astype(np.int8)
    apart = table["gradient"].copy()
    apart[..., 3] = x + 10 * fate
    table = survival_table(fate, {}, initial=table["initial_signal"], gradient=apart)
    frame = svm(table)
    assert tuple(frame.columns) == SVM
    for recipe in ("paper", "by-trial"):
        for name in ("accuracy", "balanced_accuracy", "auc"):
            assert one(frame, name, recipe=recipe)["estimate"] == 1
        gain = one(frame, "accuracy_gain", recipe=recipe)
        base = one(frame, "base_rate", recipe=recipe)
        assert gain["estimate"] == pytest.approx(1 - base["estimate"])
        assert base["estimate"] == pytest.approx(0.7, abs=0.07)
        assert gain["low"] <= gain["estimate"] <= gain["high"]
        assert gain["n_trials"] == 60


def test_where_nothing_tells_the_machine_answers_dead_and_gains_nothing():
    frame = svm(early(slope=0, signal=0))
    for recipe in ("paper", "by-trial"):
        gain = one(frame, "accuracy_gain", recipe=recipe)
        assert gain["estimate"] == 0
        assert one(frame, "balanced_accuracy", recipe=recipe)["estimate"] == 0.5


@pytest.mark.parametrize("standardise", [False, True])
def test_the_line_is_that_of_the_machine_without_centring(standardise):
    rng = np.random.default_rng(0)
    x = rng.normal([0.2, 5.0], [0.1, 1.0], (120, 2))
    y = 6 * (x[:, 0] - 0.2) + (x[:, 1] - 5) + 0.3 * rng.standard_normal(120) > 0.5
    scale = x.std(axis=0) if standardise else 1.0
    machine = SVC(kernel="linear", C=1, tol=1e-8).fit(x / scale, y)
    line = fit_line(x, y, standardise=standardise)
    expected = machine.decision_function(x / scale)
    # The solver stops a thousandth before the optimum, and so does sklearn's own default.
    np.testing.assert_allclose(x @ line[:2] + line[2], expected, rtol=0.01, atol=0.01)
    assert np.ptp(expected) > 1


def test_scores_are_sklearns_and_their_interval_is_over_trials():
    rng = np.random.default_rng(1)
    trial = np.repeat(np.arange(40), 5)
    y = rng.random(200) < 0.3
    score = np.round(y + rng.standard_normal(200), 1)  # with ties
    found = held_out(score, y, trial)
    answer = score > 0
    assert found["accuracy"][0] == pytest.approx(accuracy_score(y, answer))
    assert found["base_rate"][0] == pytest.approx(1 - y.mean())
    assert found["balanced_accuracy"][0] == pytest.approx(balanced_accuracy_score(y, answer))
    assert found["auc"][0] == pytest.approx(roc_auc_score(y, score))
    for value, low, high in found.values():
        assert low <= value <= high
    # The same rows five times over are no more trials.
    often = [np.tile(a, 5) for a in (score, y, trial)]
    for name, ends in held_out(*often).items():
        assert ends == pytest.approx(found[name]), name
    again = []
    for _ in range(500):
        rows_ = np.concatenate([np.flatnonzero(trial == t) for t in rng.integers(0, 40, 40)])
        again.append(roc_auc_score(y[rows_], score[rows_]))
    assert found["auc"][1:] == pytest.approx(np.quantile(again, [0.025, 0.975]), abs=0.03)


def test_a_split_by_trial_tests_on_trials_that_it_never_trained_on():
    trial = np.repeat(np.arange(50), 7)
    train, test = split(trial, "by-trial")
    assert not set(trial[train]) & set(trial[test])
    assert len(set(trial[test])) == 10
    train, test = split(trial, "paper")
    assert (len(train), len(test)) == (280, 70)
    assert set(trial[train]) & set(trial[test])
    assert not set(train) & set(test)


@pytest.mark.parametrize("case", ["all dead", "all missing", "one trial"])
def test_what_cannot_be_learned_is_undefined_not_an_error(case):
    table = early(trials=8)
    flags = table["survived"].values
    if case == "one trial":
        table = table.isel(trial=[0])
    else:
        flags = flags * 0 - (case == "all missing")
        table = table.assign(survived=(table["survived"].dims, flags.astype(np.int8)))
    frame = svm(table)
    assert len(frame) == 16
    assert frame["estimate"].isna().all()


# Circularity


def test_means_follow_the_identity_and_the_gap_is_the_largest():
    table = circular()
    table["circularity"][1] += 0.05
    frame = circularity(table)
    assert tuple(frame.columns) == CIRCULARITY
    means = rows(frame, "circularity")
    values = table["circularity"].mean(("trial", "frequency")).values
    np.testing.assert_allclose(means["estimate"], values)
    np.testing.assert_allclose(means["baseline"], [8 / 21, 16 / 29, 32 / 45])
    gap = one(frame, "identity_gap")
    assert gap["estimate"] == pytest.approx(np.abs(values - means["baseline"]).max())
    assert gap["estimate"] == pytest.approx(0.05, abs=0.01)
    assert gap["low"] < gap["estimate"] < gap["high"]
    assert (gap[["n_trials", "n_values", "n_least"]] == [90, 3, 30]).all()


def test_the_circularity_of_random_embeddings_is_what_algebra_gives():
    rng = np.random.default_rng(0)
    values = [
        [circularity_of(rng.standard_normal((13, d))) for _ in range(200)] for d in (8, 24, 100)
    ]
    fate = np.zeros((3, 200, 6))
    frame = circularity(survival_table(fate, {"d": [8, 24, 100]}, circularity=values))
    assert one(frame, "expected_gap")["estimate"] < 0.02
    assert one(frame, "identity_gap")["estimate"] > 0.05


@pytest.mark.parametrize("effect", [0.0, 2.0])
def test_the_auc_is_sklearns_among_the_circles_of_a_trial_at_the_largest_d(effect):
    table = circular(effect=effect)
    found = one(circularity(table), "auc", rule="relative")
    flags = table["survived"].isel(d=-1, horizon=0, rule=0).values
    each = [
        roc_auc_score(fate, c)
        for fate, c in zip(flags, table["circularity"].values[-1], strict=True)
        if 0 < fate.sum() < len(fate)
    ]
    assert found["estimate"] == pytest.approx(np.mean(each))
    assert found["n_trials"] == len(each)
    assert found["baseline"] == 0.5
    assert (found["low"] > 0.7) == (effect > 0)
    assert found["low"] < found["estimate"] < found["high"]
    assert found["d"] == 32


def test_a_circle_squeezed_to_a_line_has_no_circularity_and_counts_nowhere():
    table = circular()
    table["circularity"][0] = np.nan
    frame = circularity(table)
    assert rows(frame, "circularity")["d"].tolist() == [16, 32]
    nothing = circularity(table.assign(circularity=table["circularity"] * np.nan))
    assert np.isnan(one(nothing, "identity_gap")["estimate"])
    assert np.isnan(one(nothing, "auc", rule="relative")["estimate"])


# Figures


def test_figures_say_their_trials_and_numbers(table, gradients, tmp_path):
    machine = svm(table)
    frame = figure_7.data(table, gradients, machine)
    axes = figure_7.draw(frame).axes
    assert "60 trials" in axes[0].get_title(loc="left")
    slope = one(gradients, "logistic_slope", update=4)
    assert f"{slope['estimate']:.2f} [{slope['low']:.2f}, " in axes[1].get_title(loc="left")
    gain = one(machine, "accuracy_gain", recipe="by-trial")
    assert f"standardised: {gain['estimate']:.2f} [" in axes[2].get_title(loc="left")
    base = one(machine, "base_rate", recipe="paper")
    assert f"{base['estimate']:.2f} [" in figure_7.caption(frame)
    save(figure_7, frame, tmp_path / "figure_7")
    circles = figure_11.data(circularity(circular()))
    left, right = (ax.get_title(loc="left") for ax in figure_11.draw(circles).axes)
    assert "3 values, 30 trials each" in left
    auc = one(circularity(circular()), "auc", rule="relative")
    assert f"AUC for survival: {auc['estimate']:.2f} [{auc['low']:.2f}, " in right
    assert "3 values, 90 trials" in figure_11.caption(circles)
    save(figure_11, circles, tmp_path / "figure_11")
    for name in ("figure_7", "figure_11"):
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_figures_of_trials_that_all_diverged_say_so(table):
    gone = table.assign(survived=table["survived"] * 0 - 1)
    frame = figure_7.data(gone, gradient(gone), svm(gone))
    texts = [[t.get_text() for t in ax.texts] for ax in figure_7.draw(frame).axes]
    assert texts == [["no circle with a known fate"], ["no gradient"], ["no gradient"]]
    assert "undefined" in figure_7.caption(frame)
    circles = circular()
    frame = figure_11.data(circularity(circles.assign(survived=circles["survived"] * 0 - 1)))
    assert "undefined over 0 trials" in figure_11.caption(frame)
    assert figure_11.draw(frame).axes[1].texts[0].get_text() == "no circle with a known fate"


@pytest.mark.parametrize(
    ("weights", "intercept", "expected"),
    [
        ([1.0, 0.0], -0.25, [(0.25, 0), (0.25, 1)]),
        ([0.0, 2.0], -1.0, [(0, 0.5), (1, 0.5)]),
        ([1.0, 1.0], -0.5, [(0, 0.5), (0.5, 0)]),
        ([1.0, 1.0], -5.0, []),
        ([np.nan, 1.0], 0.0, []),
        ([0.0, 0.0], 1.0, []),
    ],
)
def test_a_line_is_drawn_where_it_crosses_the_view(weights, intercept, expected):
    ends = figure_7.crossing(np.array(weights), intercept, (0.0, 1.0), (0.0, 1.0))
    assert ends.shape == (len(expected), 2)
    ends = ends[np.lexsort(ends.T[::-1])]
    np.testing.assert_allclose(ends, np.reshape(sorted(expected), (-1, 2)))
