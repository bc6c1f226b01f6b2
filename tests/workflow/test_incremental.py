"""Incremental by construction: after a change, only what it can alter runs again."""

import os
import time

import pytest

from fittest.figures.registry import FIGURES as ALL_FIGURES
from fittest.training.fingerprint import fingerprint
from fittest.training.version import TRAINING_VERSION

TRAINING_RULES = {"draw_embedding", "train"}
FIGURES = {name for name, f in ALL_FIGURES.items() if f.experiments == ["initial-signal"]}


def figures_of(plan) -> set[str]:
    paths = plan.outputs.get("draw_figure", [])
    return {path.split("/")[-1].removesuffix(".png") for path in paths if path.endswith(".png")}


def experiments_of(plan, rule: str) -> list[str]:
    return sorted(wildcards["experiment"] for wildcards in plan.wildcards.get(rule, []))


# Nothing changed


def test_a_finished_design_plans_nothing_even_where_its_folder_was_moved(finished):
    assert finished.plan().jobs == {}


@pytest.mark.parametrize("profile", [True, False], ids=["local-profile", "no-profile"])
def test_where_and_on_what_to_train_retrains_nothing(finished, profile):
    plan = finished.plan(profile=profile, device="cpu", threads=2, engine="torch")
    assert plan.jobs == {}


def test_a_source_file_that_is_newer_but_the_same_remakes_nothing(finished):
    for path in (finished.folder / "src/fittest").rglob("*.py"):
        os.utime(path, (time.time() + 10, time.time() + 10))
    assert finished.plan().jobs == {}


# The design changed


def test_a_new_embedding_trains_only_its_own_blocks(finished, tiny):
    tiny["experiments"]["initial-signal"]["axes"]["embedding"] = [0, 1, 2]
    finished.write_design(tiny)
    plan = finished.plan()
    assert plan.jobs["draw_embedding"] == 1
    trained = [(w["embedding"], w["trials"]) for w in plan.wildcards["train"]]
    assert sorted(trained) == [("2", "0-1"), ("2", "2-3")]
    assert experiments_of(plan, "survival") == ["initial-signal"]


def test_more_trials_train_only_the_missing_blocks(finished, tiny):
    tiny["experiments"]["initial-signal"]["trials"] = 8
    finished.write_design(tiny)
    plan = finished.plan()
    assert plan.jobs["draw_embedding"] == 0
    trained = [(w["embedding"], w["trials"]) for w in plan.wildcards["train"]]
    assert sorted(trained) == [("0", "4-5"), ("0", "6-7"), ("1", "4-5"), ("1", "6-7")]


def test_a_second_experiment_whose_cells_exist_trains_nothing(finished, tiny):
    axes = {"p": 7, "d": 4, "width": 8, "embedding": 1}
    tiny["experiments"]["again"] = {"axes": axes, "trials": 4}
    finished.write_design(tiny)
    plan = finished.plan()
    assert plan.jobs == {"survival": 1, "rates": 1}
    assert experiments_of(plan, "survival") == ["again"]


COMPARED = {"survival": 1, "rates": 1, "course": 1, "comparison": 1}


def test_a_comparison_of_protocols_trains_only_the_ways_that_are_not_there(finished, tiny):
    axes = {"p": 7, "d": 4, "width": 8, "embedding": "redrawn"}
    tiny["experiments"]["arithmetic"] = {
        "protocol": ["other", "standard"],
        "axes": axes,
        "trials": 2,
    }
    finished.write_design(tiny)
    plan = finished.plan()
    assert [w["protocol"] for w in plan.wildcards["train"]] == ["standard"]
    assert plan.jobs == COMPARED | {"train": 1, "draw_figure": 1}
    assert figures_of(plan) == {"arithmetic"}


def test_a_comparison_of_engines_trains_apart_and_changes_no_other_result(finished, tiny):
    axes = {"p": 7, "d": 4, "width": 8, "embedding": "redrawn"}
    tiny["experiments"]["engines"] = {
        "protocol": "other",
        "engines": ["native", "torch"],
        "axes": axes,
        "trials": 4,
    }
    finished.write_design(tiny)
    plan = finished.plan()
    trained = [(w["engine"], w["trials"]) for w in plan.wildcards["train_by_engine"]]
    assert sorted(trained) == [(e, t) for e in ("native", "torch") for t in ("0-1", "2-3")]
    assert plan.jobs == COMPARED | {"train_by_engine": 4, "draw_figure": 1}
    assert figures_of(plan) == {"engines"}


def test_a_protocol_value_retrains_that_protocol_only(finished, tiny):
    tiny["protocols"]["standard"]["optimizer"] = {"lr": 0.02}
    finished.write_design(tiny)
    plan = finished.plan()
    assert [w["protocol"] for w in plan.wildcards["train"]] == ["standard"] * 4
    assert plan.jobs["draw_embedding"] == 0
    assert experiments_of(plan, "survival") == ["initial-signal"]


def test_a_default_written_out_retrains_nothing(finished, tiny):
    tiny["protocols"]["standard"] |= {"optimizer": {"lr": 0.01}, "train_share": 0.8}
    finished.write_design(tiny)
    assert finished.plan().jobs == {}


