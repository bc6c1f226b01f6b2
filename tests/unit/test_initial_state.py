"""What trials start from: a pure function of seed, embedding, trial and sizes."""

import numpy as np
import pytest

from fittest.cells import Cell
from fittest.fourier import signals
from fittest.protocol import Protocol
from fittest.seeds import draw_embedding
from fittest.training.arrays import initial_state

CELL = Cell(p=13, d=16, width=8)
PROTOCOL = Protocol()


def start(cell=CELL, trials=(0,), protocol=PROTOCOL, seed=0, **base):
    return initial_state(cell, protocol, seed, trials, **base)


def same(a, b):
    return all(
        np.array_equal(x, y)
        for x, y in zip(a.parameters.arrays(), b.parameters.arrays(), strict=True)
    ) and np.array_equal(a.train_pairs, b.train_pairs)


def test_a_trial_does_not_depend_on_its_block():
    block = start(trials=range(5))
    alone = start(trials=[3])
    for ours, theirs in zip(block.parameters.arrays(), alone.parameters.arrays(), strict=True):
        assert np.array_equal(ours[3], theirs[0])
    assert np.array_equal(block.train_pairs[3], alone.train_pairs[0])


def test_fixed_embedding_trials_share_it_and_redraw_mlp_and_split():
    both = start(trials=[0, 1])
    assert np.array_equal(*both.parameters.embedding)
    assert np.array_equal(both.parameters.embedding[0], draw_embedding(0, 13, 16, embedding=0))
    for name in ("w1", "b1", "w2", "b2", "w3", "b3"):
        assert not np.array_equal(*getattr(both.parameters, name))
    assert not np.array_equal(*both.train_pairs)


def test_redrawn_embeddings_differ_between_trials():
    both = start(Cell(p=13, d=16, width=8, embedding="redrawn"), [0, 1])
    assert not np.array_equal(*both.parameters.embedding)


def test_weight_decay_does_not_change_what_a_trial_starts_from():
    assert same(start(), start(Cell(p=13, d=16, width=8, weight_decay=0.1)))


def test_a_perturbation_by_one_is_the_unperturbed_trial():
    assert same(start(), start(Cell(p=13, d=16, width=8, intervention="scale-3-1")))


def test_an_embedding_read_from_a_file_is_the_one_drawn():
    assert same(start(), start(base_embedding=draw_embedding(0, 13, 16, embedding=0)))


def test_what_is_not_redrawn_is_that_of_trial_zero():
    protocol = Protocol.model_validate({"redraw": ["split"]})
    shared = start(trials=[4], protocol=protocol)
    assert np.array_equal(shared.parameters.w2[0], start(trials=[0]).parameters.w2[0])
    assert np.array_equal(shared.train_pairs[0], start(trials=[4]).train_pairs[0])


def test_seeds_and_embeddings_make_other_trials():
    assert not same(start(), start(seed=1))
    assert not same(start(), start(Cell(p=13, d=16, width=8, embedding="1")))


def test_uniform_initialisation_fills_one_over_root_fan_in():
    p = start(Cell(p=59, d=128, width=100)).parameters
    for name, fan_in in (("w1", 256), ("b1", 256), ("w2", 100), ("b2", 100), ("w3", 100)):
        array = getattr(p, name)
        bound = 1 / np.sqrt(fan_in)
        assert 0.9 * bound < np.abs(array).max() <= bound
        if array.size > 1000:
            assert array.std() == pytest.approx(bound / np.sqrt(3), rel=0.05)


def test_normal_initialisation_is_standard_normal():
    protocol = Protocol.model_validate({"init": {"mlp": "normal"}})
    w1 = start(Cell(p=59, d=128, width=100), protocol=protocol).parameters.w1
    assert w1.std() == pytest.approx(1, rel=0.02)
    assert np.abs(w1).max() > 3


def test_floor_of_the_share_is_for_training():
    assert start(Cell(p=59, d=8, width=4)).train_pairs.shape == (1, 2784)


def test_scaling_changes_the_named_signal_only():
    plain = start(CELL)
    scaled = start(Cell(p=13, d=16, width=8, intervention="scale-3-0.5"))
    ratio = signals(scaled.parameters.embedding[0]) / signals(plain.parameters.embedding[0])
    np.testing.assert_allclose(ratio, [1, 1, 0.5, 1, 1, 1])
    assert scaled.named_frequencies.tolist() == [[3]]


def test_construction_draws_its_circles_per_trial_and_names_them():
    cell = Cell(p=31, d=16, width=8, intervention="construct-circle-0.5")
    several = start(cell, range(6))
    assert len({tuple(x) for x in several.named_frequencies.tolist()}) > 1
    for embedding, (first, second) in zip(
        several.parameters.embedding, several.named_frequencies, strict=True
    ):
        s = signals(embedding)
        assert s[first - 1] == pytest.approx(80)
        assert s[second - 1] == pytest.approx(40)


def test_keep_strongest_is_resolved_from_the_unperturbed_trial():
    cell = Cell(p=13, d=16, width=8, intervention="keep-strongest-2-of-base")
    final = np.array([[0.1, 9.0, 0.2, 0.3, 7.0, 0.1]])
    kept = start(cell, base_final_signal=final)
    assert kept.named_frequencies.tolist() == [[2, 5]]
    s = signals(kept.parameters.embedding[0])
    np.testing.assert_allclose(s[[1, 4]], signals(start().parameters.embedding[0])[[1, 4]])
    np.testing.assert_allclose(s[[0, 2, 3, 5]], 0, atol=1e-9)
    with pytest.raises(ValueError, match="unperturbed"):
        start(cell)


def test_keep_random_draws_distinct_circles_per_trial():
    several = start(Cell(p=31, d=8, width=4, intervention="keep-random-2"), range(8))
    named = several.named_frequencies
    assert all(a != b for a, b in named)
    assert len({tuple(x) for x in named.tolist()}) > 1
