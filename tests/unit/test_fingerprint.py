"""A change to training code cannot go unnoticed."""

import json

import pytest

from fittest.errors import DesignError
from fittest.training import fingerprint
from fittest.training.version import TRAINING_VERSION

CODE = '''"""A module."""

X = 1  # why


class A:
    """A class."""

    y: int = 2
    """A field."""

    def f(self):
        """Do it."""
        return f"{self.y} {{}}" + "text"
'''


def test_training_code_is_the_code_recorded_for_its_version():
    remedy = (
        "training code changed: {}. Raise TRAINING_VERSION in src/fittest/training/version.py and "
        "run `fittest fingerprint`; or, if no trained number changes, run "
        "`fittest fingerprint --neutral 'WHY'`"
    )
    assert fingerprint.changed() == [], remedy.format(", ".join(fingerprint.changed()))
    assert fingerprint.read_record()["version"] == TRAINING_VERSION, "run `fittest fingerprint`"


def test_the_fingerprint_covers_everything_that_makes_a_number():
    modules = set(fingerprint.fingerprint())
    assert {
        "seeds.py",
        "task.py",
        "fourier.py",
        "interventions.py",
        "protocol.py",
        "recording.py",
        "training/arrays.py",
        "training/ensemble.py",
        "training/loss.py",
        "training/network.py",
        "training/recorder.py",
    } <= modules
    assert not {"statistics.py", "tables.py", "cli.py", "design.py"} & modules


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# why", "# another why"),
        ('"""A module."""', '"""Another text."""'),
        ('    """A class."""\n\n', ""),
        ('    """A field."""\n', ""),
        ("return f", "return  f"),
        ("X = 1", "X =  1"),
    ],
)
def test_comments_docstrings_and_layout_do_not_count(old, new):
    assert old in CODE
    assert fingerprint.normalised(CODE) == fingerprint.normalised(CODE.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("X = 1", "X = 2"),
        ("= 2", "= 2.0"),
        ('"text"', '"texts"'),
        ("{self.y}", "{self.z}"),
    ],
)
def test_code_counts(old, new):
    assert fingerprint.normalised(CODE) != fingerprint.normalised(CODE.replace(old, new))


def test_what_a_statement_belongs_to_counts():
    inside, outside = "if a:\n    b = 1\n    c = 2\n", "if a:\n    b = 1\nc = 2\n"
    assert fingerprint.normalised(inside) != fingerprint.normalised(outside)


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """A record of which one module has since changed."""
    record = tmp_path / "fingerprint.json"
    old = {**fingerprint.fingerprint(), "seeds.py": "0" * 64}
    record.write_text(json.dumps({"version": TRAINING_VERSION, "modules": old, "neutral": []}))
    monkeypatch.setattr(fingerprint, "RECORD", record)
    return record


def test_a_change_without_a_version_or_a_reason_is_refused(edited):
    assert fingerprint.changed() == ["seeds.py"]
    with pytest.raises(DesignError, match=r"seeds\.py.*TRAINING_VERSION.*--neutral"):
        fingerprint.record(None)
    assert fingerprint.changed() == ["seeds.py"]


def test_a_neutral_change_is_recorded_with_its_reason(edited):
    fingerprint.record("renamed a variable")
    assert fingerprint.changed() == []
    assert [x["why"] for x in fingerprint.read_record()["neutral"]] == ["renamed a variable"]


def test_a_raised_version_is_recorded_and_forgets_old_reasons(edited, monkeypatch):
    fingerprint.record("renamed a variable")
    monkeypatch.setattr(fingerprint, "TRAINING_VERSION", TRAINING_VERSION + 1)
    fingerprint.record(None)
    assert fingerprint.read_record()["version"] == TRAINING_VERSION + 1
    assert fingerprint.read_record()["neutral"] == []