def test_a_new_seed_draws_and_trains_everything_again(finished, tiny):
    finished.write_design(tiny | {"seed": 1})
    plan = finished.plan()
    assert (plan.jobs["draw_embedding"], plan.jobs["train"]) == (2, 5)


@pytest.mark.parametrize(
    "change",
    [{"survival": {"absolute": 5.0}}, {"horizons": [20]}],
    ids=["survival-threshold", "horizons"],
)
def test_how_survival_is_judged_remakes_tables_and_trains_nothing(finished, tiny, change):
    finished.write_design(tiny | change)
    plan = finished.plan()
    assert not TRAINING_RULES & plan.jobs.keys()
    assert experiments_of(plan, "survival") == ["initial-signal", "mine"]
    assert experiments_of(plan, "rates") == ["initial-signal", "mine"]
    assert set(experiments_of(plan, "timeline")) == {"initial-signal"}
    # Planes and gradients are judged at the last step only.
    assert ("planes" in plan.jobs) == ("survival" in change)
    assert {"signal_survival", "decision_time"} <= figures_of(plan)


# A file was deleted


def test_a_deleted_trajectory_is_remade_with_only_what_hangs_on_it(finished):
    (path,) = (finished.results / "trajectories/other").rglob("*.h5")
    path.unlink()
    plan = finished.plan()
    assert plan.outputs["train"] == [str(path.relative_to(finished.folder))]
    assert plan.jobs == {"train": 1, "survival": 1, "rates": 1}
    assert experiments_of(plan, "survival") == ["mine"]


def test_a_deleted_embedding_retrains_nothing_that_was_trained_from_it(finished):
    (finished.results / "embeddings/p~7/d~4/embedding~0.h5").unlink()
    assert not finished.plan().jobs["train"]


def test_a_deleted_figure_is_redrawn_alone(finished):
    (finished.results / "figures/figure_3.svg").unlink()
    plan = finished.plan()
    assert plan.jobs == {"draw_figure": 1}
    assert figures_of(plan) == {"figure_3"}


# The package changed


@pytest.mark.parametrize("name", ["figure_2", "decision_time"])
def test_a_changed_figure_module_redraws_that_figure_only(finished, name):
    finished.append(f"src/fittest/figures/{name}.py", "\nCHANGED = True\n")
    plan = finished.plan()
    assert plan.jobs == {"draw_figure": 1}
    assert figures_of(plan) == {name}


def test_a_changed_style_sheet_redraws_every_figure_and_nothing_else(finished):
    finished.append("src/fittest/figures/fittest.mplstyle", "\nfont.size: 20\n")
    plan = finished.plan()
    assert plan.jobs == {"draw_figure": len(FIGURES)}
    assert figures_of(plan) == FIGURES


def test_changed_statistics_remake_statistics_and_their_figures_and_train_nothing(finished):
    finished.append("src/fittest/statistics/correlation.py", "\nCHANGED = True\n")
    plan = finished.plan()
    assert plan.jobs == {"correlation": 1, "draw_figure": 1}
    assert figures_of(plan) == {"signal_survival"}


def test_what_statistics_share_remakes_them_all_and_trains_nothing(finished):
    finished.append("src/fittest/intervals.py", "\nCHANGED = True\n")
    plan = finished.plan()
    assert not TRAINING_RULES & plan.jobs.keys()
    assert {"correlation", "decision"} <= plan.jobs.keys()


def test_changed_tables_remake_tables_and_train_nothing(finished):
    finished.append("src/fittest/tables/survival.py", "\nCHANGED = True\n")
    plan = finished.plan()
    assert not TRAINING_RULES & plan.jobs.keys()
    assert {"survival", "timeline", "trial"} <= plan.jobs.keys()
    assert {"figure_2", "figure_3", "decision_time"} <= figures_of(plan)


def test_a_comment_in_training_code_retrains_nothing(finished):
    edited = {"training/block.py", "training/version.py", *fingerprint()}
    for module in edited:
        finished.append(f"src/fittest/{module}", "\n# A remark.\n")
    assert not TRAINING_RULES & finished.plan().jobs.keys()


def test_a_raised_training_version_retrains_everything(finished):
    old = f"\nTRAINING_VERSION = {TRAINING_VERSION}\n"
    new = f"\nTRAINING_VERSION = {TRAINING_VERSION + 1}\n"
    finished.edit("src/fittest/training/version.py", old, new)
    plan = finished.plan()
    assert plan.jobs["train"] == 5
    assert plan.jobs["draw_embedding"] == 2
    assert figures_of(plan) == FIGURES


def test_a_version_and_a_seed_that_change_places_are_both_seen(finished, tiny):
    """Snakemake compares the values of params without their names."""
    version = "src/fittest/training/version.py"
    here, there = TRAINING_VERSION, TRAINING_VERSION + 1
    (block,) = (finished.results / "trajectories/other").rglob("*.h5")
    target = str(block.relative_to(finished.folder))
    finished.write_design(tiny | {"seed": there})
    finished.snakemake(target)
    assert finished.plan(target).jobs == {}
    finished.write_design(tiny | {"seed": here})
    finished.edit(version, f"\nTRAINING_VERSION = {here}\n", f"\nTRAINING_VERSION = {there}\n")
    assert finished.plan(target).jobs == {"train": 1}
