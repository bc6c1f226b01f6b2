"""How cost grows and what the paper's design would cost: known answers. Never how fast."""

import json
from math import prod

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks import growth, paper_cost
from benchmarks.clock import WARM_UP
from benchmarks.costs import ROOT
from benchmarks.exponents import exponent, exponent_interval
from benchmarks.exponents import growth as exponents
from benchmarks.growth import Point
from benchmarks.page import page
from fittest.cells import Cell
from fittest.plan.cost_model import CostModel, record_work, step_work
from fittest.plan.gpu_bound import CARDS, PEAK_SHARE, Card, bounds, passes, step_bytes, step_seconds
from fittest.plan.products import Size, floor_products, flops
from fittest.protocol import Protocol
from fittest.task import labels
from fittest.training.arrays import initial_state
from fittest.training.engines import native_levels
from fittest.training.loss import exact_gradient_
from fittest.training.network import Batch, backward, forward

AXIS = (13, 23, 31, 59, 97, 127)
SIZES = [Size(p, d, h) for p in (13, 31, 59, 97) for d, h in ((16, 100), (128, 25), (64, 400))]


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_a_power_law_is_recovered(power):
    assert exponent(AXIS, 0.3 * np.array(AXIS) ** power) == pytest.approx(power)


def test_the_slope_is_that_of_least_squares():
    # Worked by hand: x = -1, 0, 1 and y = 0, 0, 3 (in logarithms) have slope 3/2.
    assert exponent(np.exp([-1, 0, 1]), np.exp([0, 0, 3])) == pytest.approx(1.5)


def test_rounds_that_agree_leave_no_interval_and_others_do():
    law = np.array(AXIS) ** 2.0
    exact = exponent_interval(AXIS, np.array([law, 7 * law, law]))
    assert exact == pytest.approx({"exponent": 2, "low": 2, "high": 2})
    steeper = np.array([np.array(AXIS) ** power for power in (1.9, 2.0, 2.1, 1.8, 2.2)])
    found = exponent_interval(AXIS, steeper)
    assert found["exponent"] == pytest.approx(2)
    assert 1.799 < found["low"] < 1.95
    assert 2.05 < found["high"] < 2.201


def test_the_upper_half_has_its_own_exponent():
    # Flat up to the fourth value, cubic from there.
    cost = np.maximum(1, (np.array(AXIS) / 59) ** 3.0)
    found = exponents(AXIS, cost[None])
    assert found["upper_half"]["exponent"] == pytest.approx(3)
    assert 0 < found["whole"]["exponent"] < 3


def test_the_work_of_a_step_from_first_principles():
    n, p, d, h = 2784, 59, 128, 100
    products = 2 * (6 * p * d * h + 3 * n * h * h + 3 * n * h * p)
    parameters = p * d + 2 * d * h + h * h + h * p + h + h + p
    expected = [1, products / 1e6, n * h / 1e3, n * p / 1e3, parameters / 1e3]
    assert step_work(Size(p, d, h)) == pytest.approx(expected)
    held = p * p - n
    forward = 2 * (2 * p * d * h + held * h * h + held * h * p)
    expected = [0, forward / 1e6, held * h / 2e3, held * p / 2e3, 0]
    assert record_work(Size(p, d, h)) == pytest.approx(expected)


def test_the_cost_model_recovers_known_prices():
    prices = (0.02, 0.011, 0.0004, 0.0013, 0.0016)
    model = CostModel.fit(SIZES, [np.dot(prices, step_work(size)) for size in SIZES])
    assert model.prices == pytest.approx(prices, rel=1e-6)
    assert CostModel.from_results(json.loads(json.dumps(model.results()))) == model


def test_no_price_is_negative():
    prices = (-0.001, 0.011, 0.0004, 0.0013, 0.0016)
    model = CostModel.fit(SIZES, [np.dot(prices, step_work(size)) for size in SIZES])
    assert model.prices[0] == 0
    assert min(model.prices) >= 0


def test_small_cells_count_as_much_as_large():
    # Two cells, of 1 and of 100 per step: the price that makes (c - 1)² + (c/100 - 1)² least.
    model = CostModel.fit([Size(13, 16), Size(13, 16)], [1.0, 100.0])
    step = model.step_ms(Size(13, 16))
    assert step == pytest.approx((1 + 1 / 100) / (1 + 1 / 100**2))
    residuals = model.residuals([Size(13, 16)] * 2, [1.0, 100.0])
    assert residuals == pytest.approx([step - 1, step / 100 - 1])


def test_a_prediction_is_trials_times_steps_and_what_recording_adds():
    size, prices = Size(59, 128), (1.0, 0.01, 0.0, 0.0, 0.0)
    step, record = step_work(size)[1] / 100 + 1, record_work(size)[1] / 100
    model = CostModel(prices)
    assert model.predict(size, 300, 7) == pytest.approx(7 * 300 * step / 1000)
    assert model.predict(size, 300, 7, 10) == pytest.approx(7 * (300 * step + 10 * record) / 1000)


