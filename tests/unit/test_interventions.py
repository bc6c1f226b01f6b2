"""Interventions change what they name in the spectrum, and nothing else."""

import re

import numpy as np
import pytest

from fittest.fourier import circularity, coefficients, signals
from fittest.spectrum import construct, keep, scale

MODULI = [10, 59]


def normal(p: int, d: int = 6, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((p, d))


def full(embedding: np.ndarray) -> np.ndarray:
    """All p bins of the spectrum, by a transform other than the package's."""
    return np.fft.fft(embedding, axis=0)


@pytest.mark.parametrize("p", MODULI)
def test_scale_multiplies_the_circles_two_rows_and_touches_no_other(p):
    embedding, k, factor = normal(p), 3, 0.85
    expected = full(embedding)
    expected[[k, p - k]] *= factor
    np.testing.assert_allclose(full(scale(embedding, k, factor)), expected, atol=1e-12)


@pytest.mark.parametrize("p", MODULI)
def test_scaling_back_by_the_inverse_returns_the_embedding(p):
    embedding = normal(p)
    there_and_back = scale(scale(embedding, 2, 1.15), 2, 1 / 1.15)
    np.testing.assert_allclose(there_and_back, embedding, atol=1e-13)


@pytest.mark.parametrize("p", MODULI)
def test_scaling_by_one_gives_the_identical_bits_in_a_new_array(p):
    embedding = normal(p)
    before = embedding.copy()
    same = scale(embedding, 2, 1.0)
    assert same.tobytes() == before.tobytes()
    same[:] = 0
    assert embedding.tobytes() == before.tobytes()


@pytest.mark.parametrize("p", MODULI)
def test_keep_zeroes_every_other_bin_and_k_0_too(p):
    embedding = normal(p) + 2.0
    found = full(keep(embedding, [1, 4]))
    rows = [1, 4, p - 4, p - 1]
    np.testing.assert_allclose(found[rows], full(embedding)[rows], atol=1e-12)
    rest = np.delete(np.arange(p), rows)
    assert 0 in rest
    np.testing.assert_allclose(found[rest], 0, atol=1e-12)


def test_keeping_every_circle_of_a_zero_mean_embedding_of_odd_p_is_the_identity():
    embedding = normal(59)
    embedding -= embedding.mean(axis=0)
    np.testing.assert_allclose(keep(embedding, range(1, 30)), embedding, atol=1e-13)


@pytest.mark.parametrize("intervention", [lambda e: scale(e, 2, 0.5), lambda e: keep(e, [2])])
def test_interventions_leave_their_argument_alone_and_return_real_arrays(intervention):
    embedding = normal(59)
    before = embedding.copy()
    result = intervention(embedding)
    assert (result.dtype, result.shape) == (np.float64, embedding.shape)
    assert embedding.tobytes() == before.tobytes()


@pytest.mark.parametrize("phase", ["circle", "line"])
@pytest.mark.parametrize("p", [5, 10, 59])
@pytest.mark.parametrize("ratio", [0.25, 1.0])
def test_construct_gives_two_distinct_circles_their_signals_and_the_others_next_to_none(
    phase, p, ratio
):
    for seed in range(5):
        embedding, (first, second) = construct(np.random.default_rng(seed), p, 16, ratio, phase)
        assert first != second
        assert embedding.dtype == np.float64
        assert embedding.shape == (p, 16)
        expected = np.full((p - 1) // 2, 1e-6)
        expected[first - 1], expected[second - 1] = 80.0, ratio * 80.0
        np.testing.assert_allclose(signals(embedding), expected, rtol=1e-5)
        np.testing.assert_allclose(full(embedding)[0], 0, atol=1e-11)
        if p % 2 == 0:
            np.testing.assert_allclose(full(embedding)[p // 2], 0, atol=1e-11)


def test_constructed_circles_are_true_circles():
    embedding, pair = construct(np.random.default_rng(0), 59, 16, 0.5, "circle")
    for k in pair:
        f = coefficients(embedding)[k]
        size = np.linalg.norm(f)
        assert np.linalg.norm(f.real) == pytest.approx(size / np.sqrt(2))
        assert np.linalg.norm(f.imag) == pytest.approx(size / np.sqrt(2))
        assert abs(f.real @ f.imag) < 1e-10 * size**2
    # the directions of the two circles are not orthogonal to each other, so one circle alone
    # is what must be perfect
    for k in pair:
        assert circularity(keep(embedding, [k]))[k - 1] == pytest.approx(1.0, abs=1e-12)


def test_constructed_lines_have_one_direction_for_both_halves():
    p = 59
    embedding, pair = construct(np.random.default_rng(0), p, 16, 0.5, "line")
    for k in pair:
        f = full(embedding)[k]
        assert np.linalg.norm(f.imag) < 1e-12 * np.linalg.norm(f.real)
        assert np.linalg.matrix_rank(keep(embedding, [k]), tol=1e-6) == 1
    assert np.isnan(circularity(embedding)[np.array(pair) - 1]).all()


@pytest.mark.parametrize("p", [10, 15, 60])
def test_constructed_lines_have_no_circularity_at_any_modulus(p):
    embedding, pair = construct(np.random.default_rng(1), p, 16, 0.5, "line")
    assert np.isnan(circularity(embedding)[np.array(pair) - 1]).all()


def test_construct_draws_circles_and_directions_from_the_generator_alone():
    draws = [construct(np.random.default_rng(s), 59, 16, 0.5) for s in (3, 3, 4)]
    assert draws[0][0].tobytes() == draws[1][0].tobytes()
    assert draws[0][0].tobytes() != draws[2][0].tobytes()
    pairs = {construct(np.random.default_rng(s), 7, 2, 0.5)[1] for s in range(200)}
    assert pairs == {(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b}


@pytest.mark.parametrize(("p", "k", "last"), [(59, 30, 29), (59, 0, 29), (10, 5, 4), (10, -1, 4)])
def test_a_frequency_that_is_no_circle_is_refused_with_the_range_allowed(p, k, last):
    message = re.escape(f"frequency {k} is not a circle at p = {p}: circles are 1 … {last}")
    with pytest.raises(ValueError, match=message):
        scale(normal(p), k, 1.0)
    with pytest.raises(ValueError, match=message):
        keep(normal(p), [1, k])
