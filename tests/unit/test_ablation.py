"""Networks started from a few circles: counted by hand, and really trained end to end."""

import numpy as np
import pytest
import xarray as xr

from fittest.cells import Block, Cell
from fittest.figures import figure_12
from fittest.figures.drawing import save
from fittest.losses import first_below, spikes
from fittest.statistics.ablation import COLUMNS, EXPERIMENTS, ablation
from fittest.survival import MISSING, RULES
from fittest.tables.scores import gather_losses
from fittest.tables.survival import gather_survival
from fittest.training.block import train_block

STEPS = np.array([0, 1, 10, 100, 200])


@pytest.mark.parametrize(
    ("loss", "count"),
    [
        ([3, 1, 0.1, 0.009, 0.001], 0),
        ([3, 0.02, 3, 0.02, 3], 0),  # never below 1e-2: not counted
        ([0.009, 0.089, 0.009, 0.09, 0.009], 0),  # tenfold is not more than tenfold
        ([0.009, 0.1, 0.009, 0.1, 0.009], 2),
        ([0.009, 0.1, 3, 0.1, 0.009], 1),  # one that lasts
        ([0.009, 0.1, 0.08, 0.1, 3], 2),  # down to less than tenfold, and up again
        ([0.009, 0.0001, 0.002, 0.0001, 0.00001], 1),  # above the least so far, not above 1e-2
        ([0.009, 0.001, np.nan, np.nan, np.nan], 1),
        ([np.nan] * 5, 0),
    ],
)
def test_spikes_are_rises_above_ten_times_the_least_so_far(loss, count):
    assert spikes(np.array([loss, loss])).tolist() == [count, count]


def test_the_first_step_below_a_threshold_or_never():
    loss = np.array([[1, 1e-3, 1e-4, 1, 1], [1, 1, 1, 1, 1], [1e-4] * 5, [1, np.nan, 1, 1e-9, 1]])
    assert first_below(loss, STEPS).tolist() == [10, np.inf, 0, 100]


def tables(circles, loss, texts=tuple(EXPERIMENTS)):
    """Return tables of counts, shape (experiment, trial), and losses (experiment, trial, step)."""
    circles, loss = np.asarray(circles, dtype=np.int16), np.asarray(loss, dtype=float)
    dims = ("intervention", "trial", "horizon", "rule")
    coords = {"intervention": list(texts), "trial": np.arange(circles.shape[1])}
    survival = xr.Dataset(
        {
            "circles": (dims, circles[..., None, None].repeat(3, axis=-1)),
            "test_loss": (dims[:3], loss[..., -1:]),
        },
        coords={**coords, "horizon": [STEPS[-1]], "rule": list(RULES)},
    )
    losses = xr.Dataset(
        {"test_loss": (("intervention", "trial", "step"), loss)}, coords={**coords, "step": STEPS}
    )
    # As a table has them: sorted by text.
    return survival.sortby("intervention"), losses.sortby("intervention")


def planted():
    """Return tables of O, A, B, C, D with three trials each."""
    low, late, leaping = [1, 1, 1e-4, 1e-5, 1e-7], [1, 1, 1, 1e-4, 1e-7], [1, 1e-3, 1, 1e-3, 1]
    never, once = [1.0] * 5, [1, 1, 1e-4, 1, 1e-7]
    return tables(
        [[4, 5, 3], [3, 1, MISSING], [2, 2, 3], [3, 3, 1], [3, 4, 3]],
        [
            [late, late, never],
            [leaping, leaping, leaping],
            [low, low, once],
            [leaping, late, late],
            [late, leaping, never],
        ],
    )


def row(frame, statistic, experiment, rule="relative"):
    some = frame[(frame["statistic"] == statistic) & (frame["experiment"] == experiment)]
    (one,) = some[some["rule"].isna() | (some["rule"] == rule)].to_dict("records")
    return one


def test_counts_by_hand():
    frame = ablation(*planted())
    assert list(frame.columns) == list(COLUMNS)
    # A: a trial that diverged has no count.
    assert row(frame, "revives", "A")["estimate"] == 1 / 2
    assert row(frame, "revives", "A")["n_trials"] == 2
    assert row(frame, "revives", "B")["estimate"] == 1 / 3  # more than the two kept
    assert row(frame, "revives", "C")["estimate"] == 2 / 3
    assert "O" not in set(frame[frame["statistic"] == "revives"]["experiment"])
    assert row(frame, "solves_with_two", "B")["estimate"] == 2 / 3
    assert row(frame, "at_least_three", "C")["estimate"] == 2 / 3
    assert row(frame, "at_least_three", "D")["estimate"] == 1
    assert row(frame, "circles", "O")["estimate"] == 4
    assert (frame["horizon"] == 200).all()


def test_steps_are_compared_trial_by_trial_and_say_what_never_learned():
    frame = ablation(*planted())
    found = row(frame, "steps_difference", "B")
    # Twice 10 - 100; once O never learns, and counts as at the last step, 200.
    assert found["estimate"] == np.median([-90, -90, -190])
    assert (found["n_trials"], found["n_censored"], found["n_left_out"]) == (3, 1, 0)
    assert found["low"] <= found["estimate"] <= found["high"] < 0
    # D: one as O, one never, and one where neither learns.
    found = row(frame, "steps_difference", "D")
    assert found["estimate"] == np.median([0, 200 - 100])
    assert (found["n_trials"], found["n_censored"], found["n_left_out"]) == (2, 1, 1)
    found = row(frame, "steps_difference", "A")
    assert (found["estimate"], found["n_censored"]) == (100, 2)
    assert row(frame, "steps_to_low_loss", "O")["estimate"] == 100
    never = row(frame, "steps_to_low_loss", "A")
    assert np.isnan(never["estimate"])
    assert never["n_censored"] == 3
    assert row(frame, "reaches_low_loss", "D")["estimate"] == 1 / 3


