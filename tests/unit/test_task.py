"""The task: labels of modular addition, and a split that is a partition of all pairs."""

from fractions import Fraction

import numpy as np
import pytest

from fittest.task import draw_training_pairs, labels, test_pairs, training_pairs_count


@pytest.mark.parametrize("p", [3, 10, 59])
def test_the_label_of_pair_ap_plus_b_is_a_plus_b_mod_p(p):
    c = labels(p)
    assert (c.shape, c.dtype) == ((p * p,), np.int64)
    assert all(c[a * p + b] == (a + b) % p for a in range(p) for b in range(p))
    assert (np.bincount(c) == p).all()  # every label is that of p pairs


def test_the_training_count_is_the_floor_of_the_exact_product():
    shares = [
        "0.8",
        "0.29",
        "0.57",
        "0.1",
        "0.3",
        "0.7",
        "0.5",
        "0.25",
        "0.01",
        "0.999",
        "0.123456",
    ]
    for share in shares:
        for p in range(3, 1001):
            exact = Fraction(share) * p * p
            assert training_pairs_count(p, float(share)) == exact.numerator // exact.denominator


@pytest.mark.parametrize(("p", "share"), [(3, 0.8), (10, 0.29), (59, 0.8), (60, 0.5)])
def test_training_and_test_pairs_partition_all_pairs(p, share):
    training = draw_training_pairs(np.random.default_rng(0), p, share)
    rest = test_pairs(p, training)
    assert len(training) == training_pairs_count(p, share)
    assert len(training) + len(rest) == p * p
    assert set(training) | set(rest) == set(range(p * p))


def test_pairs_are_sorted_whole_numbers_drawn_without_replacement():
    training = draw_training_pairs(np.random.default_rng(0), 59, 0.8)
    for pairs in (training, test_pairs(59, training)):
        assert pairs.dtype == np.int64
        assert (np.diff(pairs) > 0).all()


def test_every_pair_is_equally_likely_to_be_for_training():
    draws, p, share = 400, 10, 0.8
    rng = np.random.default_rng(0)
    counts = np.zeros(p * p)
    for _ in range(draws):
        counts[draw_training_pairs(rng, p, share)] += 1
    assert counts.sum() == draws * 80
    deviation = np.sqrt(draws * share * (1 - share))
    assert np.abs(counts - draws * share).max() < 4.5 * deviation
