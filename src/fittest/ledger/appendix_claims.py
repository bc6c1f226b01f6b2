"""The paper's claims about weight decay and circularity, and in its appendices: Figs. 10 to 14."""

from __future__ import annotations

from fittest.ledger.claim import Claim, Part, Region, above, below, equal, within

_CIRCULARITY = "statistics/dimension/circularity.csv"
_GRADIENTS = "statistics/initial-signal/gradients.csv"


def _ablation(text: str, statistic: str, region: Region, experiment: str) -> Part:
    return Part(
        text,
        "statistics/ablation/ablation.csv",
        statistic,
        region,
        {"n_trials": 10},
        keys={"experiment": experiment},
    )


APPENDIX_CLAIMS = (
    Claim(
        "circles-weight-decay",
        "Fig. 10",
        "Without weight decay every circle stays and the network does not generalise; the more "
        "decay, the fewer circles",
        "falls",
        (
            Part(
                "share of trials at weight decay 0 in which all circles stay",
                "statistics/weight-decay/decay.csv",
                "share_all_stay",
                above(0.9),
                {"n_trials": 20},
                rule="retained",
            ),
            Part(
                "mean test accuracy at weight decay 0",
                "statistics/weight-decay/decay.csv",
                "test_accuracy",
                below(0.9),
                {"n_trials": 20},
                rule="retained",
            ),
            Part(
                "Spearman ρ of weight decay above 0 and number of circles",
                "statistics/weight-decay/counts.csv",
                "spearman_positive",
                below(0),
                {"n_least": 20},
                rule="retained",
            ),
        ),
        "The rule relative finds no survivor where nothing decays; so retained counts here",
    ),
    Claim(
        "circularity-dimension",
        "Fig. 11 left",
        "Initial circularity rises with d",
        "rises",
        (
            Part(
                "largest distance of mean circularity from d/(d + p)",
                _CIRCULARITY,
                "identity_gap",
                below(0.02),
                horizon=None,
                seen=True,
            ),
        ),
        "Follows from algebra, before any training: mean circularity of N(0, 1) entries is about "
        "d/(d + p)",
    ),
    Claim(
        "circularity-survival",
        "Fig. 11 right",
        "Initial circularity has no clear bearing on who survives",
        "no clear effect",
        (
            Part(
                "AUC of initial circularity for survival",
                _CIRCULARITY,
                "auc",
                within(0.4, 0.6),
                {"n_trials": 50},
            ),
        ),
    ),
    Claim(
        "ablation-a",
        "App. C",
        "Started from its strongest circle alone, a network revives others",
        "4 circles",
        (_ablation("share of trials of A with several circles", "revives", above(0.5), "A"),),
    ),
    Claim(
        "ablation-b",
        "App. C",
        "Started from its two strongest circles, it solves the task with two",
        "loss 1e-7",
        (
            _ablation(
                "share of trials of B with two circles and test loss < 1e-6",
                "solves_with_two",
                above(0.5),
                "B",
            ),
        ),
    ),
    Claim(
        "ablation-b-sooner",
        "App. C",
        "Started so, it reaches a low loss sooner than from its whole embedding",
        "",
        (
            _ablation(
                "median paired difference B − O of the steps to test loss 1e-3",
                "steps_difference",
                below(0),
                "B",
            ),
        ),
    ),
    Claim(
        "ablation-cd",
        "App. C",
        "Started from one or two random circles, at least three survive",
        "3 or more",
        tuple(
            _ablation(
                f"share of trials of {name} with three or more circles",
                "at_least_three",
                above(0.5),
                name,
            )
            for name in ("C", "D")
        ),
    ),
    Claim(
        "ablation-spikes",
        "App. C",
        "Started from the strongest circle or from random ones, test loss spikes again and again",
        "",
        (
            _ablation(
                "spikes of test loss in A, C and D minus those in O and B, paired",
                "spikes_difference",
                above(0),
                "ACD-OB",
            ),
        ),
        "A spike: tenfold above the least loss so far, once that is below 1e-2",
    ),
    Claim(
        "single-circle-never",
        "App. C",
        "No network ends with a single circle",
        "0",
        (
            Part(
                "share of trials with one circle, among those of test accuracy ≥ 0.99",
                "statistics/initial-signal/survivors.csv",
                "share_single",
                equal(0),
                {"n_trials": 200},
                seen=True,
            ),
        ),
        "None seen in so many trials; the interval's upper end says how rare it then is",
    ),
    Claim(
        "gradient-early",
        "Fig. 13",
        "Gradients of the embedding peak near step 100 and are gone after step 1,000",
        "steps 100 and 1,000",
        (
            Part(
                "median step of the peak",
                _GRADIENTS,
                "peak_step",
                within(50, 200),
                {"n_trials": 20},
            ),
            Part(
                "median gradient after step 1,000 over the peak",
                _GRADIENTS,
                "late_share",
                below(0.05),
                {"n_trials": 20},
            ),
        ),
    ),
    Claim(
        "decay-dominates",
        "App. D",
        "After that, dead circles shrink as weight decay alone makes them",
        "",
        (
            Part(
                "slope of log S of dead circles after step 1,000, over −lr·wd",
                _GRADIENTS,
                "decay_slope_ratio",
                within(0.95, 1.05),
                {"n_trials": 20},
            ),
        ),
    ),
    Claim(
        "circles-all-moduli",
        "Fig. 14",
        "The number of circles rises with p over all moduli, with more noise",
        "p = 17 to 97",
        (
            Part(
                "Spearman ρ of p and number of circles",
                "statistics/modulus-all/counts.csv",
                "spearman",
                above(0),
                {"n_least": 5},
            ),
        ),
    ),
    Claim(
        "compute",
        "App. H",
        "All experiments took about 45 days on one V100 GPU",
        "45 V100-days",
        (),
        "Other hardware and, unless the design is the paper's, other work: no verdict",
    ),
)
"""In the order of the ledger."""
