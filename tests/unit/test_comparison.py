"""Trainings of the same trials in several ways: what tables and statistics of them promise."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from fittest.analyses import ANALYSES
from fittest.cells import Block, Cell
from fittest.design import Survival, blocks, parse_design
from fittest.errors import DesignError, FileError
from fittest.figures import arithmetic, engines
from fittest.figures.drawing import save
from fittest.layout import Layout
from fittest.protocol import Init, Protocol
from fittest.statistics.comparison import COLUMNS, comparison
from fittest.statistics.outcomes import DECILES, deciles
from fittest.tables.course import distance, gather_course
from fittest.tables.survival import gather_survival
from fittest.training.block import train_block
from fittest.training.engines import native_levels
from fittest.trajectories import engine_label, open_trajectories, write_trajectories

CELL = Cell(p=13, d=6, width=8, embedding="redrawn")
STEPS = 40
WAYS = {
    "float32": {"record": {"dense_until": 10, "every": 10, "gradients": 0, "snapshots": []}},
    "float64": {
        "arithmetic": "float64",
        "record": {"dense_until": 5, "every": 5, "gradients": 0, "snapshots": []},
    },
}


def design(experiment, name="mine", protocols=("a", "b"), **values):
    return parse_design(
        {
            "block": 2,
            "horizons": [10],
            "protocols": {p: {"steps": 10, **values.get(p, {})} for p in protocols},
            "experiments": {name: {"trials": 4, **experiment}},
        }
    )


# The grammar


def test_an_experiment_may_train_each_cell_under_several_protocols():
    several = design({"protocol": ["b", "a"], "axes": {"d": [3, 4]}})
    assert [(b.protocol, b.cell.d, b.first) for b in blocks(several, "mine")] == [
        (p, d, first) for p in "ba" for d in (3, 4) for first in (0, 2)
    ]
    one = design({"protocol": "a"})
    assert {b.protocol for b in blocks(one, "mine")} == {"a"}


def test_trajectories_of_named_engines_lie_apart_and_of_others_do_not(tmp_path):
    named = design({"protocol": "a", "engines": ["native", "torch"]})
    files = Layout(tmp_path, named).trajectories("mine")
    assert len(files) == len(set(files)) == 4
    assert {f.relative_to(tmp_path).parts[:3] for f in files} == {
        ("engines", engine, "trajectories") for engine in ("native", "torch")
    }
    files = Layout(tmp_path, design({"protocol": "a"})).trajectories("mine")
    assert {f.relative_to(tmp_path).parts[0] for f in files} == {"trajectories"}


BAD = {
    "unknown in a list": ({"protocol": ["a", "c"]}, "mine", {}, ("protocol", "'c'", "'a', 'b'")),
    "protocol twice": ({"protocol": ["a", "a"]}, "mine", {}, ("protocol", "a stands twice")),
    "no protocol": ({"protocol": []}, "mine", {}, ("protocol", "at least 1")),
    "protocol a number": ({"protocol": 3}, "mine", {}, ("protocol", "3")),
    "unknown engine": (
        {"protocol": "a", "engines": ["nativ"]},
        "mine",
        {},
        ("engines", "'nativ'", "mean 'native'"),
    ),
    "engine twice": (
        {"protocol": "a", "engines": ["torch", "torch"]},
        "mine",
        {},
        ("engines", "torch stands twice"),
    ),
    "base beside engines": (
        {
            "protocol": "a",
            "engines": ["torch"],
            "axes": {"intervention": "keep-strongest-2-of-base"},
        },
        "mine",
        {},
        ("intervention", "keep-strongest-2-of-base", "Leave `engines` out"),
    ),
    "nothing to compare": ({"protocol": "a"}, "arithmetic", {}, ("protocol", "two or more")),
    "no engines to compare": ({"protocol": "a"}, "engines", {}, ("engines", "two or more")),
    "another start": (
        {"protocol": ["a", "b"]},
        "arithmetic",
        {"a": {"init": {"mlp": "normal"}}},
        ("protocol", "init differs", "Give all the same"),
    ),
    "other steps": (
        {"protocol": ["a", "b"]},
        "arithmetic",
        {"a": {"steps": 20}},
        ("protocol", "steps differs", "Give all the same"),
    ),
    "native and a level": (
        {"protocol": "a", "engines": ["native-avx2", "native"]},
        "engines",
        {},
        ("engines", "'native-avx2'", "either 'native' or levels"),
    ),
    "tf32 by native": (
        {"protocol": "a", "engines": ["native", "torch"]},
        "engines",
        {"a": {"arithmetic": "tf32"}},
        ("engines", "'native' cannot train protocol 'a'", "tf32"),
    ),
    "too many jobs": (
        {"protocol": "a", "trials": 1_000_000, "block": 1, "axes": {"d": [3, 4]}},
        "mine",
        {},
        ("trials", "2000000 training jobs", "larger blocks"),
    ),
    "another axis": (
        {"protocol": ["a", "b"], "axes": {"d": [3, 4]}},
        "arithmetic",
        {},
        ("axes.d", "arithmetic varies protocol only"),
    ),
    "protocols of the headline": (
        {"protocol": ["a", "b"]},
        "initial-signal",
        {},
        ("protocol", "initial-signal varies embedding only"),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_comparison_that_cannot_be_made_is_refused_before_training(case):
    experiment, name, protocols, parts = BAD[case]
    with pytest.raises(DesignError) as caught:
        design(experiment, name, **protocols)
    for part in (f"experiments.{name}.", *parts):
        assert part in str(caught.value)


# Tables


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("ways")
    made = {}
    for name, values in WAYS.items():
        for first in (0, 2):
            path = root / Block(name, CELL, first, first + 1).path
            protocol = Protocol.model_validate({"steps": STEPS, **values})
            train_block(path, protocol, 0, device="cpu", engine="torch")
            made[name, first] = path
    return made


@pytest.fixture(scope="module")
def course(files):
    return gather_course(list(files.values()), Survival())


def test_protocols_are_a_dimension_where_there_are_several(files):
    table = gather_survival(list(files.values()), Survival(), [10])
    assert table.sizes["protocol"] == 2
    for (name, first), path in files.items():
        ours = table.sel(protocol=name, trial=first, horizon=STEPS)["signal"].values
        theirs = open_trajectories(path)["signal"].sel(trial=first, step=STEPS).values
        assert np.array_equal(ours, theirs.astype(ours.dtype))
    alone = gather_survival([files["float32", 0]], Survival(), [10])
    assert alone["protocol"].item() == "float32"
    assert "protocol" not in alone.dims


def test_a_course_follows_every_trial_at_the_steps_that_all_ways_recorded(files, course):
    assert list(course["way"].values) == ["float64", "float32"]  # nearest to exact first
    assert list(course["step"].values) == [*range(6), *range(10, STEPS + 1, 10)]
    assert course.sizes["trial"] == 4
    for (name, first), path in files.items():
        life = open_trajectories(path).sel(step=course["step"])
        mine = course.sel(way=name, trial=life["trial"])
        np.testing.assert_array_equal(mine["train_loss"], life["train_loss"])
        threshold = 2 * life["mean_signal"]
        counts = (life["signal"] > threshold).sum("frequency")
        np.testing.assert_array_equal(mine["circles"], counts.transpose("trial", "step"))
        if first == 0:
            np.testing.assert_array_equal(
                course["signal"].sel(way=name).values, life["signal"].isel(trial=0).values
            )
    exact, single = (
        np.concatenate(
            [
                open_trajectories(files[w, f])["signal"].sel(step=course["step"]).values
                for f in (0, 2)
            ]
        ).astype(np.float64)
        for w in course["way"].values
    )
    expected = np.abs(exact - single).max(axis=2) / exact.max(axis=2)
    np.testing.assert_allclose(course["distance"].values[0], expected, rtol=1e-6)
    assert 0 < expected.max() < 1e-4  # a comparison of two different arithmetics


def test_distance_is_over_the_largest_signal_and_over_each_survivors_own():
    a = np.array([[[10.0, 4.0, 1.0]]])
    b = np.array([[[11.0, 2.0, 1.0]]])
    overall, relative = distance(a, b, np.array([[1, 1, 0]]))
    assert overall.tolist() == [[0.2]]
    assert relative.tolist() == [[0.5]]
    assert distance(a, b, np.array([[1, 0, 0]]))[1].tolist() == [[0.1]]
    assert np.isnan(distance(a, b, np.array([[0, 0, 0]]))[1]).all()


def test_a_course_of_other_arrays_or_of_one_way_is_refused(files, tmp_path):
    with pytest.raises(FileError, match="differ in nothing"):
        gather_course([files["float32", 0]], Survival())
    other = tmp_path / Block("other", CELL, 0, 1).path
    train_block(other, Protocol(steps=10, init=Init(mlp="normal")), 0, device="cpu")
    kept = gather_course([files["float32", 0], other], Survival())
    assert kept.sizes["way"] == 2  # the same embedding: only initial signals can be compared
    scaled = tmp_path / Block("other", CELL, 2, 3).path
    train_block(scaled, Protocol(steps=10), 1, device="cpu")
    with pytest.raises(FileError, match="seed"):
        gather_course([files["float32", 2], scaled], Survival())


def test_a_course_refuses_ways_that_did_not_start_from_the_same_arrays(files, tmp_path):
    life = open_trajectories(files["float32", 0])
    life["signal"][0, 0, 0] *= 1.001
    life.attrs["protocol_name"] = "other"
    path = tmp_path / Block("other", CELL, 0, 1).path
    write_trajectories(life, path)
    with pytest.raises(FileError, match="did not start from the same arrays"):
        gather_course([files["float32", 0], path], Survival())


def test_a_way_that_diverged_keeps_its_steps(files, tmp_path):
    # A trial that is not a number from some step on was recorded there all the same.
    life = open_trajectories(files["float64", 0])
    for name in ("signal", "mean_signal", "train_loss"):
        life[name][:, 4:] = np.nan
    life.attrs["protocol_name"] = "other"
    path = tmp_path / Block("other", CELL, 0, 1).path
    write_trajectories(life, path)
    course = gather_course([files["float64", 0], path], Survival())
    assert list(course["step"].values) == list(life["step"].values)
    assert np.isnan(course["distance"].values[..., 4:]).all()
    survival = gather_survival([files["float64", 0], path], Survival(), [10])
    frame = comparison(course, survival)
    assert (frame.loc[frame["statistic"] == "early_agreement", "estimate"] == 0).all()
    for module in (arithmetic, engines):
        with pytest.raises(FileError, match="no trial lived through every way"):
            module.data(course, frame)


def test_missing_doubled_and_misplaced_trials_are_refused(files, tmp_path):
    with pytest.raises(FileError, match=r"float64 lacks trials \[2, 3\]"):
        gather_course([files["float32", 0], files["float32", 2], files["float64", 0]], Survival())
    copy = tmp_path / files["float32", 0].relative_to(files["float32", 0].parents[7])
    write_trajectories(open_trajectories(files["float32", 0]), copy)
    with pytest.raises(FileError, match="both hold trial 0 of the same cell"):
        gather_survival([files["float32", 0], copy], Survival(), [10])
    moved = tmp_path / Block("elsewhere", CELL, 0, 1).path
    write_trajectories(open_trajectories(files["float32", 0]), moved)
    with pytest.raises(FileError, match="does not hold trials 0-1 of elsewhere"):
        gather_survival([moved], Survival(), [10])


def test_a_horizon_that_was_not_recorded_is_refused(files):
    with pytest.raises(FileError, match="horizon 7 is not a step that protocol 'float64' recorded"):
        gather_survival([files["float64", 0]], Survival(), [7])


def test_engines_are_known_by_what_ran():
    cpu = {"engine": "native", "device": "cpu (2 cores)", "cpu_capability": "avx512"}
    assert engine_label(cpu) == "native-avx512"
    assert engine_label(cpu | {"engine": "torch", "cpu_capability": "AVX2"}) == "torch-avx2"
    gpu = cpu | {"engine": "torch", "device": "cuda (Tesla V100)"}
    assert engine_label(gpu) == "torch on cuda (Tesla V100)"


@pytest.mark.skipif(not native_levels(), reason="the native engine was not built")
def test_engines_become_ways_only_where_asked(files, tmp_path):
    path = tmp_path / "engines/native" / Block("float32", CELL, 0, 1).path
    protocol = Protocol.model_validate({"steps": STEPS, **WAYS["float32"]})
    train_block(path, protocol, 0, device="cpu", engine="native")
    both = [files["float32", 0], path]
    course = gather_course(both, Survival(), by_engine=True)
    assert {w.split("-")[0] for w in course["way"].values} == {"native", "torch"}
    assert course["distance"].max() < 1e-4
    table = gather_survival(both[:1], Survival(), [10], by_engine=False)
    assert "engine" not in table.coords


# Statistics


def made_up(fates, loss=None, apart=None):
    """Return a course and a survival table of two ways with the fates given: (way, trial, k)."""
    fates = np.asarray(fates)
    _, n, k = fates.shape
    names = ["one", "two"]
    steps = np.array([0, 100, 300, 1000])
    rng = np.random.default_rng(0)
    initial = rng.permutation(n * k).reshape(n, k) + 50.0
    zeros = np.zeros((1, n, len(steps)))
    course = xr.Dataset(
        {
            "train_loss": (
                ("way", "trial", "step"),
                np.ones((2, n, 4)) if loss is None else np.asarray(loss, dtype=float),
            ),
            "distance": (("pair", "trial", "step"), zeros if apart is None else apart),
            "survivor_distance": (("pair", "trial", "step"), zeros if apart is None else apart),
        },
        coords={
            "way": names,
            "step": steps,
            "first": ("pair", ["one"]),
            "second": ("pair", ["two"]),
        },
        attrs={"along": "engine"},
    )
    survival = xr.Dataset(
        {
            "survived": (
                ("engine", "trial", "frequency", "horizon", "rule"),
                fates[..., None, None].astype(np.int8),
            ),
            "initial_signal": (
                ("engine", "trial", "frequency"),
                np.broadcast_to(initial, fates.shape),
            ),
        },
        coords={"engine": names, "horizon": [1000], "rule": ["relative"]},
    )
    return course, survival, initial


def one(frame, statistic, **where):
    some = frame[frame["statistic"] == statistic]
    for column, value in where.items():
        some = some[some[column] == value]
    assert len(some) == 1, some
    return some.iloc[0]


def test_the_same_lives_agree_in_everything():
    fates = np.random.default_rng(1).integers(0, 2, (1, 20, 10)).repeat(2, axis=0)
    course, survival, _ = made_up(fates)
    frame = comparison(course, survival)
    assert list(frame.columns) == list(COLUMNS)
    for statistic in ("early_agreement", "same_survivors", "same_fate"):
        assert (frame.loc[frame["statistic"] == statistic, "estimate"] == 1).all()
    for statistic in ("early_distance", "parted", "circles_difference", "decile_difference"):
        assert (frame.loc[frame["statistic"] == statistic, "estimate"] == 0).all()
    assert one(frame, "circles_difference")["p_value"] == 1
    assert one(frame, "decile_difference")["p_value"] == 1
    assert one(frame, "same_survivors")["baseline"] < 0.1
    assert one(frame, "same_fate")["baseline"] == pytest.approx(0.5, abs=0.1)


def test_differences_of_outcome_are_what_they_are():
    rng = np.random.default_rng(2)
    first = rng.integers(0, 2, (40, 10))
    second = first.copy()
    second[:10, 0] = 1 - second[:10, 0]
    course, survival, initial = made_up([first, second])
    frame = comparison(course, survival)
    same = one(frame, "same_survivors")
    low, high = proportion_confint(30, 40, method="wilson")
    assert (same["estimate"], same["low"], same["high"]) == pytest.approx((0.75, low, high))
    assert one(frame, "same_fate")["estimate"] == pytest.approx(1 - 10 / 400)
    change = second.sum(axis=1) - first.sum(axis=1)
    found = one(frame, "circles_difference")
    assert found["estimate"] == pytest.approx(change.mean())
    exact = stats.permutation_test(
        (change[change != 0],),
        lambda x: abs(x.sum()),
        permutation_type="samples",
        alternative="greater",
    ).pvalue
    assert found["p_value"] == pytest.approx(exact, abs=0.03)
    for decile in range(DECILES):
        for way, fate in (("one", first), ("two", second)):
            row = one(frame, "rate_of_decile", way=way, decile=decile + 1)
            some = fate[deciles(initial) == decile]
            assert row["n_circles"] == len(some) == 40
            assert row["estimate"] == pytest.approx(some.mean())
    rates = frame[frame["statistic"] == "rate_of_decile"].pivot(
        index="decile", columns="way", values="estimate"
    )
    largest = (rates["two"] - rates["one"]).abs().max()
    assert one(frame, "decile_difference")["estimate"] == pytest.approx(largest)


def test_a_way_that_favours_strong_circles_is_found():
    rng = np.random.default_rng(3)
    _, _, initial = made_up(np.zeros((2, 60, 10)))
    first = (rng.random(initial.shape) < 0.3).astype(int)
    second = np.where(deciles(initial) == 9, 1, first)
    course, survival, _ = made_up([first, second])
    found = one(comparison(course, survival), "decile_difference")
    assert found["estimate"] > 0.5
    assert found["estimate"] > found["baseline"]
    assert found["p_value"] < 0.01


def test_a_trial_that_diverged_in_one_way_has_no_fate_in_either():
    fates = np.random.default_rng(4).integers(0, 2, (2, 6, 10))
    fates[1, 2] = -1
    frame = comparison(*made_up(fates)[:2])
    assert (frame.loc[frame["statistic"] == "circles", "n_trials"] == 5).all()
    expected = np.delete(fates[0], 2, axis=0).sum(axis=1).mean()
    assert one(frame, "circles", way="one")["estimate"] == pytest.approx(expected)


def test_a_violent_event_is_a_settled_trial_whose_loss_rises_again():
    loss = np.ones((2, 3, 4))
    loss[0, 0] = [4, 1e-6, 1e-7, 1e-7]  # settles and stays
    loss[0, 1] = [4, 1e-6, 3.0, 1e-7]  # bursts, and comes back
    loss[0, 2] = [4, 1.0, 1e-3, 1e-3]  # never settled
    frame = comparison(*made_up(np.zeros((2, 3, 10)), loss=loss)[:2])
    found = one(frame, "violent_events", way="one")
    assert (found["estimate"], found["n_trials"]) == (0.5, 2)
    when = one(frame, "violent_event_step", way="one")
    assert (when["estimate"], when["n_trials"]) == (300, 1)
    assert np.isnan(one(frame, "violent_events", way="two")["estimate"])


def test_a_trial_that_diverges_in_one_way_neither_agrees_nor_stays_together():
    apart = np.zeros((1, 3, 4))
    apart[0, 0, 2:] = np.nan
    loss = np.full((2, 3, 4), 1e-7)
    loss[1, 0, 2:] = np.nan
    frame = comparison(*made_up(np.zeros((2, 3, 10)), loss=loss, apart=apart)[:2])
    assert one(frame, "parted")["estimate"] == pytest.approx(1 / 3)
    assert one(frame, "parting_step")["estimate"] == 300
    assert one(frame, "early_agreement", horizon=300)["estimate"] == pytest.approx(2 / 3)
    assert one(frame, "violent_events", way="two")["estimate"] == pytest.approx(1 / 3)
    assert one(frame, "violent_events", way="one")["estimate"] == 0


def test_tables_of_other_ways_are_refused():
    course, survival, _ = made_up(np.zeros((2, 3, 10)))
    with pytest.raises(FileError, match="tables of the same experiment"):
        comparison(course, survival.assign_coords(engine=["one", "three"]))
    with pytest.raises(FileError, match="no axis"):
        comparison(course, survival.isel(engine=0, drop=True))


def test_lives_that_part_are_dated():
    apart = np.zeros((1, 4, 4))
    apart[0, 0] = [0, 1e-6, 0.02, 0.5]
    apart[0, 1] = [0, 1e-6, 1e-5, 0.5]
    apart[0, 2] = [0, 1e-6, np.nan, np.nan]
    frame = comparison(*made_up(np.zeros((2, 4, 10)), apart=apart)[:2])
    assert one(frame, "parted")["estimate"] == 0.75
    when = one(frame, "parting_step")
    assert (when["low"], when["high"], when["n_trials"]) == (300, 1000, 3)
    assert one(frame, "early_agreement", horizon=100)["estimate"] == 1
    assert one(frame, "early_agreement", horizon=300)["estimate"] == 0.5  # NaN does not agree


def test_deciles_hold_a_tenth_each():
    values = np.random.default_rng(0).standard_normal((50, 20))
    group = deciles(values)
    assert np.bincount(group.ravel()).tolist() == [100] * DECILES
    assert values[group == 0].max() < values[group == 1].min()


# Figures


def test_figures_draw_a_real_comparison(files, course, tmp_path):
    survival = gather_survival(list(files.values()), Survival(), [10])
    frame = comparison(course, survival)
    assert [n for n, a in ANALYSES.items() if a.compares] == ["arithmetic", "engines"]
    for module in (arithmetic, engines):
        data = module.data(course, frame)
        save(module, data, tmp_path / module.__name__)
        assert (tmp_path / f"{module.__name__}.png").stat().st_size > 10_000


def test_the_figure_shows_an_event_that_falls_between_window_ends():
    steps = np.arange(0, 30_001, 10)
    ends = arithmetic.windows(steps)
    assert (ends[0], ends[-1]) == (0, len(steps) - 1)
    assert len(ends) == arithmetic.WINDOWS + 1
    loss = np.zeros((1, len(steps)))
    loss[0, ends[50] + 3] = 7.0
    assert arithmetic._largest(loss, ends)[0, 51] == 7.0
    assert np.count_nonzero(arithmetic._largest(loss, ends)) == 1
