"""How many trials a GPU's memory holds: the count, the choice, and what follows a mistake."""

import gc
import logging
import weakref

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from fittest.cells import Cell
from fittest.errors import FittestError
from fittest.protocol import Protocol, Recording
from fittest.training import torch_engine
from fittest.training.arrays import Parameters, initial_state
from fittest.training.engines import Chosen
from fittest.training.ensemble import train_ensemble
from fittest.training.memory import FIXED, SHARE, Gpu, bytes_per_trial, stack_for
from fittest.training.record import Record
from fittest.training.torch_engine import train_stack
from tests.unit import cuda_stand_in


def peak_bytes(run):
    """Return the most bytes that torch's allocator had given out at once."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        run()
    events = [e for e in profiler.profiler.kineto_results.events() if e.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return int(np.cumsum([event.nbytes() for event in events]).max())


@pytest.mark.parametrize(
    ("cell", "values"),
    [
        (Cell(p=59, d=128, width=100), {}),
        (Cell(p=31, d=64, width=32), {"loss": "naive"}),
        (Cell(p=13, d=200, width=16), {}),
        (Cell(p=23, d=512, width=100), {}),
        (Cell(p=31, d=16, width=24), {"arithmetic": "float64"}),
        (Cell(p=31, d=16, width=24), {"train_share": 0.3}),
        (Cell(p=13, d=4, width=4), {"steps": 400}),
    ],
)
def test_the_count_of_bytes_is_no_less_and_hardly_more_than_the_peak(cell, values):
    proto = Protocol.model_validate({"steps": 4, "record": {"every": 2, "gradients": 3}, **values})
    start = initial_state(cell, proto, 0, range(4))
    peak = peak_bytes(
        lambda: train_stack(start.parameters, start.train_pairs, proto, 0.5, "cpu", lambda _: None)
    )
    pairs = start.train_pairs.shape[1]
    counted = 4 * bytes_per_trial(cell.p, cell.d, cell.width, pairs, proto)
    assert peak <= counted <= 1.15 * peak


def test_a_trial_at_the_defaults_takes_about_nine_megabytes():
    assert bytes_per_trial(59, 128, 100, 2784, Protocol()) == pytest.approx(9.4e6, rel=0.05)


@pytest.mark.parametrize(
    ("fit", "trials", "stack"),
    [(100, 50, 50), (50, 50, 50), (49, 50, 25), (20, 50, 17), (1, 50, 1), (0, 50, 1), (7, 8, 4)],
)
def test_stacks_are_as_large_as_fits_and_even(fit, trials, stack):
    per_trial = 10**7
    free = int((FIXED + (fit + 0.5) * per_trial) / SHARE)
    assert stack_for(free, per_trial, trials) == stack


@pytest.fixture
def lines(caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("fittest"), "propagate", True)
    caplog.set_level(logging.INFO, "fittest")
    return lambda: caplog.messages


def gpu_of(fit, monkeypatch, per_trial=2**30):
    gpu = Gpu("cuda:1", per_trial)
    monkeypatch.setattr(Gpu, "free", lambda self: int((FIXED + (fit + 0.5) * per_trial) / SHARE))
    return gpu


@pytest.mark.parametrize(
    ("asked", "stack"), [(None, 10), (3, 3), (12, 12), (13, 10), (50, 10), (99, 10)]
)
def test_a_stack_is_what_was_asked_for_unless_it_does_not_fit(monkeypatch, lines, asked, stack):
    gpu = gpu_of(12, monkeypatch)
    assert gpu.stack(50, asked) == stack
    if asked in (3, 12):
        assert lines() == []
    else:
        wanted = min(asked or 50, 50)
        assert lines() == [
            f"{wanted} trials together need {wanted + 0.25:.2f} GiB on cuda:1, which has "
            f"{(12.5 + 0.25) / SHARE:.2f} GiB free: 10 at a time"
        ]


class Holder:
    """Stands for the arrays of a stack, which its error's traceback holds."""


def training_that_fits(most, log):
    """Return a training that runs out of memory after two steps where more than `most` go at once.

    It fails as a capture does: ending it raises something else.
    """
    held = []

    def train(some, tick):
        assert all(gone() is None for gone in held), "the failed stack is still in memory"
        count = some.stop - some.start
        log.append((some.start, count))
        holder = Holder()
        for _ in range(2):
            tick(count)
        if count > most:
            held.append(weakref.ref(holder))
            try:
                raise torch.OutOfMemoryError("CUDA out of memory.")
            finally:
                raise RuntimeError("operation failed due to a previous error during capture")
        tick(count)
        return (some.start, count)

    return train


