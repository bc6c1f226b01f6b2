"""What the shipped designs would run."""

import pytest

from fittest.cells import AXES
from fittest.figures.registry import FIGURES


def test_the_paper_design_trains_its_ten_embeddings_in_ten_jobs_of_fifty_trials(project):
    plan = project.plan(design="paper")
    assert plan.jobs["train"] == 10
    assert plan.jobs["draw_embedding"] == 10
    assert {w["embedding"] for w in plan.wildcards["train"]} == {str(i) for i in range(10)}
    assert {w["trials"] for w in plan.wildcards["train"]} == {"0-49"}


def test_every_axis_is_a_wildcard_of_the_one_train_rule(project):
    plan = project.plan(design="paper")
    makers = {
        rule
        for rule, outputs in plan.outputs.items()
        if any(path.startswith("results/paper/trajectories/") for path in outputs)
    }
    assert makers == {"train"}
    for path, wildcards in zip(plan.outputs["train"], plan.wildcards["train"], strict=True):
        assert set(wildcards) == {"protocol", *AXES.values(), "trials"}
        values = {axis: wildcards[axis] for axis in [*AXES.values(), "trials"]}
        spelt = "/".join(f"{axis}~{value}" for axis, value in values.items())
        assert path == f"results/paper/trajectories/{wildcards['protocol']}/{spelt}.h5"


@pytest.mark.parametrize("design", ["smoke", "quick", "laptop"])
def test_every_shipped_design_is_planned_to_its_figures_in_at_most_sixty_training_jobs(
    project, design
):
    plan = project.plan(design=design)
    assert 1 <= plan.jobs["train"] <= 60
    drawn = {path for path in plan.outputs["draw_figure"] if path.endswith(".png")}
    figures = {name for name, f in FIGURES.items() if f.experiments == ["initial-signal"]}
    if design == "smoke":  # continuous integration draws everything
        figures = set(FIGURES)
    assert drawn == {f"results/{design}/figures/{name}.png" for name in figures}


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
    plan = project.plan()
    interventions = [w["intervention"] for w in plan.wildcards["train"]]
    assert sorted(interventions) == ["keep-strongest-1-of-base", "none"]