def test_spikes_are_compared_with_the_mean_of_o_and_b_in_the_same_trial():
    frame = ablation(*planted())
    assert row(frame, "spikes", "A")["estimate"] == 2
    assert row(frame, "spikes", "B")["estimate"] == 1 / 3
    assert row(frame, "spikes_difference", "A")["estimate"] == pytest.approx(2 - 1 / 6)
    assert row(frame, "spikes_difference", "C")["estimate"] == pytest.approx(2 / 3 - 1 / 6)
    pooled = row(frame, "spikes_difference", "ACD-OB")
    # Trial by trial: (2 + 2 + 0)/3, (2 + 0 + 2)/3, (2 + 0 + 0)/3 - (0 + 1)/2.
    assert pooled["estimate"] == pytest.approx((4 / 3 + 4 / 3 + 1 / 6) / 3)
    assert pooled["n_trials"] == 3
    assert 1 / 6 - 1e-9 <= pooled["low"] < pooled["high"] <= 4 / 3 + 1e-9


def test_a_design_without_some_experiments_has_what_it_can():
    survival, losses = planted()
    some = ["none", "keep-random-1"]
    frame = ablation(survival.sel(intervention=some), losses.sel(intervention=some))
    assert set(frame["experiment"]) == {"O", "C"}
    assert "spikes_difference" not in set(frame["statistic"])
    assert row(frame, "steps_difference", "C")["n_trials"] == 3
    alone = ablation(survival.sel(intervention="none"), losses.sel(intervention="none"))
    assert set(alone["experiment"]) == {"O"}
    with pytest.raises(ValueError, match="varies width"):
        ablation(survival.expand_dims(width=[1]), losses)


def test_where_no_pair_of_trials_learns_no_difference_is_claimed():
    never = np.ones((5, 3, 5))
    found = row(ablation(*tables(np.zeros((5, 3)), never)), "steps_difference", "B")
    assert np.isnan([found[key] for key in ("estimate", "low", "high")]).all()
    assert (found["n_trials"], found["n_left_out"]) == (0, 3)


@pytest.fixture(scope="module")
def ablated(trained):
    """Trained tables of all five experiments with redrawn embeddings, O from its own files."""
    files, survival = [], trained.design.survival
    for text in EXPERIMENTS:
        cell = Cell(p=13, d=6, width=8, embedding="redrawn", intervention=text)
        block = Block("standard", cell, 0, 1)
        path = trained.root / "trajectories" / block.path
        base = trained.train(block.base.cell, 0, 1) if "base" in text else None
        if not path.exists():
            train_block(path, trained.protocol, 3, base_file=base, device="cpu")
        files.append(path)
    return gather_survival(files, survival, [40]), gather_losses(files, survival)


def test_experiments_are_trained_from_the_circles_they_say(ablated):
    survival, losses = ablated
    start = survival["initial_signal"].transpose("intervention", "trial", "frequency")
    final = survival["signal"].sel(horizon=60, intervention="none").transpose("trial", "frequency")
    whole = start.sel(intervention="none").values
    for text, kept in (("keep-strongest-1-of-base", 1), ("keep-strongest-2-of-base", 2)):
        strongest = np.argsort(-final.values, axis=1)[:, :kept]
        for trial, rows in enumerate(strongest):
            expected = np.zeros(6)
            expected[rows] = whole[trial, rows]
            np.testing.assert_allclose(
                start.sel(intervention=text).values[trial], expected, rtol=1e-5, atol=1e-4
            )
    for text, kept in (("keep-random-1", 1), ("keep-random-2", 2)):
        assert ((start.sel(intervention=text) > 1).sum("frequency") == kept).all()
    frame = ablation(survival, losses)
    assert set(frame["experiment"]) == {*"OABCD", "ACD-OB"}


def test_figure_12_is_drawn_from_what_was_trained_and_says_its_trials(ablated, tmp_path):
    survival, losses = ablated
    frame = figure_12.data(losses, ablation(survival, losses))
    save(figure_12, frame, tmp_path / "x")
    assert "2 trials each" in figure_12.caption(frame)
    titles = [ax.get_title() for ax in figure_12.draw(frame).axes]
    assert [title[:2] for title in titles[:5]] == ["O:", "A:", "B:", "C:", "D:"]
    life = frame[(frame["panel"] == "trial") & (frame["experiment"] == "B")]
    last = losses["test_loss"].sel(intervention="keep-strongest-2-of-base", step=60)
    np.testing.assert_allclose(life[life["step"] == 60]["test_loss"], last)


def test_a_spike_shorter_than_a_window_is_in_the_figure(monkeypatch):
    monkeypatch.setattr("fittest.figures.arithmetic.WINDOWS", 2)
    survival, losses = planted()
    loss = losses["test_loss"].values.copy()
    loss[:, :, 1] = 99  # at step 1, in the window that ends with step 100
    losses["test_loss"] = losses["test_loss"].copy(data=loss)
    frame = figure_12.data(losses, ablation(survival, losses))
    life = frame[(frame["panel"] == "trial") & (frame["experiment"] == "A")]
    assert life["test_loss"].max() == 99
    one = figure_12.data(
        losses.sel(intervention=["none"]),
        ablation(survival.sel(intervention=["none"]), losses.sel(intervention=["none"])),
    )
    texts = [t.get_text() for ax in figure_12.draw(one).axes for t in ax.texts]
    assert "A is not in the design" in texts
