"""What people type: named targets, and the path of any file."""

import re

import pytest

from fittest.figures.registry import FIGURES

TARGETS = {"all", "trajectories", "tables", "statistics", "figures", *FIGURES}


@pytest.fixture
def without_initial_signal(project, tiny):
    """A project whose design has an experiment that no figure is about."""
    del tiny["experiments"]["initial-signal"]
    project.write_design(tiny)
    return project


def test_every_named_target_is_listed_with_a_line_that_says_what_it_is(project):
    lines = project.run("snakemake", "--list-target-rules").splitlines()
    found = dict(m.groups() for line in lines if (m := re.fullmatch(r"(\w+) \((.+)\)", line)))
    assert set(found) == TARGETS
    assert all(len(text) > 10 and text.endswith(".") for text in found.values())


@pytest.mark.parametrize(
    ("target", "jobs"),
    [
        ("trajectories", {"draw_embedding", "train"}),
        ("signal_survival", {"draw_embedding", "train", "survival", "rates", "correlation"}),
    ],
)
def test_a_named_target_plans_what_it_needs_and_no_more(project, target, jobs):
    plan = project.plan(target)
    assert plan.jobs.keys() - {"draw_figure"} == jobs
    drawn = plan.outputs.get("draw_figure", [])
    assert {path.split("/")[-1].split(".")[0] for path in drawn} <= {target}


@pytest.mark.parametrize(
    ("path", "train", "rule"),
    [
        ("embeddings/p~59/d~128/embedding~7.h5", 0, "draw_embedding"),
        ("tables/mine/rates.nc", 1, "rates"),
        ("tables/initial-signal/trial.nc", 1, "trial"),
        ("statistics/initial-signal/decision.csv", 4, "decision"),
        ("figures/figure_2.svg", 1, "draw_figure"),
        (
            "trajectories/standard/p~11/d~4/wd~0/width~8/embedding~redrawn/"
            "intervention~scale-3-0.9/trials~10-19.h5",
            1,
            "train",
        ),
    ],
)
def test_the_path_of_any_file_is_a_target_even_of_a_cell_not_in_the_design(
    project, path, train, rule
):
    plan = project.plan(f"results/tiny/{path}")
    assert plan.jobs["train"] == train
    assert f"results/tiny/{path}" in plan.outputs[rule]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("standrd/p~7/d~4/wd~0/width~8/embedding~0/intervention~none", "Did you mean 'standard'"),
        ("standard/p~7/d~4/wd~0.50/width~8/embedding~0/intervention~none", "A block is spelt like"),
        ("standard/p~7/d~4/wd~0/width~8/embedding~0/intervention~keep-9", "circles are 1 … 3"),
    ],
    ids=["protocol", "number", "circle"],
)
def test_a_trajectory_path_that_cannot_be_trained_is_refused_before_any_job(project, path, message):
    target = f"results/tiny/trajectories/{path}/trials~0-1.h5"
    assert message in project.snakemake(target, fails=True)
    assert not (project.folder / "results").exists()


@pytest.mark.parametrize("target", ["signal_survival", "results/tiny/figures/signal_survival.png"])
def test_a_figure_whose_experiment_the_design_lacks_is_refused_with_the_remedy(
    without_initial_signal, target
):
    message = without_initial_signal.snakemake(target, fails=True)
    assert "no experiment 'initial-signal'" in message
    assert "Add it to config/designs/tiny.yaml" in message
    assert "--config design=NAME" in message
    assert not (without_initial_signal.folder / "results").exists()


def test_everything_of_a_design_without_figures_is_its_tables(without_initial_signal):
    jobs = without_initial_signal.plan().jobs
    assert jobs == {"train": 1, "survival": 1, "rates": 1}
