"""The rank of every initial embedding, and how well its best linear projections are circles."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.files import describe
from fittest.fourier import circle_frequencies
from fittest.gathering import gather


def gather_rank(paths: Iterable[Path]) -> xr.Dataset:
    """Return rank and projection residual of the initial embedding of every trial (Sec. 3.1).

    Returns
    -------
    xarray.Dataset
        Over the experiment's axes and `trial`: `rank`, and `residual`, the largest over circles
        (see `projection`).
    """

    def block(t: xr.Dataset) -> xr.Dataset:
        found = [projection(embedding) for embedding in t["initial_embedding"].values]
        ranks, residuals = zip(*found, strict=True)
        return xr.Dataset(
            {
                "rank": (
                    "trial",
                    np.array(ranks, dtype=np.int64),
                    describe("numerical rank of the initial embedding"),
                ),
                "residual": (
                    "trial",
                    np.array([r.max(initial=0.0) for r in residuals]),
                    describe(
                        "relative residual of the best linear projection of the initial embedding "
                        "on a circle, largest over circles"
                    ),
                ),
            },
            coords={"trial": t["trial"]},
        )

    return gather(paths, block)


def projection(embedding: np.ndarray) -> tuple[int, np.ndarray]:
    """Return the rank of an embedding, and how far its best projections are from circles.

    For circle k, C_k has the columns cos(2πkn/p) and sin(2πkn/p) over tokens n, and the residual
    is min over W of ‖E W - C_k‖ / ‖C_k‖ (Frobenius), W of shape (d, 2). It is 0 where the columns
    of E span C_k, as they do when the rank is p.

    Parameters
    ----------
    embedding
        E, shape (p, d).

    Returns
    -------
    (int, numpy.ndarray)
        The rank, counting singular values above max(p, d)·ε of the largest, ε that of float64; and
        the residual of every circle, shape (⌊(p - 1)/2⌋,).
    """
    e = np.asarray(embedding, dtype=np.float64)
    p = len(e)
    angle = 2 * np.pi * np.outer(np.arange(p), circle_frequencies(p)) / p
    circles = np.stack([np.cos(angle), np.sin(angle)], axis=-1)  # (p, K, 2)
    flat = circles.reshape(p, -1)
    weights, _, rank, _ = np.linalg.lstsq(e, flat)
    error = np.linalg.norm((e @ weights - flat).reshape(circles.shape), axis=(0, 2))
    return int(rank), error / np.linalg.norm(circles, axis=(0, 2))
