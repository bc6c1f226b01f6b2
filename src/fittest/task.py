"""The task: pairs of tokens, their labels, and which pairs are for training.

A pair (a, b) is known by its index a·p + b, from 0 to p² - 1.
"""

from __future__ import annotations

import numpy as np

OPERATIONS = {"addition": lambda a, b, p: (a + b) % p}
"""Modular operations by name: functions of integer arrays a and b and the modulus p."""


def labels(p: int, operation: str = "addition") -> np.ndarray:
    """Return the label c of every pair, in pair order: shape (p²,), int64, values 0 … p - 1."""
    a, b = np.divmod(np.arange(p * p), p)
    return OPERATIONS[operation](a, b, p)


def training_pairs_count(p: int, share: float) -> int:
    """Return how many of the p² pairs are for training: floor(share · p²).

    A relative 1e-12 is added first, so that a product which is whole in exact arithmetic
    (0.29 · 10² = 29) is not lost to rounding.
    """
    return int(np.floor(share * p * p * (1 + 1e-12)))


def draw_training_pairs(rng: np.random.Generator, p: int, share: float) -> np.ndarray:
    """Draw the training pairs without replacement.

    Returns
    -------
    numpy.ndarray
        Shape (floor(share · p²),), int64 pair indices in increasing order, so that gathering by a
        reads memory in sequence.
    """
    return np.sort(rng.permutation(p * p)[: training_pairs_count(p, share)])


def test_pairs(p: int, training: np.ndarray) -> np.ndarray:
    """Return the pairs that are not for training, in increasing order, int64."""
    return np.setdiff1d(np.arange(p * p), training, assume_unique=True)


# pytest collects by name: this is a function of the package, not a test.
test_pairs.__test__ = False  # type: ignore[attr-defined]
