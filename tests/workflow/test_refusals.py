"""Wrong run settings and designs are refused before any job, and nothing is made."""

import pytest


@pytest.mark.parametrize(
    ("setting", "parts"),
    [
        ({"desgin": "paper"}, ["config: ", "'desgin'", "'designs'", "Did you mean 'design'?"]),
        (
            {"design": "papr"},
            ["config: design: ", "'papr'", "'quick'", "Did you mean 'paper'?"],
        ),
        (
            {"design": "nowhere/tiny.yaml"},
            ["config: design: ", "nowhere/tiny.yaml", "'smoke'", "Did you mean 'tiny'?"],
        ),
        ({"device": "gpu"}, ["config: device: ", "'gpu'", "'auto'", "Did you mean 'cuda'?"]),
        ({"device": "cdua:1"}, ["config: device: ", "'cdua:1'", "'cpu'", "Did you mean 'cuda:N'?"]),
        ({"threads": 0}, ["config: threads: ", "greater than or equal to 1", "not 0"]),
        ({"threads": "many"}, ["config: threads: ", "integer", "not 'many'"]),
        ({"designs": "nowhere"}, ["config: design: ", "'tiny'", "nowhere/tiny.yaml"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_wrong_run_setting_is_refused_with_key_value_allowed_and_nearest(project, setting, parts):
    message = project.snakemake(fails=True, **setting)
    assert [part for part in parts if part not in message] == []
    assert "Traceback" not in message
    assert not (project.folder / "results").exists()


def test_every_problem_of_a_design_is_named_before_any_job(project, tiny):
    tiny["experiments"]["initial-signal"]["axes"]["embeding"] = 3
    tiny["protocols"]["standard"]["activation"] = "sillu"
    tiny["protocols"]["other"]["steps"] = 0
    project.write_design(tiny)
    message = project.snakemake(fails=True)
    start = "config/designs/tiny.yaml: "
    assert f"{start}experiments.initial-signal.axes: unknown key 'embeding'" in message
    assert "Did you mean 'embedding'?" in message
    assert f"{start}protocols.standard.activation: unknown value 'sillu'" in message
    assert "Did you mean 'silu'?" in message
    assert f"{start}protocols.other.steps: " in message
    assert not (project.folder / "results").exists()


def test_a_trial_count_off_the_grid_of_blocks_is_refused_with_the_nearest(project, tiny):
    tiny["experiments"]["initial-signal"]["trials"] = 5
    project.write_design(tiny)
    message = project.snakemake(fails=True)
    assert "experiments.initial-signal.trials: 5 is not on the grid" in message
    assert "Nearest: 4 or 6" in message
    assert not (project.folder / "results").exists()
