"""The report is one page that opens anywhere: offline, on a phone, with a silent console."""

import html
import json
import re
import subprocess

import numpy as np
import pandas as pd
import pytest
import yaml
from matplotlib.figure import Figure

from fittest.cli import main
from fittest.design import load_design
from fittest.files import write_dataset
from fittest.ledger.claims import CLAIMS
from fittest.ledger.ledger import ledger
from fittest.ledger.making import KIND, as_dataset

DESIGN = {
    "title": "Ends </script> & begins <b>here</b>.",
    "protocols": {"standard": {"steps": 2000}, "other": {"optimizer": {"lr": 0.02}}},
    "horizons": [1000],
    "experiments": {
        "initial-signal": {"axes": {"p": 23, "embedding": [0, 1]}, "trials": 50},
        "modulus": {"axes": {"p": [11, 13], "embedding": "redrawn"}, "trials": 50},
    },
}
CAPTION = "500 trials; r < 0.9 & the rest > 0."
# Reads the page as it stands in the browser; the test alone adds it. A window cannot be as narrow
# as a phone, and a frame in it can.
PROBE = """<script>addEventListener("load", () => {
  const root = document.documentElement;
  parent.document.body.dataset.probe = JSON.stringify({
    inner: innerWidth, content: root.scrollWidth,
    images: [...document.images].map(i => i.complete && i.naturalWidth),
    shown: [...document.images].map(i => Math.round(i.getBoundingClientRect().width)),
    wide: [...document.querySelectorAll("main > section > *, header > *")]
      .filter(e => e.getBoundingClientRect().right > innerWidth + 1).map(e => e.outerHTML),
    small: [...document.querySelectorAll("p, td, th, dd, li, span, pre")]
      .filter(e => parseFloat(getComputedStyle(e).fontSize) < 12).length,
    broken: [...document.querySelectorAll("a")].map(a => a.getAttribute("href"))
      .filter(h => !h.startsWith("#") || !document.getElementById(h.slice(1))),
    resources: performance.getEntriesByType("resource").map(e => e.name)
      .filter(n => !n.startsWith("data:")),
  });
});</script>"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The report of a design with two figures, one of them wide, and one not drawn."""
    root = tmp_path_factory.mktemp("results") / "mine"
    design = root.parent / "mine.yaml"
    design.write_text(yaml.safe_dump(DESIGN, sort_keys=False))
    row = {
        "statistic": "pearson_pooled",
        "rule": "relative",
        "horizon": 2000,
        "estimate": 0.5,
        "low": 0.4,
        "high": 0.6,
        "n_trials": 500,
        "n_embeddings": 10,
    }
    statistics = {"statistics/initial-signal/correlation.csv": pd.DataFrame([row])}
    dataset = as_dataset(*ledger(statistics, load_design(design)))
    write_dataset(dataset, root / "claims/claims.nc", KIND)
    (root / "figures").mkdir()
    for name, size in (("figure_2", (7.2, 5)), ("signal_survival", (4.4, 3))):
        figure = Figure(figsize=size)
        figure.subplots().plot(np.arange(9))
        figure.savefig(root / f"figures/{name}.png", dpi=200)
        (root / f"figures/{name}.txt").write_text(CAPTION + "\n")
    output = root / "report.html"
    command = ["report", "--design", str(design), "--results", str(root), "-o", str(output)]
    assert main(command) == 0
    return output


def test_ledger_first_then_figures_with_captions_protocols_and_commands(page):
    text = page.read_text()
    order = [text.index(f'<section id="{name}">') for name in ("claims", "figures", "protocols")]
    assert order == sorted(order)
    for name in CLAIMS:
        assert f'<tr id="claim-{name}">' in text
        assert f'<dt id="rule-{name}">' in text
    row = re.search(r'<tr id="claim-signal-survival">.*?</tr>', text, re.DOTALL)[0]
    assert "not reproduced" in row
    assert "0.5 [0.4, 0.6]" in row
    assert "p = 23, d = 128, 2,000 steps" in row
    assert text.count(html.escape(CAPTION)) == 2
    assert "snakemake --profile profiles/local signal_survival --config design=mine" in text
    missing = re.search(r"Not drawn: (.*)\.", text)[1].split(", ")
    assert {"figure_3", "decision_time"} <= set(missing)
    assert not {"figure_2", "signal_survival"} & set(missing)
    assert re.search(r"optimizer\.lr</th><td>0\.01</td><td>0\.02</td>", text)
    assert "numpy" in text
    assert "trials: 50" in text


def test_text_from_files_is_never_markup(page):
    text = page.read_text()
    assert "<b>here</b>" not in text
    assert "</script>" not in text
    assert "&lt;b&gt;here" in text


def test_nothing_is_loaded_from_elsewhere(page):
    text = page.read_text()
    sources = re.findall(r'(?:src|href|url)\s*[=(]\s*["\']?([^"\'\s)>]+)', text)
    assert sources
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in sources)
    assert "@import" not in text
    assert "<script" not in text


def test_a_verdict_is_told_by_mark_and_word(page):
    badges = re.findall(
        r'<span class="verdict [\w-]+"><span aria-hidden="true">(.)</span> ([\w ]+)',
        page.read_text(),
    )
    assert {word: mark for mark, word in badges} == {"not reproduced": "✗", "not run": "–"}


@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_opens_it_without_complaint(page, tmp_path, tool, width):
    browser = tool("chromium", "chromium")
    content = page.read_text().replace("</body>", f"{PROBE}</body>")
    frame = f'<iframe style="width:{width}px; height:900px" srcdoc="{html.escape(content)}">'
    opened = tmp_path / "frame.html"
    opened.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{frame}</iframe></body>')
    done = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--window-size=1400,1000",
            "--virtual-time-budget=5000",
            "--dump-dom",
            opened.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=240,
    )
    match = re.search(r'data-probe="([^"]*)"', done.stdout)
    assert match is not None, done.stderr
    found = json.loads(html.unescape(match[1]))
    assert "CONSOLE" not in done.stderr, done.stderr
    assert found["inner"] == width
    assert found["images"] == [1440, 880]
    # Nothing hangs over the edge; tables and wide figures scroll or stack within it.
    assert found["content"] <= width
    assert found["wide"] == []
    assert found["small"] == 0
    # The narrow figure shrinks, and the wide one only as far as its letters can be read.
    wide, narrow = found["shown"]
    assert wide == (720 if width > 1000 else 544)
    assert narrow == 440 or 300 < narrow < width < 1000
    assert found["broken"] == []
    assert found["resources"] == []


def test_without_a_ledger_the_remedy_is_named(tmp_path, capsys):
    design = tmp_path / "mine.yaml"
    design.write_text(yaml.safe_dump(DESIGN, sort_keys=False))
    output = tmp_path / "report.html"
    command = ["report", "--design", str(design), "--results", str(tmp_path), "-o", str(output)]
    assert main(command) == 1
    assert "claims/claims.nc does not exist" in capsys.readouterr().err
    assert not output.exists()
