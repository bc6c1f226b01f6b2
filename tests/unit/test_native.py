"""The native engine: the same science as torch and as the ordinary loop, in compiled code."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.ordinary_loop import train_one
from fittest import engine_names
from fittest.cells import Cell
from fittest.errors import DesignError
from fittest.protocol import Protocol
from fittest.statistics.comparison import TOLERANCES
from fittest.training import engines
from fittest.training.arrays import initial_state
from fittest.training.block import train_block
from fittest.training.engines import choose_engine, native_levels
from fittest.training.ensemble import train_ensemble
from fittest.trajectories import open_trajectories

LEVELS = native_levels()
needs_native = pytest.mark.skipif(
    not LEVELS, reason="the native engine was not built: no C++ compiler at installation"
)
SIZES = [
    Cell(p=13, d=16, width=24),
    Cell(p=12, d=5, width=9, weight_decay=1.3),
    Cell(p=31, d=64, width=100),
    Cell(p=59, d=128, width=32, weight_decay=0),
    Cell(p=3, d=1, width=1),
]


def protocol(steps, **values):
    return Protocol.model_validate({"steps": steps, "record": {"gradients": 10}, **values})


def train(cell, proto, trials=(0, 1), **settings):
    start = initial_state(cell, proto, 0, trials)
    settings = {"engine": "native", **settings}
    return train_ensemble(
        start.parameters, start.train_pairs, proto, weight_decay=cell.weight_decay, **settings
    )


def trial(cell, proto, level):
    from fittest.training.native_engine import NativeTrial

    start = initial_state(cell, proto, 0, [0])
    return NativeTrial(start.parameters, start.train_pairs, proto, cell.weight_decay, level)


@needs_native
@pytest.mark.parametrize("cell", SIZES)
@pytest.mark.parametrize("values", [{}, {"activation": "relu"}, {"frozen": ["embedding"]}])
def test_float64_follows_the_ordinary_loop(cell, values):
    steps = 300 if cell.p < 59 else 20
    proto = protocol(steps, arithmetic="float64", **values)
    start = initial_state(cell, proto, 0, [0, 1])
    ours = train(cell, proto)
    ordinary = train_one(
        [array[1] for array in start.parameters.arrays()],
        start.train_pairs[1],
        steps,
        weight_decay=cell.weight_decay,
        activation=proto.activation,
        frozen="embedding" in proto.frozen,
    )
    for name in ("signal", "train_loss", "test_loss"):
        np.testing.assert_allclose(getattr(ours, name)[1], ordinary[name], rtol=1e-9, err_msg=name)


@needs_native
@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
@pytest.mark.parametrize("loss", ["exact", "naive"])
def test_everything_recorded_agrees_with_the_torch_engine(arithmetic, loss):
    record = {"gradients": 10, "networks": 50}
    cell = Cell(p=13, d=16, width=24)
    proto = protocol(120, arithmetic=arithmetic, loss=loss, record=record)
    native, by_torch = train(cell, proto), train(cell, proto, engine="torch")
    rtol = {"float32": 2e-3, "float64": 1e-9}[arithmetic]
    for name in vars(native):
        if name in ("final", "networks"):
            every = [getattr(record, name).arrays() for record in (native, by_torch)]
            pairs = zip(*every, strict=True)
        else:
            pairs = [(getattr(native, name), getattr(by_torch, name))]
        for ours, theirs in pairs:
            assert ours.shape == theirs.shape, name
            assert ours.dtype == theirs.dtype, name
            np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol / 10, err_msg=name)


@needs_native
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
def test_every_instruction_set_computes_the_same_gradient(level, arithmetic):
    for cell in SIZES:
        best, other = (
            trial(cell, protocol(1, arithmetic=arithmetic), each) for each in (LEVELS[0], level)
        )
        scores = [each.trial.gradient() for each in (best, other)]
        rtol = {"float32": 1e-4, "float64": 1e-12}[arithmetic]
        np.testing.assert_allclose(*scores, rtol=rtol)
        for a, b in zip(best.get(3), other.get(3), strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(a).max())


@needs_native
def test_a_trial_is_bit_identical_whatever_threads_block_or_neighbours():
    cell, proto = Cell(p=31, d=64, width=100), protocol(100)
    together = train(cell, proto, range(5))
    for trials, threads in (([3], 1), ([4, 3], 2), (range(2, 5), 3)):
        other = train(cell, proto, trials, threads=threads)
        for name in ("signal", "train_loss", "test_loss", "parameter_norm", "gradient_signal"):
            ours = getattr(other, name)[list(trials).index(3)]
            assert np.array_equal(ours, getattr(together, name)[3]), (name, trials, threads)


@needs_native
@pytest.mark.parametrize("arithmetic", ["float32", "float64"])
def test_a_restored_state_goes_on_bit_identically(arithmetic):
    cell, proto = Cell(p=13, d=16, width=24), protocol(1, arithmetic=arithmetic)
    whole = trial(cell, proto, LEVELS[0])
    whole.advance(90, lambda _: None)
    first = trial(cell, proto, LEVELS[0])
    first.advance(40, lambda _: None)
    second = trial(cell, proto, LEVELS[0])
    second.advance(3, lambda _: None)
    second.restore(first.state())
    second.advance(50, lambda _: None)
    assert second.trial.step == whole.trial.step == 90
    for which in range(3):
        for a, b in zip(second.get(which), whole.get(which), strict=True):
            assert np.array_equal(a, b)


def until_the_loss_is_tiny(**values):
    proto = protocol(
        3000, optimizer={"betas": [0.9, 0.99]}, record={"every": 20, "gradients": 10}, **values
    )
    return train(Cell(p=11, d=16, width=32), proto)


@needs_native
def test_exact_float32_follows_float64_to_a_loss_below_1e_7_and_naive_does_not():
    truth = until_the_loss_is_tiny(arithmetic="float64")
    assert truth.train_loss[:, -1].max() < 1e-7
    exact = until_the_loss_is_tiny()
    np.testing.assert_allclose(exact.signal, truth.signal, rtol=1e-3)
    np.testing.assert_allclose(exact.train_loss, truth.train_loss, rtol=2e-2)
    naive = until_the_loss_is_tiny(loss="naive")
    assert (np.abs(naive.signal / truth.signal - 1).max(axis=(1, 2)) > 0.2).all()
    late = naive.step > 1500
    assert (naive.train_loss[:, late].max(axis=1) > 1e3 * truth.train_loss[:, late].max()).all()


@needs_native
def test_the_gradient_in_float32_is_exact_on_a_network_whose_loss_is_below_1e_7():
    truth = until_the_loss_is_tiny(arithmetic="float64").final
    rounded = [array[0].astype(np.float32) for array in truth.arrays()]
    gradients = {}
    for arithmetic in ("float32", "float64"):
        one = trial(Cell(p=11, d=16, width=32), protocol(1, arithmetic=arithmetic), LEVELS[0])
        one.trial.set(0, [array.astype(arithmetic) for array in rounded])
        loss, _ = one.trial.gradient()
        assert loss < 1e-7
        gradients[arithmetic] = one.get(3)
    for a, b in zip(gradients["float32"], gradients["float64"], strict=True):
        assert np.linalg.norm(a - b) < 1e-4 * np.linalg.norm(b)


@needs_native
def test_an_interrupt_ends_training_between_portions_of_steps():
    seen = []

    def interrupt(amount):
        seen.append(amount)
        if len(seen) == 30:
            raise KeyboardInterrupt

    sparse = {"dense_until": 0, "every": 100_000, "gradients": 0}
    proto = protocol(100_000, record=sparse)
    with pytest.raises(KeyboardInterrupt):
        train(Cell(p=31, d=64, width=100), proto, range(3), threads=2, progress=interrupt)
    # A portion is work for well under a second: at most 2·10⁹ operations, counted.
    assert max(seen) * 6 * 768 * 100 * 131 < 2e9
    assert sum(seen) < 2000


@needs_native
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_hours_of_training_and_leaves_nothing(tmp_path, stop):
    # Sparse recording and two threads: the longest stretches without a look at Python.
    long = '{"steps": 1000000, "record": {"dense_until": 0, "every": 100000, "gradients": 0}}'
    block = "standard/p~97/d~128/wd~0.5/width~100/embedding~0/intervention~none/trials~0-3.h5"
    command = ["-m", "fittest.cli", "train", str(tmp_path / block), "--protocol", long]
    with subprocess.Popen(
        [sys.executable, *command, "--engine", "native", "--threads", "2"],
        stderr=subprocess.PIPE,
        text=True,
        # A shell starts what it puts in the background deaf to Ctrl-C: these tests, perhaps.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert "by native engine" in process.stderr.readline()
        process.send_signal(stop)
        try:
            said = process.communicate(timeout=60)[1]  # the training itself would take hours
        finally:
            process.kill()
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: -signal.SIGTERM}[stop]
    assert ("stopped" in said) == (stop == signal.SIGINT)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


@needs_native
def test_progress_counts_every_step_of_every_trial():
    seen = []
    train(Cell(p=7, d=4, width=5), protocol(300), range(3), threads=2, progress=seen.append)
    assert sum(seen) == 900


def test_a_job_of_the_native_engine_does_not_import_torch(tmp_path):
    code = (
        "import sys; from fittest.cli import main; "
        f"main(['train', {str(tmp_path)!r} + '/standard/p~7/d~4/wd~0.5/width~5/embedding~0/"
        "intervention~none/trials~0-1.h5', '--protocol', '{\"steps\": 5}', '--device', 'cpu']); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(not LEVELS)]
    assert ("torch serves" in done.stderr) == (not LEVELS)


def test_the_engine_is_chosen_by_device_and_by_what_was_built(monkeypatch):
    monkeypatch.setattr(engines, "native_levels", lambda: ["avx2", "baseline"])
    assert choose_engine("auto", "cpu").engine == "native"
    assert choose_engine("native", "auto").level == "avx2"
    assert choose_engine("torch", "cpu").engine == "torch"
    monkeypatch.setattr(engines, "_device", lambda device: "cuda")
    assert choose_engine("auto", "auto") == engines.Chosen("torch", "cuda")
    with pytest.raises(DesignError, match=r"'native' trains on the CPU, not on 'cuda'"):
        choose_engine("native", "cuda")
    monkeypatch.setattr(engines, "native_levels", list)
    monkeypatch.setattr(engines, "_device", lambda device: "cpu")
    assert choose_engine("auto", "auto").engine == "torch"
    with pytest.raises(DesignError, match=r"was not built: install a C\+\+ compiler"):
        choose_engine("native", "cpu")
    with pytest.raises(DesignError, match=r"unknown engine 'nativ'.*Did you mean 'native'"):
        choose_engine("nativ", "cpu")


def test_an_engines_name_may_force_an_instruction_set(monkeypatch):
    monkeypatch.setattr(engines, "native_levels", lambda: ["avx2", "baseline"])
    assert choose_engine("native-baseline", "cpu") == engines.Chosen("native", "cpu", "baseline")
    assert choose_engine("native-avx2", "auto").level == "avx2"
    with pytest.raises(DesignError) as error:
        choose_engine("native-avx512", "cpu")
    assert "this processor cannot run avx512" in str(error.value)
    assert "'native-avx2', 'native-baseline'; 'native' takes the first" in str(error.value)
    with pytest.raises(DesignError, match=r"'native-avx2' trains on the CPU, not on 'cuda'"):
        choose_engine("native-avx2", "cuda")
    with pytest.raises(DesignError, match=r"unknown engine 'native-avx'.*Did you mean 'native-av"):
        choose_engine("native-avx", "cpu")
    monkeypatch.setattr(engines, "native_levels", list)
    with pytest.raises(DesignError, match=r"'native-avx2' was not built: install a C\+\+ compiler"):
        choose_engine("native-avx2", "cpu")


def test_every_instruction_set_has_a_name_that_a_setting_can_force():
    assert set(LEVELS) <= set(engine_names.LEVELS)
    assert {f"native-{level}" for level in engine_names.LEVELS} < set(engine_names.ENGINES)


@needs_native
@pytest.mark.parametrize("level", LEVELS)
def test_a_forced_instruction_set_trains_and_is_recorded(tmp_path, level):
    tail = "standard/p~7/d~4/wd~0.5/width~5/embedding~0/intervention~none/trials~0-1.h5"
    train_block(tmp_path / tail, protocol(5), 0, engine=f"native-{level}", device="auto")
    with open_trajectories(tmp_path / tail) as file:
        assert file.attrs["engine"] == "native"
        assert file.attrs["cpu_capability"] == level
    start = initial_state(Cell(p=7, d=4, width=5), protocol(5), 0, [0, 1])
    by_hand = trial(Cell(p=7, d=4, width=5), protocol(5), level)
    by_hand.advance(5, lambda _: None)
    record = train_ensemble(
        *(start.parameters, start.train_pairs, protocol(5)),
        weight_decay=0.5,
        engine=f"native-{level}",
    )
    assert np.array_equal(record.final.w2[0], by_hand.get(0)[3])


@needs_native
def test_pairs_and_arrays_that_do_not_belong_are_refused():
    one = trial(Cell(p=7, d=4, width=5), protocol(1), LEVELS[0])
    with pytest.raises(ValueError, match="seven arrays"):
        one.trial.set(0, one.get(0)[:6])
    with pytest.raises(ValueError, match="wrong size"):
        one.trial.set(0, [np.zeros(3, np.float32)] * 7)
    start = initial_state(Cell(p=7, d=4, width=5), protocol(1), 0, [0])
    from fittest.training.native_engine import NativeTrial

    with pytest.raises(ValueError, match="cannot run level"):
        NativeTrial(start.parameters, start.train_pairs, protocol(1), 0.5, "avx9000")
    with pytest.raises(ValueError, match="pair out of range"):
        NativeTrial(start.parameters, start.train_pairs + 40, protocol(1), 0.5, LEVELS[0])


@needs_native
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("activation", ["silu", "relu"])
def test_what_is_not_a_number_stays_so(level, activation):
    one = trial(Cell(p=7, d=4, width=5), protocol(1, activation=activation), level)
    for array in (1, 2, 3, 4):  # weights and biases below an activation
        parameters = one.get(0)
        whole = [x.copy() for x in parameters]
        parameters[array].ravel()[0] = np.nan
        one.trial.set(0, [x.ravel() for x in parameters])
        assert np.isnan(one.trial.gradient()[0]), array
        assert np.isnan(one.trial.test()[0]), array
        one.trial.set(0, [x.ravel() for x in whole])
        assert np.isfinite(one.trial.gradient()[0])


@needs_native
def test_arrays_that_overflow_in_the_arithmetic_are_refused():
    start = initial_state(Cell(p=7, d=4, width=5), protocol(1), 0, [0])
    start.parameters.embedding[0, 0, 0] = 1e39
    with pytest.raises(ValueError, match="all finite in float32"):
        train_ensemble(start.parameters, start.train_pairs, protocol(1), weight_decay=0.5)


@needs_native
def test_a_number_that_names_no_arrays_is_refused():
    one = trial(Cell(p=7, d=4, width=5), protocol(1), LEVELS[0])
    for call in (one.trial.get, one.trial.bin_norms):
        for which in (-1, 4):
            with pytest.raises(ValueError, match="which must be from 0 to 3"):
                call(which)
    with pytest.raises(ValueError, match="which must be from 0 to 2"):
        one.trial.set(3, one.get(0))


@needs_native
@pytest.mark.parametrize("level", LEVELS)
def test_every_instruction_set_keeps_to_the_early_tolerances_against_torch(level):
    cell, proto = Cell(p=31, d=64, width=100, embedding="redrawn"), protocol(300)
    ours = train(cell, proto, engine=f"native-{level}").signal.astype(np.float64)
    theirs = train(cell, proto, engine="torch").signal.astype(np.float64)
    apart = np.abs(ours - theirs).max(axis=2) / theirs.max(axis=2)
    assert apart.max() > 0  # two programs, not one
    for until, tolerance in TOLERANCES.items():
        assert apart[:, : until + 1].max() <= tolerance
