"""The torch engine on a GPU: what can be held true without one, and what only with one."""

import json
import warnings
from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from fittest.cells import Cell
from fittest.design import Survival
from fittest.errors import DesignError
from fittest.protocol import Protocol
from fittest.tables.survival import gather_survival
from fittest.training import cuda_graph, engines, gpu
from fittest.training.arrays import initial_state
from fittest.training.block import train_block
from fittest.training.cuda_graph import CudaGraph, Pace
from fittest.training.engines import Chosen, choose_engine
from fittest.training.ensemble import train_ensemble
from fittest.training.recorder import Recorder
from fittest.training.stack import Stack
from fittest.training.torch_engine import Eager, train_stack
from fittest.trajectories import open_trajectories
from tests.unit import cuda_stand_in

CELL = Cell(p=13, d=16, width=24)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def protocol(steps, **values):
    record = {"dense_until": 20, "every": 25, "gradients": 10, "snapshots": [0, 20]}
    record["networks"] = 25
    return Protocol.model_validate({"steps": steps, "record": record, **values})


def start(proto, trials=3, cell=CELL):
    return initial_state(cell, proto, 0, range(trials))


def train(proto, step_of, tick=lambda _: None):
    state = start(proto)
    return train_stack(state.parameters, state.train_pairs, proto, 0.5, "cpu", tick, step_of)


def assert_same(ours, theirs):
    for name, value in vars(theirs).items():
        pairs = [(getattr(ours, name), value)]
        if name in ("final", "networks"):
            pairs = zip(pairs[0][0].arrays(), value.arrays(), strict=True)
        for a, b in pairs:
            assert a.dtype == b.dtype, name
            assert np.array_equal(a, b), name


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"loss": "naive"},
        {"arithmetic": "float64", "activation": "relu"},
        {"frozen": ["embedding"]},
    ],
)
def test_a_captured_step_trains_bit_identically_with_exactly_as_many_updates(monkeypatch, values):
    cuda_stand_in.install(monkeypatch)
    made, ticks = [], []

    def captured(stack):
        made.append((stack, CudaGraph(stack)))
        return made[0][1]

    proto = protocol(60, **values)
    assert_same(train(proto, captured, ticks.append), train(proto, Eager))
    stack, step = made[0]
    assert step.graph.replays == 60
    assert {float(state["step"]) for state in stack.optimizer.state.values()} == {60}
    assert ticks == [3] * 60


def test_making_a_graph_leaves_parameters_gradients_and_moments_as_they_were(monkeypatch):
    cuda_stand_in.install(monkeypatch)
    proto = protocol(5)
    state = start(proto)
    stack = Stack(state.parameters, state.train_pairs, proto, 0.5, "cpu")
    stack.gradient()
    before = stack.state()
    CudaGraph(stack)
    after = stack.state()
    assert len(before) == 14
    assert len(after) == 14 + 7 * 3
    for a, b in zip(before, after, strict=False):
        assert torch.equal(a, b)
    assert all(not moment.any() for moment in after[14:])
    # And in the middle of training, with moments that are not zero.
    stack.advance()
    before = stack.state()
    CudaGraph(stack)
    assert all(torch.equal(a, b) for a, b in zip(before, stack.state(), strict=True))
    assert any(moment.any() for moment in before[14:])


def on_a_device(stack, recorder, mode):
    """Move a stack and its recorder to a device that has shapes and no numbers."""
    moved = {}

    def move(x):
        if isinstance(x, torch.Tensor):
            if id(x) not in moved:
                like = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="meta")
                moved[id(x)] = FakeTensor(mode, like, torch.device("meta"))
            return moved[id(x)]
        if isinstance(x, list | tuple):
            return type(x)(move(y) for y in x)
        if isinstance(x, dict):
            return {move(key): move(y) for key, y in x.items()}
        return x

    state = move(dict(stack.optimizer.state))
    stack.optimizer.state.clear()
    stack.optimizer.state.update(state)
    for group in stack.optimizer.param_groups:
        group["params"] = move(group["params"])
    for holder in (stack, stack.train, stack.test, recorder):
        for name, value in list(vars(holder).items()):
            setattr(holder, name, move(value))
    for parameter, gradient in zip(stack.parameters, stack.gradients, strict=True):
        parameter.grad = gradient


