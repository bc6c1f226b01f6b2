"""Which circles survived: the three rules."""

from __future__ import annotations

import numpy as np

from fittest.design import Survival

RULES = ("relative", "absolute", "retained")
"""The survival rules, in the order of every table. `relative` is the paper's."""

MISSING = -1
"""Value of an int8 flag where a circle or trial does not exist: missing is not dead."""


def survived(
    signal: np.ndarray, initial_signal: np.ndarray, mean_signal: np.ndarray, thresholds: Survival
) -> np.ndarray:
    """Apply the survival rules (method: Sec. 3 of the paper for `relative`, Fig. 7 for `absolute`).

    Parameters
    ----------
    signal, initial_signal
        S_k now and at step 0: shape (…, K).
    mean_signal
        Mean of S over all p DFT bins now, k = 0 and both halves included: shape (…).
    thresholds
        The design's.

    Returns
    -------
    numpy.ndarray
        Shape (…, K, 3), int8 flags in the order of `RULES`. `relative` and `absolute` are strict
        (a circle at the threshold is dead), as is `retained`. A signal that is not a number
        (training diverged) is missing, -1.
    """
    flags = np.stack(
        [
            signal > thresholds.relative * mean_signal[..., None],
            signal > thresholds.absolute,
            signal > thresholds.retained * initial_signal,
        ],
        axis=-1,
    ).astype(np.int8)
    flags[~np.isfinite(signal)] = MISSING
    return flags
