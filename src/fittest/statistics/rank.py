"""Whether a random embedding contains every circle: an identity of linear algebra (Sec. 3.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_values",
    "n_least",
    "method",
)


def rank(table: xr.Dataset) -> pd.DataFrame:
    """Return whether initial embeddings have full rank, and circles are their projections.

    Parameters
    ----------
    table
        Rank table of an experiment that varies d only (`gather_rank`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. `rank_match` (share of trials of rank min(p, d)), `residual_at_least_p`
        (largest residual at d ≥ p) and `residual_below_p` (least at d < p). No sample decides an
        identity: `low` and `high` are the estimate.

    Raises
    ------
    ValueError
        Where the table varies another axis than d.
    """
    if "d" not in table["rank"].dims:
        table = table.expand_dims("d")
    other = sorted(set(map(str, table["rank"].dims)) - {"d", "trial"})
    if other:
        raise ValueError(f"these statistics are along d, and the table varies {', '.join(other)}")
    table = table.transpose("d", "trial")
    d, p = table["d"].values.astype(int), int(table["p"])
    residual = table["residual"].values
    there = np.isfinite(residual)
    match = table["rank"].values == np.minimum(d, p)[:, None]
    residual_is = "of the largest relative residual over circles of the best linear projection"
    rows: list[dict[str, Any]] = []
    for name, used, function, what in (
        ("rank_match", d > 0, np.mean, "share of initial embeddings of rank min(p, d)"),
        ("residual_at_least_p", d >= p, np.max, f"largest over trials at d ≥ p {residual_is}"),
        ("residual_below_p", d < p, np.min, f"least over trials at d < p {residual_is}"),
    ):
        values = (match if name == "rank_match" else residual)[used]
        values, each = values[there[used]], there[used].sum(axis=1)
        estimate = float(function(values)) if values.size else np.nan
        rows.append(
            {
                "statistic": name,
                # Of the embedding before any update.
                "horizon": 0,
                **dict.fromkeys(("estimate", "low", "high"), estimate),
                "n_trials": values.size,
                "n_values": int(used.sum()),
                "n_least": int(each.min(initial=values.size)),
                "method": f"{what}; an identity, without interval",
            }
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))
