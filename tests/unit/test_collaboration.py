"""Networks with only some of their circles: against direct computation, and built by hand."""

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr
from scipy import stats

from fittest.cells import Block, Cell
from fittest.collaboration import SETS, evaluate_kept, kept_sets
from fittest.design import Survival, parse_design
from fittest.errors import DesignError, FileError
from fittest.figures import figure_8, style
from fittest.figures.drawing import save
from fittest.protocol import Protocol
from fittest.statistics.kept import COLUMNS, best_loss, kept
from fittest.survival import MISSING
from fittest.tables.kept import gather_kept
from fittest.training.block import train_block
from fittest.trajectories import open_trajectories
from fittest.trajectory_schema import NETWORK

THRESHOLDS = Survival()


def circles(text, count):
    """Return the mask of circles spelt `1 3`."""
    return np.isin(np.arange(1, count + 1), [int(k) for k in text.split()])


# Which circles are kept


def test_kept_sets_hold_the_strongest_and_the_third_strongest_survivor():
    # The strongest of all circles at the last step, 5, is no survivor: it does not count.
    signal = np.array([40.0, 60, 1, 50, 70, 30])
    survives = np.array([1, 1, 0, 1, 0, 1], dtype=bool)
    one, two, three = kept_sets(signal, survives)
    for i in range(6):
        assert set(np.flatnonzero(one[i])) == {i}
        assert set(np.flatnonzero(two[i])) == {1, i}
        assert set(np.flatnonzero(three[i])) == {1, 0, i}


@pytest.mark.parametrize(("survivors", "made"), [(0, 1), (1, 2), (2, 2), (3, 3)])
def test_a_set_of_a_trial_with_too_few_survivors_is_missing(survivors, made):
    sets = kept_sets(np.arange(5.0, 0, -1), np.arange(5) < survivors)
    assert sets.any(axis=(1, 2)).tolist() == [True] * made + [False] * (3 - made)


# The loss and accuracy


