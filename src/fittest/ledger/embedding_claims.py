"""The paper's claims about circles in an embedding: Figs. 2 to 5."""

from __future__ import annotations

from fittest.ledger.claim import Claim, Part, above, below, equal, within

_SURVIVORS = "statistics/initial-signal/survivors.csv"
_PLANES = "statistics/initial-signal/planes.csv"
_FROZEN = "statistics/frozen/frozen.csv"
_RANK = "statistics/dimension/rank.csv"

EMBEDDING_CLAIMS = (
    Claim(
        "survivors-few",
        "§1, Fig. 2",
        "At (p, d) = (59, 128) a few circles survive and the signals of the others all but vanish",
        "3 to 5 circles",
        (
            Part(
                "share of trials with 3 to 5 circles",
                _SURVIVORS,
                "share_3_to_5",
                above(0.5),
                {"n_trials": 50},
            ),
            Part(
                "median S(T)/S(0) of dead circles",
                _SURVIVORS,
                "dead_ratio",
                below(0.01),
                {"n_trials": 50},
            ),
        ),
    ),
    Claim(
        "pca-loose",
        "Fig. 3",
        "Large singular values of the embedding pair up, and each pair spans nearly a Fourier "
        "plane",
        "5 pairs",
        (
            Part(
                "share of trials whose singular values above 5% of the largest are twice the "
                "circles, give or take one",
                _PLANES,
                "pairs_match",
                above(0.5),
                {"n_trials": 10},
            ),
            Part(
                "median largest angle between a pair and its nearest Fourier plane, in degrees",
                _PLANES,
                "plane_angle",
                below(30),
                {"n_trials": 10},
            ),
        ),
    ),
    Claim(
        "frozen-dip",
        "Fig. 4",
        "With the embedding frozen, test loss falls sharply where d reaches p",
        "d = 59",
        (
            Part(
                "median log10 test loss at p − 20 ≤ d < p minus that at p ≤ d ≤ p + 20, step 5,000",
                _FROZEN,
                "dip",
                above(0.3),
                {"n_least": 5},
                horizon=5000,
            ),
            Part(
                "change point of two fitted segments, d − p",
                _FROZEN,
                "change_point",
                within(-5, 5),
                {"n_least": 5},
                horizon=5000,
            ),
        ),
    ),
    Claim(
        "frozen-descent",
        "Fig. 4",
        "With the embedding frozen, d up to 20 ends with a lower test loss than 20 < d < p",
        "",
        (
            Part(
                "median log10 test loss at d ≤ 20 minus that at 20 < d < p, step 10,000",
                _FROZEN,
                "descent",
                below(0),
                {"n_least": 5},
                horizon=10_000,
            ),
        ),
    ),
    Claim(
        "embedding-rank",
        "§3.1",
        "From d = p on, a random embedding contains every circle as an exact linear projection",
        "",
        (
            Part(
                "share of embeddings of rank min(p, d)",
                _RANK,
                "rank_match",
                equal(1),
                horizon=None,
                seen=True,
            ),
            Part(
                "largest projection residual at d ≥ p",
                _RANK,
                "residual_at_least_p",
                below(1e-8),
                horizon=None,
                seen=True,
            ),
            Part(
                "least projection residual at d < p",
                _RANK,
                "residual_below_p",
                above(0.01),
                horizon=None,
                seen=True,
            ),
        ),
        "An identity of linear algebra: it checks the pipeline, not the networks",
    ),
    Claim(
        "circles-modulus",
        "Fig. 5 left",
        "More circles survive at a larger prime modulus p",
        "rises",
        (
            Part(
                "Spearman ρ of p and number of circles",
                "statistics/modulus/counts.csv",
                "spearman",
                above(0),
                {"n_least": 20, "n_values": 8},
            ),
        ),
    ),
    Claim(
        "circles-dimension",
        "Fig. 5 right",
        "More circles survive at a larger dimension d, from 16 to 128",
        "rises",
        (
            Part(
                "Spearman ρ of d and number of circles",
                "statistics/dimension/counts.csv",
                "spearman",
                above(0),
                {"n_least": 10, "n_values": 12},
            ),
        ),
    ),
)
"""In the order of the ledger."""
