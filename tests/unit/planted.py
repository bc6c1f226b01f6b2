"""Survival tables whose fates are known beforehand."""

import numpy as np
import xarray as xr

from fittest.survival import RULES

HORIZON = 4000


def survival_table(fate, axes, *, initial=None, gradient=None, circularity=None, p=13):
    """Return a table of fates by every rule at one horizon.

    `fate` has shape (*axes, trial, circle): 1, 0 or -1; so have the others that are given, the
    gradient with the update last.
    """
    fate = np.asarray(fate, dtype=np.int8)
    dims = (*axes, "trial", "frequency")
    flags = fate[..., None, None].repeat(len(RULES), axis=-1)
    out = xr.Dataset({"survived": ((*dims, "horizon", "rule"), flags)})
    for name, values in (("initial_signal", initial), ("circularity", circularity)):
        if values is not None:
            out[name] = (dims, np.asarray(values))
    if gradient is not None:
        out["gradient"] = ((*dims, "update"), np.asarray(gradient))
        out = out.assign_coords(update=np.arange(1, np.shape(gradient)[-1] + 1))
    return out.assign_coords(
        **{name: np.asarray(values) for name, values in axes.items()},
        trial=np.arange(fate.shape[-2]),
        frequency=np.arange(1, fate.shape[-1] + 1),
        horizon=[HORIZON],
        rule=list(RULES),
        p=p,
    )


def perturbed(embeddings=5, trials=10, circles=6, k=3, noise=0.0, seed=0):
    """Return a table in which circle k survives where its signal is above the others' mean."""
    rng = np.random.default_rng(seed)
    factors = np.linspace(0.5, 1.5, 11)
    base = rng.normal(80, 2, (embeddings, 1, 1, circles))
    initial = np.tile(base, (1, len(factors), trials, 1))
    initial[..., k - 1] *= factors[:, None]
    others = np.delete(initial, k - 1, axis=-1).mean(axis=-1)
    x = initial[..., k - 1] - others
    fate = rng.integers(0, 2, initial.shape)
    fate[..., k - 1] = x + noise * rng.standard_normal(x.shape) > 0
    texts = [f"scale-{k}-{factor:.6g}" for factor in factors]
    axes = {"embedding": np.arange(embeddings), "intervention": texts}
    # Tables are sorted by text, in which 0.5 need not come before 1.
    return survival_table(fate, axes, initial=initial).sortby("intervention"), x[:, :, 0]


def constructed(ratios=(0.02, 0.2, 0.5, 0.9), trials=20, circles=6, seed=0, chance=None):
    """Return a table and its named circles.

    The first always survives, the second with the chance of the ratio, no other in even trials and
    one other in odd ones.
    """
    rng = np.random.default_rng(seed)
    named = np.array([rng.choice(circles, 3, replace=False) for _ in range(trials)])
    fate = np.zeros((len(ratios), trials, circles), dtype=np.int8)
    for i, ratio in enumerate(ratios):
        for t, (first, second, other) in enumerate(named):
            fate[i, t, first] = 1
            fate[i, t, second] = rng.random() < (ratio if chance is None else chance[i])
            fate[i, t, other] = t % 2
    texts = [f"construct-circle-{ratio:g}" for ratio in ratios]
    table = survival_table(fate, {"intervention": texts})
    circles_named = np.tile(named[:, :2] + 1, (len(ratios), 1, 1))
    names = xr.Dataset(
        {"named_frequency": (("intervention", "trial", "named"), circles_named)},
        coords={"intervention": texts, "trial": np.arange(trials)},
    )
    return table, names


def early(trials=60, circles=11, slope=1.0, signal=1.0, seed=0):
    """Return a table whose log-odds of survival rise with gradients and initial signal."""
    rng = np.random.default_rng(seed)
    gradient = rng.normal(0.02, 0.01, (trials, circles, 4))
    initial = np.tile(rng.normal(80, 3, circles), (trials, 1))
    odds = -1.5 + slope * (gradient[..., 3] - 0.02) / 0.01 + signal * (initial - 80) / 3
    fate = rng.random(odds.shape) < 1 / (1 + np.exp(-odds))
    return survival_table(fate, {}, initial=initial, gradient=gradient)


def circular(dims=(8, 16, 32), trials=30, circles=6, p=13, effect=0.0, seed=0):
    """Return a table of circularities near d/(d + p), and fates that they shift by an effect."""
    rng = np.random.default_rng(seed)
    d = np.array(dims, dtype=float)[:, None, None]
    noise = rng.standard_normal((len(dims), trials, circles))
    fate = effect * noise + rng.standard_normal(noise.shape) > 0.5
    return survival_table(fate, {"d": list(dims)}, circularity=d / (d + p) + 0.02 * noise, p=p)
