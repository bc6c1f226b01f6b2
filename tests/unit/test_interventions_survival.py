"""Perturbed and constructed circles: rates, fifths and trends that are known beforehand."""

import numpy as np
import pytest
from scipy import stats

from fittest.cells import Cell
from fittest.design import parse_design
from fittest.errors import DesignError, FileError
from fittest.figures import figure_6
from fittest.figures.drawing import save
from fittest.intervals import at_least_wilson, wilson
from fittest.statistics.construction import COLUMNS as CONSTRUCTION
from fittest.statistics.construction import construction, rank_correlation
from fittest.statistics.correlation import correlation
from fittest.statistics.perturbation import COLUMNS as PERTURBATION
from fittest.statistics.perturbation import perturbation
from fittest.tables.named import gather_named
from fittest.tables.rates import survival_rates
from fittest.trajectories import open_trajectories
from tests.unit.planted import constructed, perturbed, survival_table


def rows(frame, statistic, rule="relative"):
    return frame[(frame["statistic"] == statistic) & (frame["rule"] == rule)]


def one(frame, statistic, rule="relative"):
    (found,) = (row for _, row in rows(frame, statistic, rule).iterrows())
    return found


# Intervals


def test_a_bootstrap_interval_is_widened_to_wilsons_and_never_narrowed():
    count, trials = np.array(20), np.array(20)
    low, high = map(float, wilson(count, trials))
    assert at_least_wilson(1.0, 1.0, count, trials) == pytest.approx((low, high))
    assert at_least_wilson(0.1, 1.0, count, trials) == (0.1, 1.0)
    assert np.isnan(at_least_wilson(np.nan, np.nan, count, trials)).all()


# Perturbation


def test_a_circle_that_survives_above_the_mean_alone_does_so_in_the_fifths():
    table, x = perturbed()
    frame = perturbation(table)
    assert tuple(frame.columns) == PERTURBATION
    found = rows(frame, "rate")
    assert len(found) == 5 * 11
    np.testing.assert_allclose(found["distance"], x.ravel())
    np.testing.assert_allclose(found["factor"], np.tile(np.linspace(0.5, 1.5, 11), 5))
    assert (found["estimate"] == (x.ravel() > 0)).all()
    assert (found["n_trials"] == 10).all()
    assert set(frame["frequency"]) == {3}
    top, bottom = one(frame, "top_fifth"), one(frame, "bottom_fifth")
    assert (top["estimate"], bottom["estimate"]) == (1, 0)
    assert top["distance"] == pytest.approx(np.quantile(x, 0.8))
    assert bottom["distance"] == pytest.approx(np.quantile(x, 0.2))
    # All embeddings agree, and still there are no more trials than there are.
    low, high = map(float, wilson(np.array(110), np.array(110)))
    assert top["n_trials"] == 110
    assert (top["low"], top["high"]) == pytest.approx((low, high))
    for row in (top, bottom):
        assert (row[["n_embeddings", "n_values", "n_least"]] == [5, 11, 10]).all()
        assert row["baseline"] == pytest.approx((x > 0).mean())


def test_the_fifths_are_those_of_all_cells_and_their_interval_is_over_embeddings():
    table, x = perturbed(noise=60, embeddings=6)
    flags = table["survived"].sel(frequency=3, rule="relative").isel(horizon=0)
    order = [f"scale-3-{factor:.6g}" for factor in np.linspace(0.5, 1.5, 11)]
    rate = (
        flags.sel(intervention=order)
        .transpose("embedding", "intervention", "trial")
        .mean("trial")
        .values
    )
    frame = perturbation(table)

    def top(embeddings):
        some, its = x[embeddings], rate[embeddings]
        return its[some >= np.quantile(some, 0.8)].mean()

    found = one(frame, "top_fifth")
    assert found["estimate"] == pytest.approx(top(np.arange(6)))
    ends = stats.bootstrap(
        (np.arange(6),), top, vectorized=False, method="percentile", n_resamples=2000,
        rng=np.random.default_rng(1),
    ).confidence_interval  # fmt: skip
    wide = wilson(np.array(found["estimate"] * found["n_trials"]), np.array(found["n_trials"]))
    assert found["low"] == pytest.approx(min(ends.low, wide[0]), abs=0.02)
    assert found["high"] == pytest.approx(max(ends.high, wide[1]), abs=0.02)


def test_one_embedding_has_rates_and_no_interval_of_its_fifths():
    table, _ = perturbed(embeddings=1)
    frame = perturbation(table.isel(embedding=0))
    found = one(frame, "top_fifth")
    assert found["estimate"] == 1
    assert np.isnan([found["low"], found["high"]]).all()
    assert found["n_embeddings"] == 1


