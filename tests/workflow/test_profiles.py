"""Profiles: what each job asks for under them, and that the executor named last is the one used."""

import re
from pathlib import Path

import pytest
import yaml

PROFILES = Path(__file__).parents[2] / "profiles"
NAMES = ["gpu", "local", "slurm-v100"]
BLOCK = "standard/p~7/d~4/wd~0.5/width~8/embedding~0/intervention~none/trials~0-1.h5"
TRAJECTORY = f"results/tiny/trajectories/{BLOCK}"
EMBEDDING = "results/tiny/embeddings/p~7/d~4/embedding~0.h5"


def resources(project, profile, *targets, **config):
    """Return rule → the resources of one of its jobs, by a dry run."""
    settings = [f"{key}={value}" for key, value in ({"design": "tiny"} | config).items()]
    text = project.run(
        *("snakemake", "-n", "--profile", f"profiles/{profile}", "--quiet", "host"),
        *("--config", *settings, "--", *targets),
    )
    found = re.findall(r"^(?:local)?rule (\w+):\n(?: {4}.*\n)*? {4}resources: (.*)", text, re.M)
    return {
        rule: dict(pair.split("=", 1) for pair in line.split(", ") if "=" in pair)
        for rule, line in found
    }


def test_no_profile_overrides_the_one_that_is_asked_for():
    # Snakemake would load profiles/default as well, and it would win key by key.
    assert sorted(path.name for path in PROFILES.iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_goes_on_after_failures_and_does_not_retrain_for_resources(name):
    profile = yaml.safe_load((PROFILES / name / "config.yaml").read_text(encoding="utf-8"))
    assert profile["keep-going"]
    assert profile["rerun-incomplete"]
    assert profile["show-failed-logs"]
    assert profile["rerun-triggers"] == ["mtime", "params", "input", "software-env"]


def test_on_the_cluster_training_asks_for_a_gpu_by_size_and_tables_for_none(project, tiny):
    tiny["protocols"]["standard"]["steps"] = 1_000_000
    project.write_design(tiny)
    found = resources(project, "slurm-v100")
    assert found["train"]["gpu"] == "1"
    assert found["train"]["gpu_model"] == "volta"
    assert found["train"]["slurm_partition"] == "gpu"
    assert found["train"]["slurm_account"] == "my-project"
    assert int(found["train"]["runtime"]) >= 10
    assert int(found["train"]["mem_mb"]) >= 6000
    assert "gpu" not in found["make_table"]
    assert found["make_table"]["slurm_partition"] == "gpu"
    on_cpu = resources(project, "slurm-v100", device="cpu")["train"]
    assert on_cpu["gpu"] == "0"
    assert int(on_cpu["mem_mb"]) < int(found["train"]["mem_mb"])


def test_a_native_engine_trains_on_the_cpu_where_the_profile_insists_on_a_gpu(project):
    native = f"results/tiny/engines/native/trajectories/{BLOCK}"
    by_torch = f"results/tiny/engines/torch/trajectories/{BLOCK}"
    for target, gpu, device in ((native, "0", "cpu"), (by_torch, "1", "cuda")):
        found = resources(project, "gpu", target)["train_by_engine"]
        assert (found["gpu"], found["device"]) == (gpu, device)


def test_a_gpu_in_the_resources_does_not_hold_up_training_on_the_cpu(project):
    project.snakemake(TRAJECTORY)
    assert (project.folder / TRAJECTORY).is_file()


def test_an_executor_on_the_command_line_is_the_one_used(project):
    command = ("--profile", "profiles/slurm-v100", "--executor", "local", "--cores", "1")
    text = project.run("snakemake", *command, "--config", "design=tiny", "--", EMBEDDING)
    assert "SLURM" not in text
    assert (project.folder / EMBEDDING).is_file()


def test_where_a_job_runs_and_what_it_asks_for_retrain_nothing(finished):
    for profile, config in (("slurm-v100", {}), ("gpu", {}), ("local", {"device": "cpu"})):
        assert resources(finished, profile, **config) == {}
