"""Principal planes of every trial's embedding against its Fourier planes (paper, Fig. 3)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from fittest.design import Survival
from fittest.files import describe
from fittest.gathering import gather
from fittest.planes import (
    SIGNIFICANT,
    PrincipalPlane,
    principal_planes,
    significant,
    singular_values,
)
from fittest.survival import MISSING
from fittest.tables.survival import survival_of

_FLAG: dict[str, Any] = {"flag_values": [0, 1], "flag_meanings": "no yes"}


def gather_planes(paths: Iterable[Path], thresholds: Survival) -> xr.Dataset:
    """Return the principal planes of every trial's final embedding.

    Parameters
    ----------
    paths
        The trajectory files of all the experiment's blocks.
    thresholds
        Of the survival rules.

    Returns
    -------
    xarray.Dataset
        Over `trial`: `significant`, -1 where the trial diverged; over `trial`, the
        last `horizon` and `rule`: `circles`; over `trial` and `plane`, missing beyond the
        significant pairs: `angle`, `nearest` (circle), `ambiguous`, and `initial_angle`, that of as
        many pairs of the embedding at step 0.
    """
    return gather(paths, lambda t: planes_of(t, thresholds))


def planes_of(t: xr.Dataset, thresholds: Survival) -> xr.Dataset:
    """Return the planes table of one block."""
    last = int(t["step"][-1])
    circles = survival_of(t, thresholds, [last])["circles"]
    finals = t["final_embedding"].values.astype(np.float64)
    initials = t["initial_embedding"].values.astype(np.float64)
    shape = (len(finals), max(min(finals.shape[1:]) // 2, 1))
    counts = np.full(len(finals), MISSING, dtype=np.int16)
    angle, initial_angle = np.full(shape, np.nan), np.full(shape, np.nan)
    frequency = np.full(shape, MISSING, dtype=np.int64)
    ambiguous = np.full(shape, MISSING, dtype=np.int8)
    seen: dict[bytes, list[PrincipalPlane]] = {}
    for i, (final, initial) in enumerate(zip(finals, initials, strict=True)):
        if not np.isfinite(final).all():
            continue
        counts[i] = significant(singular_values(final)[0])
        found = principal_planes(final)
        for plane in found:
            at = i, plane.index
            angle[at], frequency[at] = plane.angle, plane.frequency
            ambiguous[at] = plane.ambiguous
        # Trials of a shared embedding begin alike: once is enough, unless one needs more pairs.
        key = initial.tobytes()
        if len(seen.get(key, [])) < len(found):
            seen[key] = principal_planes(initial, len(found))
        for plane in seen[key][: len(found)] if found else []:
            initial_angle[i, plane.index] = plane.angle
    dims = ("trial", "plane")
    out = xr.Dataset(
        {
            "significant": (
                "trial",
                counts,
                describe(
                    f"singular values of the centred embedding above {SIGNIFICANT:g} of the "
                    "largest; -1 where the trial diverged"
                ),
            ),
            "circles": circles,
            "angle": (
                dims,
                angle,
                describe("largest principal angle to the nearest Fourier plane", "degree"),
            ),
            "nearest": (dims, frequency, describe("circle of that plane; -1 where none", "1/p")),
            "ambiguous": (
                dims,
                ambiguous,
                describe("nearly equal singular values make the pairing arbitrary", **_FLAG),
            ),
            "initial_angle": (dims, initial_angle, describe("the same at step 0", "degree")),
        },
        coords={"plane": ("plane", np.arange(shape[1]), describe("place of the pair, from 0"))},
    )
    return out.transpose("trial", "plane", "horizon", "rule")
