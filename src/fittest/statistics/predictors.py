"""What predicts survival best: initial signal, early gradient, circularity, rank; and all together.

Logistic regressions of survival by the paper's rule at the last horizon; a row is a circle of a
trial. Circles of one embedding are not independent: standard errors are clustered by embedding,
intervals resample embeddings, and a prediction that is scored comes from a fit that saw no trial of
its embedding. An undefined number is NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from fittest.statistics.logistic import FOLDS, RESAMPLES, coefficients, held_out
from fittest.statistics.scores import SCORES, bins, mean_score, pooled_auc, within_auc
from fittest.statistics.selection import by_embedding, known

RULE = "relative"
UPDATE = 4
"""Update whose gradient is a predictor: the last of those the paper's Fig. 7 shows."""

PREDICTORS = {
    "initial_signal": "signal at step 0",
    "gradient": f"change of the signal in update {UPDATE} over the signal at step 0",
    "circularity": "circularity at step 0",
    "rank": "rank of the signal at step 0 among the embedding's circles, 1 the weakest",
}
"""Name of a predictor → meaning."""

TOGETHER = "together"
FEW = 10
"""With fewer embeddings, clustered standard errors are too small."""

COLUMNS = (
    "statistic",
    "rule",
    "horizon",
    "model",
    "predictor",
    "predicted",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "standard_error",
    "n_embeddings",
    "n_trials",
    "n_circles",
    "method",
)


def predictors(survival: xr.Dataset) -> pd.DataFrame:
    """Return how well each predictor, alone and with the others, tells who survives.

    Parameters
    ----------
    survival
        Survival table of an experiment that varies the embedding.

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`; a `model` is a predictor alone, or `together`. Statistics: `coefficient`
        (log-odds per standard deviation of the `predictor`); of held-out predictions `auc_within`
        (mean over trials of the AUC among a trial's circles), `auc_gain` (that minus initial
        signal's), `auc_pooled`, `brier`, `log_loss`; and of the joint model `calibration` (share
        that survived among circles of about the `predicted` probability).
    """
    rows = rows_of(by_embedding(survival))
    where = {"rule": RULE, "horizon": int(survival["horizon"].max())}
    where |= {
        "n_embeddings": rows["embedding"].nunique(),
        "n_trials": rows["run"].nunique(),
        "n_circles": len(rows),
    }
    outcome, group = rows["survived"].to_numpy(), rows["group"].to_numpy()
    models = {name: [name] for name in PREDICTORS} | {TOGETHER: list(PREDICTORS)}
    base = held_out(rows[[]].to_numpy(), outcome, group)
    found: list[dict[str, Any]] = []
    aucs: dict[str, np.ndarray] = {}
    for model, names in models.items():
        features = rows[names].to_numpy(dtype=np.float64)
        found += _coefficients(features, outcome, group, model, names)
        probability = held_out(features, outcome, group)
        aucs[model] = within_auc(probability, outcome, rows["run"].to_numpy())
        found += _scores(rows, probability, base, aucs, model)
        if model == TOGETHER:
            found += _calibration(probability, outcome, group)
    return pd.DataFrame([where | row for row in found], columns=list(COLUMNS))


def rows_of(survival: xr.Dataset) -> pd.DataFrame:
    """Return a row for each circle of each trial, none where fate or a predictor is missing.

    Columns `embedding`, `group` and `run` (embeddings and trials numbered from 0), `survived`
    (0 or 1), and `PREDICTORS`.
    """
    dims = ("embedding", "trial", "frequency")
    fate = survival["survived"].sel(rule=RULE).isel(horizon=-1)
    initial = survival["initial_signal"].transpose(*dims).values
    values = {
        "survived": known(fate, *dims),
        "initial_signal": initial,
        "gradient": survival["gradient"].reindex(update=[UPDATE]).isel(update=0),
        "circularity": survival["circularity"],
        "rank": stats.rankdata(initial, axis=-1, nan_policy="omit"),
    }
    frame = pd.DataFrame(
        {
            name: np.asarray(v.transpose(*dims) if isinstance(v, xr.DataArray) else v).ravel()
            for name, v in values.items()
        }
    )
    embedding, trial, _ = np.indices(initial.shape)
    frame["embedding"] = survival["embedding"].values[embedding.ravel()]
    frame["run"] = (embedding * initial.shape[1] + trial).ravel()
    frame = frame.replace([np.inf, -np.inf], np.nan).dropna().reset_index(drop=True)
    frame["group"] = pd.factorize(frame["embedding"])[0]
    frame["run"] = pd.factorize(frame["run"])[0]
    return frame.astype({"survived": np.int64})


