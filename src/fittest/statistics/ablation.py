"""Networks started from a few of their circles (paper, App. C, Fig. 12).

Experiment O is the network as it is; A and B keep the strongest one and two of the circles that O
ended with; C and D keep one and two at random. A trial's networks differ in nothing else, so that
experiments are compared trial by trial.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from fittest.losses import LOW, RISE, SETTLED, first_below, spikes
from fittest.statistics.estimates import BOOTSTRAP, mean, median, share
from fittest.survival import MISSING

EXPERIMENTS = {
    "none": "O",
    "keep-strongest-1-of-base": "A",
    "keep-strongest-2-of-base": "B",
    "keep-random-1": "C",
    "keep-random-2": "D",
}
"""Intervention → the paper's name of the experiment. Another intervention has its own text."""

KEPT = {"A": 1, "B": 2, "C": 1, "D": 2}
"""Experiment → circles that it keeps."""

SOLVED = 1e-6
"""Test loss (nats) below which the task is solved."""

COLUMNS = (
    "statistic",
    "experiment",
    "rule",
    "horizon",
    "estimate",
    "low",
    "high",
    "baseline",
    "p_value",
    "n_trials",
    "n_censored",
    "n_left_out",
    "method",
)


def ablation(survival: xr.Dataset, losses: xr.Dataset) -> pd.DataFrame:
    """Return how many circles each experiment ends with, how soon it learns and how often it leaps.

    Parameters
    ----------
    survival, losses
        Tables of an experiment that varies the intervention only (`gather_survival`,
        `gather_losses`).

    Returns
    -------
    pandas.DataFrame
        Columns `COLUMNS`. By every rule at every horizon `circles`, `revives`, `at_least_three`
        and `solves_with_two`; over all recorded steps `reaches_low_loss`, `steps_to_low_loss`,
        `steps_difference` (minus O, paired), `spikes`, and `spikes_difference` (A, C, D each, and
        `ACD-OB` their mean, minus the mean of O and B, paired).

    Raises
    ------
    ValueError
        Where the tables vary another axis than the intervention.
    """
    survival, losses = _by_experiment(survival), _by_experiment(losses)
    rows: list[dict[str, Any]] = []
    for rule in survival["rule"].values:
        for horizon in survival["horizon"].values:
            at = survival.sel(rule=rule, horizon=horizon)
            where = {"rule": str(rule), "horizon": int(horizon)}
            for name, text in _named(at):
                one = at.sel(intervention=text)
                for row in _circles(one, KEPT.get(name, 0)):
                    rows.append({"experiment": name, **where, **row})
    steps = losses["step"].values
    loss = losses["test_loss"].transpose("intervention", "trial", "step").values
    named = dict(zip((name for name, _ in _named(losses)), loss.astype(np.float64), strict=True))
    low = {name: first_below(one, steps) for name, one in named.items()}
    leaps = {name: spikes(one).astype(float) for name, one in named.items()}
    found = [*_learning(low, int(steps[-1])), *_leaping(leaps)]
    rows += [{"horizon": int(steps[-1]), **row} for row in found]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _by_experiment(table: xr.Dataset) -> xr.Dataset:
    """Return the table with an `intervention` dimension, experiments in the paper's order."""
    if "intervention" not in table["test_loss"].dims:
        table = table.expand_dims("intervention")
    known = {"intervention", "trial", "frequency", "horizon", "rule", "update", "step"}
    other = sorted(set(map(str, table.dims)) - known)
    if other:
        raise ValueError(
            f"these statistics are along the intervention, and the table varies {', '.join(other)}"
        )
    texts = list(map(str, table["intervention"].values))
    rank = {text: i for i, text in enumerate(EXPERIMENTS)}
    return table.sel(intervention=sorted(texts, key=lambda text: (rank.get(text, len(rank)), text)))


def _named(table: xr.Dataset) -> list[tuple[str, str]]:
    """Return name and intervention of each experiment of a table, in its order."""
    texts = map(str, table["intervention"].values)
    return [(EXPERIMENTS.get(text, text), text) for text in texts]


