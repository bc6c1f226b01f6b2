"""The paper's claims about how circles act on each other: Figs. 8 and 9."""

from __future__ import annotations

from fittest.ledger.claim import Claim, Part, Region, above, below

_KEPT = "statistics/collaboration/kept.csv"
_INTERACTIONS = "statistics/initial-signal/interactions.csv"
_ODE = "statistics/ode/dynamics.csv"
_ODE_STEPS = 1000
_LARGE = "d>=64"


def _ode(text: str, statistic: str, region: Region | None, fit: str, d_range: str) -> Part:
    return Part(
        text,
        _ODE,
        statistic,
        region,
        {} if region is None else {"n_trials": 10},
        keys={"fit": fit, "d_range": d_range},
        horizon=_ODE_STEPS,
    )


DYNAMICS_CLAIMS = (
    Claim(
        "three-circles",
        "Fig. 8",
        "One circle alone fails, two leave a high loss, three bring it nearly to zero",
        "",
        (
            Part(
                "share of trials whose best loss is > 1 with one circle kept, > 0.1 with two and "
                "< 0.1 with three",
                _KEPT,
                "all_three",
                above(0.5),
                {"n_trials": 10},
            ),
            Part("one fails", _KEPT, "one_fails", None),
            Part("two leave it high", _KEPT, "two_high", None),
            Part("three bring it down", _KEPT, "three_low", None),
        ),
    ),
    Claim(
        "interactions-signs",
        "§1, §4",
        "Some pairs of circles help each other and others compete",
        "",
        (
            Part(
                "share of positive Lasso coefficients between survivors",
                _INTERACTIONS,
                "share_positive",
                above(0),
                {"n_trials": 20},
                seen=True,
            ),
            Part(
                "share of negative ones",
                _INTERACTIONS,
                "share_negative",
                above(0),
                {"n_trials": 20},
                seen=True,
            ),
            Part(
                "agreement of signs across trials of one embedding, beyond chance",
                _INTERACTIONS,
                "sign_agreement_excess",
                above(0),
                {"n_trials": 20},
            ),
            Part("agreement of signs", _INTERACTIONS, "sign_agreement", None),
        ),
    ),
    Claim(
        "ode-linear",
        "Fig. 9",
        "A linear differential equation fits the signals at every d; Lasso fits about as well with "
        "few terms",
        "",
        (
            _ode("median R² of least squares at d ≥ 64", "r_squared", above(0.9), "ols", _LARGE),
            _ode("median R² of Lasso at d ≥ 64", "r_squared", above(0.8), "lasso", _LARGE),
            _ode(
                "median share of Lasso coefficients that are not 0",
                "nonzero_share",
                below(0.2),
                "lasso",
                "all",
            ),
            _ode("R² of least squares at every d", "r_squared", None, "ols", "all"),
            _ode("of Lasso", "r_squared", None, "lasso", "all"),
            _ode("share not 0 at d ≥ 64", "nonzero_share", None, "lasso", _LARGE),
        ),
    ),
    Claim(
        "ode-closed-form",
        "Fig. 9",
        "The closed form of the linear equation follows the signals",
        "",
        (
            _ode(
                "median relative error of survivors' signals over steps 0 to 1,000",
                "closed_form_error",
                below(0.1),
                "ols",
                "all",
            ),
        ),
    ),
    Claim(
        "lotka-volterra-overfits",
        "§4.2",
        "With quadratic terms the fit is nearly perfect, and rolling it out is unstable",
        "R² near 1",
        (
            _ode("median R²", "r_squared", above(0.99), "lotka-volterra", "all"),
            _ode(
                "share of trials whose rollout goes beyond ten times the range of the data before "
                "step 1,000",
                "left_data_share",
                above(0.5),
                "lotka-volterra",
                "all",
            ),
        ),
    ),
)
"""In the order of the ledger."""
