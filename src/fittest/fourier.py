"""Fourier analysis of an embedding over its tokens: signals, circles, circularity, planes.

F_k = Σ_n exp(-2πi k n / p) E_n is a vector in C^d. For a real embedding F_{p-k} is the conjugate
of F_k, so the circles are k = 1 … ⌊(p - 1)/2⌋; k = 0 and, for even p, k = p/2 are not circles.
Leading axes of every array are batch axes.
"""

from __future__ import annotations

from math import gcd

import numpy as np

# Re or Im F_k is zero where it is below this share of ‖F_k‖: rounding to float32 leaves 1e-7 of it.
_ZERO = 1e-5


def circle_frequencies(p: int) -> np.ndarray:
    """Return the frequencies that are circles: 1 … ⌊(p - 1)/2⌋, int64."""
    return np.arange(1, (p - 1) // 2 + 1)


def coefficients(embedding: np.ndarray) -> np.ndarray:
    """Return F_k for k = 0 … ⌊p/2⌋.

    Parameters
    ----------
    embedding
        Shape (…, p, d), real.

    Returns
    -------
    numpy.ndarray
        Shape (…, ⌊p/2⌋ + 1, d), complex128.
    """
    return np.fft.rfft(np.asarray(embedding, dtype=np.float64), axis=-2)


def from_coefficients(spectrum: np.ndarray, p: int) -> np.ndarray:
    """Return the real embedding (…, p, d) whose `coefficients` are the spectrum given."""
    return np.fft.irfft(spectrum, n=p, axis=-2)


def signals(embedding: np.ndarray) -> np.ndarray:
    """Return the signal S_k = ‖F_k‖₂ of every circle (the norm, as in the paper's figures).

    Parameters
    ----------
    embedding
        Shape (…, p, d).

    Returns
    -------
    numpy.ndarray
        Shape (…, ⌊(p - 1)/2⌋), float64, in units of the embedding's entries. With N(0, 1) entries
        about √(p·d).
    """
    p = embedding.shape[-2]
    return np.linalg.norm(coefficients(embedding), axis=-1)[..., 1 : (p - 1) // 2 + 1]


def mean_signal(embedding: np.ndarray) -> np.ndarray:
    """Return the mean of S over all p DFT bins: k = 0 and both halves included. Shape (…)."""
    p = embedding.shape[-2]
    norms = np.linalg.norm(coefficients(embedding), axis=-1)
    return norms @ bin_multiplicity(p) / p


def bin_multiplicity(p: int) -> np.ndarray:
    """Return how many of the p DFT bins each bin of `coefficients` stands for: 1 or 2."""
    multiplicity = np.full(p // 2 + 1, 2.0)
    multiplicity[0] = 1.0
    if p % 2 == 0:
        multiplicity[-1] = 1.0
    return multiplicity


def plane(embedding: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit vectors along Re F_k and Im F_k, each of shape (d,).

    A direction that is zero, as for a circle squeezed to a line, is returned as NaN: it is missing.
    """
    real, imag = _directions(coefficients(embedding)[k])
    return real, imag


def _directions(f: np.ndarray) -> list[np.ndarray]:
    """Return the unit vectors along Re F_k and Im F_k, of F's shape, NaN where missing."""
    size = np.linalg.norm(f, axis=-1, keepdims=True)
    units = []
    for vector in (f.real, f.imag):
        length = np.linalg.norm(vector, axis=-1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            units.append(np.where(length > _ZERO * size, vector / length, np.nan))
    return units


def project(embedding: np.ndarray, basis: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return the embedding's coordinates in a plane given by two directions: shape (p, 2)."""
    return embedding @ np.stack(basis, axis=-1)


def circularity(embedding: np.ndarray) -> np.ndarray:
    """Return the circularity of every circle (paper, App. B, eq. 5).

    For a projection X of the tokens on a unit vector, c = 2/(p Σ_j X_j²) · |Σ_j X_j e^{2πijk/p}|².
    The circle's circularity is the root mean square of c over the directions Re F_k and Im F_k. It
    is 1 exactly when both projections are pure sinusoids of frequency k; for N(0, 1) entries about
    d/(d + p).

    Parameters
    ----------
    embedding
        Shape (…, p, d).

    Returns
    -------
    numpy.ndarray
        Shape (…, ⌊(p - 1)/2⌋), dimensionless, NaN where a direction is missing.
    """
    p = embedding.shape[-2]
    k = circle_frequencies(p)
    f = coefficients(embedding)[..., k, :]
    total = np.zeros(f.shape[:-1])
    for direction in _directions(f):
        x = np.einsum("...nd,...kd->...nk", embedding, direction)
        wave = np.exp(2j * np.pi * np.outer(np.arange(p), k) / p)
        power = np.abs(np.einsum("...nk,nk->...k", x, wave)) ** 2
        total += (2 * power / (p * np.sum(x**2, axis=-2))) ** 2
    return np.sqrt(total / 2)


def token_increment(k: int, p: int) -> int | None:
    """Return Δ, the token increment between neighbours on circle k: Δ·k ≡ ±1 (mod p).

    Of the two solutions the even one where there is one (the paper prints 30 for k = 2 at p = 59),
    else the smaller. None when gcd(k, p) > 1, where neighbours coincide in k.
    """
    if gcd(k, p) != 1:
        return None
    delta = pow(k, -1, p)
    return min((delta, p - delta), key=lambda x: (x % 2, x))