class Watch(TorchDispatchMode):
    """Refuses whatever takes an array elsewhere."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        assert not (kwargs or {}).get("device"), f"{function} moves an array"
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("loss", ["exact", "naive"])
def test_neither_a_step_nor_its_recording_looks_at_a_number_or_leaves_the_device(loss):
    proto = protocol(20, loss=loss).without_networks  # those go to the host at once
    state = start(proto)
    with torch.no_grad():
        stack = Stack(state.parameters, state.train_pairs, proto, 0.5, "cpu")
        stack.gradient()
        stack.advance()
        recorder = Recorder(proto.record, proto.steps, stack.parameters[0])
        mode = FakeTensorMode()
        on_a_device(stack, recorder, mode)
        # Reading a number, mixing devices, or a shape that depends on numbers raises here.
        with mode, Watch():
            margins = stack.advance()
            recorder.keep(20, stack.parameters, stack.gradients[0], stack.scores(margins))
            assert margins[0].device.type == "meta"
            with pytest.raises(Exception, match="_local_scalar_dense"):
                margins[0].sum().item()


def test_the_host_waits_every_so_many_steps_for_those_before(monkeypatch):
    clock, waited, recorded = [0.0], [], []

    class Event(cuda_stand_in.Event):
        def record(self):
            recorded.append(self)

        def synchronize(self):
            waited.append(self)

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(cuda_graph, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    pace = Pace(seconds=0.1)
    most = 0
    for step in range(20_000):
        clock[0] += 0.0001 if step < 10_000 else 0.01  # later, each is slow to be done
        pace()
        most = max(most, pace.every)
    assert most == 512  # 0.05 s … 0.1 s of quick steps
    assert pace.every == 8  # of slow ones
    assert waited == recorded[:-1], "never for the work just launched"
    assert len(recorded) < 10_000 / 512 + 10_000 / 5 + 20


def test_how_matrix_products_are_rounded_is_said_aloud_and_put_back():
    settings = torch.backends.cuda.matmul
    before = settings.fp32_precision
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for arithmetic, expected in (("tf32", "tf32"), ("float32", "ieee"), ("float64", "ieee")):
            seen = []
            with suppress(KeyError), gpu.matrix_products(arithmetic):
                seen.append(settings.fp32_precision)
                raise KeyError
            assert seen == [expected]
            assert settings.fp32_precision == before
        assert settings.allow_tf32 is False  # the older way to ask still answers


def test_an_older_torch_has_another_switch(monkeypatch):
    settings = SimpleNamespace(allow_tf32=True)
    monkeypatch.setattr(torch.backends.cuda, "matmul", settings)
    with gpu.matrix_products("float32"):
        assert settings.allow_tf32 is False
    assert settings.allow_tf32 is True


@pytest.mark.parametrize(
    ("kernels", "capability", "expected"),
    [
        ("sm_70", (7, 0), True),
        ("sm_70", (7, 5), True),
        ("sm_75", (7, 0), False),
        ("sm_80", (9, 0), False),
        ("sm_90a", (9, 0), True),
        ("sm_120", (12, 1), True),
        ("sm_120", (10, 0), False),
        ("sm_100a", (10, 3), False),
        ("compute_70", (9, 0), True),
        ("compute_120", (9, 0), False),
        ("gfx90a", (9, 0), False),
    ],
)
def test_which_kernels_run_where(kernels, capability, expected):
    assert gpu.runs_on(kernels, capability) is expected


@pytest.fixture
def a_gpu(monkeypatch):
    """A machine with one GPU, as far as torch's answers go."""

    def install(capability, kernels):
        monkeypatch.setattr(engines, "_may_have_gpu", lambda: True)
        monkeypatch.setattr(torch.version, "cuda", "13.0")
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Tesla V100")
        monkeypatch.setattr(torch.cuda, "get_arch_list", lambda: kernels)

    return install


@pytest.mark.parametrize("device", ["auto", "cuda", "cuda:0"])
def test_a_gpu_that_torch_has_no_kernels_for_is_explained(a_gpu, device):
    a_gpu((7, 0), ["sm_75", "sm_80", "sm_90", "compute_90"])
    with pytest.raises(DesignError) as error:
        choose_engine("auto", device)
    for part in (
        "Tesla V100 (compute capability 7.0)",
        "it has sm_75, sm_80, sm_90, compute_90",
        "CUDA 12.8 and later lack kernels for Volta",
        "https://download.pytorch.org/whl/cu126",
        "`device: cpu`",
    ):
        assert part in str(error.value)
    assert choose_engine("torch", "cpu").device == "cpu"
    a_gpu((12, 0), ["sm_80", "sm_90"])
    with pytest.raises(DesignError, match=r"built for a newer CUDA; or set `device: cpu`") as error:
        choose_engine("auto", device)
    assert "Volta" not in str(error.value)
    a_gpu((7, 0), ["sm_70", "sm_80"])
    assert choose_engine("auto", device).gpu


