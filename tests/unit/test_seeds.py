"""A draw is known by what is drawn and for whom: never by the experiment that asks."""

import inspect
import itertools

import numpy as np
import pytest

from fittest.seeds import ROLES, draw_embedding, stream


def first(**change) -> int:
    """Return the first word of a stream that differs from a fixed one in the names given."""
    name = {"seed": 0, "role": "mlp", "embedding": 3, "trial": 7, "shape": (59, 128)} | change
    rng = stream(name.pop("seed"), name.pop("role"), **name)
    return int(rng.integers(2**63))


def test_a_shared_embedding_is_the_same_in_every_trial():
    trials = [draw_embedding(0, 59, 16, embedding=3, trial=t) for t in (0, 1, 49)]
    assert len({e.tobytes() for e in trials}) == 1


def test_a_redrawn_embedding_differs_by_trial():
    trials = [draw_embedding(0, 59, 16, embedding=None, trial=t) for t in range(20)]
    assert len({e.tobytes() for e in trials}) == 20


def test_every_part_of_a_streams_name_makes_another_stream():
    roles = [first(role=role) for role in ROLES]
    trials = [first(trial=t) for t in range(200) if t != 7]
    embeddings = [first(embedding=e) for e in (None, 0, 1, 2, 4, 2**31 - 1)]
    shapes = [first(shape=s) for s in [(), (0,), (59,), (128,), (59, 127), (60, 128), (128, 59)]]
    shapes.append(first(shape=(59, 128, 0)))
    seeds = [first(seed=s) for s in (1, 2, 2**32, 2**63 - 1)]
    everything = [*roles, *trials, *embeddings, *shapes, *seeds]
    assert len(set(everything)) == len(everything)


def test_streams_of_neighbouring_names_are_uncorrelated():
    draws = [
        stream(0, role, embedding=e, trial=t, shape=(2000,)).standard_normal(2000)
        for role, e, t in itertools.product(("embedding", "mlp"), (0, 1), (0, 1))
    ]
    correlation = np.corrcoef(draws) - np.eye(len(draws))
    assert np.abs(correlation).max() < 4.5 / np.sqrt(2000)


def test_a_stream_knows_nothing_but_its_name_and_gives_the_same_values_twice():
    assert list(inspect.signature(stream).parameters) == [
        "seed",
        "role",
        "embedding",
        "trial",
        "shape",
    ]
    before = first()
    np.random.seed(1)  # noqa: NPY002  a global state that must not matter
    first(trial=8)
    draw_embedding(5, 7, 3, embedding=0)
    assert first() == before


def test_the_numbers_of_the_tree_never_change():
    # Renumbering a role, or reordering the key, would redraw every published trial.
    assert ROLES == {"embedding": 0, "mlp": 1, "split": 2, "construction": 3, "keep": 4}
    key = np.random.SeedSequence(11, spawn_key=(1, 3, 7, 59, 128))
    expected = int(np.random.default_rng(key).integers(2**63))
    assert first(seed=11) == expected
    redrawn = np.random.SeedSequence(11, spawn_key=(0, 2**32 - 1, 7, 5, 2))
    np.testing.assert_array_equal(
        draw_embedding(11, 5, 2, embedding=None, trial=7),
        np.random.default_rng(redrawn).standard_normal((5, 2)),
    )


def test_changing_a_size_redraws_rather_than_extends_an_embedding():
    small, large = (draw_embedding(0, 59, d, embedding=0) for d in (16, 17))
    assert not np.isin(small, large).any()


@pytest.mark.parametrize("embedding", [0, None])
def test_entries_of_an_embedding_look_like_standard_normal_numbers(embedding):
    x = draw_embedding(0, 200, 500, embedding=embedding)
    assert (x.shape, x.dtype) == ((200, 500), np.float64)
    n = x.size
    assert abs(x.mean()) < 4 / np.sqrt(n)
    assert abs(x.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs(np.mean(x**4) - 3) < 4 * np.sqrt(96 / n)
    assert np.mean(np.abs(x) < 1) == pytest.approx(0.6827, abs=4 * np.sqrt(0.22 / n))
