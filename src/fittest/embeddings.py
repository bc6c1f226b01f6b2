"""The file of a shared base embedding, with its spectrum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from fittest.errors import FileError
from fittest.files import describe, open_dataset, write_dataset
from fittest.fourier import circle_frequencies, circularity, coefficients, signals
from fittest.provenance import provenance
from fittest.seeds import draw_embedding

KIND = "embedding"


def embedding_dataset(seed: int, p: int, d: int, index: int) -> xr.Dataset:
    """Return base embedding `index` of a design's seed, with coefficients, signals, circularity."""
    embedding = draw_embedding(seed, p, d, embedding=index)
    f = coefficients(embedding)
    return xr.Dataset(
        {
            "embedding": (
                ("token", "dimension"),
                embedding,
                describe("base embedding", "embedding unit"),
            ),
            "coefficient_real": (
                ("bin", "dimension"),
                f.real,
                describe("real part of the DFT over tokens", "embedding unit"),
            ),
            "coefficient_imag": (
                ("bin", "dimension"),
                f.imag,
                describe("imaginary part of the DFT over tokens", "embedding unit"),
            ),
            "signal": (
                ("frequency",),
                signals(embedding),
                describe("signal S_k, norm of F_k", "embedding unit"),
            ),
            "circularity": (("frequency",), circularity(embedding), describe("circularity")),
        },
        coords={
            "token": ("token", np.arange(p), describe("token (row of the embedding)")),
            "dimension": ("dimension", np.arange(d), describe("embedding dimension (column)")),
            "bin": ("bin", np.arange(p // 2 + 1), describe("DFT bin k", "1/p")),
            "frequency": (
                "frequency",
                circle_frequencies(p),
                describe("Fourier frequency k of a circle", "1/p"),
            ),
        },
        attrs={"p": p, "d": d, "embedding_index": index, "seed": seed, **provenance()},
    )


def write_embedding(path: Path, seed: int, p: int, d: int, index: int) -> None:
    """Draw a base embedding and write its file."""
    write_dataset(embedding_dataset(seed, p, d, index), path, KIND)


def read_embedding(path: Path, seed: int, p: int, d: int, index: int) -> np.ndarray:
    """Return the embedding of a file, shape (p, d), float64.

    Raises
    ------
    FileError
        If the file is unusable, or holds another embedding than the one asked for.
    """
    dataset = open_dataset(path, KIND)
    asked = {"p": p, "d": d, "embedding_index": index, "seed": seed}
    held = {key: int(dataset.attrs.get(key, -1)) for key in asked}
    if held != asked:
        raise FileError(f"{path} holds the embedding of {held}, not {asked}. Remove it.")
    return dataset["embedding"].values
