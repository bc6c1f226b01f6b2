"""The paper's claims about what decides survival: Figs. 6 and 7."""

from __future__ import annotations

from fittest.ledger.claim import Claim, Part, above, below

_PERTURBATION = "statistics/perturbation/perturbation.csv"
_CONSTRUCTION = "statistics/construction/construction.csv"
_SVM = "statistics/gradient/svm.csv"


def _svm(text: str, statistic: str, recipe: str) -> Part:
    """Return a number of the support vector machine that does not count."""
    return Part(text, _SVM, statistic, None, rule="absolute", keys={"recipe": recipe})


SURVIVAL_CLAIMS = (
    Claim(
        "signal-survival",
        "Fig. 6 left",
        "How often a circle survives goes with its initial signal",
        "r = 0.85, p < 1e-3",
        (
            Part(
                "Pearson r of initial signal and survival rate, all circles pooled",
                "statistics/initial-signal/correlation.csv",
                "pearson_pooled",
                above(0.7),
                {"n_embeddings": 10, "n_trials/n_embeddings": 20},
            ),
        ),
    ),
    Claim(
        "perturbation",
        "Fig. 6 middle",
        "A circle raised far above the mean signal nearly always survives, one far below almost "
        "never",
        "near 1 and near 0",
        tuple(
            Part(
                f"survival rate in the {name} fifth of distances from the mean signal",
                _PERTURBATION,
                f"{name}_fifth",
                region,
                {"n_embeddings": 4, "n_values": 10, "n_least": 10},
            )
            for name, region in (("top", above(0.9)), ("bottom", below(0.1)))
        ),
    ),
    Claim(
        "construction-first",
        "Fig. 6 right",
        "Of two constructed circles the larger always survives",
        "1.0",
        (
            Part(
                "survival rate of the larger circle at r ≤ 0.8",
                _CONSTRUCTION,
                "first_rate",
                above(0.95),
                {"n_trials": 200},
            ),
        ),
    ),
    Claim(
        "construction-second",
        "Fig. 6 right",
        "The smaller one survives more often the nearer its signal is to the larger's (ratio r)",
        "rises",
        (
            Part(
                "Spearman ρ of r and the second circle's survival",
                _CONSTRUCTION,
                "second_spearman",
                above(0),
                {"n_trials": 200},
            ),
        ),
    ),
    Claim(
        "construction-revival",
        "§3.2.1",
        "Circles that start with next to no signal are sometimes revived",
        "sometimes",
        (
            Part(
                "share of trials with a revived circle",
                _CONSTRUCTION,
                "revival_share",
                above(0.01),
                {"n_trials": 200},
            ),
        ),
    ),
    Claim(
        "gradient-survival",
        "Fig. 7",
        "The larger a circle's gradient at steps 1 to 4, the likelier it survives",
        "rises",
        tuple(
            Part(
                f"logistic slope of survival on the gradient at step {update}",
                "statistics/gradient/gradient.csv",
                "logistic_slope",
                above(0),
                {"n_trials": 100},
                rule="absolute",
                keys={"update": update},
            )
            for update in (1, 2, 3, 4)
        ),
    ),
    Claim(
        "svm-separates",
        "§3.2.2",
        "A linear support vector machine on initial signal and gradient tells the dead from the "
        "surviving",
        "accuracy 83.8%",
        (
            Part(
                "accuracy minus base rate, the paper's recipe",
                _SVM,
                "accuracy_gain",
                above(0),
                {"n_trials": 100},
                rule="absolute",
                keys={"recipe": "paper"},
            ),
            _svm("the paper's recipe: accuracy", "accuracy", "paper"),
            _svm("always answering dead", "base_rate", "paper"),
            _svm("balanced accuracy", "balanced_accuracy", "paper"),
            _svm("AUC", "auc", "paper"),
            _svm("standardised and split by trial: accuracy", "accuracy", "by-trial"),
            _svm("always answering dead", "base_rate", "by-trial"),
            _svm("balanced accuracy", "balanced_accuracy", "by-trial"),
            _svm("AUC", "auc", "by-trial"),
        ),
        "Most circles die, so that answering dead every time is right that often, too: the base "
        "rate is what to compare with",
    ),
)
"""In the order of the ledger."""
