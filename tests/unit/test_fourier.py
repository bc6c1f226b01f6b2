"""Fourier analysis keeps the identities of the DFT and the definitions of docs/method.md."""

import math

import numpy as np
import pytest

from fittest.fourier import (
    bin_multiplicity,
    circle_frequencies,
    circularity,
    coefficients,
    from_coefficients,
    mean_signal,
    plane,
    project,
    signals,
    token_increment,
)


def normal(p: int, d: int, seed: int = 0, batch: tuple[int, ...] = ()) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((*batch, p, d))


def circle(p: int, k: int, u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Tokens at cos(2πkn/p) u + sin(2πkn/p) v: a true circle where u ⟂ v have equal lengths."""
    angle = 2 * np.pi * k * np.arange(p) / p
    return np.outer(np.cos(angle), u) + np.outer(np.sin(angle), v)


def two_directions(d: int) -> np.ndarray:
    return np.linalg.qr(normal(d, 2, seed=7))[0].T


@pytest.mark.parametrize("p", [3, 4, 10, 59, 64])
def test_coefficients_are_the_first_half_of_the_dft_over_tokens(p):
    embedding = normal(p, 5)
    n = np.arange(p)
    full = np.exp(-2j * np.pi * np.outer(n, n) / p) @ embedding
    np.testing.assert_allclose(coefficients(embedding), full[: p // 2 + 1], atol=1e-11)
    # and the other half says nothing new: F_{p-k} = conj F_k
    for k in range(1, p):
        np.testing.assert_allclose(np.fft.fft(embedding, axis=0)[p - k], full[k].conj(), atol=1e-11)


@pytest.mark.parametrize("p", [3, 4, 58, 59])
def test_parseval_holds_with_the_bin_multiplicity(p):
    embedding = normal(p, 6)
    powers = np.sum(np.abs(coefficients(embedding)) ** 2, axis=-1)
    assert powers @ bin_multiplicity(p) == pytest.approx(p * np.sum(embedding**2), rel=1e-12)
    assert bin_multiplicity(p).sum() == p


@pytest.mark.parametrize("p", [3, 4, 58, 59])
def test_from_coefficients_undoes_coefficients_for_odd_and_even_moduli(p):
    embedding = normal(p, 6, batch=(2,))
    back = from_coefficients(coefficients(embedding), p)
    assert back.dtype == np.float64
    np.testing.assert_allclose(back, embedding, atol=1e-13)


def test_the_signal_of_a_perfect_circle_is_radius_times_p_over_root_two():
    p, k, radius = 59, 7, 3.0
    u, v = radius * two_directions(16)
    found = signals(circle(p, k, u, v))
    # F_k = p/2 (u - iv), of norm p/2 · √(|u|² + |v|²)
    expected = np.zeros(29)
    expected[k - 1] = radius * p / math.sqrt(2)
    np.testing.assert_allclose(found, expected, atol=1e-11)


def test_signals_of_a_normal_embedding_are_about_root_pd_with_deviation_half_root_p():
    p, d, many = 59, 128, 200
    found = signals(normal(p, d, batch=(many,)))
    assert found.mean() == pytest.approx(math.sqrt(p * d), rel=0.01)  # 87
    assert found.std() == pytest.approx(math.sqrt(p) / 2, rel=0.05)  # 3.8
    ten = found[:10]
    assert 70 < ten.min() < 80
    assert 94 < ten.max() < 104


@pytest.mark.parametrize("p", [4, 10, 58, 59])
def test_the_mean_signal_counts_every_bin_of_the_full_dft(p):
    embedding = normal(p, 8, batch=(3,)) + 1.0  # + 1: k = 0 weighs in
    norms = np.linalg.norm(np.fft.fft(embedding, axis=1), axis=-1)
    assert norms.shape == (3, p)
    np.testing.assert_allclose(mean_signal(embedding), norms.mean(axis=1), rtol=1e-12)


def test_a_true_circle_has_circularity_one():
    p = 59
    u, v = two_directions(16)
    for k in (1, 7, 29):
        assert circularity(circle(p, k, u, v))[k - 1] == pytest.approx(1.0, abs=1e-12)


def test_circularity_follows_its_definition_projection_by_projection():
    p, d = 11, 3
    embedding = normal(p, d)
    for k in range(1, 6):
        f = sum(np.exp(-2j * np.pi * k * n / p) * embedding[n] for n in range(p))
        squares = []
        for direction in (f.real, f.imag):
            x = embedding @ (direction / np.linalg.norm(direction))
            wave = abs(sum(x[j] * np.exp(2j * np.pi * j * k / p) for j in range(p))) ** 2
            squares.append((2 * wave / (p * np.sum(x**2))) ** 2)
        assert circularity(embedding)[k - 1] == pytest.approx(math.sqrt(sum(squares) / 2))


@pytest.mark.parametrize(("d", "printed"), [(128, 0.69), (16, 0.21)])
def test_circularity_of_a_normal_embedding_is_about_d_over_d_plus_p(d, printed):
    p = 59
    average = circularity(normal(p, d, batch=(20,))).mean()
    assert d / (d + p) == pytest.approx(printed, abs=0.01)
    assert average == pytest.approx(d / (d + p), abs=0.03)


def test_a_circle_squeezed_to_a_line_has_no_circularity_and_no_plane():
    p, k = 59, 7
    line = circle(p, k, normal(1, 8)[0], np.zeros(8))
    line = (line + np.roll(line[::-1], 1, axis=0)) / 2  # E_n = E_{p-n} to the last bit: Im F = 0
    assert np.isnan(circularity(line)[k - 1])
    real, imaginary = plane(line, k)
    assert np.linalg.norm(real) == pytest.approx(1.0)
    assert np.isnan(imaginary).all()


@pytest.mark.parametrize("p", [5, 10])
def test_leading_axes_are_batch_axes(p):
    batch = normal(p, 4, batch=(2, 3))
    last = (p - 1) // 2
    assert signals(batch).shape == circularity(batch).shape == (2, 3, last)
    assert mean_signal(batch).shape == (2, 3)
    for i, j in np.ndindex(2, 3):
        one = batch[i, j]
        np.testing.assert_allclose(signals(batch)[i, j], signals(one), rtol=1e-12)
        np.testing.assert_allclose(circularity(batch)[i, j], circularity(one), rtol=1e-12)
        assert mean_signal(batch)[i, j] == pytest.approx(float(mean_signal(one)), rel=1e-12)


def test_a_circle_projected_on_its_plane_is_a_circle():
    p, k = 59, 7
    u, v = 3.0 * two_directions(16)
    embedding = circle(p, k, u, v)
    coordinates = project(embedding, plane(embedding, k))
    assert coordinates.shape == (p, 2)
    np.testing.assert_allclose(np.linalg.norm(coordinates, axis=1), 3.0, rtol=1e-12)


@pytest.mark.parametrize("p", [3, 8, 12, 31, 59])
def test_the_token_increment_steps_to_a_neighbour_on_the_circle(p):
    for k in range(1, (p - 1) // 2 + 1):
        delta = token_increment(k, p)
        if math.gcd(k, p) > 1:
            assert delta is None
            continue
        assert delta is not None
        assert 0 < delta < p
        assert delta * k % p in (1, p - 1)
        # p odd: of Δ and p - Δ exactly one is even, and that is the one printed
        assert p % 2 == 0 or delta % 2 == 0


def test_the_token_increment_is_the_papers_30_for_circle_2_at_59():
    assert token_increment(2, 59) == 30


@pytest.mark.parametrize(("p", "count"), [(3, 1), (4, 1), (58, 28), (59, 29), (60, 29)])
def test_circles_are_the_bins_that_are_neither_zero_nor_half_of_p(p, count):
    ks = circle_frequencies(p)
    assert list(ks) == list(range(1, count + 1))
    assert [k for k in range(1, p) if 2 * k < p] == list(ks)
    assert signals(normal(p, 2)).shape == (count,)
