"""Protocols beside each other, and training without weight decay: counted by hand."""

import json

import numpy as np
import pytest
import xarray as xr
from scipy.stats import pearsonr

from fittest.figures import protocol as figure
from fittest.figures.drawing import save
from fittest.protocol import Protocol
from fittest.statistics.decay import decay
from fittest.statistics.protocols import COLUMNS, protocols
from fittest.survival import MISSING, RULES

VALUES = {
    "normal": {"init": {"mlp": "normal"}, "steps": 600},
    "relu": {"activation": "relu", "arithmetic": "float64", "steps": 300},
    "standard": {"loss": "naive", "steps": 600},
}
RNG = np.random.default_rng(0)
SIGNAL = RNG.normal(45, 3, 9)
HORIZONS = (300, 600)
NAMES = list(VALUES)


def survival(embedding="0"):
    """Return a survival table: `normal` diverges in all trials but one, `relu` is shorter."""
    rng = np.random.default_rng(1)
    chance = 1 / (1 + np.exp(-(SIGNAL - 45)))
    flags = (rng.random((3, 8, 9, 2, 3)) < chance[:, None, None]).astype(np.int8)
    accuracy, loss = np.full((3, 8, 2), 0.995), np.full((3, 8, 2), 1e-4)
    flags[0, 1:] = MISSING
    accuracy[0], loss[0, 1:] = np.nan, np.nan
    flags[1, :, :, 1] = MISSING
    accuracy[1, :, 1] = loss[1, :, 1] = np.nan
    accuracy[2, :3] = 0.98
    circles = flags.sum(axis=2, dtype=np.int16)
    circles[(flags == MISSING).any(axis=2)] = MISSING
    dims = ("protocol", "trial", "frequency", "horizon", "rule")
    full = {name: json.loads(Protocol.model_validate(v).full) for name, v in VALUES.items()}
    return xr.Dataset(
        {
            "survived": (dims, flags),
            "circles": (("protocol", "trial", "horizon", "rule"), circles),
            "initial_signal": (dims[:3], np.tile(SIGNAL, (3, 8, 1))),
            "test_accuracy": (("protocol", "trial", "horizon"), accuracy),
            "test_loss": (("protocol", "trial", "horizon"), loss),
        },
        coords={
            "protocol": NAMES,
            "trial": np.arange(8),
            "horizon": list(HORIZONS),
            "rule": list(RULES),
            "embedding": embedding,
            "p": 19,
            "d": 16,
        },
        attrs={"protocol": json.dumps(full)},
    )


def scores():
    """Return a scores table of the same protocols."""
    steps = [0, 1, 10, 100, 300, 600]
    loss = np.exp(RNG.normal(0, 1, (3, 8, 6)))
    loss[1, :, -1] = np.nan
    loss[0, 1:, 3:] = np.nan
    return xr.Dataset(
        {"test_loss": (("protocol", "trial", "step"), loss)},
        coords={"protocol": NAMES, "trial": np.arange(8), "step": steps, "p": 19, "d": 16},
        attrs=survival().attrs,
    )


def row(frame, statistic, name, horizon=600, rule="relative"):
    some = frame[(frame["statistic"] == statistic) & (frame["protocol"] == name)]
    some = some[some["rule"].isna() | (some["rule"] == rule)]
    (one,) = some[some["horizon"] == horizon].to_dict("records")
    return one


def test_each_protocol_is_counted_and_says_what_it_is():
    table = survival()
    frame = protocols(table)
    assert list(frame.columns) == list(COLUMNS)
    counts = table["circles"].sel(protocol="standard", rule="absolute", horizon=300).values
    assert row(frame, "circles", "standard", 300, "absolute")["estimate"] == counts.mean()
    few = ((counts >= 3) & (counts <= 5)).mean()
    assert row(frame, "share_3_to_5", "standard", 300, "absolute")["estimate"] == few
    assert row(frame, "learns", "standard")["estimate"] == 5 / 8
    what = frame.groupby("protocol")[["mlp", "activation", "arithmetic"]].first()
    assert what.loc["normal"].tolist() == ["normal", "silu", "float32 exact"]
    assert what.loc["relu"].tolist() == ["uniform", "relu", "float64 exact"]
    assert what.loc["standard"].tolist() == ["uniform", "silu", "float32 naive"]


def test_the_correlation_is_pearsons_over_the_circles_of_the_embedding():
    table = survival()
    rate = (table["survived"].sel(protocol="standard", rule="relative", horizon=600) == 1).mean(
        "trial"
    )
    found = row(protocols(table), "pearson", "standard")
    assert found["estimate"] == pytest.approx(pearsonr(SIGNAL, rate).statistic)
    assert found["low"] < found["estimate"]
    assert (found["n_trials"], found["n_circles"]) == (8, 9)
    # Circles of different embeddings have nothing but their number in common.
    assert "pearson" not in set(protocols(survival("redrawn"))["statistic"])