def test_every_point_is_there_once():
    points = growth.all_points(growth.AXES)
    assert len(points) == len(set(points))
    for axis, values in growth.AXES.items():
        assert getattr(Point(), axis) in values
        assert {Point(**{axis: value}) for value in values} <= set(points)
    assert {Point(trials=n, threads=2) for n in growth.AXES["trials"]} <= set(points)
    assert Point(arithmetic="float64") in points
    fitted = {p.size for p in points if p.size not in growth.UNSEEN}
    assert len(fitted) == 6 + 5 + 5  # the default cell is on three axes


def test_set_up_and_first_steps_do_not_count(monkeypatch):
    def clock(self, steps):
        slow = 9 * min(steps, WARM_UP)
        return np.array([50 + slow + 0.002 * 3 * (steps - WARM_UP), 80 + 0.001 * 3 * steps])

    monkeypatch.setattr(growth.Timed, "_clock", clock)
    state = initial_state(Cell(p=7, d=4, width=5), Protocol(), 0, range(3))
    timed = growth.Timed(Point(7, 4, 5, trials=3), "torch", state, 6.0)
    assert timed.counted == 1000  # 3 trials of 2 ms a step: as many steps as 6 s hold
    assert timed.run() == pytest.approx([2, 1])


def synthetic(points, prices=(0.1, 0.01, 0.0, 0.0, 0.0)) -> np.ndarray:
    """Three rounds of what a model says; float64 costs twice as much, two threads half the wall."""
    ms = np.array([np.dot(prices, step_work(p.size)) for p in points])
    ms *= [2 if p.arithmetic == "float64" else 1 for p in points]
    wall = ms / [p.threads for p in points]
    return np.stack([ms, wall], axis=1)[None].repeat(3, axis=0) * [[[0.9]], [[1]], [[1.2]]]


def test_the_analysis_gives_back_what_the_times_were_made_of():
    points = growth.all_points(growth.AXES)
    found = growth.analyse(points, synthetic(points), growth.AXES)
    model = CostModel.from_results(found["cost_model"])
    assert model.prices == pytest.approx((0.1, 0.01, 0, 0, 0), abs=1e-9)
    assert found["float64_over_float32"] == pytest.approx(2)
    residuals = found["residuals"] | found["residuals_unseen"]
    assert set(found["residuals_unseen"]) == {size.key for size in growth.UNSEEN}
    assert len(residuals) == 16 + len(growth.UNSEEN)
    assert max(map(abs, residuals.values())) < 1e-9
    assert list(found["exponents"]) == ["p", "d", "width", "trials", "trials, 2 threads"]
    for axis in ("p", "d", "width"):
        ms = [model.step_ms(Point(**{axis: value}).size) for value in growth.AXES[axis]]
        upper = exponent(growth.AXES[axis][3:], ms[3:])
        assert found["exponents"][axis]["upper_half"]["exponent"] == pytest.approx(upper)
    for name in ("trials", "trials, 2 threads"):
        assert found["exponents"][name]["whole"]["exponent"] == pytest.approx(0, abs=1e-9)


def test_the_table_has_a_line_of_times_for_every_axis():
    points = growth.all_points(growth.AXES)
    found = growth.analyse(points, synthetic(points), growth.AXES)
    lines = growth.table(found).splitlines()
    heads = {"p": "p", "d": "d", "width": "width", "trials": "trials"}
    for axis, head in heads.items():
        values = list(map(str, growth.AXES[axis]))
        (i,) = [i for i, line in enumerate(lines) if line.split() == [head, *values]]
        ms = [
            np.dot((0.1, 0.01), step_work(Point(**{axis: v}).size)[:2]) for v in growth.AXES[axis]
        ]
        assert [float(x) for x in lines[i + 1].split()[3:]] == pytest.approx(ms, rel=5e-3)
    (i,) = [i for i, line in enumerate(lines) if line.startswith("trials, 2 threads")]
    core, wall = (float(lines[i + j].split()[-1]) for j in (1, 2))
    assert wall == pytest.approx(core / 2, rel=5e-3)


def test_growth_is_measured_and_its_file_keeps_the_other_engine(tmp_path, monkeypatch, capsys):
    small = {"p": (5, 7, 59), "d": (4, 8, 128), "width": (5, 9, 100), "trials": (1, 2, 3)}
    monkeypatch.setattr(growth, "AXES", small)
    monkeypatch.setattr(growth, "UNSEEN", (Size(7, 4, 5),))
    path = tmp_path / "growth.json"
    old = {"other": {"points": []}, "machine": {"measured": {"other": {"date": "then"}}}}
    path.write_text(json.dumps(old))
    assert growth.main(["--short", "--output", str(path)]) == 0
    report = json.loads(path.read_text())
    assert report["other"] == old["other"]
    engine = "native" if native_levels() else "torch"
    assert set(report["machine"]["measured"]) == {"other", engine}
    points = report[engine]["points"]
    assert len(points) == len(growth.all_points(small))
    assert all(np.isfinite(point["core_ms_per_trial_step"]) for point in points)
    assert "cost model" in capsys.readouterr().out


