"""An axis value is rounded once, to the text in the path, and a path spells one block."""

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fittest.cells import AXES, Block, Cell
from fittest.errors import DesignError
from fittest.interventions import (
    Construct,
    Keep,
    KeepRandom,
    KeepStrongest,
    Scale,
    Unperturbed,
    number_text,
    parse_intervention,
)

A_PATH = (
    "standard/p~59/d~128/wd~0.5/width~100/embedding~3/intervention~scale-25-0.8745/trials~0-49.h5"
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.8745, "0.8745"),
        (1e-4, "0.0001"),
        (0.85 + 0.3 / 49, "0.856122"),  # 0.856122448…
        (0.8561225000001, "0.856123"),
        (0.1 + 0.2, "0.3"),
        (1.0, "1"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e-5, "1e-05"),
        (123456.5, "123456"),
        (1e6, "1e+06"),
    ],
)
def test_a_number_stands_in_a_path_with_six_significant_digits(value, text):
    assert number_text(value) == text


@given(st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_rounding_to_text_is_done_once_for_all(value):
    text = number_text(value)
    assert number_text(float(text)) == text
    if value > 1e-300:
        assert float(text) == pytest.approx(value, rel=5.0001e-6)


counts = st.integers(1, 999)
factors = st.floats(0, 1e3).map(number_text)
interventions = st.one_of(
    st.just("none"),
    st.builds("scale-{}-{}".format, counts, factors),
    st.lists(counts, min_size=1, max_size=4, unique=True).map(
        lambda ks: "keep-" + "-".join(map(str, sorted(ks)))
    ),
    st.builds("keep-strongest-{}-of-base".format, counts),
    st.builds("keep-random-{}".format, counts),
    st.builds("construct-{}-{}".format, st.sampled_from(["circle", "line"]), factors),
)
cells = st.builds(
    Cell,
    p=st.integers(3, 1000),
    d=st.integers(1, 100_000),
    weight_decay=st.floats(0, 1e3).map(lambda x: float(number_text(x))),
    width=st.integers(1, 100_000),
    embedding=st.one_of(st.just("redrawn"), st.integers(0, 2**31 - 1).map(str)),
    intervention=interventions,
)
blocks = st.builds(
    lambda protocol, cell, first, size: Block(protocol, cell, first, first + size - 1),
    st.from_regex(r"[a-z0-9]+(-[a-z0-9]+)*", fullmatch=True),
    cells,
    st.integers(0, 10**6),
    st.integers(1, 10**4),
)


@given(blocks, st.sampled_from(["", "results/trajectories/", "/abs/p~7/d~8/"]))
def test_a_block_is_read_back_from_its_path_below_any_folder(block, folder):
    assert Block.from_path(folder + block.path) == block
    assert Block.from_path(PurePosixPath(folder + block.path)) == block


@given(blocks)
def test_every_axis_stands_in_the_path_always_and_in_order(block):
    protocol, *values, trials = block.path.split("/")
    assert protocol == block.protocol
    assert [value.split("~")[0] for value in values] == list(AXES.values())
    assert list(AXES) == list(Cell.__dataclass_fields__)
    assert trials == f"trials~{block.first}-{block.last}.h5"


def test_a_path_spells_what_the_architecture_says():
    cell = Cell(embedding="3", intervention="scale-25-0.8745")
    block = Block("standard", cell, 0, 49)
    assert block.path == A_PATH
    assert list(block.trials) == list(range(50))
    assert Cell().path == "p~59/d~128/wd~0.5/width~100/embedding~0/intervention~none"
    assert Cell(weight_decay=1.0).path == Cell().path.replace("0.5", "1")


def test_the_base_of_a_block_is_the_same_trials_without_intervention():
    block = Block.from_path(A_PATH)
    assert block.base.path == A_PATH.replace("scale-25-0.8745", "none")
    assert block.base.base == block.base


def test_a_redrawn_cell_has_no_base_embedding():
    assert Cell(embedding="redrawn").base_index is None
    assert Cell(embedding="12").base_index == 12


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("standard/", ""),
        ("standard", "*"),
        ("standard", ".."),
        ("standard", "Two Words"),
        ("p~59/", ""),
        ("p~59", "p~x"),
        ("p~59", "p~059"),
        ("p~59", "p~0"),
        ("p~59", "p~-5"),
        ("p~59/d~128", "d~128/p~59"),
        ("wd~0.5", "wd~0.50"),
        ("wd~0.5", "wd~nan"),
        ("wd~0.5", "wd~-1"),
        ("wd~0.5", "weight_decay~0.5"),
        ("width~100", "width=100"),
        ("embedding~3", "embedding~03"),
        ("embedding~3", "embedding~-3"),
        ("embedding~3", "embedding~drawn"),
        ("scale-25-0.8745", "scale-25-0.87450"),
        ("scale-25-0.8745", "double"),
        ("trials~0-49", "trials~49-0"),
        ("trials~0-49", "trials~0"),
        ("trials~0-49", "trials~00-49"),
        (".h5", ".nc"),
        (".h5", ".h5.tmp"),
        (A_PATH, ""),
        (A_PATH, "/"),
    ],
)
def test_a_path_that_spells_no_block_is_refused_with_an_example(old, new):
    path = A_PATH.replace(old, new)
    assert path != A_PATH
    with pytest.raises(DesignError, match="does not spell a block") as caught:
        Block.from_path(path)
    assert str(PurePosixPath(path)) in str(caught.value) or not path
    assert Block("standard", Cell(), 0, 49).path in str(caught.value)


