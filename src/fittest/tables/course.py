"""Comparing trainings of the very same trials: in several arithmetics, or by several engines.

A course table follows each trial under each way through all recorded steps, and says of each pair
of ways how far their signals are apart.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.errors import FileError
from fittest.files import describe
from fittest.gathering import gather
from fittest.survival import MISSING, RULES, survived

RULE = "relative"
"""The survival rule of circle counts and survivors, the paper's."""

_SCORES = ("train_loss", "test_loss", "test_accuracy")
# Rounding to the arithmetic of a way, and nothing else, may set initial signals apart.
_SAME_START = 1e-5


def gather_course(
    paths: Iterable[Path], thresholds: Survival, *, by_engine: bool = False
) -> xr.Dataset:
    """Return the course table of an experiment that trains the same trials in several ways.

    Parameters
    ----------
    paths
        The trajectory files of all its blocks, under all protocols or by all engines.
    thresholds
        Of the survival rules.
    by_engine
        Whether the ways are engines; otherwise they are protocols.

    Returns
    -------
    xarray.Dataset
        Over `way`, `trial` and `step`: losses, test accuracy and number of `circles`; over `pair`,
        `trial` and `step`: `distance` and `survivor_distance`; over `way`, `step` and `frequency`:
        `signal` of the first trial. Steps are those that every way recorded. The way computed in
        float64, where there is one, comes first.

    Raises
    ------
    FileError
        Where the ways differ in more than one thing, or did not start from the same arrays.
    """
    along = "engine" if by_engine else "protocol"
    table = gather(paths, _life, by_engine=by_engine)
    other = [d for d in table.dims if d not in ("trial", "step", "frequency")]
    if other != [along]:
        raise FileError(
            f"these trajectories differ in {' and '.join(map(str, other)) or 'nothing'}: a course "
            f"compares the same trials along {along} only"
        )
    table = table.rename({along: "way"}).transpose("way", "trial", "step", "frequency")
    table = table.isel(way=_order(table), step=_common(table)).drop_vars("recorded")
    signal = table["signal"].values.astype(np.float64)
    _check_start(signal[:, :, 0], table["way"].values)
    flags = survived(
        signal, signal[:, :, :1], table["mean_signal"].values.astype(np.float64), thresholds
    )[..., RULES.index(RULE)]
    circles = flags.sum(axis=-1, dtype=np.int16)
    circles[(flags == MISSING).any(axis=-1)] = MISSING

    pairs = list(itertools.combinations(range(len(signal)), 2))
    distances = [distance(signal[a], signal[b], flags[a, :, -1]) for a, b in pairs]
    ways = [str(w) for w in table["way"].values]
    course = table[list(_SCORES)]
    course["signal"] = table["signal"].isel(trial=0, drop=True)
    course["signal"].attrs["long_name"] = "signal S_k of the first trial"
    course = course.assign_coords(
        way=("way", ways, describe(f"{along} under which, or by which, the trial was trained")),
        pair=("pair", [f"{ways[a]} and {ways[b]}" for a, b in pairs], describe("two ways")),
        first=("pair", [ways[a] for a, _ in pairs], describe("first way of the pair")),
        second=("pair", [ways[b] for _, b in pairs], describe("second way of the pair")),
    )
    course["circles"] = (
        ("way", "trial", "step"),
        circles,
        describe("number of circles that would survive if training ended here; -1 diverged"),
    )
    for i, (name, text) in enumerate(
        (
            ("distance", "largest difference of a circle's signal over the largest signal"),
            (
                "survivor_distance",
                "largest relative difference of signal among the circles that survive the first "
                "way",
            ),
        )
    ):
        values = np.stack([both[i] for both in distances]).astype(np.float32)
        course[name] = (("pair", "trial", "step"), values, describe(text))
    return course.assign_attrs(along=along)


def _life(t: xr.Dataset) -> xr.Dataset:
    """Return what a course needs of a block. A number that is missing may also have diverged."""
    kept = t[["signal", "mean_signal", *_SCORES]]
    there = np.ones((t.sizes["trial"], t.sizes["step"]), dtype=np.int8)
    return kept.assign(recorded=(("trial", "step"), there, describe("recorded")))


def distance(a: np.ndarray, b: np.ndarray, fate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how far apart two trainings of the same trials are.

    Parameters
    ----------
    a, b
        Signals, shape (trial, step, circle).
    fate
        Shape (trial, circle): 1 where the circle survives in the first.

    Returns
    -------
    (numpy.ndarray, numpy.ndarray)
        Shape (trial, step): max_k |a_k - b_k| / max_k a_k, and max over survivors k of
        |a_k - b_k| / a_k; NaN where there is no survivor.
    """
    alive = np.broadcast_to((fate == 1)[:, None, :], a.shape)
    with np.errstate(invalid="ignore", divide="ignore"):  # of trials that diverged
        apart = np.abs(a - b)
        overall = apart.max(axis=-1) / a.max(axis=-1)
        relative = np.where(alive, apart / a, -np.inf).max(axis=-1)
    return overall, np.where(np.isneginf(relative), np.nan, relative)


def _order(table: xr.Dataset) -> list[int]:
    """Return the order of the ways: float64 first, for it is the nearest to exact."""
    values = json.loads(table.attrs["protocol"])
    double = [
        isinstance(v := values.get(str(way)), dict) and v["arithmetic"] == "float64"
        for way in table["way"].values
    ]
    return sorted(range(len(double)), key=lambda i: not double[i])


def _common(table: xr.Dataset) -> np.ndarray:
    """Return the rows of the steps that all ways recorded, and refuse missing trials."""
    recorded = table["recorded"].transpose("way", "trial", "step").values == 1
    for way, there in zip(table["way"].values, recorded.any(axis=2), strict=True):
        if not there.all():
            missing = table["trial"].values[~there].tolist()
            raise FileError(f"{way} lacks trials {missing}: give every way the same trials")
    return np.flatnonzero(recorded.all(axis=(0, 1)))


def _check_start(initial: np.ndarray, ways: np.ndarray) -> None:
    """Refuse ways that did not start from the same arrays: shape (way, trial, circle)."""
    for way, other in zip(ways[1:], initial[1:], strict=True):
        if not np.allclose(other, initial[0], rtol=_SAME_START, atol=0):
            raise FileError(
                f"{ways[0]} and {way} did not start from the same arrays: their initial signals "
                "differ. Give trajectories of the same seed and trials"
            )
