"""All claims of the ledger, which files they read, and the sizes of the paper's experiments.

The rules were fixed before any data were seen. A rule changes only by a dated entry in
docs/decisions.md that says why. Imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass

from fittest.ledger.appendix_claims import APPENDIX_CLAIMS
from fittest.ledger.claim import HORIZON, Claim
from fittest.ledger.dynamics_claims import DYNAMICS_CLAIMS
from fittest.ledger.embedding_claims import EMBEDDING_CLAIMS
from fittest.ledger.survival_claims import SURVIVAL_CLAIMS

_ALL = (*EMBEDDING_CLAIMS, *SURVIVAL_CLAIMS, *DYNAMICS_CLAIMS, *APPENDIX_CLAIMS)
CLAIMS: dict[str, Claim] = {claim.id: claim for claim in _ALL}
"""Id → claim, in the order of the ledger."""


def files_read() -> list[str]:
    """Return the statistics files that claims read, below the design's results folder."""
    return list(dict.fromkeys(part.file for claim in CLAIMS.values() for part in claim.parts))


@dataclass(frozen=True)
class Sizes:
    """What the paper trained: least and greatest p and d, steps, trials a cell."""

    p: tuple[int, int] = (59, 59)
    d: tuple[int, int] = (128, 128)
    steps: int = HORIZON
    trials: int | None = 50


PAPER = {
    "initial-signal": Sizes(),
    "gradient": Sizes(trials=None),
    "perturbation": Sizes(),
    "construction": Sizes(trials=100),
    "modulus": Sizes(p=(13, 127), trials=100),
    "modulus-all": Sizes(p=(17, 97), trials=20),
    "dimension": Sizes(d=(16, 128)),
    "frozen": Sizes(d=(16, 128), steps=10_000, trials=5),
    "weight-decay": Sizes(),
    "ablation": Sizes(trials=1),
    "collaboration": Sizes(trials=1),
    "ode": Sizes(d=(4, 95), steps=1000, trials=10),
}
"""Experiment of the paper → its sizes; trials None where the paper does not say."""
