"""A fingerprint of the code that makes trained numbers, so that no change to it goes unnoticed.

The code is every module that drawing initial arrays and training them imports from the package.
Comments, docstrings and layout do not count. Whoever changes it either raises `TRAINING_VERSION`,
which puts every trajectory out of date, or declares why no trained number changes:

    fittest fingerprint                      after raising TRAINING_VERSION
    fittest fingerprint --neutral 'WHY'      after a change that alters no number
"""

from __future__ import annotations

import hashlib
import io
import json
import tokenize
from datetime import UTC, datetime
from pathlib import Path

from fittest.errors import DesignError
from fittest.files import write_text
from fittest.sources import source_files
from fittest.training.version import TRAINING_VERSION

RECORD = Path(__file__).with_name("fingerprint.json")
_LAYOUT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}


def normalised(source: str) -> str:
    """Return Python code without comments, docstrings and layout, the same on every Python."""
    kept: list[str] = []
    statement: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in _LAYOUT:
            # A statement that is one string is a docstring, of a field too.
            if token.type == tokenize.NEWLINE:
                if [t.type for t in statement] != [tokenize.STRING]:
                    kept += [t.string for t in statement]
                statement = []
            elif token.type in (tokenize.INDENT, tokenize.DEDENT):
                kept.append("⇥" if token.type == tokenize.INDENT else "⇤")
        else:
            statement.append(token)
    return "\n".join(kept)


def fingerprint() -> dict[str, str]:
    """Return module → SHA-256 of its normalised code, for the code that makes trained numbers."""
    root = Path(__file__).parents[1]
    texts = {
        path: normalised(path.read_text(encoding="utf-8"))
        for path in source_files("fittest.training.arrays", "fittest.training.ensemble")
    }
    for path in [*(root / "native").glob("*.[ch]pp")]:
        # Of C++ only comments that have a line to themselves are left out, and layout.
        lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
        texts[path] = "\n".join(line for line in lines if line and not line.startswith("//"))
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(texts[path].encode()).hexdigest()
        for path in sorted(texts)
    }


def read_record() -> dict:
    """Return the record: `version`, `modules`, and the list `neutral` of declared changes."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def changed() -> list[str]:
    """Return the modules that differ from the record, sorted."""
    then, now = read_record()["modules"], fingerprint()
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def record(neutral: str | None) -> None:
    """Record the code as it now is.

    Parameters
    ----------
    neutral
        Why the change alters no trained number; None after raising `TRAINING_VERSION`.

    Raises
    ------
    DesignError
        Where the code changed, the version is the recorded one, and no reason is given.
    """
    first: dict = {"version": 0, "modules": {}, "neutral": []}
    old = read_record() if RECORD.is_file() else first
    raised = old["version"] != TRAINING_VERSION
    if not raised and not neutral and old["modules"] != fingerprint():
        raise DesignError(
            f"training code changed ({', '.join(changed())}) under TRAINING_VERSION "
            f"{TRAINING_VERSION}. Raise it in fittest/training/version.py, or say why no trained "
            "number changes: fittest fingerprint --neutral 'WHY'"
        )
    declared = [] if raised else list(old["neutral"])
    if neutral:
        declared.append({"date": datetime.now(UTC).date().isoformat(), "why": neutral})
    content = {"version": TRAINING_VERSION, "modules": fingerprint(), "neutral": declared}
    write_text(RECORD, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