def test_a_gpu_whose_driver_is_too_old_is_no_reason_to_take_the_cpu(a_gpu, monkeypatch):
    def fail(device):
        raise RuntimeError("The NVIDIA driver on your system is too old (found version 11040).")

    a_gpu((7, 0), [])
    monkeypatch.setattr(torch.cuda, "get_device_capability", fail)
    with pytest.raises(DesignError, match=r"driver on your system is too old.*`device: cpu`"):
        choose_engine("auto", "auto")


def test_another_makers_gpu_is_not_judged_by_nvidias_names(a_gpu, monkeypatch):
    a_gpu((9, 4), ["gfx942"])
    monkeypatch.setattr(torch.version, "cuda", None)
    assert choose_engine("auto", "auto").gpu


@pytest.mark.parametrize("engine", ["auto", "torch", "native"])
def test_tf32_is_refused_on_a_cpu(monkeypatch, engine):
    monkeypatch.setattr(engines, "native_levels", lambda: ["baseline"])
    with pytest.raises(DesignError, match=r"tf32.*only the torch engine on a GPU.*float32"):
        choose_engine(engine, "cpu", "tf32")
    proto = protocol(1, arithmetic="tf32")
    state = start(proto)
    with pytest.raises(DesignError, match="tf32"):
        train_ensemble(state.parameters, state.train_pairs, proto, weight_decay=0.5, engine=engine)


def test_tf32_is_refused_on_a_gpu_before_ampere(a_gpu):
    a_gpu((7, 0), ["sm_70", "sm_80"])
    with pytest.raises(DesignError, match=r"tf32, which the GPU here, Tesla V100, cannot do.*8\.0"):
        choose_engine("auto", "auto", "tf32")
    assert choose_engine("auto", "auto", "float32").gpu
    a_gpu((8, 0), ["sm_70", "sm_80"])
    assert choose_engine("auto", "auto", "tf32").gpu


def test_a_new_arithmetic_changes_no_protocol_that_was():
    assert Protocol().identity == "{}"
    assert Protocol(arithmetic="float64").identity == '{"arithmetic": "float64"}'
    assert Protocol(arithmetic="tf32").identity == '{"arithmetic": "tf32"}'
    assert [Protocol(arithmetic=a).dtype for a in ("float32", "float64", "tf32")] == [
        "float32",
        "float64",
        "float32",
    ]


def test_files_and_tables_of_tf32_hold_float32(tmp_path, monkeypatch):
    for module in ("block", "ensemble"):
        monkeypatch.setattr(
            f"fittest.training.{module}.choose_engine", lambda *asked: Chosen("torch", "cpu")
        )
    tail = "standard/p~7/d~4/wd~0.5/width~5/embedding~0/intervention~none/trials~0-1.h5"
    train_block(tmp_path / tail, protocol(5, arithmetic="tf32"), 0)
    with open_trajectories(tmp_path / tail) as file:
        assert {file[name].dtype for name in ("signal", "initial_embedding")} == {
            np.dtype("float32")
        }
    table = gather_survival([tmp_path / tail], Survival(), [])
    assert table.attrs["dtype"] == "float32"
    assert json.loads(table.attrs["protocol"])["arithmetic"] == "tf32"


# What follows has not been run so far: no GPU was at hand.


@needs_gpu
@pytest.mark.parametrize("loss", ["exact", "naive"])
def test_on_a_gpu_a_graph_trains_as_eager_steps_do_to_the_bit(loss):
    proto = protocol(300, loss=loss)
    state = start(proto)
    some = (state.parameters, state.train_pairs, proto, 0.5, "cuda", lambda _: None)
    assert_same(train_stack(*some, CudaGraph), train_stack(*some, Eager))


@needs_gpu
def test_a_gpu_follows_the_cpu_in_float64():
    proto = protocol(300, arithmetic="float64")
    state = start(proto)
    on_gpu, on_cpu = (
        train_ensemble(
            state.parameters, state.train_pairs, proto, weight_decay=0.5, engine="torch", device=d
        )
        for d in ("cuda", "cpu")
    )
    for name in ("signal", "train_loss", "test_loss", "gradient_signal", "parameter_norm"):
        np.testing.assert_allclose(getattr(on_gpu, name), getattr(on_cpu, name), rtol=1e-9)


@needs_gpu
def test_a_gpu_gives_the_same_bits_twice():
    proto = protocol(300)
    state = start(proto)
    once, again = (
        train_ensemble(state.parameters, state.train_pairs, proto, weight_decay=0.5, device="cuda")
        for _ in range(2)
    )
    assert_same(once, again)
