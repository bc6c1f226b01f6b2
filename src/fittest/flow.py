"""Paths of a fitted ODE: step by step, in closed form, and how far the two may lie apart.

A path is an array (step, circle) from x(0) on. One that overflows is inf or NaN, without a warning.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

from fittest.dynamics import Fit
from fittest.intervals import quiet

RIDGE = 1e-8
"""What the paper adds to the diagonal of A, so that its closed form can invert it."""


def rollout(model: Fit, start: np.ndarray, steps: int) -> np.ndarray:
    """Return the path x ← x + change(x) from x(0): shape (steps + 1, circle), the start first."""
    path = np.empty((steps + 1, len(start)))
    path[0] = start
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(steps):
            path[t + 1] = path[t] + model.change(path[t])
    return path


def closed_form(model: Fit, start: np.ndarray, steps: int, *, ridge: float = 0.0) -> np.ndarray:
    """Return the solution of dx/dt = A x + b at t = 0 … steps: shape (steps + 1, circle).

    The paper writes x(t) = e^{At} x(0) + (e^{At} − I) A⁻¹ b. Here (x, 1) is multiplied by powers of
    exp [[A, b], [0, 0]], whose last column is (e^A − I) A⁻¹ b where A has an inverse and its limit
    where it has none. So nothing is inverted and `ridge` may be 0; with ridge = `RIDGE` it is the
    paper's formula, with A + 1e-8·I throughout, which multiplies e^{At} by e^{1e-8·t}.

    This is the flow, and the rollout Euler's method with step 1 for it: they differ by what
    `euler_bound` allows. What equals the rollout is `discrete_closed_form`.

    Raises
    ------
    ValueError
        If the fit is Lotka–Volterra, which has no closed form.
    """
    generator = _generator(model)
    k = len(start)
    generator[:k, :k] += ridge * np.eye(k)
    return _propagate(_exponential(generator), np.append(start, 1.0), steps)[:, :k]


def discrete_closed_form(model: Fit, start: np.ndarray, steps: int) -> np.ndarray:
    """Return (I + A)^t x(0) + Σ_{s < t} (I + A)^s b at t = 0 … steps: the rollout, to rounding.

    It is made by squaring, in about log₂ steps products. Shape and errors as for `closed_form`.
    """
    generator = _generator(model)
    step = np.eye(len(generator)) + generator
    return _propagate(step, np.append(start, 1.0), steps)[:, : len(start)]


def euler_bound(model: Fit, start: np.ndarray, steps: int) -> np.ndarray:
    """Return a bound on ‖closed form − rollout‖₂ at t = 0 … steps: shape (steps + 1,).

    Let x be the flow and e(n) its distance from the rollout. Over one step the flow gains on
    Euler's method d(j) = ∫₀¹ (1 − s) x″(j + s) ds = φ₂(A) A x′(j), where φ₂(A) = Σ_m A^m/(m + 2)!
    and x′(j) = e^{Aj} (A x(0) + b). Euler's method carries each gain along, so

        e(n) = Σ_{j < n} (I + A)^{n−1−j} d(j),   ‖e(n)‖ ≤ Σ_{j < n} ‖(I + A)^{n−1−j}‖ ‖d(j)‖,

    and the right side is returned. It is an equality for one circle with A > −1. As a = ‖A‖ goes
    to 0 with n·a held, it is of first order: at most ½ n a e^{na} ‖A x(0) + b‖. Rounding comes on
    top. Errors as for `closed_form`.
    """
    generator = _generator(model)
    k = len(start)
    a = model.linear
    # exp [[A, I, 0], [0, 0, I], [0, 0, 0]] has φ₂(A) in its corner, without cancellation.
    block = np.zeros((3 * k, 3 * k))
    block[:k, :k], block[:k, k : 2 * k], block[k : 2 * k, 2 * k :] = a, np.eye(k), np.eye(k)
    phi = _exponential(block)[:k, 2 * k :]
    with quiet():
        gain = phi @ a @ (generator[:k] @ np.append(start, 1.0))
        gains = np.linalg.norm(_propagate(_exponential(a), gain, steps), axis=1)
        power, carried = np.eye(k), np.full(steps, np.nan)
        for t in range(steps):
            if not np.isfinite(power).all():
                break
            carried[t] = np.linalg.norm(power, 2)
            power = power @ (np.eye(k) + a)
        bound = np.convolve(carried, gains[:steps])[:steps] if steps else carried
    return np.append(0.0, bound)


def spectral_abscissa(linear: np.ndarray) -> float:
    """Return the largest real part of A's eigenvalues, per step: below 0 the flow settles."""
    return float(_eigenvalues(linear).real.max(initial=-np.inf))


def spectral_radius(linear: np.ndarray) -> float:
    """Return the largest |1 + λ| over A's eigenvalues: below 1 the rollout settles."""
    return float(np.abs(1 + _eigenvalues(linear)).max(initial=0.0))


def _eigenvalues(linear: np.ndarray) -> np.ndarray:
    if not np.isfinite(linear).all():
        return np.array([np.nan])
    return np.linalg.eigvals(linear)


def _generator(model: Fit) -> np.ndarray:
    """Return [[A, b], [0, 0]], which moves (x, 1)."""
    if model.quadratic.size:
        raise ValueError("a Lotka–Volterra fit has no closed form: use its rollout")
    k = len(model.constant)
    out = np.zeros((k + 1, k + 1))
    out[:k, :k], out[:k, k] = model.linear, model.constant
    return out


def _exponential(matrix: np.ndarray) -> np.ndarray:
    # scipy does not say what it makes of NaN.
    if not np.isfinite(matrix).all():
        return np.full_like(matrix, np.nan)
    with quiet():
        return np.asarray(expm(matrix))


def _propagate(step: np.ndarray, start: np.ndarray, steps: int) -> np.ndarray:
    """Return step^t start at t = 0 … steps, by doubling: shape (steps + 1, size)."""
    states, power = start[np.newaxis], step
    with np.errstate(over="ignore", invalid="ignore"):
        while len(states) <= steps:
            states = np.concatenate([states, states @ power.T])
            power = power @ power
    return states[: steps + 1]
