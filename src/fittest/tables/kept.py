"""The kept table: what networks do with one, two or three of their circles (paper, Fig. 8)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from fittest.collaboration import SETS, evaluate_kept, kept_sets
from fittest.design import Survival
from fittest.errors import FileError
from fittest.files import describe
from fittest.gathering import gather
from fittest.protocol import Protocol
from fittest.survival import MISSING
from fittest.tables.survival import survival_of
from fittest.trajectories import protocol_of
from fittest.trajectory_schema import NETWORK, SCHEMA

RULE = "relative"
"""The survival rule that says who survives, the paper's."""


def gather_kept(paths: Iterable[Path], thresholds: Survival) -> xr.Dataset:
    """Return loss and accuracy of stored networks with only some of their circles kept.

    Parameters
    ----------
    paths
        The trajectory files of all blocks of an experiment whose protocol stores networks. Of each
        block the first trial counts: its networks are the ones stored.
    thresholds
        Of the survival rules.

    Returns
    -------
    xarray.Dataset
        Over `trial`, `set`, `frequency` (circle i) and `step`: `loss` and `accuracy` on all p²
        pairs; over `trial` and `step` those of the whole network; over `trial`, `set` and
        `frequency` how many circles are `kept`; `signal` and `survived` at the last step.

    Raises
    ------
    FileError
        Where a file stores no networks.
    """
    return gather(paths, lambda t: kept_of(t, thresholds))


def kept_of(t: xr.Dataset, thresholds: Survival) -> xr.Dataset:
    """Return the kept table of the first trial of a block."""
    if NETWORK[0] not in t:
        raise FileError(
            f"protocol {t.attrs['protocol_name']!r} stores no networks, and circles can only be "
            "taken out of stored ones: set `record: {networks: 100}` and train again"
        )
    protocol = protocol_of(t, "a trajectory file")
    last = [int(t["step"][-1])]
    fate = survival_of(t, thresholds, last)["survived"].sel(rule=RULE, horizon=last[0], drop=True)
    fate = fate.isel(trial=[0])
    signal = t["signal"].isel(trial=[0], step=-1, drop=True)
    kept = kept_sets(signal.values[0], fate.values[0] == 1)
    loss, accuracy, whole = evaluated(t, kept, protocol)
    count = kept.sum(axis=2, dtype=np.int16)
    axes = ("trial", "set", "frequency")
    only = "of the network with the circles of the kept set only"
    return xr.Dataset(
        {
            "loss": (
                (*axes, "step"),
                loss[None],
                describe(f"mean loss on all pairs {only}", "nat"),
            ),
            "accuracy": (
                (*axes, "step"),
                accuracy[None],
                describe(f"share of all pairs right {only}"),
            ),
            "whole_loss": (
                ("trial", "step"),
                whole[None, 0],
                describe("mean loss on all pairs of the whole network", "nat"),
            ),
            "whole_accuracy": (
                ("trial", "step"),
                whole[None, 1],
                describe("share of all pairs right of the whole network"),
            ),
            "kept": (
                axes,
                np.where(count == 0, MISSING, count)[None].astype(np.int16),
                describe("circles in the kept set; -1 where too few survive to make it"),
            ),
            "signal": (("trial", "frequency"), signal.values, SCHEMA["signal"].attributes),
            "survived": (("trial", "frequency"), fate.values, fate.attrs),
        },
        coords={
            "trial": t["trial"][:1],
            "set": (
                "set",
                list(SETS),
                describe("kept set of circle i: {i}; {strongest, i}; {strongest, third, i}"),
            ),
            "frequency": t["frequency"],
            "step": ("step", t["network_step"].values, SCHEMA["network_step"].attributes),
        },
    )


def evaluated(
    t: xr.Dataset, kept: np.ndarray, protocol: Protocol
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Evaluate every stored network with every kept set.

    Returns
    -------
    (numpy.ndarray, numpy.ndarray, numpy.ndarray)
        Loss and accuracy, each of shape (set, circle, step); and both of the whole network, shape
        (2, step): with every circle kept.
    """
    sets, circles, _ = kept.shape
    masks = np.concatenate([kept.reshape(-1, circles), np.ones((1, circles), dtype=bool)])
    found = np.stack(
        [
            evaluate_kept(
                [t[name].values[row] for name in NETWORK],
                masks,
                activation=protocol.activation,
                operation=protocol.operation,
            )
            for row in range(t.sizes["network_step"])
        ],
        axis=-1,
    )  # (2, set·circle + 1, step)
    loss, accuracy = found[:, :-1].reshape(2, sets, circles, -1)
    return loss, accuracy, found[:, -1]