def test_what_diverged_or_is_not_there_is_missing_never_dead():
    table, _ = perturbed()
    flags = table["survived"].values.copy()
    flags[0, :, :, 2] = -1  # an embedding of which every trial diverged
    flags[1, :, 0, 2] = -1  # a trial of another
    frame = perturbation(table.assign(survived=(table["survived"].dims, flags)))
    found = rows(frame, "rate")
    assert set(found["embedding"]) == {1, 2, 3, 4}
    assert set(found[found["embedding"] == 1]["n_trials"]) == {9}
    assert one(frame, "top_fifth")["estimate"] == 1
    assert (one(frame, "top_fifth")[["n_embeddings", "n_least"]] == [4, 9]).all()
    nothing = perturbation(table.assign(survived=(table["survived"].dims, flags * 0 - 1)))
    assert rows(nothing, "rate").empty
    assert np.isnan(one(nothing, "top_fifth")["estimate"])


def test_perturbations_of_several_circles_or_another_kind_are_refused():
    table, _ = perturbed()
    mixed = ["scale-2-1", *table["intervention"].values[1:]]
    with pytest.raises(ValueError, match="scales one circle by several factors"):
        perturbation(table.assign_coords(intervention=mixed))
    other = ["none", *table["intervention"].values[1:]]
    with pytest.raises(ValueError, match="scales one circle by several factors"):
        perturbation(table.assign_coords(intervention=other))
    with pytest.raises(ValueError, match="varies width"):
        perturbation(table.expand_dims(width=[1, 2]))


# Construction


def test_constructed_circles_are_followed_by_the_names_of_each_trial():
    table, named = constructed()
    frame = construction(table, named)
    assert tuple(frame.columns) == CONSTRUCTION
    assert rows(frame, "first")["ratio"].tolist() == [0.02, 0.2, 0.5, 0.9]
    assert (rows(frame, "first")["estimate"] == 1).all()
    assert (rows(frame, "revived")["estimate"] == 0.5).all()
    flags = table["survived"].isel(horizon=0, rule=0).values
    second = named["named_frequency"].values[..., 1] - 1
    expected = np.take_along_axis(flags, second[..., None], axis=-1)[..., 0]
    np.testing.assert_allclose(rows(frame, "second")["estimate"], expected.mean(axis=1))
    found = one(frame, "second_spearman")
    reference = stats.spearmanr(np.repeat([0.02, 0.2, 0.5, 0.9], 20), expected.ravel())
    assert found["estimate"] == pytest.approx(reference.statistic)
    assert found["p_value"] == pytest.approx(reference.pvalue)
    assert found["low"] < found["estimate"] < found["high"]
    assert (found[["n_trials", "n_draws", "n_values", "n_least"]] == [80, 20, 4, 20]).all()
    first = one(frame, "first_rate")
    assert (first["estimate"], first["n_trials"], first["n_values"]) == (1, 60, 3)
    assert first["low"] == pytest.approx(wilson(np.array(60), np.array(60))[0])
    assert first["baseline"] == pytest.approx(flags.mean())


def test_trials_of_one_number_count_as_one_draw_not_as_many():
    # In odd trials a circle is revived at every ratio: 20 draws, however many ratios.
    found = one(construction(*constructed(ratios=np.linspace(0.01, 1, 30))), "revival_share")
    assert found["estimate"] == 0.5
    assert found["n_trials"] == 600
    half = 1.96 * np.sqrt(0.25 / 20)
    assert found["low"] == pytest.approx(0.5 - half, abs=0.05)
    assert found["high"] == pytest.approx(0.5 + half, abs=0.05)


def test_rank_correlation_from_counts_is_scipys():
    rng = np.random.default_rng(0)
    trials = rng.integers(1, 9, (3, 5))
    count = rng.binomial(trials, 0.4)
    expected = []
    for c, n in zip(count, trials, strict=True):
        x = np.repeat(np.arange(5), n)
        y = np.concatenate([np.arange(m) < k for k, m in zip(c, n, strict=True)])
        expected.append(stats.spearmanr(x, y).statistic)
    np.testing.assert_allclose(rank_correlation(count, trials), expected)


def test_a_second_circle_that_always_dies_has_no_trend_and_diverged_trials_do_not_count():
    table, named = constructed(chance=[0, 0, 0, 0])
    found = one(construction(table, named), "second_spearman")
    assert np.isnan(found[["estimate", "low", "high"]].astype(float)).all()
    flags = table["survived"].values.copy()
    flags[:, 1::2] = -1
    frame = construction(table.assign(survived=(table["survived"].dims, flags)), named)
    assert (one(frame, "revival_share")[["estimate", "n_trials"]] == [0, 40]).all()
    empty = construction(table.assign(survived=(table["survived"].dims, flags * 0 - 1)), named)
    assert set(empty["statistic"]) == {"first_rate", "second_spearman", "revival_share"}
    assert empty["estimate"].isna().all()


