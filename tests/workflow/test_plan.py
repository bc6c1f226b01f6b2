"""What the shipped designs would run."""

import pytest

from fittest.cells import AXES
from fittest.design import load_design
from fittest.figures.registry import FIGURES
from fittest.plan.coefficients import published
from fittest.plan.costs import plan


def test_the_paper_design_is_planned_in_fewer_than_1500_jobs(project):
    found = project.plan(design="paper")
    assert sum(found.jobs.values()) < 1500
    # Snakemake and `fittest plan` count the same: no trial is trained twice.
    _, together = plan(load_design(project.folder / "config/designs/paper.yaml"), published())
    assert found.jobs["train"] == len(set(found.outputs["train"])) == together.jobs
    # Embeddings 0 … 9 at the defaults: all experiments share them.
    assert found.jobs["draw_embedding"] == 10


def test_every_axis_is_a_wildcard_of_the_one_train_rule(project):
    found = project.plan(design="paper")
    makers = {
        rule
        for rule, outputs in found.outputs.items()
        if any(path.startswith("results/paper/trajectories/") for path in outputs)
    }
    assert makers == {"train"}
    for path, wildcards in zip(found.outputs["train"], found.wildcards["train"], strict=True):
        assert set(wildcards) == {"protocol", *AXES.values(), "trials"}
        values = {axis: wildcards[axis] for axis in [*AXES.values(), "trials"]}
        spelt = "/".join(f"{axis}~{value}" for axis, value in values.items())
        assert path == f"results/paper/trajectories/{wildcards['protocol']}/{spelt}.h5"


@pytest.mark.parametrize(("design", "most"), [("smoke", 80), ("quick", 64), ("laptop", 350)])
def test_every_shipped_design_is_planned_to_all_its_figures(project, design, most):
    found = project.plan(design=design)
    assert 1 <= found.jobs["train"] <= most
    drawn = {path for path in found.outputs["draw_figure"] if path.endswith(".png")}
    # Two have designs of their own; continuous integration draws everything.
    apart = set() if design == "smoke" else {"arithmetic", "engines"}
    assert drawn == {f"results/{design}/figures/{name}.png" for name in set(FIGURES) - apart}


def test_experiments_that_share_a_cell_train_it_once(project, tiny):
    shared = {"axes": {"p": 7, "d": 4, "width": 8, "embedding": [1, 2]}, "trials": 4}
    tiny["experiments"]["shared"] = shared
    project.write_design(tiny)
    paths = project.plan("trajectories").outputs["train"]
    assert len(paths) == len(set(paths))
    # Embeddings 0, 1 and 2 in two blocks each, and the other protocol's one.
    assert len(paths) == 3 * 2 + 1


def test_an_intervention_made_from_the_unperturbed_trial_trains_that_trial_first(project, tiny):
    tiny["experiments"] = {
        "ablation": {
            "axes": {"p": 7, "d": 4, "width": 8, "intervention": "keep-strongest-1-of-base"},
            "trials": 2,
        }
    }
    project.write_design(tiny)
    found = project.plan()
    interventions = [w["intervention"] for w in found.wildcards["train"]]
    assert sorted(interventions) == ["keep-strongest-1-of-base", "none"]
