"""One tree of random seeds for everything that is drawn.

A stream is named by what is drawn and for whom, never by the experiment that asks: embedding 3 is
the same array in every experiment, and trial 7 of a perturbation by a factor of one is trial 7 of
the unperturbed embedding.
"""

from __future__ import annotations

import numpy as np

# The numbers are part of every seed: never renumber, only append.
ROLES = {"embedding": 0, "mlp": 1, "split": 2, "construction": 3, "keep": 4}

# Keeps the streams of embeddings redrawn per trial apart from those of every shared embedding.
_REDRAWN = 2**32 - 1


def stream(
    seed: int, role: str, *, embedding: int | None, trial: int, shape: tuple[int, ...]
) -> np.random.Generator:
    """Return the random generator of one draw.

    Parameters
    ----------
    seed
        The design's seed, 0 or greater.
    role
        What is drawn: a key of `ROLES`.
    embedding
        Index of the shared base embedding, or None where each trial draws its own.
    trial
        Trial number within its cell; 0 for a draw that all trials share.
    shape
        The sizes that fix the drawn array, so that changing one of them is a new stream.

    Returns
    -------
    numpy.random.Generator
        A PCG64 generator at the start of the stream.
    """
    where = _REDRAWN if embedding is None else embedding
    return np.random.default_rng(
        np.random.SeedSequence(seed, spawn_key=(ROLES[role], where, trial, *shape))
    )


def draw_embedding(
    seed: int, p: int, d: int, *, embedding: int | None, trial: int = 0
) -> np.ndarray:
    """Draw a base embedding with N(0, 1) entries (method: Sec. 2 of the paper).

    A shared embedding (an index) does not depend on the trial; a redrawn one (None) does.

    Returns
    -------
    numpy.ndarray
        Shape (p, d), float64.
    """
    trial = trial if embedding is None else 0
    rng = stream(seed, "embedding", embedding=embedding, trial=trial, shape=(p, d))
    return rng.standard_normal((p, d))