def test_a_stack_that_does_not_fit_after_all_is_halved_and_starts_again(monkeypatch, lines):
    gpu, tried, progress = gpu_of(20, monkeypatch), [], []
    records = gpu.train(training_that_fits(6, tried), 20, 16, progress.append)
    assert tried == [(0, 16), (0, 8), (0, 4), (4, 4), (8, 4), (12, 4), (16, 4)]
    assert records == [(first, 4) for first in range(0, 20, 4)]
    assert sum(progress) == 3 * 20
    assert [line.partition(" (")[0] for line in lines()] == [
        "cuda:1 has too little memory for 16 trials together",
        "cuda:1 has too little memory for 8 trials together",
    ]
    assert lines()[0].endswith(": 8 at a time")


def test_a_trial_that_does_not_fit_alone_is_an_error_with_a_remedy(monkeypatch):
    gpu = gpu_of(0, monkeypatch)
    with pytest.raises(FittestError, match=r"single trial does not fit on cuda:1.*`device: cpu`"):
        gpu.train(training_that_fits(0, []), 3, 2, lambda _: None)


def test_another_error_is_not_taken_for_a_lack_of_memory(monkeypatch):
    def train(some, tick):
        raise RuntimeError("device-side assert")

    with pytest.raises(RuntimeError, match="device-side assert"):
        gpu_of(9, monkeypatch).train(train, 4, 4, lambda _: None)


def test_free_memory_counts_what_the_allocator_kept(monkeypatch):
    calls = []
    monkeypatch.setattr(gc, "collect", lambda: calls.append("collect"))
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: calls.append("empty"))
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (calls.append(device), 3)[::-1])
    assert Gpu("cuda:1", 1).free() == 3
    assert calls == ["collect", "empty", "cuda:1"]


def test_an_ensemble_goes_to_the_gpu_in_stacks_that_fit(monkeypatch, lines):
    """The whole path on the CPU: only torch's CUDA calls are stood in for."""
    cuda_stand_in.install(monkeypatch)
    cell, proto = Cell(p=13, d=16, width=24), Protocol(steps=30, arithmetic="tf32")
    proto = proto.model_copy(update={"record": Recording(networks=15)})
    start = initial_state(cell, proto, 0, range(5))
    arguments = (start.parameters, start.train_pairs, proto)
    per_trial = bytes_per_trial(13, 16, 24, start.train_pairs.shape[1], proto)
    free = int((FIXED + 2.5 * per_trial) / SHARE)
    on_cpu = train_ensemble(
        *(start.parameters, start.train_pairs, Protocol(steps=30)),
        weight_decay=0.5,
        engine="torch",
        stack=2,
    )
    seen, progress, networks = [], [], []
    one_stack = torch_engine.train_stack

    def on_the_cpu(initial, pairs, protocol, weight_decay, device, *rest):
        seen.append((len(pairs), device, torch.backends.cuda.matmul.fp32_precision))
        networks.append(protocol.record.networks)
        return one_stack(initial, pairs, protocol, weight_decay, "cpu", *rest)

    monkeypatch.setattr(torch_engine, "train_stack", on_the_cpu)
    monkeypatch.setattr(torch.cuda, "device", lambda device: cuda_stand_in.nullcontext())
    monkeypatch.setattr(Gpu, "free", lambda self: free)
    monkeypatch.setattr(
        "fittest.training.ensemble.choose_engine", lambda *asked: Chosen("torch", "cuda")
    )
    ours = train_ensemble(*arguments, weight_decay=0.5, progress=progress.append, threads=4)
    assert seen == [(count, "cuda", "tf32") for count in (2, 2, 1)]
    assert networks == [15, 0, 0]
    assert ours.network_step.tolist() == [0, 15, 30]
    assert [line.endswith(": 2 at a time") for line in lines()] == [True]
    assert sum(progress) == 5 * 30
    assert isinstance(ours, Record)
    assert isinstance(ours.final, Parameters)
    assert np.array_equal(ours.signal, on_cpu.signal)
    assert np.array_equal(ours.final.w2, on_cpu.final.w2)
