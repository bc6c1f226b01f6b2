"""The benchmark: what it counts, how it computes ratios, what it writes. Never how fast."""

import json
import time
from math import prod

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import contestants, costs, report, training
from benchmarks.bars import BARS, DEFAULTS, verdicts
from benchmarks.clock import WARM_UP, portion_time, step_time
from benchmarks.floor import Floor
from fittest.cells import Cell
from fittest.plan.products import Size, floor_products, flops, test_products
from fittest.protocol import Protocol, Recording
from fittest.task import labels
from fittest.training.arrays import initial_state
from fittest.training.engines import native_levels
from fittest.training.network import Batch, backward, forward

TINY = Size(7, 4, 5)
ENGINES = [
    "float64_loop",
    "float32_loop",
    "torch",
    "torch_ensemble_4",
    "torch_ensemble_8",
    "torch_stack_4",
    "torch_sparse_record",
    *(("native", "native_sparse_record", "native_float64") if native_levels() else ()),
    *(f"native_{level}" for level in native_levels()[1:]),
    "floor",
]


def counted(run) -> int:
    # The one in-place product is unknown to torch's counter.
    more = {torch.ops.aten.baddbmm_: lambda _, a, b, **__: 2 * prod(a) * b[2]}
    with FlopCounterMode(display=False, custom_mapping=more) as counter, torch.no_grad():
        run()
    return counter.get_total_flops()


def test_the_floor_counts_the_products_of_one_step():
    # At the defaults, by hand: 6 p·d·h on tokens, 3 N·h² and 3 N·h·p on pairs, N = 2784.
    p, d, h, n = 59, 128, 100, 2784
    assert Size(p, d).rows == n
    products = floor_products(Size(p, d))
    assert len(products) == 12
    assert flops(products) == 2 * (6 * p * d * h + 3 * n * h * h + 3 * n * h * p)


def test_the_test_pass_counts_a_forward_pass_over_the_pairs_held_out():
    p, d, h, n = 59, 128, 100, 59**2 - 2784
    assert flops(test_products(Size(p, d))) == 2 * (2 * p * d * h + n * h * h + n * h * p)


def test_a_size_counts_the_parameters_of_its_network():
    start = initial_state(Cell(p=7, d=4, width=5), Protocol(), 0, [0])
    assert TINY.parameters == sum(array.size for array in start.parameters.arrays())


@pytest.mark.parametrize("block", [1, 4, 13, 39, 1000])
def test_the_floor_does_the_products_it_counts(block):
    floor = Floor(TINY, block)
    assert counted(floor.step) == flops(floor_products(TINY))


@pytest.mark.parametrize("block", [1, 13, 39])
def test_blocks_of_rows_add_up_to_the_whole_product(block):
    floor = Floor(TINY, block)
    for array, value in zip(floor.rows, (1, 0, 1, 0, 0), strict=True):
        array.fill_(value)  # every row alike: hidden activations are 1
    floor.w2.fill_(1)
    floor.w3.fill_(1)
    floor.step()
    h, n = TINY.width, TINY.rows
    assert torch.equal(floor.g_w3, torch.full((h, TINY.p), float(n * h)))
    assert torch.equal(floor.g_w2, torch.full((h, h), float(n * h)))
    halves = (floor.w1[: TINY.d], floor.w1[TINY.d :])
    expected = sum(floor.embedding @ half @ half.T for half in halves)
    torch.testing.assert_close(floor.g_embedding, expected)


def test_the_engine_does_the_same_products():
    cell = Cell(p=TINY.p, d=TINY.d, width=TINY.width)
    start = initial_state(cell, Protocol(), 0, [0])
    parameters = [torch.tensor(x, dtype=torch.float32) for x in start.parameters.arrays()]
    gradients = [torch.zeros_like(x) for x in parameters]
    pairs = torch.tensor(start.train_pairs)
    batch = Batch(pairs, torch.tensor(labels(7)), 7, TINY.width, "silu", parameters[0])

    def step():
        forward(parameters, batch)
        backward(parameters, gradients, batch)

    assert counted(step) == flops(floor_products(TINY))