def _coefficients(
    features: np.ndarray, outcome: np.ndarray, group: np.ndarray, model: str, names: list[str]
) -> list[dict[str, Any]]:
    fit = coefficients(features, outcome, group)
    few = f" (too small with fewer than {FEW} embeddings)" if len(set(group)) < FEW else ""
    return [
        {
            "statistic": "coefficient",
            "model": model,
            "predictor": name,
            "estimate": fit.estimate[i],
            "low": fit.low[i],
            "high": fit.high[i],
            "baseline": 0.0,
            "p_value": fit.p_value[i],
            "standard_error": fit.error[i],
            "method": f"logistic regression, log-odds per standard deviation of {PREDICTORS[name]};"
            f" interval: percentile bootstrap over embeddings, {RESAMPLES} resamples; standard "
            f"error and p value clustered by embedding{few}",
        }
        for i, name in enumerate(names)
    ]


def _scores(
    rows: pd.DataFrame,
    probability: np.ndarray,
    base: np.ndarray,
    aucs: dict[str, np.ndarray],
    model: str,
) -> list[dict[str, Any]]:
    """Score held-out probabilities; `base` are those of the base rate."""
    outcome, group = rows["survived"].to_numpy(), rows["group"].to_numpy()
    owner = rows.drop_duplicates("run").sort_values("run")["group"].to_numpy()
    gain = aucs[model] - aucs["initial_signal"]
    scored = [
        (
            "auc_within",
            mean_score(aucs[model], owner),
            0.5,
            "mean over trials of ROC AUC among a trial's circles",
        ),
        (
            "auc_gain",
            mean_score(gain, owner),
            0.0,
            "AUC within trials minus that of initial signal, mean over trials",
        ),
        ("auc_pooled", pooled_auc(probability, outcome, group), 0.5, "ROC AUC over all circles"),
        *(
            (
                name,
                mean_score(function(probability, outcome), group),
                float(np.mean(function(base, outcome))) if len(base) else np.nan,
                f"mean {name.replace('_', ' ')} of a circle, baseline: base rate",
            )
            for name, function in SCORES.items()
        ),
    ]
    return [
        {
            "statistic": name,
            "model": model,
            "estimate": estimate,
            "low": low,
            "high": high,
            "baseline": baseline,
            "method": f"{text}; predicted by fits to the other embeddings, at most {FOLDS} folds; "
            "percentile bootstrap over embeddings",
        }
        for name, (estimate, low, high), baseline, text in scored
    ]


def _calibration(
    probability: np.ndarray, outcome: np.ndarray, group: np.ndarray
) -> list[dict[str, Any]]:
    if not len(probability) or np.isnan(probability).any():
        return []
    place = bins(probability)
    rows = []
    for i in range(place.max() + 1):
        some = place == i
        estimate, low, high = mean_score(outcome[some].astype(float), group[some])
        rows.append(
            {
                "statistic": "calibration",
                "model": TOGETHER,
                "predicted": probability[some].mean(),
                "estimate": estimate,
                "low": low,
                "high": high,
                "baseline": outcome.mean(),
                "n_circles": int(some.sum()),
                "method": "share that survived in a bin of held-out probability, bins of about "
                "equal count; percentile bootstrap over embeddings; baseline: all circles",
            }
        )
    return rows
