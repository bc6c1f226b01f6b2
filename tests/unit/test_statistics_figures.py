"""Statistics and figures on planted data: they find what is there, and say when nothing is."""

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import pearsonr

from fittest.errors import DesignError, FileError
from fittest.figures import decision_time, figure_1, figure_2, figure_3, signal_survival
from fittest.figures.drawing import draw_figure, save
from fittest.files import csv_text, describe, write_dataset
from fittest.fourier import circle_frequencies
from fittest.headline import headline
from fittest.planes import principal_planes, significant, singular_values
from fittest.statistics.agreement import agreement
from fittest.statistics.correlation import COLUMNS, correlation
from fittest.statistics.decision import decision
from fittest.statistics.selection import by_embedding
from fittest.statistics.survivors import survivors
from fittest.survival import RULES
from fittest.tables.rates import survival_rates
from fittest.tables.survival import gather_survival
from fittest.tables.timeline import gather_timeline
from fittest.tables.trial import gather_trial


def planted(effect=1.5, embeddings=5, trials=30, circles=15, seed=0):
    """A survival table in which a circle survives with log-odds `effect` times its z score."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(45, 3, (embeddings, circles))
    chance = 1 / (1 + np.exp(1.2 - effect * (signal - 45) / 3))
    flag = rng.random((embeddings, trials, circles)) < chance[:, None]
    flags = np.repeat(flag[..., None, None], 3, axis=-1).astype(np.int8)
    dims = ("embedding", "trial", "frequency", "horizon", "rule")
    return xr.Dataset(
        {
            "survived": (dims, flags, describe("survived")),
            "circles": (("embedding", "trial", "horizon", "rule"), flags.sum(2), describe("n")),
            "initial_signal": (
                dims[:3],
                np.repeat(signal[:, None], trials, axis=1),
                describe("signal", "embedding unit"),
            ),
        },
        coords={
            "embedding": ("embedding", np.arange(embeddings), describe("embedding")),
            "trial": ("trial", np.arange(trials), describe("trial")),
            "frequency": ("frequency", np.arange(1, circles + 1), describe("k")),
            "horizon": ("horizon", [4000], describe("step", "step")),
            "rule": ("rule", list(RULES), describe("rule")),
        },
    )


def row(frame, name, rule="relative"):
    return frame[(frame["statistic"] == name) & (frame["rule"] == rule)].iloc[0]


@pytest.fixture(scope="module")
def found():
    table = planted()
    rates = survival_rates(table)
    return table, rates, correlation(rates, table)


def test_a_planted_effect_is_found_with_its_sample_size(found):
    _, rates, frame = found
    assert tuple(frame.columns) == COLUMNS
    pooled = row(frame, "pearson_pooled")
    x = rates["initial_signal"].values.ravel()
    y = rates["rate"].isel(horizon=0, rule=0).values.ravel()
    assert pooled["estimate"] == pytest.approx(pearsonr(x, y).statistic)
    assert pooled["low"] < pooled["estimate"] < pooled["high"]
    assert pooled["baseline"] < 0.5 < pooled["estimate"]
    slope = row(frame, "logistic_slope")
    assert slope["low"] < 1.5 < slope["high"]
    within = row(frame, "pearson_within")
    by_hand = [
        pearsonr(rates["initial_signal"][e], rates["rate"][e, :, 0, 0]).statistic for e in range(5)
    ]
    assert within["estimate"] == pytest.approx(np.mean(by_hand))
    assert row(frame, "pearson_within_sd")["estimate"] == pytest.approx(np.std(by_hand, ddof=1))
    for name in ("pearson_pooled", "pearson_within"):
        assert (row(frame, name)[["n_embeddings", "n_trials", "n_circles"]] == [5, 150, 75]).all()


def test_no_effect_is_not_found():
    table = planted(effect=0.0, seed=1)
    frame = correlation(survival_rates(table), table)
    for name in ("pearson_pooled", "pearson_within", "logistic_slope"):
        assert row(frame, name)["low"] < 0 < row(frame, name)["high"], name
        if name != "logistic_slope":
            assert abs(row(frame, name)["estimate"]) < row(frame, name)["baseline"]


def test_circles_are_counted(found):
    table, _, frame = found
    circles = table["circles"].isel(horizon=0, rule=0).values
    assert row(frame, "circles")["estimate"] == pytest.approx(circles.mean())
    assert row(frame, "circles")["n_trials"] == 150


def test_where_all_die_the_correlation_is_undefined_not_a_number():
    table = planted()
    table["survived"] = table["survived"] * 0
    table["circles"] = table["circles"] * 0
    frame = correlation(survival_rates(table), table)
    for name in ("pearson_pooled", "pearson_within", "logistic_slope"):
        assert np.isnan(row(frame, name)[["estimate", "low", "high"]].astype(float)).all()
    assert row(frame, "circles")["estimate"] == 0


def test_another_axis_must_be_selected_first(found):
    table, _, _ = found
    with pytest.raises(ValueError, match="varies width"):
        by_embedding(table.expand_dims(width=[1, 2]))
    assert by_embedding(table.isel(embedding=0)).sizes["embedding"] == 1


def test_statistics_are_the_same_whenever_they_are_computed(found):
    table, rates, frame = found
    assert csv_text(correlation(rates, table)) == csv_text(frame)


def test_decision_time_finds_when_a_planted_fate_shows(trained, paths):
    timeline = gather_timeline(paths, trained.design.survival, [60])
    rng = np.random.default_rng(0)
    fate = rng.random((2, 4, 6)) < 0.5
    fate[..., 0], fate[..., 1] = True, False
    timeline["survived"] = timeline["survived"].copy(
        data=np.repeat(fate[..., None, None], 3, -1).astype(np.int8)
    )
    step = timeline["step"].values
    noise = rng.random((2, 4, len(step), 6))
    shown = np.where(step[:, None] >= 20, fate[:, :, None] + 0.1 * noise, noise)
    timeline["signal"] = (("embedding", "trial", "step", "frequency"), shown)
    frame = decision(timeline)
    some = frame[frame["rule"] == "relative"].set_index("step")
    assert (some.loc[20:, "auc"] == 1).all()
    assert some.loc[:10, "auc"].mean() == pytest.approx(0.5, abs=0.15)
    assert (some["n_trials"] == 8).all()
    assert (some["n_embeddings"] == 2).all()


def circle_embedding(p=31, d=40, amplitudes=((4, 10.0), (9, 6.0), (13, 3.0)), noise=0.0, seed=0):
    """Orthogonal circles of known planes."""
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.standard_normal((d, 2 * len(amplitudes))))
    n = np.arange(p)
    embedding = noise * rng.standard_normal((p, d))
    planes = {}
    for i, (k, a) in enumerate(amplitudes):
        u, v = basis[:, 2 * i], basis[:, 2 * i + 1]
        angle = 2 * np.pi * k * n / p
        embedding += a * (np.outer(np.cos(angle), u) + np.outer(np.sin(angle), v))
        planes[k] = (u, v)
    return embedding


def test_principal_planes_of_orthogonal_circles_are_their_fourier_planes():
    embedding = circle_embedding()
    values, _ = singular_values(embedding)
    # A circle of amplitude a has two equal singular values a·√(p/2).
    np.testing.assert_allclose(values[:6], np.repeat([10, 6, 3], 2) * math.sqrt(31 / 2))
    assert significant(values) == 6
    planes = principal_planes(embedding)
    assert [plane.frequency for plane in planes] == [4, 9, 13]
    assert max(plane.angle for plane in planes) < 1e-4
    assert not any(plane.ambiguous for plane in planes)


def test_planes_of_nearly_equal_circles_are_flagged():
    embedding = circle_embedding(amplitudes=((4, 10.0), (9, 9.8), (13, 3.0)), noise=0.02)
    assert [plane.ambiguous for plane in principal_planes(embedding)] == [True, True, False]


def trial_table(embedding, survivors, steps=(0, 10, 100)):
    """A trial table of a given final embedding."""
    p, d = embedding.shape
    k = circle_frequencies(p)
    fate = np.isin(k, survivors).astype(np.int8)
    signal = np.linspace(50, np.where(fate, 45, 1), len(steps))
    return xr.Dataset(
        {
            "signal": (("step", "frequency"), signal),
            "survived": (("frequency", "rule"), np.repeat(fate[:, None], 3, axis=1)),
            "final_embedding": (("token", "dimension"), embedding),
            "snapshot_embedding": (("snapshot_step", "token", "dimension"), embedding[None] * 2),
        },
        coords={
            "step": list(steps),
            "frequency": k,
            "rule": list(RULES),
            "token": np.arange(p),
            "dimension": np.arange(d),
            "snapshot_step": [0],
        },
        attrs={"p": p, "d": d},
    )


def test_figure_1_follows_one_trial_from_noise_to_circles():
    table = trial_table(circle_embedding(), [4, 9])
    frame = figure_1.data(table)
    entries = frame[frame["panel"] == "embedding"]
    image = entries.pivot(index="token", columns="dimension", values="value").to_numpy(dtype=float)
    np.testing.assert_array_equal(image, table["snapshot_embedding"][0])
    kept = frame[frame["panel"] == "circle"]
    assert set(kept["frequency"]) == {4, 9}
    for k, amplitude in ((4, 10.0), (9, 6.0)):
        tokens = kept[kept["frequency"] == k]
        np.testing.assert_allclose(np.hypot(tokens["x"], tokens["y"]), amplitude)
    assert "signals of 15 circles" in figure_1.caption(frame)
    assert "2 circles that survive to step 100" in figure_1.caption(frame)
    titles = [ax.get_title(loc="left") for ax in figure_1.draw(frame).axes]
    assert [title[0] for title in titles[:4]] == ["1", "2", "3", "4"]
    assert "2 of 15 circles" in titles[3]


def test_figure_1_does_without_what_was_not_stored_and_without_survivors():
    table = trial_table(circle_embedding(), []).isel(snapshot_step=slice(0))
    drawn = figure_1.draw(figure_1.data(table))
    texts = [t.get_text() for ax in drawn.axes for t in ax.texts]
    assert "not stored at step 0" in texts
    assert "no circle survives" in texts


def test_decision_time_without_a_second_horizon_says_so(found):
    table, _, _ = found
    timeline = table[["survived", "circles"]].copy()
    timeline["circles"] = table["circles"].rename(horizon="step")
    times = [0, 4000]
    timeline["signal"] = table["initial_signal"].expand_dims(step=times)
    timeline = timeline.reindex(step=times, fill_value=0)
    frame = decision_time.data(
        decision(timeline), survivors(with_scores(table), timeline), agreement(table)
    )
    drawn = decision_time.draw(frame)
    texts = " ".join(t.get_text() for ax in drawn.get_axes() for t in ax.texts)
    assert "at one step only" in texts
    assert "150 trials" in decision_time.caption(frame)


def with_scores(table):
    """Add what the planted table has none of."""
    table = table.assign(signal=table["initial_signal"] * xr.ones_like(table["horizon"]))
    return table.assign(test_accuracy=xr.ones_like(table["circles"].isel(rule=0), dtype=float))


def test_figure_2_projects_on_the_final_plane_and_colours_the_survivors():
    frame = figure_2.data(trial_table(circle_embedding(), [4, 9]))
    signals = frame[frame["panel"] == "signals"]
    assert set(signals[signals["survived"] == 1]["frequency"]) == {4, 9}
    planes = frame[(frame["panel"] == "plane") & (frame["survived"] == 1)]
    k = planes["frequency"].iloc[0]
    for step, factor in ((0, 2), (100, 1)):
        now = planes[planes["step"] == step].sort_values("token")
        amplitude = {4: 10.0, 9: 6.0}[k]
        np.testing.assert_allclose(np.hypot(now["x"], now["y"]), factor * amplitude)


def test_figure_3_says_frequency_angle_and_increment():
    frame = figure_3.data(trial_table(circle_embedding(), [4, 9, 13]))
    first = frame[(frame["panel"] == "fourier") & (frame["index"] == 0)]
    assert set(first["frequency"]) == {4}
    assert set(first["token_increment"]) == {8}  # 8·4 = 32 ≡ 1 (mod 31), and 8 is even
    assert first["angle"].max() < 1e-4


def test_the_figure_of_signal_and_survival_shows_the_statistics_of_its_table(found):
    _, rates, frame = found
    data = signal_survival.data(rates, frame)
    assert (data["panel"] == "rate").sum() == 75
    pooled = data[data["statistic"] == "pearson_pooled"].iloc[0]
    assert pooled["estimate"] == row(frame, "pearson_pooled")["estimate"]
    title = signal_survival.draw(data).axes[0].get_title(loc="left")
    assert "150 trials, 5 embeddings, 75 circles" in title
    assert f"{pooled['estimate']:.2f} [{pooled['low']:.2f}, {pooled['high']:.2f}]" in title


@pytest.fixture
def results(found, trained, paths, tmp_path):
    """A results folder with everything figures read."""
    _, rates, frame = found
    tables, statistics = tmp_path / "tables", tmp_path / "statistics/initial-signal"
    statistics.mkdir(parents=True)
    write_dataset(rates, tables / "rates.nc", "rates table")
    trial = gather_trial(
        [next(p for p in paths if p.stem == "trials~0-1")], trained.design.survival
    )
    write_dataset(trial, tables / "trial.nc", "trial table")
    (statistics / "correlation.csv").write_text(csv_text(frame))
    timeline = gather_timeline(paths, trained.design.survival, [60])
    (statistics / "decision.csv").write_text(csv_text(decision(timeline)))
    table = gather_survival(paths, trained.design.survival, [10, 40])
    (statistics / "survivors.csv").write_text(csv_text(survivors(table, timeline)))
    (statistics / "agreement.csv").write_text(csv_text(agreement(table)))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "module", "inputs"),
    [
        ("figure_2", figure_2, ["tables/trial.nc"]),
        ("figure_3", figure_3, ["tables/trial.nc"]),
        (
            "signal_survival",
            signal_survival,
            ["tables/rates.nc", "statistics/initial-signal/correlation.csv"],
        ),
        ("figure_1", figure_1, ["tables/trial.nc"]),
        (
            "decision_time",
            decision_time,
            [
                f"statistics/initial-signal/{kind}.csv"
                for kind in ("decision", "survivors", "agreement")
            ],
        ),
    ],
)
def test_a_figure_is_a_function_of_its_csv(name, module, inputs, results, tmp_path):
    draw_figure(name, [results / path for path in inputs], tmp_path / "once")
    save(module, pd.read_csv(tmp_path / "once.csv"), tmp_path / "again")
    for suffix, magic in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        once = (tmp_path / f"once.{suffix}").read_bytes()
        assert once.startswith(magic)
        assert once == (tmp_path / f"again.{suffix}").read_bytes(), suffix


def test_figures_of_a_trial_without_survivors_say_so(tmp_path):
    table = trial_table(np.random.default_rng(0).standard_normal((7, 5)), [])
    figure = figure_2.draw(figure_2.data(table))
    texts = [t.get_text() for ax in figure.get_axes() for t in ax.texts]
    assert any("no surviving" in text for text in texts)


def test_wrong_missing_or_swapped_inputs_are_refused_in_a_sentence(results, tmp_path, capsys):
    from fittest.cli import main

    rates = results / "tables/rates.nc"
    statistics = results / "statistics/initial-signal/correlation.csv"
    trial = results / "tables/trial.nc"
    for command, says in (
        (["figure", "signal_survival", rates], "is drawn from 2 files"),
        (["figure", "signal_survival", statistics, rates], "not HDF5"),
        (
            ["figure", "signal_survival", trial, statistics],
            "holds 'trial table', not 'rates table'",
        ),
        (["figure", "signal_survival", rates, rates], "cannot be read"),
        (["statistics", "correlation", rates], "needs 2 inputs: rates table, survival table"),
        (
            ["statistics", "correlation", trial, rates],
            "holds 'trial table', not 'rates table",
        ),
        (["table", "rates", trial, trial], "needs 1 input: survival table; 2 given"),
    ):
        assert main([*map(str, command), "-o", str(tmp_path / "x")]) == 1
        assert says in capsys.readouterr().err
    assert not list(tmp_path.glob("x*"))


def test_an_unknown_figure_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(DesignError, match=r"unknown figure 'figure_22'.*Did you mean 'figure_"):
        draw_figure("figure_22", [], tmp_path / "x")


def test_the_headline_is_read_from_the_statistics(results, found):
    _, _, frame = found
    text = headline(results)
    for name in ("pearson_within", "pearson_pooled", "circles"):
        r = row(frame, name)
        assert f"{r['estimate']:.2f} [{r['low']:.2f}, {r['high']:.2f}]" in text, name
    assert "150 trials on 5 embeddings, 75 circles" in text
    with pytest.raises(FileError, match="make run DESIGN=nothing"):
        headline(results / "nothing")


def test_small_tables_of_untrained_networks_do_not_break_the_statistics(trained, paths):
    table = gather_survival(paths, trained.design.survival, [60])
    frame = correlation(survival_rates(table), table)
    assert len(frame) == 3 * 1 * 7


def test_a_design_without_the_headlines_experiment_says_where_its_results_are(tmp_path):
    (tmp_path / "report.html").write_text("a page", encoding="utf-8")
    text = headline(tmp_path)
    assert "no experiment initial-signal" in text
    assert str(tmp_path / "report.html") in text
