"""Counts along an axis: means, intervals and trends that are known beforehand."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from fittest.figures import figure_5, figure_10, figure_14
from fittest.figures.drawing import save
from fittest.statistics.counts import COLUMNS, counts, spearman
from fittest.survival import MISSING, RULES


def table(circles, values, axis="p"):
    """Return a survival table of counts, shape (value, trial), the same by every rule."""
    circles = np.asarray(circles, dtype=np.int16)[..., None, None].repeat(3, axis=-1)
    return xr.Dataset(
        {"circles": ((axis, "trial", "horizon", "rule"), circles)},
        coords={axis: values, "horizon": [600], "rule": list(RULES)},
    )


def rows(frame, statistic, rule="relative"):
    return frame[(frame["statistic"] == statistic) & (frame["rule"] == rule)]


def test_means_are_of_the_trials_that_are_there():
    frame = counts(table([[1, 2, 3, 6], [4, 4, MISSING, 6]], [7, 11]))
    assert list(frame.columns) == list(COLUMNS)
    found = rows(frame, "circles")
    assert found["estimate"].tolist() == [3, pytest.approx(14 / 3)]
    assert found["n_trials"].tolist() == [4, 3]
    assert rows(frame, "spearman")["n_least"].item() == 3
    assert found["value"].tolist() == [7, 11]
    assert ((found["low"] <= found["estimate"]) & (found["estimate"] <= found["high"])).all()
    assert found["low"].iloc[0] >= 1
    assert found["high"].iloc[0] <= 6


def test_the_interval_of_a_mean_covers_it_as_often_as_it_says():
    rng = np.random.default_rng(0)
    data = rng.poisson(5, (400, 60))
    found = rows(counts(table(data, np.arange(400))), "circles")
    share = ((found["low"] <= 5) & (found["high"] >= 5)).mean()
    assert 0.90 < share < 0.98


def test_the_trend_is_spearmans():
    rng = np.random.default_rng(1)
    values = np.array([7, 11, 13, 17])
    cells = rng.poisson(values[:, None] / 4, (4, 30))
    found = rows(counts(table(cells, values)), "spearman").iloc[0]
    expected = stats.spearmanr(np.repeat(values, 30), cells.ravel())
    assert found["estimate"] == pytest.approx(expected.statistic)
    assert found["p_value"] == pytest.approx(expected.pvalue)
    assert found["low"] < found["estimate"] < found["high"]
    assert (found["n_trials"], found["n_values"], found["n_least"]) == (120, 4, 30)


def test_a_perfect_trend_is_one_and_no_variation_is_no_trend():
    rising = spearman(np.array([1, 2, 3]), [np.full(4, n) for n in (1, 2, 3)])
    assert (rising["estimate"], rising["low"], rising["high"]) == pytest.approx((1, 1, 1))
    falling = spearman(np.array([1, 2, 3]), [np.full(4, n) for n in (3, 2, 1)])
    assert falling["estimate"] == pytest.approx(-1)
    flat = spearman(np.array([1, 2, 3]), [np.full(4, 2)] * 3)
    assert np.isnan(flat["estimate"])
    assert np.isnan(flat["low"])
    alone = spearman(np.array([1]), [np.arange(5)])
    assert np.isnan(alone["estimate"])


def test_zero_is_left_out_of_the_trend_above_zero():
    # Every circle stays at 0; above it the number falls.
    frame = counts(table([[6, 6, 6], [5, 5, 4], [3, 2, 3]], [0.0, 0.01, 0.5], "weight_decay"))
    cells = [np.array([5, 5, 4]), np.array([3, 2, 3])]
    expected = spearman(np.array([0.01, 0.5]), cells)
    found = rows(frame, "spearman_positive").iloc[0]
    assert found["estimate"] == expected["estimate"] < 0
    assert found["n_values"] == 2
    assert "spearman_positive" not in set(counts(table([[1], [2]], [1, 2]))["statistic"])


def test_a_table_of_several_axes_or_of_none_is_refused():
    one = table([[1, 2]], [7])
    with pytest.raises(ValueError, match="along one axis, and the table varies none"):
        counts(one.isel(p=0))
    with pytest.raises(ValueError, match=r"varies \['d', 'p'\]"):
        counts(one.expand_dims(d=[3, 4]))


def test_figures_of_counts_say_how_many_trials_and_mark_primes(tmp_path):
    rng = np.random.default_rng(2)
    moduli = counts(table(rng.poisson(4, (5, 8)), [11, 12, 13, 14, 15]))
    primes = figure_14.data(moduli)
    shown = primes[(primes["statistic"] == "circles") & (primes["rule"] == "relative")]
    assert shown.loc[shown["prime"] == 1, "value"].tolist() == [11, 13]
    title = figure_14.draw(primes).axes[0].get_title(loc="left")
    assert "5 values, 8 trials each" in title
    decay = counts(table(rng.poisson(4, (4, 8)), [0.0, 1e-3, 0.1, 0.5], "weight_decay"))
    dimension = counts(table(rng.poisson(4, (2, 8)), [16, 32], "d"))
    for module, inputs in (
        (figure_5, (moduli, dimension)),
        (figure_10, (decay,)),
        (figure_14, (moduli,)),
    ):
        data = module.data(*inputs)
        assert isinstance(data, pd.DataFrame)
        save(module, data, tmp_path / module.__name__)
        assert (tmp_path / f"{module.__name__}.png").stat().st_size > 10_000