def test_step_time_leaves_out_the_first_steps_and_gaps_between_stacks():
    # Two stacks of 3 trials; slow first steps, then 2 s and 4 s a step.
    first = [*np.arange(WARM_UP) * 100, *(1000 + 2 * np.arange(6))]
    second = [*(5000 + np.arange(WARM_UP) * 100), *(9000 + 4 * np.arange(6))]
    assert step_time(first) == pytest.approx(2000)
    assert step_time([first, second], 3) == pytest.approx(1000)


def test_portion_time_leaves_out_the_portions_of_the_first_steps_and_the_last():
    # Portions of 1, 2, 7, 3 and 9 steps: the first 4 end within the third.
    assert portion_time([0, 100, 200, 1000, 1006], [1, 2, 7, 3, 9]) == pytest.approx(2000)
    # Exactly the first 4 end with the first portion.
    assert portion_time([0, 50, 60, 90], [4, 5, 15, 1]) == pytest.approx(2000)


def test_ratios_are_taken_within_each_round():
    keys = ["float64_loop", "torch", "floor"]
    times = np.array([[8.0, 2.0, 1.0], [40.0, 20.0, 4.0], [10.0, 2.0, 0.5]])
    result = report.summarise(keys, times)
    assert result["torch"] == {
        "core_ms_per_trial_step": 2.0,
        "ratio_to_float64_loop": 4.0,
        "ratio_to_float64_loop_least": 2.0,
        "ratio_to_float64_loop_most": 5.0,
        "ratio_to_floor": 4.0,
        "ratio_to_floor_least": 2.0,
        "ratio_to_floor_most": 5.0,
    }
    assert result["float64_loop"]["ratio_to_float64_loop"] == 1
    assert result["floor"]["ratio_to_floor"] == 1


def test_ratios_to_torch_compile_are_taken_within_each_round_where_it_took_part():
    keys = ["float64_loop", "native", "floor", "torch_compile"]
    times = np.array([[9.0, 2.0, 1.0, 4.0], [9.0, 1.0, 1.0, 9.0], [9.0, 4.0, 1.0, 4.0]])
    native = report.summarise(keys, times)["native"]
    assert native["ratio_to_torch_compile"] == 2.0
    assert native["ratio_to_torch_compile_least"] == 1.0
    assert native["ratio_to_torch_compile_most"] == 9.0


def kept() -> dict[str, dict[str, float]]:
    """Results that keep every bar, with ratios at its limit."""
    results: dict[str, dict[str, float]] = {}
    for bar in BARS:
        for key in bar.keys:
            results.setdefault(key, {})[bar.ratio] = bar.limit
    return results


def missed(size, results, compile_=False) -> list[str]:
    return [line for met, line in verdicts(size, results, compile_=compile_) if not met]


def test_the_bars_are_those_promised():
    sparse = {"native_sparse_record"}
    torch_engine = {"torch", "torch_ensemble_4", "torch_ensemble_8"}
    assert [(set(b.keys), b.ratio, b.limit, b.at_most) for b in BARS] == [
        (torch_engine, "ratio_to_float64_loop", 3, False),
        ({"native"} | sparse, "ratio_to_float64_loop", 9, False),
        (sparse, "ratio_to_torch_compile", 1.8, False),
        (sparse, "ratio_to_floor", 1.1, True),
    ]


@pytest.mark.parametrize("bar", BARS, ids=lambda bar: bar.label)
def test_a_bar_is_missed_where_the_worst_contestant_is_beyond_its_limit(bar):
    assert missed(DEFAULTS, kept()) == []
    for key in bar.keys:
        results = kept()
        results[key][bar.ratio] *= 1.01 if bar.at_most else 0.99
        (line,) = missed(DEFAULTS, results)
        assert line.startswith(f"bar, {bar.label}: {results[key][bar.ratio]:.2f} times, at ")
        assert line.endswith(f" {bar.limit:g}: MISSED")
        assert missed(Size(31, 64), results) == []