@pytest.mark.parametrize(
    ("text", "intervention"),
    [
        ("none", Unperturbed()),
        ("scale-25-0.8745", Scale((25,), 0.8745)),
        ("scale-1-1e-05", Scale((1,), 1e-5)),
        ("scale-1-0", Scale((1,), 0.0)),
        ("keep-3", Keep((3,))),
        ("keep-3-7-29", Keep((3, 7, 29))),
        ("keep-strongest-2-of-base", KeepStrongest(2)),
        ("keep-random-1", KeepRandom(1)),
        ("construct-circle-0.25", Construct("circle", 0.25)),
        ("construct-line-1", Construct("line", 1.0)),
    ],
)
def test_each_form_of_intervention_is_parsed_and_spelt_back(text, intervention):
    assert parse_intervention(text) == intervention
    assert intervention.text == text
    assert intervention.needs_base == text.endswith("-of-base")


@given(interventions)
def test_the_spelling_of_an_intervention_says_all_of_it(text):
    assert parse_intervention(text).text == text


@pytest.mark.parametrize(
    ("written", "spelt"),
    [
        ("scale-025-0.50", "scale-25-0.5"),
        ("scale-25-1.0000001", "scale-25-1"),
        ("keep-7-3", "keep-3-7"),
        ("construct-line-1.0e-1", "construct-line-0.1"),
        ("keep-random-02", "keep-random-2"),
    ],
)
def test_every_intervention_has_one_spelling(written, spelt):
    assert parse_intervention(written).text == spelt


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["unknown intervention ''", "'none'", "'keep-random-N'"]),
        ("nane", ["'nane'", "Did you mean 'none'?"]),
        ("scale-25", ["'scale-25'", "'scale-K-FACTOR'"]),
        ("scale-25--1", ["'scale-25--1'", "'scale-K-FACTOR'"]),
        ("scale-25-nan", ["'scale-25-nan'", "'scale-K-FACTOR'"]),
        ("scale-25-1e999", ["'scale-25-1e999'", "finite"]),
        ("scale-٢-1", ["'scale-٢-1'", "'scale-K-FACTOR'"]),
        ("scale-25-0.5\n", ["unknown intervention", "'scale-K-FACTOR'"]),
        ("keep-" + "9" * 5000, ["unknown intervention"]),
        ("keep-", ["'keep-'", "'keep-K[-K…]'"]),
        ("keep-3-3", ["'keep-3-3'", "twice"]),
        ("keep-random-0", ["'keep-random-0'", "at least 1"]),
        ("keep-strongest-0-of-base", ["'keep-strongest-0-of-base'", "at least 1"]),
        ("keep-strongest-2", ["Did you mean 'keep-strongest-N-of-base'?"]),
        ("construct-square-1", ["'construct-circle-RATIO'", "'construct-line-RATIO'"]),
    ],
)
def test_another_spelling_is_refused_with_the_forms_there_are(text, parts):
    with pytest.raises(DesignError) as caught:
        parse_intervention(text)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "p", "d", "part"),
    [
        ("scale-30-1", 59, 128, "frequency 30 is not a circle at p = 59: circles are 1 … 29"),
        ("keep-1-0", 59, 128, "frequency 0 is not a circle at p = 59: circles are 1 … 29"),
        ("scale-5-1", 10, 128, "frequency 5 is not a circle at p = 10: circles are 1 … 4"),
        ("keep-random-30", 59, 128, "cannot keep 30 circles at p = 59: there are 29"),
        ("construct-line-1", 4, 128, "p = 4 has 1: use p ≥ 5"),
        ("construct-circle-1", 59, 1, "d = 1"),
    ],
)
def test_an_intervention_on_circles_that_do_not_exist_is_refused(text, p, d, part):
    with pytest.raises(DesignError) as caught:
        parse_intervention(text).check(p, d)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "p", "d"),
    [("scale-29-1", 59, 1), ("keep-random-29", 59, 1), ("construct-circle-1", 5, 2)],
)
def test_the_last_circle_there_is_may_be_named(text, p, d):
    parse_intervention(text).check(p, d)
