"""Projections of random embeddings on circles: what linear algebra says of them."""

import numpy as np
import pytest

from fittest.statistics.rank import rank
from fittest.tables.rank import gather_rank, projection


@pytest.mark.parametrize(("p", "d"), [(13, 13), (13, 40), (12, 30), (59, 59)])
def test_from_d_equal_p_every_circle_is_a_projection(p, d):
    found, residual = projection(np.random.default_rng(p + d).standard_normal((p, d)))
    assert found == p
    assert residual.shape == ((p - 1) // 2,)
    assert residual.max() < 1e-10


def test_below_p_the_residual_is_what_lies_outside_the_column_space():
    p, d = 13, 9
    e = np.random.default_rng(0).standard_normal((p, d))
    found, residual = projection(e)
    assert found == d
    outside = np.eye(p) - e @ np.linalg.pinv(e)
    for k in range(1, 7):
        angle = 2 * np.pi * k * np.arange(p) / p
        circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        expected = np.linalg.norm(outside @ circle) / np.sqrt(p)  # ‖C‖² = Σ (cos² + sin²) = p
        assert residual[k - 1] == pytest.approx(expected)
    # All circles and the constant are an orthonormal basis: their squares add up to p - d.
    constant = ((outside @ np.full(p, p**-0.5)) ** 2).sum()
    assert 2 * (residual**2).sum() + constant == pytest.approx(p - d)


def test_an_embedding_made_of_one_circle_has_rank_two_and_only_that_circle():
    p = 11
    angle = 2 * np.pi * 3 * np.arange(p) / p
    basis = np.random.default_rng(1).standard_normal((2, 8))
    found, residual = projection(np.stack([np.cos(angle), np.sin(angle)], 1) @ basis)
    assert found == 2
    np.testing.assert_allclose(residual, [1, 1, 0, 1, 1], atol=1e-12)


def test_statistics_are_the_extremes_over_trials(trained):
    from fittest.cells import Cell

    files = [
        trained.train(Cell(p=13, d=d, width=8, embedding="redrawn"), first, first + 1)
        for d in (6, 13, 15)
        for first in (0, 2)
    ]
    found = gather_rank(files)
    assert found["rank"].transpose("d", "trial").values.tolist() == [[6] * 4, [13] * 4, [13] * 4]
    frame = rank(found).set_index("statistic")
    assert frame.loc["rank_match", "estimate"] == 1
    residual = found["residual"].transpose("d", "trial").values
    assert frame.loc["residual_below_p", "estimate"] == residual[0].min() > 0.1
    assert frame.loc["residual_at_least_p", "estimate"] == residual[1:].max() < 1e-8
    assert (frame["low"] == frame["high"]).all()
    assert frame["n_trials"].tolist() == [12, 8, 4]
    wrong = found.copy(deep=True)
    wrong["rank"][{"d": 1, "trial": 0}] = 12
    assert rank(wrong).set_index("statistic").loc["rank_match", "estimate"] == 11 / 12
    alone = rank(found.isel(d=0)).set_index("statistic")
    assert np.isnan(alone.loc["residual_at_least_p", "estimate"])
    with pytest.raises(ValueError, match="varies width"):
        rank(found.expand_dims(width=[1, 2]))
