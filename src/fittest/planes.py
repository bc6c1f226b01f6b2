"""Principal planes of an embedding against its Fourier planes (paper, Fig. 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import subspace_angles

from fittest.fourier import circle_frequencies, plane

SIGNIFICANT = 0.05
"""A singular value counts where it is above this share of the largest."""

NEARLY_EQUAL = 0.05
"""Where a pair's singular values come this near a neighbouring pair's, relatively, the principal
axes of both can turn into each other, and the pairing is arbitrary."""


@dataclass(frozen=True)
class PrincipalPlane:
    """Two neighbouring principal axes, and the Fourier plane nearest to them.

    index
        0 for the first two axes, 1 for the next two, …
    basis
        The two axes, shape (2, d).
    frequency
        The circle whose plane is nearest: its largest principal angle is smallest.
    angle
        That angle, degrees, 0 … 90.
    ambiguous
        Whether the pairing is arbitrary, by `NEARLY_EQUAL`.
    """

    index: int
    basis: np.ndarray
    frequency: int
    angle: float
    ambiguous: bool


def singular_values(embedding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return singular values, largest first, and principal axes (rows) of the centred embedding."""
    if not np.isfinite(embedding).all():  # of a trial that diverged
        return np.zeros(min(embedding.shape)), np.zeros_like(embedding)
    _, values, axes = np.linalg.svd(embedding - embedding.mean(axis=0), full_matrices=False)
    return values, axes


def significant(values: np.ndarray) -> int:
    """Return how many singular values are above `SIGNIFICANT` of the largest."""
    return int(np.sum(values > SIGNIFICANT * values[0])) if values[0] > 0 else 0


def principal_planes(embedding: np.ndarray, most: int | None = None) -> list[PrincipalPlane]:
    """Pair the significant principal axes and find the Fourier plane nearest to each pair.

    Parameters
    ----------
    embedding
        Shape (p, d), d ≥ 2.
    most
        Only the first so many pairs; all by default.

    Returns
    -------
    list of PrincipalPlane
        One for each two significant axes; an odd one left over is not in any plane. Circles whose
        plane is missing (squeezed to a line) are not candidates.
    """
    values, axes = singular_values(embedding)
    frequencies = circle_frequencies(len(embedding))
    fourier = np.array([np.transpose(plane(embedding, int(k))) for k in frequencies])
    whole = np.isfinite(fourier).all(axis=(1, 2))
    frequencies, fourier = frequencies[whole], fourier[whole]
    if not len(fourier):
        return []
    orthonormal, _ = np.linalg.qr(fourier)
    pairs = significant(values) // 2
    planes = []
    for index in range(pairs if most is None else min(pairs, most)):
        pair = slice(2 * index, 2 * index + 2)
        # The cosine of the largest angle is the least singular value of the bases' product.
        cosines = np.linalg.svd(axes[pair] @ orthonormal, compute_uv=False)[:, -1]
        nearest = int(np.argmax(cosines))
        angle = float(np.degrees(subspace_angles(axes[pair].T, fourier[nearest])[0]))
        planes.append(
            PrincipalPlane(
                index, axes[pair], int(frequencies[nearest]), angle, _ambiguous(values, pair)
            )
        )
    return planes


def _ambiguous(values: np.ndarray, pair: slice) -> bool:
    """Say whether the pair's values come near the last of the pair before or the first after."""
    above = values[pair.start - 1] if pair.start > 0 else np.inf
    below = values[pair.stop] if pair.stop < len(values) else 0.0
    return bool(
        above - values[pair.start] < NEARLY_EQUAL * values[pair.start]
        or values[pair.stop - 1] - below < NEARLY_EQUAL * values[pair.stop - 1]
    )
