"""Changing the spectrum of an embedding: pure functions that act on its DFT over tokens.

Each takes and returns a real array of shape (p, d). Frequencies are circles, 1 … ⌊(p - 1)/2⌋.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fittest.fourier import circle_frequencies, coefficients, from_coefficients

CONSTRUCTED_SIGNAL = 80.0
"""Signal of the first constructed circle (paper, Sec. 3.2.1)."""

NEAR_ZERO_SIGNAL = 1e-6
"""Signal of every circle that is not constructed."""


def scale(embedding: np.ndarray, k: int, factor: float) -> np.ndarray:
    """Multiply circle k by a factor (paper, Fig. 6 middle); every other bin stays."""
    _check(embedding.shape[0], [k])
    if factor == 1.0:
        return embedding.copy()  # the bits of the unperturbed trial, not a round trip of the DFT
    spectrum = coefficients(embedding)
    spectrum[k] *= factor
    return from_coefficients(spectrum, embedding.shape[0])


def keep(embedding: np.ndarray, frequencies: Iterable[int]) -> np.ndarray:
    """Zero every DFT bin, k = 0 included, except the circles named (paper, App. C)."""
    frequencies = list(frequencies)
    _check(embedding.shape[0], frequencies)
    spectrum = coefficients(embedding)
    kept = np.zeros_like(spectrum)
    kept[frequencies] = spectrum[frequencies]
    return from_coefficients(kept, embedding.shape[0])


def construct(
    rng: np.random.Generator, p: int, d: int, ratio: float, phase: str = "circle"
) -> tuple[np.ndarray, tuple[int, int]]:
    """Build an embedding with two chosen circles and all others near zero (paper, Fig. 6 right).

    Parameters
    ----------
    rng
        Draws the two circles and every direction.
    p, d
        Tokens and embedding dimension, d ≥ 2 for `phase="circle"`.
    ratio
        Signal of the second circle over that of the first (`CONSTRUCTED_SIGNAL`).
    phase
        `circle` draws orthonormal real and imaginary directions, so that each is a true circle;
        `line` one real direction for both halves, so that the tokens lie on a line (the protocol
        behind the published curve).

    Returns
    -------
    (numpy.ndarray, (int, int))
        The embedding, shape (p, d), float64, and the two circles, the stronger first.
    """
    ks = circle_frequencies(p)
    first, second = (int(k) for k in rng.choice(ks, size=2, replace=False))
    spectrum = np.zeros((p // 2 + 1, d), dtype=np.complex128)
    for k in ks:
        signal = {first: CONSTRUCTED_SIGNAL, second: ratio * CONSTRUCTED_SIGNAL}.get(
            int(k), NEAR_ZERO_SIGNAL
        )
        if phase == "circle":
            # The Q of a Gaussian matrix: two orthonormal directions in uniformly random position.
            basis, _ = np.linalg.qr(rng.standard_normal((d, 2)))
            direction = (basis[:, 0] + 1j * basis[:, 1]) / np.sqrt(2)
        else:
            real = rng.standard_normal(d)
            direction = real / np.linalg.norm(real)
        spectrum[k] = signal * direction
    return from_coefficients(spectrum, p), (first, second)


def _check(p: int, frequencies: list[int]) -> None:
    for k in frequencies:
        if not 1 <= k <= (p - 1) // 2:
            raise ValueError(
                f"frequency {k} is not a circle at p = {p}: circles are 1 … {(p - 1) // 2}"
            )