def test_what_is_not_measured_is_missed_but_for_a_compiler_not_asked_for():
    without = {k: v for k, v in kept().items() if not k.startswith("native")}
    assert len(missed(DEFAULTS, without)) == 3
    assert all(line.endswith("not measured") for line in missed(DEFAULTS, without))
    assert missed(Size(31, 64), without) == []
    skipped = kept()
    del skipped["native_sparse_record"]["ratio_to_torch_compile"]
    assert missed(DEFAULTS, skipped) == []
    (line,) = missed(DEFAULTS, skipped, compile_=True)
    assert line == "bar, native engine's speed over torch.compile's: at least 1.8: not measured"
    # Its line is printed whether or not it counts.
    assert line in [line for _, line in verdicts(DEFAULTS, skipped, compile_=False)]


def test_the_summary_has_a_row_a_size_and_a_dash_for_what_is_missing():
    size = Size(59, 128)
    work = flops(floor_products(size)) / 1e6  # a Mflop in a ms is a GFLOP/s
    native = {"core_ms_per_trial_step": 4.0, "ratio_to_float64_loop": 9.5, "ratio_to_floor": 1.2}
    sparse = native | {"core_ms_per_trial_step": 2.0, "ratio_to_float64_loop": 10.25}
    full = {
        "float64_loop": {"core_ms_per_trial_step": 40.0},
        "native": native,
        "native_sparse_record": sparse | {"ratio_to_torch_compile": 1.9, "ratio_to_floor": 1.05},
    }
    text = report.summary({size: full, TINY: {"float64_loop": {}}}, rate=work)
    head, row, empty = text.splitlines()
    assert head.split()[0] == "size"
    assert " ".join(row.split()) == (
        f"(59, 128) 40.00 4.00 / 2.00 9.50 / 10.25 1.90 1.05 {work / 2:.1f} (50%)"
    )
    assert " ".join(empty.split()) == "(7, 4) x 5 - - / - - / - - - -"


def test_every_contestant_runs_and_the_table_names_it(capsys):
    results = training.time_size(TINY, 2, short=True, compile_=False)
    assert list(results) == ENGINES
    for result in results.values():
        assert {"core_ms_per_trial_step", "ratio_to_float64_loop", "ratio_to_floor"} <= set(result)
        assert all(np.isfinite(value) and value >= 0 for value in result.values())
    printed = capsys.readouterr().out
    for entrant in contestants.contestants(TINY, Floor(TINY, results["floor"]["row_block"])):
        assert entrant.label in printed
    assert "torch.compile skipped: not asked for" in printed
    assert "bar" not in printed  # bars hold at the defaults


def test_the_sparse_run_records_once_among_the_steps_it_counts(monkeypatch):
    seen = []
    ensemble = contestants.train_ensemble

    def spy(*arguments, progress, **options):
        record = ensemble(*arguments, progress=progress, **options)
        seen.extend(record.step)
        return record

    monkeypatch.setattr(contestants, "train_ensemble", spy)
    by_key = {c.key: c for c in contestants.contestants(TINY, Floor(TINY, 8), short=True)}
    by_key["torch_sparse_record"].run()
    last = WARM_UP + 1 + 100  # counted: the iterations WARM_UP + 1 … last - 1
    assert seen == [0, 100, last]
    assert WARM_UP + 1 <= 100 <= last - 1


def test_compiling_is_skipped_with_a_reason(monkeypatch):
    assert "not asked for" in training.why_not_compiled(False)
    monkeypatch.setattr(training.shutil, "which", lambda name: None)
    assert training.why_not_compiled(True) == "no C++ compiler"


def test_one_core_puts_threads_back():
    before = torch.get_num_threads()
    with training.one_core():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def test_the_job_table_is_read():
    text = "Job stats:\njob      count\n-----  -------\ntrain       10\ntotal       31\n\nReasons:"
    assert costs.count_jobs(text) == 31
    with pytest.raises(ValueError, match="no job table"):
        costs.count_jobs("nothing")


