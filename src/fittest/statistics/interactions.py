"""Which signs the interactions of survivors have, and whether trials agree on them (Sec. 4.2)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from fittest.dynamics import fit
from fittest.interactions import SignAgreement, sign_agreement
from fittest.intervals import quiet
from fittest.statistics.pooling import RESAMPLES, mean_over_groups
from fittest.statistics.selection import by_embedding, early_trials

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "embedding",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_embeddings",
    "n_trials",
    "n_least",
    "n_comparisons",
    "method",
)
KIND = "lasso"
_SEED = 2405_17420
_WHAT = "Lasso coefficients between two different survivors"


def interactions(early: xr.Dataset, survival: xr.Dataset) -> pd.DataFrame:
    """Return which signs the interactions of survivors have, by every survival rule.

    Parameters
    ----------
    early
        Early table of an experiment that varies the embedding (`gather_early`).
    survival
        Its survival table.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`; `horizon` is the last of the survival table, where the survivors are
        those. A Lasso is fitted to every trial. `share_positive`, `share_negative` and
        `share_zero` add up to 1. `sign_agreement` is the mean over embeddings of how often two
        trials give an interaction the same sign (`fittest.interactions.sign_agreement`), and its
        baseline that of permuted signs; `sign_agreement_excess` is the difference. The rows
        `embedding_sign_agreement` are of each `embedding`.
    """
    early = by_embedding(early)
    horizon = int(survival["horizon"][-1])
    linear: list[np.ndarray] = []
    rows: list[dict[str, Any]] = []
    for rule in survival["rule"].values:
        parts = list(early_trials(early, survival, rule))
        if not linear:
            linear = [np.array([fit(x, KIND).linear for x in signals]) for signals, _ in parts]
        alive = [flags for _, flags in parts]
        where = {"rule": str(rule), "horizon": horizon, "n_embeddings": len(parts)}
        rows += [{**where, **row} for row in _shares(linear, alive)]
        rows += [{**where, **row} for row in _agreement(linear, alive, early["embedding"].values)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _shares(linear: list[np.ndarray], alive: list[np.ndarray]) -> Iterator[dict[str, Any]]:
    """Yield the shares of coefficients above, below and at 0, and of how many trials they are."""
    signs = [_signs_by_trial(a, flags) for a, flags in zip(linear, alive, strict=True)]
    trials = [len(trial) for trial in signs]
    for name, sign in (("share_positive", 1), ("share_negative", -1), ("share_zero", 0)):
        groups = [np.concatenate([np.empty(0), *(s == sign for s in trial)]) for trial in signs]
        method = (
            f"share of {_WHAT}, all trials together; percentile bootstrap over embeddings, "
            f"{RESAMPLES} resamples"
        )
        yield {
            "statistic": name,
            **mean_over_groups(groups),
            "n_comparisons": sum(map(len, groups)),
            "n_trials": sum(trials),
            "n_least": min(trials, default=0),
            "method": method,
        }


def _signs_by_trial(linear: np.ndarray, alive: np.ndarray) -> list[np.ndarray]:
    """Return the signs between different survivors, of each trial that has two or more."""
    out = []
    for a, flags in zip(linear, alive == 1, strict=True):
        if flags.sum() > 1 and np.isfinite(a).all():
            among = np.ix_(flags, flags)
            out.append(np.sign(a[among][~np.eye(flags.sum(), dtype=bool)]))
    return out


def _agreement(
    linear: list[np.ndarray], alive: list[np.ndarray], embeddings: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Yield the agreement of signs, over embeddings and of each."""
    found = [
        sign_agreement(a, flags, rng=np.random.default_rng(_SEED), resamples=RESAMPLES)
        for a, flags in zip(linear, alive, strict=True)
    ]
    known = [f for f in found if np.isfinite(f.estimate)]
    sizes = {
        "n_trials": sum(f.n_trials for f in known),
        "n_least": min((f.n_trials for f in known), default=0),
        "n_comparisons": sum(f.n_comparisons for f in known),
    }
    agreement = np.array([f.estimate for f in known])
    chance = np.array([f.baseline for f in known])
    with quiet():
        p_value = stats.combine_pvalues([f.p_value for f in known]).pvalue if known else np.nan
    text = f"how often two trials of an embedding give one of the {_WHAT} the same sign"
    for name, values, baseline in (
        ("sign_agreement", agreement, chance.mean() if known else np.nan),
        ("sign_agreement_excess", agreement - chance, 0.0),
    ):
        less = " less chance" if name.endswith("excess") else ""
        numbers = mean_over_groups(list(values[:, np.newaxis]))
        if len(known) == 1:
            numbers |= _ends(known[0], shift=chance[0] if less else 0.0)
        yield {
            "statistic": name,
            **numbers,
            **sizes,
            "baseline": float(baseline),
            "p_value": float(p_value),
            "method": f"mean over embeddings of {text}{less}; percentile bootstrap over embeddings "
            "(over trials where there is one embedding); chance: signs permuted within each trial, "
            "its p values combined by Fisher's method",
        }
    for embedding, one in zip(embeddings, found, strict=True):
        yield {
            "statistic": "embedding_sign_agreement",
            "embedding": embedding,
            "estimate": one.estimate,
            **_ends(one),
            "baseline": one.baseline,
            "p_value": one.p_value,
            "n_trials": one.n_trials,
            "n_least": one.n_trials,
            "n_comparisons": one.n_comparisons,
            "method": f"{text}; percentile bootstrap over trials; chance: signs permuted within "
            "each trial",
        }


def _ends(found: SignAgreement, shift: float = 0.0) -> dict[str, float]:
    return {"low": found.low - shift, "high": found.high - shift}
