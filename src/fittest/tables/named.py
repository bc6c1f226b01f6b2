"""Which circles each trial's intervention named: needed where it drew them (paper, Fig. 6)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import xarray as xr

from fittest.errors import FileError
from fittest.gathering import gather


def gather_named(paths: Iterable[Path]) -> xr.Dataset:
    """Return the circles that the interventions of an experiment named, trial by trial.

    Parameters
    ----------
    paths
        The trajectory files of all its blocks.

    Returns
    -------
    xarray.Dataset
        Over the table's axes, `trial` and `named`: `named_frequency`, in the order that the
        intervention names them (of `construct` the stronger first); -1 where there is none.

    Raises
    ------
    FileError
        Where a block's intervention names no circle.
    """
    return gather(paths, _named)


def _named(t: xr.Dataset) -> xr.Dataset:
    if "named_frequency" not in t:
        raise FileError(
            f"intervention {t.attrs['intervention']!r} names no circle: give trajectories of "
            "interventions that do"
        )
    return t[["named_frequency"]]