def test_a_whole_file_of_noise_has_the_protocols_shapes():
    protocol = Protocol(steps=40, record=Recording(dense_until=10, every=10, snapshots=[0, 20]))
    sizes = costs.storage_costs(Cell(p=7, d=4, width=5, embedding="redrawn"), protocol, (2, 3))
    assert list(sizes) == ["bytes_per_trial_of_2", "bytes_per_trial_of_3"]
    assert all(size > 0 for size in sizes.values())


def test_peak_memory_is_that_of_the_training_process():
    memory = costs.memory_costs(7, 4, 5, trials=2, steps=1)
    assert 0 < memory["peak_bytes_before_training"] <= memory["peak_bytes"] < 4e9
    assert memory["trials"] == 2


def test_a_report_keeps_other_sizes(tmp_path, monkeypatch):
    path = tmp_path / "benchmarks" / "training.json"
    path.parent.mkdir()
    old = {"p3-d2": {"torch": {}}, "machine": {"measured": {"p3-d2": {"date": "then"}}}}
    path.write_text(json.dumps(old))
    some = {"seconds": 1.0}
    monkeypatch.setattr(training, "SIZES", (TINY,))
    monkeypatch.setattr(training, "measure_costs", lambda short: {"storage": some})
    monkeypatch.setattr(training, "time_large_product", lambda: 1.0)
    never = [(True, "bar: ok"), (False, "bar: MISSED")]
    monkeypatch.setattr(training, "verdicts", lambda *_, compile_: never)
    assert training.main(["--short", "--output", str(path)]) == 0
    assert training.main(["--short", "--check", "--output", str(path)]) == 1
    report = json.loads(path.read_text())
    assert report["p3-d2"] == old["p3-d2"]
    assert list(report["p7-d4-width5"]) == ENGINES
    assert set(report["machine"]["measured"]) == {"p3-d2", "p7-d4-width5"}
    about = {"cpu", "cores", "torch", "blas", "cpu_capability", "date", "git_revision"}
    assert about <= set(report["machine"])
    level = (native_levels() or ["not built"])[0]
    assert report["machine"]["native_level"] == level
    assert report["machine"]["measured"]["p7-d4-width5"]["native_level"] == level
    assert report["storage"] == some


def test_the_clock_is_core_time(monkeypatch):
    ticks = iter(range(10**6))
    monkeypatch.setattr(time, "process_time", lambda: float(next(ticks)))
    # One tick a step, whether one trial takes it or four do.
    by_key = {c.key: c for c in contestants.contestants(TINY, Floor(TINY, 8), short=True)}
    assert by_key["torch"].run() == 1000
    assert by_key["torch_ensemble_8"].run() == 1000
    assert by_key["torch_stack_4"].run() == 250
    assert by_key["float64_loop"].run() == 2000  # its clock is read twice a step
    assert by_key["floor"].run() == 1000
    if native_levels():
        assert by_key["native"].run() == 1000
        assert by_key["native_float64"].run() == 1000


@pytest.mark.skipif(not native_levels(), reason="the native engine was not built")
def test_native_contestants_use_the_level_and_arithmetic_they_are_named_after(monkeypatch):
    from fittest.training import native_engine

    seen = []

    def spy(initial, train_pairs, protocol, weight_decay, level, tick):
        seen.append((level, protocol.arithmetic, protocol.record.dense_until > 0))
        for _ in range(2):
            for amount in (WARM_UP, 1):
                tick(amount)

    monkeypatch.setattr(native_engine, "train_trial", spy)
    start = initial_state(Cell(p=7, d=4, width=5), Protocol(), 0, [0])
    entrants = contestants.native_entrants(start, 4)
    for _, _, run in entrants:
        run()
    best, *others = native_levels()
    assert seen == [
        (best, "float32", True),
        (best, "float32", False),
        (best, "float64", True),
        *((level, "float32", True) for level in others),
    ]
    assert [label for _, label, _ in entrants[3:]] == [f"native engine, {x}" for x in others]