def test_what_diverged_has_not_learned_and_has_no_circles():
    frame = protocols(survival())
    assert row(frame, "learns", "normal")["estimate"] == 0
    assert row(frame, "learns", "normal")["n_trials"] == 8
    assert row(frame, "circles", "normal")["n_trials"] == 1
    assert np.isnan(row(frame, "test_loss", "normal")["estimate"])
    gone = survival()
    gone["survived"][{"protocol": 0}] = MISSING
    gone["circles"][{"protocol": 0}] = MISSING
    frame = protocols(gone)
    assert np.isnan(row(frame, "circles", "normal")["estimate"])
    assert np.isnan(row(frame, "pearson", "normal")["estimate"])
    assert row(frame, "circles", "normal")["n_trials"] == 0


def test_a_protocol_has_no_row_at_a_horizon_it_was_not_trained_to():
    frame = protocols(survival())
    assert set(frame[frame["protocol"] == "relu"]["horizon"]) == {300}
    assert set(frame[frame["protocol"] == "normal"]["horizon"]) == {300, 600}


def test_one_protocol_alone_is_a_table_too():
    alone = survival().isel(protocol=2)
    full = json.loads(alone.attrs["protocol"])["standard"]
    frame = protocols(alone.assign_attrs(protocol=json.dumps(full)))
    assert set(frame["protocol"]) == {"standard"}
    assert row(frame, "learns", "standard")["estimate"] == 5 / 8
    with pytest.raises(ValueError, match="varies width"):
        protocols(survival().expand_dims(width=[1]))


def test_the_figure_has_a_row_for_each_protocol_and_says_what_diverged(tmp_path):
    table = survival()
    table["circles"][{"protocol": 0}] = MISSING
    frame = figure.data(scores(), protocols(table))
    labels = [t.get_text() for t in figure.draw(frame).axes[0].get_yticklabels()]
    assert labels == [
        "uniform, SiLU, float32 naive",
        "uniform, ReLU, float64 exact",
        "N(0, 1), SiLU, float32 exact",
    ]
    texts = [t.get_text() for ax in figure.draw(frame).axes for t in ax.texts]
    assert "all diverged" in texts
    assert "8 trials at p = 19, d = 16" in figure.caption(frame).replace("0 to ", "")
    save(figure, frame, tmp_path / "x")
    loss = frame[(frame["panel"] == "loss") & (frame["protocol"] == "relu")]
    assert loss["step"].max() == 300
    table["test_accuracy"] = table["test_accuracy"] * 0
    assert "No trial of any protocol learns" in figure.caption(
        figure.data(scores(), protocols(table))
    )


def without_decay(flags, accuracy, decays=(0.0, 0.5)):
    """Return a survival table of flags, shape (trial, frequency), the same at every decay."""
    flags = np.asarray(flags, dtype=np.int8)
    shape = (len(decays), *flags.shape, 1, 3)
    return xr.Dataset(
        {
            "survived": (
                ("weight_decay", "trial", "frequency", "horizon", "rule"),
                np.broadcast_to(flags[None, :, :, None, None], shape).copy(),
            ),
            "circles": (
                ("weight_decay", "trial", "horizon", "rule"),
                np.zeros((len(decays), len(flags), 1, 3), dtype=np.int16),
            ),
            "test_accuracy": (
                ("weight_decay", "trial", "horizon"),
                np.stack([np.asarray(accuracy), np.ones(len(flags))])[: len(decays), :, None],
            ),
        },
        coords={"weight_decay": list(decays), "horizon": [600], "rule": list(RULES), "p": 7},
    )


def test_all_stay_is_the_share_of_trials_that_lose_no_circle():
    flags = [[1, 1, 1], [1, 0, 1], [1, 1, 1], [MISSING, 1, 1]]
    table = without_decay(flags, [0.2, 0.4, np.nan, 0.6])
    frame = decay(table)
    stay = frame[(frame["statistic"] == "share_all_stay") & (frame["rule"] == "retained")].iloc[0]
    # The last diverged: it is neither among those that stay nor among the others.
    assert (stay["estimate"], stay["n_trials"]) == (2 / 3, 3)
    assert stay["low"] < 2 / 3 < stay["high"]
    (accuracy,) = frame[frame["statistic"] == "test_accuracy"].to_dict("records")
    assert accuracy["estimate"] == pytest.approx(0.4)
    assert (accuracy["n_trials"], accuracy["baseline"]) == (3, 1 / 7)


def test_with_weight_decay_only_nothing_is_said():
    table = without_decay([[1, 1]], [0.5]).isel(weight_decay=[1])
    assert decay(table).empty
    assert not decay(without_decay([[1, 1]], [0.5]).isel(weight_decay=0)).empty
