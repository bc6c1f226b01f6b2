"""The ledger as a page of Markdown."""

from __future__ import annotations

import pandas as pd

from fittest.ledger.verdicts import VERDICTS

_PAGE = """# Claims of the paper, judged on: {title}

The paper is arXiv 2405.17420. {counts}.

A number is judged by its 95% interval, written in square brackets: `reproduced` where all of it
lies in the rule's region, `not reproduced` where none of it does, `inconclusive` where it straddles
the region's edge or comes from fewer data than the rule asks, `not run` where the number is
missing. "As seen" judges the number itself. A claim of several numbers is reproduced if each is.
The rules were fixed before there were data. **Verdicts are about what this design trained**; where
its sizes are not the paper's, the row says so.

| claim | where | what it says | paper | measured | from | verdict |
|---|---|---|---|---|---|---|
{rows}

## Rules and notes

{rules}"""


def page(claims: pd.DataFrame, title: str) -> str:
    """Return the page of a ledger, as Markdown that ends in a newline.

    Parameters
    ----------
    claims
        The first of what `fittest.ledger.ledger.ledger` returns.
    title
        Of the design.
    """
    rows = [
        "| "
        + " | ".join(
            _cell(text)
            for text in (
                f"[{row['id']}](#{row['id']})",
                row["where"],
                row["text"],
                row["published"] or "—",
                row["measured"] or "—",
                row["sample"] or "—",
                _verdict(row),
            )
        )
        + " |"
        for _, row in claims.iterrows()
    ]
    rules = [_rule(row) for _, row in claims.iterrows()]
    return _PAGE.format(
        title=title.rstrip("."),
        counts=counts_text(claims),
        rows="\n".join(rows),
        rules="\n".join(rules),
    )


def counts_text(claims: pd.DataFrame) -> str:
    """Return how many claims have each verdict, as `1 reproduced, 30 not run`."""
    counts = claims["verdict"].value_counts()
    return f"{len(claims)} claims: " + ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts
    )


def _verdict(row: pd.Series) -> str:
    return f"**{row['verdict']}**" + (" (other sizes)" if row["as_in_paper"] == 0 else "")


def _rule(row: pd.Series) -> str:
    note = f" {row['note']}." if row["note"] else ""
    sizes = f" Design: {row['sizes']}." if row["sizes"] else ""
    return f"### {row['id']}\n\n{row['verdict'].capitalize()}. Rule: {row['rule']}.{sizes}{note}\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")
