"""The benchmark for a GPU: its counts and its arithmetic, on the CPU. Never how fast."""

import json
from types import SimpleNamespace

import pytest
import torch

from benchmarks import gpu
from fittest.plan.gpu_bound import step_bytes
from fittest.plan.products import Size
from fittest.protocol import Protocol

TINY = Size(7, 4, 5)


def test_starting_up_is_told_from_steps(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(gpu, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    extra = iter([100.0, 3.0, 3.0])

    def run(steps):
        clock[0] += next(extra) + 0.25 * steps

    assert gpu.slope(run, 10, 30) == (3.0, 0.25)


def test_a_minute_of_whole_runs_is_extrapolated_from_short_ones(monkeypatch):
    slopes = iter([(6.0, 0.002), (9.0, 0.012), (0.0, 0.001)])
    monkeypatch.setattr(gpu, "slope", lambda run, few, many: next(slopes))
    found = gpu.speed(TINY, 4, "cpu")
    evaluations = 1001 + 290
    seconds = 6 + 30_000 * 0.002 + evaluations * 0.01
    assert found["trials_per_minute"] == pytest.approx(60 * 4 / seconds)
    assert found["seconds_per_trial_step"] == pytest.approx(0.0005)
    assert found["ordinary_loop_trials_per_minute"] == pytest.approx(60 / 30)


def test_shares_are_of_the_time_at_the_peaks():
    found = {"bytes_per_s": 1e9, "float32_flop_per_s": 1e10}
    size = Size(59, 128)
    products = 2 * (6 * 59 * 128 * 100 + 3 * 2784 * 100 * 100 + 3 * 2784 * 100 * 59)
    shares = gpu.shares(size, 0.1, found)
    assert shares["share_of_bandwidth"] == pytest.approx(step_bytes(size) / 1e8)
    assert shares["share_of_arithmetic"] == pytest.approx(products / 1e9)


def test_who_survives_is_compared_trial_by_trial():
    found = gpu.survivors(TINY, 3, "cpu", ["float32", "float64"], 40)
    assert found["trials_with_same_survivors"] == 3
    assert found["circles_float32"] == found["circles_float64"]


def test_the_whole_runs_on_a_machine_that_says_it_has_a_gpu(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Some GPU")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (7, 0))
    monkeypatch.setattr(gpu, "Size", lambda *_: TINY)
    monkeypatch.setattr(gpu, "Protocol", lambda **v: Protocol(**{"steps": 60, **v}))
    peaks, speed, survivors = gpu.peaks, gpu.speed, gpu.survivors
    monkeypatch.setattr(gpu, "peaks", lambda device: peaks("cpu", 64))
    monkeypatch.setattr(gpu, "speed", lambda size, n, device: speed(size, n, "cpu", 5, 25))
    monkeypatch.setattr(gpu, "survivors", lambda size, n, device, *a: survivors(size, n, "cpu", *a))
    path = tmp_path / "gpu.json"
    path.write_text('{"Another": {}}')
    assert gpu.main(["--trials", "2", "--survivors", "2", "--output", str(path)]) == 0
    report = json.loads(path.read_text())
    assert set(report) == {"Another", "Some GPU"}
    assert {"trials_per_minute", "share_of_bandwidth", "torch", "cuda", "git_revision"} <= set(
        report["Some GPU"]
    )
    assert "circles_tf32" not in report["Some GPU"]["survivors"]
    assert "written to" in capsys.readouterr().out


def test_without_a_gpu_it_says_so_in_a_line(monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main([]) == 1
    assert capsys.readouterr().err == "no GPU that torch can use is here: nothing measured\n"