def test_interventions_that_are_no_constructions_of_one_phase_are_refused():
    table, named = constructed()
    for text in ("none", "construct-line-0.02"):
        texts = [text, *table["intervention"].values[1:]]
        with pytest.raises(ValueError, match="constructions of one phase"):
            construction(*(t.assign_coords(intervention=texts) for t in (table, named)))


def test_named_circles_are_the_strongest_of_the_embedding_they_are_named_for(trained, paths):
    cells = [
        Cell(p=13, d=6, width=8, intervention=f"construct-circle-{ratio}") for ratio in (0.3, 0.7)
    ]
    files = [trained.train(cell, 0, 1) for cell in cells]
    table = gather_named(files)
    for path, text in zip(files, ("construct-circle-0.3", "construct-circle-0.7"), strict=True):
        start = open_trajectories(path)["signal"].isel(step=0)
        strongest = start["frequency"].values[np.argsort(-start.values, axis=-1)[:, :2]]
        got = table["named_frequency"].sel(intervention=text).transpose("trial", "named")
        assert np.array_equal(got, strongest)
    with pytest.raises(FileError, match="'none' names no circle"):
        gather_named(paths)


# Figure 6


@pytest.fixture(scope="module")
def inputs():
    rng = np.random.default_rng(0)
    initial = np.tile(rng.normal(80, 4, (3, 1, 6)), (1, 8, 1))
    fate = rng.random(initial.shape) < (initial > 80)
    table = survival_table(fate, {"embedding": [0, 1, 2]}, initial=initial)
    table["circles"] = table["survived"].sum("frequency")
    rates = survival_rates(table)
    perturbations = perturbation(perturbed(noise=20)[0])
    return rates, correlation(rates, table), perturbations, construction(*constructed())


def test_figure_6_says_trials_fifths_and_shares(inputs, tmp_path):
    frame = figure_6.data(*inputs)
    titles = [ax.get_title(loc="left") for ax in figure_6.draw(frame).axes]
    assert "24 trials, 3 embeddings" in titles[0]
    assert "550 trials, circle 3 scaled" in titles[1]
    top = one(inputs[2], "top_fifth")
    text = f"{top['estimate']:.2f} [{top['low']:.2f}, {top['high']:.2f}]"
    assert f"top fifth: {text}" in titles[1]
    assert "80 trials, 4 ratios" in titles[2]
    assert "revived: 0.50 [" in titles[2]
    caption = figure_6.caption(frame)
    assert text in caption
    assert "over 550 trials on 5 embeddings" in caption
    save(figure_6, frame, tmp_path / "figure_6")
    assert (tmp_path / "figure_6.png").stat().st_size > 10_000


def test_figure_6_of_trials_that_all_diverged_says_so(inputs):
    gone = [t.assign(survived=t["survived"] * 0 - 1) for t in (perturbed()[0], constructed()[0])]
    nothing = (perturbation(gone[0]), construction(gone[1], constructed()[1]))
    frame = figure_6.data(*inputs[:2], *nothing)
    texts = [[t.get_text() for t in ax.texts] for ax in figure_6.draw(frame).axes]
    assert texts[1:] == [["no trial"], ["no trial"]]
    assert "undefined" in figure_6.caption(frame)


# What a design may ask for


@pytest.mark.parametrize(
    ("name", "axes", "says"),
    [
        ("perturbation", {}, "is about 'scale' interventions, not 'none'"),
        ("perturbation", {"intervention": ["scale-2-1", "scale-3-1"]}, "name several circles"),
        (
            "perturbation",
            {"embedding": "redrawn", "intervention": "scale-2-1"},
            "compares shared embeddings",
        ),
        ("construction", {"intervention": "scale-2-1"}, "is about 'construct' interventions"),
        (
            "construction",
            {"intervention": ["construct-line-1", "construct-circle-1"]},
            "name several phases",
        ),
        ("gradient", {"embedding": [0, 1]}, "not embedding"),
    ],
)
def test_a_design_that_these_statistics_would_refuse_is_refused_before_training(name, axes, says):
    with pytest.raises(DesignError, match=says):
        parse_design({"block": 1, "experiments": {name: {"trials": 1, "axes": axes}}})


def test_the_papers_perturbation_and_construction_are_allowed():
    scale = {"scale": {"frequency": 25, "factor": {"linspace": [0.85, 1.15, 50]}}}
    built = {"construct": {"ratio": {"geomspace": [0.0183156389, 1.0, 16]}}}
    design = parse_design(
        {
            "block": 1,
            "experiments": {
                "perturbation": {"trials": 1, "axes": {"embedding": [0, 1], "intervention": scale}},
                "construction": {"trials": 1, "axes": {"intervention": built}},
            },
        }
    )
    assert len(design.experiments["perturbation"].cells()) == 100
    assert len(design.experiments["construction"].cells()) == 16
