"""What a network can do with only some of its circles (paper, Fig. 8).

Of the embedding, every circle that is not kept is set to zero; the mean over tokens (k = 0) stays,
and for even p so does k = p/2, which is no circle either. The rest of the network is as it was.

The discrete Fourier transform runs over tokens and the first layer over dimensions, so that the two
commute: the circles are taken out of E W₁ᵃ and E W₁ᵇ, of shape (p, h), and of the embedding itself
only once for all kept sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fittest.fourier import circle_frequencies, coefficients, from_coefficients
from fittest.task import labels

SETS = ("one", "two", "three")
"""Kept sets of a circle i: {i}; {strongest, i}; {strongest, third strongest survivor, i}."""


def kept_sets(final_signal: np.ndarray, survives: np.ndarray) -> np.ndarray:
    """Return which circles each kept set of each circle holds.

    The strongest and the third strongest are those of the survivors by signal at the last step. A
    set of a trial with too few survivors for it is missing: it holds no circle.

    Parameters
    ----------
    final_signal
        Shape (K,).
    survives
        Shape (K,): whether the circle survives.

    Returns
    -------
    numpy.ndarray
        Shape (3, K, K), bool: set (in the order of `SETS`), circle i, circle kept.
    """
    survives = np.asarray(survives, dtype=bool)
    order = np.argsort(np.where(survives, -np.asarray(final_signal), np.inf), kind="stable")
    kept = np.stack([np.eye(len(survives), dtype=bool)] * len(SETS))
    for place, others, needed in ((1, [0], 1), (2, [0, 2], 3)):
        if survives.sum() < needed:
            kept[place] = False
        else:
            kept[place][:, order[others]] = True
    return kept


def evaluate_kept(
    parameters: Sequence[np.ndarray],
    kept: np.ndarray,
    *,
    activation: str = "silu",
    operation: str = "addition",
) -> tuple[np.ndarray, np.ndarray]:
    """Return loss and accuracy of a network on all p² pairs with only some circles kept.

    Circles are taken out in float64; the network then runs in the type of its parameters, that in
    which it was trained: with the exact form of the loss float32 keeps five digits of it.

    Parameters
    ----------
    parameters
        Embedding (p, d), w1 (2d, h), b1, w2, b2, w3, b3 as in `fittest.training.arrays.Parameters`,
        of one network.
    kept
        Shape (S, K), bool: in each of S sets, whether circle k = 1 … K is kept.
    activation, operation
        The protocol's.

    Returns
    -------
    (numpy.ndarray, numpy.ndarray)
        Mean loss (nats) and share of right answers, each of shape (S,), float64. NaN where the
        network diverged, and for a set that keeps no circle, which is a missing one.
    """
    embedding, w1, *upper = parameters
    p = len(embedding)
    if kept.ndim != 2 or kept.shape[1] != (p - 1) // 2:
        raise ValueError(f"kept has shape {kept.shape}: at p = {p} it must be (S, {(p - 1) // 2})")
    answers = labels(p, operation)
    found = np.full((2, len(kept)), np.nan)
    if not all(np.isfinite(array).all() for array in parameters):
        return found[0], found[1]
    rest, of_circle = _first_layer(embedding, w1)
    unlike, place = np.unique(kept, axis=0, return_inverse=True)
    with np.errstate(over="ignore", invalid="ignore"):
        for i, circles in enumerate(unlike):
            if circles.any():
                from_a, from_b = (rest + of_circle[circles].sum(axis=0)).astype(embedding.dtype)
                logits = _logits(from_a, from_b, upper, ACTIVATIONS[activation])
                found[:, place.ravel() == i] = np.array(_scores(logits, answers))[:, None]
    return found[0], found[1]


def _first_layer(embedding: np.ndarray, w1: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what each token adds to the first layer, in float64, first as a and second as b.

    Of what is no circle, shape (2, p, h), and of each circle, shape (K, 2, p, h).
    """
    p, d = embedding.shape
    both = np.matmul(embedding.astype(np.float64), w1.astype(np.float64).reshape(2, d, -1))
    spectrum = coefficients(both)
    circles = circle_frequencies(p)
    apart = np.zeros((len(circles), *spectrum.shape), dtype=complex)
    for row, k in enumerate(circles):
        apart[row, :, k] = spectrum[:, k]
    spectrum[:, circles] = 0
    return from_coefficients(spectrum, p), from_coefficients(apart, p)


def _logits(
    from_a: np.ndarray,
    from_b: np.ndarray,
    upper: Sequence[np.ndarray],
    activate: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the logits of all pairs, shape (p², p), from the first layer's two summands."""
    b1, w2, b2, w3, b3 = upper
    hidden = ((from_a + b1)[:, None] + from_b).reshape(-1, len(b1))
    hidden = activate(hidden) @ w2
    hidden += b2
    logits = activate(hidden) @ w3
    logits += b3
    return logits


def _silu_(x: np.ndarray) -> np.ndarray:
    share = np.exp(-x)  # where this overflows, x / (1 + inf) is 0, as it should be
    share += 1
    x /= share
    return x


def _relu_(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0, out=x)


ACTIVATIONS = {"silu": _silu_, "relu": _relu_}
"""Activation of a protocol → its function, which overwrites its argument."""


def _scores(logits: np.ndarray, answers: np.ndarray) -> tuple[float, float]:
    """Return mean exact cross-entropy and accuracy; see `fittest.training.loss`. Overwrites."""
    pair = np.arange(len(answers))
    true = logits[pair, answers]
    logits[pair, answers] = -np.inf
    largest = logits.max(axis=1)
    logits -= largest[:, None]
    margin = np.log(np.exp(logits, out=logits).sum(axis=1)) + largest - true
    loss = np.maximum(margin, 0) + np.log1p(np.exp(-np.abs(margin)))
    return float(loss.mean(dtype=np.float64)), float((true > largest).mean())