def random_network(p, d, width, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    shapes = [(p, d), (2 * d, width), (width,), (width, width), (width,), (width, p), (p,)]
    return [scale * rng.standard_normal(shape) for shape in shapes]


def directly(parameters, mask, activation):
    """Take circles out by an explicit inverse DFT and run the network as written, by torch."""
    embedding, *layers = parameters
    p = len(embedding)
    stays = {0, *([p // 2] if p % 2 == 0 else [])}
    for k in np.flatnonzero(mask) + 1:
        stays |= {k, p - k}
    n = np.arange(p)
    spectrum = np.exp(-2j * np.pi * np.outer(n, n) / p) @ embedding
    spectrum[[k for k in range(p) if k not in stays]] = 0
    ablated = (np.exp(2j * np.pi * np.outer(n, n) / p) @ spectrum) / p
    assert np.abs(ablated.imag).max() < 1e-12 * np.abs(embedding).max()
    e, w1, b1, w2, b2, w3, b3 = map(torch.tensor, (ablated.real, *layers))
    a, b = torch.arange(p).repeat_interleave(p), torch.arange(p).repeat(p)
    act = {"silu": torch.nn.functional.silu, "relu": torch.relu}[activation]
    z = act(act(torch.cat([e[a], e[b]], dim=1) @ w1 + b1) @ w2 + b2) @ w3 + b3
    label = (a + b) % p
    loss = torch.nn.functional.cross_entropy(z, label)
    return loss.item(), (z.argmax(1) == label).double().mean().item()


@pytest.mark.parametrize("activation", ["silu", "relu"])
@pytest.mark.parametrize("p", [12, 13])
def test_losses_are_those_of_the_network_on_the_ablated_embedding(p, activation):
    network = random_network(p, 6, 9, scale=0.7)
    count = (p - 1) // 2
    masks = [circles(text, count) for text in ("1", "2 5", "1 3 4", "5 2", " ".join("12345"))]
    loss, accuracy = evaluate_kept(network, np.array(masks), activation=activation)
    for i, mask in enumerate(masks):
        expected = directly(network, mask, activation)
        assert (loss[i], accuracy[i]) == pytest.approx(expected, rel=1e-10)
    assert len(set(loss)) == 4  # the same set spelt twice, and no other two alike


def solver(p, needs, sharpness):
    """Build a network that answers right from the circles it needs, and looks at no other.

    Its embedding holds every circle in two dimensions of its own. Its first layer draws random
    features of those that it needs, its last is fitted to the answers.
    """
    count, width = (p - 1) // 2, 3 * p * p
    angle = 2 * np.pi * np.outer(np.arange(p), np.arange(1, count + 1)) / p
    embedding = np.stack([np.cos(angle), np.sin(angle)], axis=2).reshape(p, 2 * count)
    seen = np.repeat(np.isin(np.arange(1, count + 1), needs), 2)
    rng = np.random.default_rng(1)
    w1 = rng.standard_normal((4 * count, width)) * np.tile(seen, 2)[:, None]
    b1 = rng.standard_normal(width)
    a, b = np.divmod(np.arange(p * p), p)
    hidden = np.maximum(np.hstack([embedding[a], embedding[b]]) @ w1 + b1, 0)
    right = np.eye(p)[(a + b) % p] * sharpness / 20
    w3 = np.linalg.lstsq(hidden, right, rcond=None)[0]
    return [embedding, w1, b1, np.eye(width), np.zeros(width), w3, np.zeros(p)]


def relu(network, *texts):
    count = (len(network[0]) - 1) // 2
    masks = np.array([circles(text, count) for text in texts])
    return evaluate_kept(network, masks, activation="relu")


def test_a_network_built_on_one_circle_needs_that_one_only():
    loss, accuracy = relu(solver(7, [2], 400), "2", "1 2 3", "1", "1 3")
    assert (accuracy[:2] == 1).all()
    assert (loss[:2] < 1e-6).all()
    # Without it every pair gets the same answer.
    assert accuracy[2:] == pytest.approx([1 / 7, 1 / 7])
    assert (loss[2:] > np.log(7)).all()
    assert loss[2] == pytest.approx(loss[3])


def test_float32_keeps_digits_of_a_tiny_loss_and_never_says_zero():
    network = solver(7, [1], 300)
    exact, _ = relu(network, "1", "1 2")
    assert (exact < 1e-5).all()
    rounded, _ = relu([x.astype(np.float32) for x in network], "1", "1 2")
    np.testing.assert_allclose(rounded, exact, rtol=1e-3)
    assert 0 < relu([x.astype(np.float32) for x in solver(7, [1], 1200)], "1")[0][0] < 1e-20


def test_a_network_built_on_two_circles_fails_with_either():
    loss, accuracy = relu(solver(7, [1, 3], 400), "1 3", "1 2 3", "1", "3", "2")
    assert (accuracy[:2] == 1).all()
    assert (loss[:2] < 1e-6).all()
    assert (accuracy[2:] < 0.8).all()
    assert (loss[2:] > 1).all()


def test_what_is_missing_or_diverged_is_not_a_number():
    network = random_network(13, 4, 5)
    masks = np.array([circles("", 6), circles("2", 6)])
    assert np.isnan(evaluate_kept(network, masks)).tolist() == [[True, False], [True, False]]
    network[3][0, 0] = np.nan
    assert np.isnan(evaluate_kept(network, masks)).all()
    with pytest.raises(ValueError, match=r"must be \(S, 6\)"):
        evaluate_kept(network, masks[:, :5])


# The table


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Two blocks of two trials of which networks are stored."""
    root = tmp_path_factory.mktemp("networks")
    protocol = Protocol.model_validate(
        {"steps": 1200, "record": {"every": 100, "dense_until": 5, "networks": 500}}
    )
    files = [
        root / Block("networks", Cell(p=23, d=32, width=48), first, first + 1).path
        for first in (2, 0)
    ]
    for path in files:
        train_block(path, protocol, 3, device="cpu")
    return files


def test_the_table_is_of_the_first_trial_of_every_block(stored):
    # A low threshold: the few steps leave too few survivors by the usual one for all kept sets.
    table = gather_kept(stored, Survival(relative=0.5))
    assert table["trial"].values.tolist() == [0, 2]
    assert table["step"].values.tolist() == [0, 500, 1000, 1200]
    assert table["loss"].dims == ("trial", "set", "frequency", "step")
    for path in stored:
        t = open_trajectories(path).isel(trial=0)
        one = table.sel(trial=int(t["trial"]))
        # What the trainer recorded on training and on test pairs is what all pairs give together.
        n, at = int(t["train_pair"].sum()), t.sel(step=table["step"])
        for name, found in (("loss", one["whole_loss"]), ("accuracy", one["whole_accuracy"])):
            both = n * at[f"train_{name}"] + (529 - n) * at[f"test_{name}"]
            np.testing.assert_allclose(found, both / 529, rtol=1e-5)
        final = t["signal"].isel(step=-1)
        np.testing.assert_array_equal(one["signal"], final)
        alive = final.values > 0.5 * float(t["mean_signal"].isel(step=-1))
        assert alive.sum() >= 3
        np.testing.assert_array_equal(one["survived"] == 1, alive)
        network = [t[name].values[2].astype(float) for name in NETWORK]
        for name, sets in zip(SETS, kept_sets(final.values, alive), strict=True):
            held = sets.sum(axis=1)
            kept_counts = one["kept"].sel(set=name).values
            assert kept_counts.tolist() == np.where(held == 0, MISSING, held).tolist()
            for i in np.flatnonzero(held):
                there = one.sel(set=name, step=1000).isel(frequency=i)
                expected, right = directly(network, sets[i], "silu")
                assert float(there["loss"]) == pytest.approx(expected, rel=1e-4)
                assert float(there["accuracy"]) == pytest.approx(right, abs=2 / 529)


def test_trajectories_without_networks_are_refused_with_the_remedy(paths):
    with pytest.raises(FileError, match=r"stores no networks.*networks: 100"):
        gather_kept(paths, THRESHOLDS)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"protocol": "plain"}, "'plain' stores none"),
        ({"axes": {"p": [7, 11]}}, "varies not p"),
    ],
)
def test_a_design_that_could_not_be_analysed_is_refused_before_training(change, says):
    design = {
        "protocols": {"plain": {}, "networks": {"record": {"networks": 100}}},
        "experiments": {"collaboration": {"protocol": "networks", "trials": 3, "block": 1}},
    }
    parse_design(design)
    design["experiments"]["collaboration"] |= change
    with pytest.raises(DesignError, match=says):
        parse_design(design)


# The statistics


def table_of(best, survivors=None, p=23):
    """Return a kept table whose trials have the least losses given: rows of one, two, three, all.

    Circles 1, 2, 3 … survive in this order of strength. The degenerate sets have a loss of 0, lower
    than any: they must not count.
    """
    best = np.asarray(best, dtype=float)
    trials, k = len(best), (p - 1) // 2
    survivors = survivors or [4] * trials
    loss, count = np.full((trials, 3, k, 2), np.nan), np.full((trials, 3, k), MISSING)
    for t, alive in enumerate(survivors):
        for s, sets in enumerate(kept_sets(np.arange(k, 0, -1), np.arange(k) < alive)):
            held = sets.sum(axis=1)
            if held.any():
                count[t, s] = held
                loss[t, s] = np.where(held < s + 1, 0, best[t, s] + np.arange(k)[::-1])[:, None]
    return xr.Dataset(
        {
            "loss": (("trial", "set", "frequency", "step"), loss),
            "whole_loss": (("trial", "step"), np.stack([np.ones(trials), best[:, 3]], axis=1)),
            "kept": (("trial", "set", "frequency"), count),
            "signal": (("trial", "frequency"), np.tile(np.arange(k, 0, -1.0), (trials, 1))),
            "survived": (
                ("trial", "frequency"),
                (np.arange(k) < np.array(survivors)[:, None]).astype(np.int8),
            ),
        },
        coords={
            "trial": np.arange(trials),
            "set": list(SETS),
            "frequency": np.arange(1, k + 1),
            "step": [0, 600],
            "p": p,
            "embedding": 0,
        },
    )


def row(frame, statistic, name=None):
    some = frame[frame["statistic"] == statistic]
    return (some if name is None else some[some["set"] == name]).iloc[0]


HOLDS = [2.0, 0.5, 0.01, 1e-4]
BEST = [HOLDS, [1.5, 0.3, 0.05, 1e-4], [0.9, 0.5, 0.01, 1e-4], [2.0, 0.05, 0.2, 1e-3]]


def test_shares_are_of_the_trials_whose_best_sets_lie_beyond_the_thresholds():
    frame = kept(table_of(BEST))
    assert list(frame.columns) == list(COLUMNS)
    assert set(frame["horizon"]) == {600}
    for statistic, count in (("one_fails", 3), ("two_high", 3), ("three_low", 3), ("all_three", 2)):
        found = row(frame, statistic)
        assert (found["estimate"], found["n_trials"]) == (count / 4, 4)
        expected = stats.binomtest(count, 4).proportion_ci(method="wilson")
        assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high))


def test_the_median_best_loss_of_every_set_stands_beside_guessing():
    frame = kept(table_of(BEST))
    for i, name in enumerate((*SETS, "all")):
        found = row(frame, "best_loss", name)
        losses = np.array(BEST)[:, i]
        assert found["estimate"] == pytest.approx(np.median(losses))
        assert losses.min() <= found["low"] <= found["estimate"] <= found["high"] <= losses.max()
        assert found["baseline"] == pytest.approx(np.log(23))


def test_a_set_with_fewer_circles_than_its_name_says_is_no_best():
    table = table_of([HOLDS])
    assert float(table["loss"].sel(set="two").min()) == 0  # {strongest} alone
    assert best_loss(table.isel(step=-1).sel(set="two")) == pytest.approx([0.5])


def test_too_few_survivors_are_missing_and_not_a_failure():
    frame = kept(table_of([HOLDS, HOLDS, [2, 0.01, 0, 0]], survivors=[3, 2, 2]))
    assert row(frame, "one_fails")["n_trials"] == 3
    assert (row(frame, "three_low")["estimate"], row(frame, "three_low")["n_trials"]) == (1, 1)
    assert row(frame, "best_loss", "three")["n_trials"] == 1
    # The second trial's three circles are unknown; the third's two already speak against it.
    assert (row(frame, "all_three")["estimate"], row(frame, "all_three")["n_trials"]) == (0.5, 2)
    nobody = kept(table_of([HOLDS], survivors=[0]))
    assert row(nobody, "two_high")["n_trials"] == 0
    assert np.isnan(row(nobody, "two_high")["estimate"])


def test_a_diverged_trial_is_missing_everywhere():
    table = table_of([HOLDS, HOLDS])
    table["loss"][1] = np.nan
    table["whole_loss"][1] = np.nan
    frame = kept(table)
    assert set(frame["n_trials"]) == {1}
    assert (frame.loc[frame["statistic"] != "best_loss", "estimate"] == 1).all()


# The figure


def drawn(table, tmp_path):
    frame = figure_8.data(table, kept(table))
    frame.to_csv(tmp_path / "figure.csv", index=False)
    frame = pd.read_csv(tmp_path / "figure.csv")
    return frame, figure_8.draw(frame)


def test_the_figure_names_survivors_greys_the_dead_and_says_how_many_trials(tmp_path):
    frame, figure = drawn(table_of(BEST), tmp_path)
    colours = [line.get_color() for line in figure.axes[0].lines]
    assert colours.count(style.DEAD) == 7 + 1  # seven dead circles, and their entry in the legend
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[:4] == ["i = 1", "i = 2", "i = 3", "i = 4"]
    assert "i dead (7 circles)" in names
    titles = [ax.get_title() for ax in figure.axes]
    assert [title.partition("\n")[0] for title in titles] == [
        "One kept: {i}",
        "Two kept: {1, i}",
        "Three kept: {1, 3, i}",
    ]
    assert all("75% of 4 trials" in title for title in titles)
    assert "in 50% of 4 trials" in figure_8.caption(frame)
    # Of the survivors in the third panel, 1 and 3 are there already: two circles, not three.
    dotted = [line.get_linestyle() == ":" for line in figure.axes[2].lines[7:11]]
    assert dotted == [True, False, True, False]


@pytest.mark.parametrize("survivors", [0, 1, 2])
def test_a_trial_with_few_survivors_is_drawn(tmp_path, survivors):
    frame, figure = drawn(table_of([HOLDS], survivors=[survivors]), tmp_path)
    assert "no trial" in figure.axes[2].get_title()
    assert any("too few" in text.get_text() for text in figure.axes[2].texts)
    assert figure_8.caption(frame)


def test_a_diverged_trial_is_drawn(tmp_path):
    table = table_of([HOLDS])
    for name in ("loss", "whole_loss", "signal"):
        table[name][:] = np.nan
    table["survived"][:] = MISSING
    frame, _ = drawn(table, tmp_path)
    assert figure_8.caption(frame)
    save(figure_8, frame, tmp_path / "figure_8")
    assert (tmp_path / "figure_8.png").stat().st_size > 10_000
