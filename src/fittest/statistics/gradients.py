"""When the embedding's gradients peak and vanish, and what drives the dead (Fig. 13, App. D)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy.signal import find_peaks

from fittest.intervals import quiet
from fittest.statistics.selection import by_embedding, decay_rate, known
from fittest.statistics.survivors import COLUMNS
from fittest.statistics.units import over_units
from fittest.tables.gradients import FALL, LATE

PEAK = 100
"""Step near which the gradients peak, says the paper."""

_PROMINENCE = 0.1  # decades
_MEAN = "mean over circles of the gradient's norm in the Fourier basis"


def gradients(table: xr.Dataset) -> pd.DataFrame:
    """Return when gradients peak, what is left of them late, and how fast the dead fall.

    Parameters
    ----------
    table
        A gradients table (`fittest.tables.gradients.gather_gradients`).

    Returns
    -------
    pandas.DataFrame
        Columns of `survivors`. Medians over trials: `peak_step`; `last_peak_step`, which a higher
        peak may precede; `late_share`; and `share_at_100`, the gradient near step 100 over the
        peak. By every rule, medians over dead circles of a slope of log S over that of weight decay
        alone, −lr·wd: `decay_slope_ratio` from step 1,000 on, and `fall_slope_ratio` while falling
        from 3/4 to 1/4 of the start.
    """
    table = by_embedding(table)
    horizon = int(table["horizon"][-1])
    rows = _gradient(table)
    slope = -decay_rate(table)
    for rule in table["rule"].values:
        fate = table["survived"].isel(horizon=-1).sel(rule=rule)
        dead = known(fate, "embedding", "trial", "frequency") == 0
        for name, column, when in (
            ("decay_slope_ratio", "late_slope", f"by least squares from step {LATE:,} on"),
            (
                "fall_slope_ratio",
                "fall_slope",
                f"while the signal falls from {FALL[0]:g} to {FALL[1]:g} of its start",
            ),
        ):
            values = table[column].transpose("embedding", "trial", "frequency").values
            rows.append(
                {"statistic": name, "rule": str(rule)}
                | _ratio(np.where(dead, values, np.nan), slope, when)
            )
    return pd.DataFrame([row | {"horizon": horizon} for row in rows], columns=list(COLUMNS))


def _gradient(table: xr.Dataset) -> list[dict[str, Any]]:
    steps = table["gradient_step"].values.astype(np.float64)
    each = table["gradient_signal"].transpose("embedding", "trial", "gradient_step", "frequency")
    with quiet():
        mean = np.nanmean(each.values.astype(np.float64), axis=-1)
        if not len(steps):  # the protocol records no gradients
            steps, mean = np.full(1, np.nan), np.full((*mean.shape[:2], 1), np.nan)
        peak = mean.max(axis=-1)  # NaN where the trial diverged
        at = np.where(np.isnan(peak), np.nan, steps[mean.argmax(axis=-1)])
        late = np.median(mean[..., steps > LATE], axis=-1)
        near = mean[..., np.abs(steps - PEAK).argmin()]
        last = np.apply_along_axis(lambda life: _last_peak(steps, life), -1, mean)
        near = near if steps[-1] >= PEAK else np.full(peak.shape, np.nan)
    found = (
        ("peak_step", at, "step of the peak"),
        ("last_peak_step", last, "step of the last maximum that stands out by a tenth of a decade"),
        ("late_share", late / peak, f"median after step {LATE:,} over the peak"),
        ("share_at_100", near / peak, f"value nearest step {PEAK} over the peak"),
    )
    rows = []
    for name, values, text in found:
        median = over_units(values)
        method = f"{_MEAN}: {text}, median over trials; {median['text']}"
        rows.append({"statistic": name, **median, "method": method})
    return rows


def _last_peak(steps: np.ndarray, life: np.ndarray) -> float:
    """Return the step of the last maximum inside one trial's gradients, NaN without any."""
    found, _ = find_peaks(np.log10(life), prominence=_PROMINENCE)
    return float(steps[found[-1]]) if len(found) else np.nan


def _ratio(slopes: np.ndarray, slope: float, when: str) -> dict[str, Any]:
    median = over_units(slopes / slope if slope else np.full(slopes.shape, np.nan))
    return {
        **median,
        "baseline": 1.0,
        "n_circles": int((~np.isnan(slopes)).sum()),
        "method": f"median over dead circles of the slope of log S, {when}, over that of weight "
        f"decay alone, −lr·wd; {median['text']}; baseline: weight decay alone",
    }
