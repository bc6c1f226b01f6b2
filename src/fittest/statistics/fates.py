"""What statistics of circles by their fate have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

RULE = "absolute"
"""The survival rule of Fig. 7 and the support vector machine, as in the paper."""

UPDATE = 4
"""The update whose gradient the machine is given, as in the paper."""

_BINS = 30


def histogram(x: np.ndarray, fate: np.ndarray) -> list[dict[str, Any]]:
    """Return rows that say how a quantity is distributed among the dead and the surviving.

    Parameters
    ----------
    x
        The quantity, shape (trial, circle); NaN where missing.
    fate
        Shape (trial, circle): 1 survived, 0 died, NaN missing.

    Returns
    -------
    list of dict
        For each fate and bin, the same bins for both: `survived`, `bin_low`, `bin_high`,
        `estimate` (share of the circles of that fate) and `n_circles` (how many those are in all).
    """
    known = np.isfinite(x) & ~np.isnan(fate)
    if not known.any():
        return []
    n_trials = int(known.any(axis=1).sum())
    edges = np.histogram_bin_edges(x[known], bins=_BINS)
    rows = []
    for survived in (0, 1):
        some = x[known & (fate == survived)]
        count, _ = np.histogram(some, edges)
        rows += [
            {
                "statistic": "histogram",
                "survived": survived,
                "bin_low": low,
                "bin_high": high,
                "estimate": n / len(some),
                "n_trials": n_trials,
                "n_circles": len(some),
                "method": "share in the bin of the circles with that fate",
            }
            for low, high, n in zip(edges[:-1], edges[1:], count, strict=True)
            if len(some)
        ]
    return rows