class Counter(TorchDispatchMode):
    """Counts what kernels read and write: every tensor argument once, every result once."""

    INDEXED = ("gather", "scatter", "embedding_bag", "index_select")

    def __init__(self):
        super().__init__()
        self.values = self.indices = 0

    def add(self, tensor):
        count = prod(n for n, step in zip(tensor.shape, tensor.stride(), strict=True) if step)
        if tensor.dtype == torch.int64:
            self.indices += count
        elif tensor.dtype != torch.bool:
            self.values += count

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = func.__name__.partition(".")[0]
        if func.is_view or func.namespace == "profiler" or name == "_foreach_add_":
            return result
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        out = [x for x in kwargs.values() if isinstance(x, torch.Tensor)]
        if name == "_fused_adamw_":
            for group in args[:4]:  # parameters, gradients, first and second moments
                for x in group:
                    self.add(x)
                    if group is not args[1]:
                        self.add(x)
            return result
        if name in ("gather", "scatter", "scatter_"):  # one number a row
            rows = len(tensors[1])
            self.values += rows * (1 + (name == "gather" or len(tensors) == 3))
            self.indices += rows
            return result
        for x in tensors:
            self.add(x)
        results = out or [result[0] if isinstance(result, tuple) else result]
        for x in results:
            self.add(x)
            if name == "baddbmm":  # a copy of the bias, which the product is added to
                self.add(x)
                self.add(x)
        return result


def test_the_bytes_of_a_step_are_those_of_the_engines_kernels():
    size = Size(7, 4, 5)
    start = initial_state(Cell(p=7, d=4, width=5), Protocol(), 0, [0])
    parameters = [torch.tensor(x, dtype=torch.float32) for x in start.parameters.arrays()]
    gradients = [torch.zeros_like(x) for x in parameters]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    optimizer = torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.5, fused=True)
    pairs = torch.tensor(start.train_pairs)
    batch = Batch(pairs, torch.tensor(labels(7)), 7, size.width, "silu", parameters[0])
    with torch.no_grad():
        optimizer.step()  # makes its state, which is not a step's work
        with Counter() as counter:
            logits = forward(parameters, batch)
            exact_gradient_(logits, batch.label, batch.count)
            backward(parameters, gradients, batch)
            optimizer.step()
    assert counter.indices == sum(one.indices for one in passes(size))
    assert counter.values == sum(one.values for one in passes(size))
    assert step_bytes(size) == 4 * counter.values + 8 * counter.indices
    assert step_bytes(size, 8) == 8 * counter.values + 8 * counter.indices


def test_a_step_takes_the_longer_of_arithmetic_and_memory():
    size = Size(59, 128)
    work = flops(floor_products(size)) / PEAK_SHARE
    card = Card("one second each", work / 1e12, step_bytes(size) / 1e9)
    assert bounds(size, card) == pytest.approx((1, 1))
    assert step_seconds(size, Card("", work / 2e12, step_bytes(size) / 1e9)) == pytest.approx(2)
    assert step_seconds(size, Card("", work / 1e12, step_bytes(size) / 3e9)) == pytest.approx(3)
    assert bounds(size, card, 8)[0] == pytest.approx(2)
    assert bounds(size, card, 8)[1] == pytest.approx(step_bytes(size, 8) / step_bytes(size))


def test_the_cards_are_those_of_the_data_sheets():
    assert {(c.name, c.tera_flops, c.gigabytes_per_second) for c in CARDS} == {
        ("V100", 15.7, 900),
        ("H200", 67, 4800),
    }


def test_the_papers_cost_is_printed_from_measured_growth(tmp_path, capsys):
    path = tmp_path / "growth.json"
    assert paper_cost.main(["--growth", str(path)]) == 1
    assert "run python -m benchmarks.growth first" in capsys.readouterr().out
    model = CostModel((1.0, 0.0, 0.0, 0.0, 0.0))  # a ms a step
    found = {
        "cost_model": model.results(),
        "float64_over_float32": 1.0,
        "residuals_unseen": {"one": -0.01, "two": 0.02},
    }
    measured = {"native": {"cpu": "a processor", "native_level": "avx9", "date": "today"}}
    path.write_text(json.dumps({"native": found, "machine": {"measured": measured}}))
    assert paper_cost.main(["--growth", str(path)]) == 0
    printed = capsys.readouterr().out
    (line,) = [line for line in printed.splitlines() if line.startswith("initial-signal  ")]
    assert f"{500 * 30_000 / 1000 / 3600:.1f}" in line.split()
    assert "measurements on a processor (avx9), off by -1 to +2% there" in printed


def test_the_page_on_performance_is_that_of_the_published_measurements():
    written = (ROOT / "docs/performance.md").read_text(encoding="utf-8")
    assert written == page(), "run `python -m benchmarks.page > docs/performance.md`"
    # Some of its numbers, read from the files by hand.
    training = json.loads((ROOT / "results/published/benchmarks/training.json").read_text())
    native = training["p59-d128"]["native_sparse_record"]
    assert f"| {native['core_ms_per_trial_step']:.2f} |" in written
    assert f" / {native['ratio_to_float64_loop']:.2f} |" in written