def _circles(one: xr.Dataset, kept: int) -> list[dict[str, Any]]:
    """Return counts of one experiment at one horizon by one rule; it kept so many circles."""
    circles, loss = one["circles"].values, one["test_loss"].values
    there = circles != MISSING
    n, counts = int(there.sum()), circles[there]
    two = counts == 2
    rows = [
        {
            "statistic": "circles",
            **mean(counts.astype(float)),
            "method": f"mean circles a trial; {BOOTSTRAP}",
        },
        {
            "statistic": "at_least_three",
            **share(int((counts >= 3).sum()), n),
            "method": "share of trials with three or more circles; Wilson",
        },
        {
            "statistic": "solves_with_two",
            **share(int((two & (loss[there] < SOLVED)).sum()), n),
            "method": f"share of trials with two circles and test loss < {SOLVED:g}; Wilson",
        },
    ]
    if kept:
        rows.append(
            {
                "statistic": "revives",
                **share(int((counts > kept).sum()), n),
                "method": "share of trials that end with more circles than were kept; Wilson",
            }
        )
    return rows


def _learning(low: dict[str, np.ndarray], last: int) -> list[dict[str, Any]]:
    """Return how many trials reach a low loss and when, and how much sooner than in O."""
    rows = []
    for name, steps in low.items():
        reached = int(np.isfinite(steps).sum())
        n = len(steps)
        rows += [
            {
                "statistic": "reaches_low_loss",
                "experiment": name,
                **share(reached, n),
                "method": f"share of trials whose test loss is ever below {LOW:g}; Wilson",
            },
            {
                "statistic": "steps_to_low_loss",
                "experiment": name,
                **median(steps),
                "n_censored": n - reached,
                "method": f"first recorded step of test loss < {LOW:g}, median over trials, those "
                f"that never reach it (n_censored) later than all; undefined where the median is "
                f"one of them; {BOOTSTRAP}",
            },
        ]
    for name, steps in low.items():
        if name == "O" or "O" not in low:
            continue
        both = np.stack([steps, low["O"]])
        never = np.isinf(both)
        # Neither tells which is the sooner.
        used = ~never.all(axis=0)
        bounded = np.where(never, last, both)[:, used]
        difference = bounded[0] - bounded[1]
        rows.append(
            {
                "statistic": "steps_difference",
                "experiment": name,
                **median(difference),
                "baseline": 0.0,
                "n_censored": int(never[:, used].any(axis=0).sum()),
                "n_left_out": int((~used).sum()),
                "method": f"steps to test loss < {LOW:g} minus those of O in the same trial, "
                "median; where one never reaches it (n_censored), it counts as at the last step, "
                "which makes the difference too small, not of the wrong sign; trials where neither "
                f"does are left out (n_left_out); {BOOTSTRAP}",
            }
        )
    return rows


def _leaping(leaps: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return how often losses leap up, and how much more often than in O and B."""
    what = (
        f"rises of test loss above {RISE:g} times its least so far, once that is < {SETTLED:g}, at "
        "recorded steps"
    )
    rows = [
        {
            "statistic": "spikes",
            "experiment": name,
            **mean(count),
            "method": f"{what}; mean over trials; {BOOTSTRAP}",
        }
        for name, count in leaps.items()
    ]
    if not {"O", "B"} <= set(leaps):
        return rows
    calm = (leaps["O"] + leaps["B"]) / 2
    difference = {name: leaps[name] - calm for name in "ACD" if name in leaps}
    if len(difference) == 3:
        difference["ACD-OB"] = sum(difference.values()) / 3
    return rows + [
        {
            "statistic": "spikes_difference",
            "experiment": name,
            **mean(values),
            "baseline": 0.0,
            "method": f"{what}: {'mean of A, C and D' if name == 'ACD-OB' else name} minus mean of "
            f"O and B in the same trial; mean over trials; {BOOTSTRAP}",
        }
        for name, values in difference.items()
    ]
