"""Making the report of a design's results."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from fittest.design import load_design
from fittest.figures.registry import FIGURES, drawable
from fittest.files import open_dataset, write_text
from fittest.ledger.making import KIND
from fittest.report.content import MARKS, claims_of, counts_of, figure_of, protocols_of

# Named here, so that a rule that lists this module's files lists them.
TEMPLATE = "page.html"
STYLE = "page.css"

WIDE = 544
"""CSS pixels (34 rem) beyond which a figure scrolls on a phone instead of shrinking."""


def make_report(design_file: Path, root: Path, output: Path) -> None:
    """Write one HTML page that needs no other file: ledger, figures, protocols, how to redo each.

    Parameters
    ----------
    design_file
        The design that the results come from.
    root
        Its results folder, `RESULTS/DESIGN`, with the ledger; a figure that is not there is named.
    output
        The page.
    """
    design = load_design(design_file)
    ledger = open_dataset(root / "claims/claims.nc", KIND)
    claims = claims_of(ledger)
    names = drawable(design.experiments)
    figures = {name: figure_of(name, root / "figures") for name in names}
    protocols, protocol_rows = protocols_of(design)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(TEMPLATE).render(
        style=STYLE,
        wide=WIDE,
        name=design_file.stem,
        title=design.title.rstrip("."),
        claims=claims,
        counts=counts_of(claims),
        marks=MARKS,
        figures=[figure for figure in figures.values() if figure is not None],
        not_drawn=[name for name, figure in figures.items() if figure is None],
        other=[name for name in FIGURES if name not in names],
        protocols=protocols,
        protocol_rows=protocol_rows,
        design_text=design_file.read_text(encoding="utf-8").strip(),
        made={key: str(ledger.attrs.get(key, "unknown")) for key in ("git_revision", "versions")},
        created=str(ledger.attrs.get("created", "unknown")),
    )
    write_text(output, page.rstrip("\n") + "\n")
