"""docs/extending.md is followed to the letter, and the examples run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
_STEP = re.compile(
    r"(?:(?P<how>Write|Append to) `(?P<path>[^`]+)`:\n\n```\w+\n(?P<text>.*?)```"
    r"|(?P<run>Run):\n\n```sh\n(?P<commands>.*?)```"
    r"|In `(?P<edited>[^`]+)`, replace `(?P<old>[^`]+)` by\s+`(?P<new>[^`]+)`)",
    re.DOTALL,
)


def test_the_page_on_extending_is_followed_to_the_letter(project):
    done = []
    for step in _STEP.finditer(PAGE):
        if step["run"]:
            for command in step["commands"].strip().splitlines():
                done.append(command)
                project.run("bash", "-c", command)
        elif step["edited"]:
            project.edit(step["edited"], step["old"], step["new"])
        elif step["how"] == "Write":
            (project.folder / step["path"]).write_text(step["text"], encoding="utf-8")
        else:
            project.append(step["path"], "\n\n" + step["text"])
    assert len(done) == PAGE.count("```sh") == 6
    results = project.folder / "results/mine"
    shared = pd.read_csv(results / "statistics/noise/noise.csv").set_index("value")["estimate"]
    assert shared.loc[0.0] == 1.0
    assert len(shared) == 3
    assert all((results / f"figures/noise.{s}").stat().st_size for s in ("png", "pdf", "txt"))
    ledger = pd.read_csv(results / "claims/claims.csv").set_index("id")
    assert ledger.loc["noise-harmless", "verdict"] == "inconclusive"


@pytest.mark.parametrize(
    "script", sorted((ROOT / "docs/examples").glob("*.py")), ids=lambda p: p.stem
)
def test_an_example_runs_and_draws_what_it_says(script, finished_once, tmp_path):
    text = script.read_text(encoding="utf-8")
    # The pipeline that ran for these tests stands for `make quick`.
    text = text.replace('"results/quick"', repr(str(finished_once.results)))
    (tmp_path / script.name).write_text(text, encoding="utf-8")
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    (picture,) = re.findall(r'savefig\("([^"]+)"', text)
    assert (tmp_path / picture).stat().st_size > 5000
