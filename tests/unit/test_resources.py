"""What jobs ask of a cluster: more for more work, and twice as much at each attempt."""

from pathlib import Path

import pytest

from fittest.cells import Block, Cell
from fittest.design import blocks, load_design, parse_design
from fittest.plan.coefficients import published
from fittest.plan.resources import (
    COPIES,
    CPU_MARGIN,
    CPU_MEMORY_MB,
    GPU_MARGIN,
    GPU_MEMORY_MB,
    START_MINUTES,
    device_of,
    request,
)

MEASURED = published()
DESIGN = parse_design(
    {
        "block": 50,
        "horizons": [1000],
        "protocols": {"standard": {}, "short": {"steps": 1000}},
        "experiments": {"initial-signal": {"trials": 50}},
    }
)
PAPER = load_design(Path(__file__).parents[2] / "config/designs/paper.yaml")


def asked(protocol="standard", trials=50, design=DESIGN, *, cell=None, **settings):
    block = Block(protocol, cell or Cell(), 0, trials - 1)
    return request(block, design, MEASURED, **settings)


@pytest.mark.parametrize(
    ("engine", "device", "gpus"),
    [
        ("auto", "auto", 1),
        ("torch", "cuda:1", 1),
        ("auto", "cpu", 0),
        ("torch", "cpu", 0),
        ("native", "auto", 0),
        ("native-avx2", "cuda", 0),
    ],
)
def test_a_gpu_is_asked_for_unless_the_cpu_trains(engine, device, gpus):
    assert asked(engine=engine, device=device).gpu == gpus


def test_the_native_engine_is_told_the_cpu_wherever_the_others_train():
    assert device_of("native-avx512", "cuda") == "cpu"
    assert device_of("torch", "cuda:1") == "cuda:1"


def test_minutes_are_the_plans_with_a_margin_by_hand():
    # 50 trials of 30,000 steps at the defaults: 49 µs a step by a V100's memory, 3.15 ms by a core.
    on_gpu = START_MINUTES + GPU_MARGIN * 50 * 30_000 * 49e-6 / 60
    assert asked().runtime == pytest.approx(on_gpu, abs=2)
    on_cpu = START_MINUTES + CPU_MARGIN * 50 * 30_000 * 3.15e-3 / 60
    assert asked(device="cpu").runtime == pytest.approx(on_cpu, rel=0.1)
    # Twenty threads train 50 trials in three rounds. More threads than trials help no more.
    in_rounds = START_MINUTES + 3 / 50 * (on_cpu - START_MINUTES)
    assert asked(device="cpu", threads=20).runtime == pytest.approx(in_rounds, abs=3)
    assert asked(device="cpu", threads=50).runtime == asked(device="cpu", threads=900).runtime


def test_memory_holds_what_is_recorded():
    # Signals alone: 1,291 recorded steps of 29 circles in float32.
    signals = 50 * 1291 * 29 * 4 / 1e6
    assert asked().mem_mb >= GPU_MEMORY_MB + COPIES * signals
    on_cpu = asked(device="cpu").mem_mb
    assert CPU_MEMORY_MB + COPIES * signals <= on_cpu < 3 * CPU_MEMORY_MB
    assert asked(device="cpu", threads=20).mem_mb > on_cpu


def test_more_work_asks_for_more_and_each_attempt_for_twice_as_much():
    small, large = asked(), asked(cell=Cell(p=127, d=128, width=400))
    assert large.runtime > small.runtime
    assert large.mem_mb > small.mem_mb
    assert asked("short").runtime < small.runtime
    assert asked(trials=10).mem_mb < small.mem_mb
    for attempt in (2, 3):
        again = asked(attempt=attempt)
        assert again.gpu == small.gpu
        assert again.mem_mb == 2 ** (attempt - 1) * small.mem_mb
        assert again.runtime == 2 ** (attempt - 1) * small.runtime


def test_no_job_of_the_papers_design_asks_for_more_than_a_common_queue_gives():
    all_blocks = [block for name in PAPER.experiments for block in blocks(PAPER, name)]
    requests = [request(block, PAPER, MEASURED, attempt=3) for block in all_blocks]
    assert max(each.runtime for each in requests) < 24 * 60
    assert max(each.mem_mb for each in requests) < 64_000
