"""The torch engine: the right numbers, and each trial as if it were alone."""

import json
import threading
from importlib import import_module

import numpy as np
import pytest
import torch

from benchmarks.ordinary_loop import exact_cross_entropy, train_one
from fittest.cells import Cell
from fittest.protocol import Protocol
from fittest.task import labels
from fittest.training.arrays import Parameters, initial_state
from fittest.training.engines import native_levels
from fittest.training.ensemble import train_ensemble
from fittest.training.loss import exact_gradient_, loss_of_margin, naive_gradient_
from fittest.training.network import Batch, backward, forward


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def protocol(steps, **values):
    return Protocol.model_validate({"steps": steps, "record": {"gradients": 10}, **values})


def train(cell, proto, trials, **settings):
    start = initial_state(cell, proto, 0, trials)
    settings = {"engine": "torch", **settings}
    return train_ensemble(
        start.parameters, start.train_pairs, proto, weight_decay=cell.weight_decay, **settings
    )


@pytest.mark.parametrize(
    ("cell", "values"),
    [
        (Cell(p=13, d=16, width=24), {}),
        (Cell(p=13, d=16, width=24), {"activation": "relu"}),
        (Cell(p=13, d=16, width=24), {"frozen": ["embedding"]}),
        (Cell(p=12, d=5, width=9, weight_decay=1.3), {}),
        (Cell(p=31, d=64, width=100), {}),
    ],
)
def test_float64_follows_the_ordinary_loop_for_300_steps(cell, values):
    proto = protocol(300, arithmetic="float64", **values)
    start = initial_state(cell, proto, 0, [0, 1])
    ours = train_ensemble(
        start.parameters,
        start.train_pairs,
        proto,
        weight_decay=cell.weight_decay,
        engine="torch",
    )
    ordinary = train_one(
        [array[1] for array in start.parameters.arrays()],
        start.train_pairs[1],
        300,
        weight_decay=cell.weight_decay,
        activation=proto.activation,
        frozen="embedding" in proto.frozen,
    )
    for name in ("signal", "train_loss", "test_loss"):
        np.testing.assert_allclose(getattr(ours, name)[1], ordinary[name], rtol=1e-9)


@pytest.mark.parametrize("activation", ["silu", "relu"])
@pytest.mark.parametrize("trials", [1, 3])
def test_gradients_equal_autograd(activation, trials):
    p, d, width = 7, 5, 6
    rng = np.random.default_rng(1)
    shapes = [(p, d), (2 * d, width), (width,), (width, width), (width,), (width, p), (p,)]
    parameters = [torch.tensor(rng.standard_normal((trials, *s))) for s in shapes]
    pairs = torch.tensor(np.stack([np.sort(rng.permutation(p * p)[:30]) for _ in range(trials)]))
    all_labels = torch.tensor(labels(p))
    batch = Batch(pairs, all_labels, p, width, activation, parameters[0])
    gradients = [torch.full_like(x, torch.nan) for x in parameters]
    exact_gradient_(forward(parameters, batch), batch.label, batch.count)
    backward(parameters, gradients, batch)

    for trial in range(trials):
        leaves = [x[trial].clone().requires_grad_() for x in parameters]
        embedding, w1, b1, w2, b2, w3, b3 = leaves
        act = getattr(torch.nn.functional, activation)
        a, b = pairs[trial] // p, pairs[trial] % p
        hidden = act(torch.cat([embedding[a], embedding[b]], 1) @ w1 + b1)
        logits = act(hidden @ w2 + b2) @ w3 + b3
        torch.nn.functional.cross_entropy(logits, all_labels[pairs[trial]]).backward()
        for ours, leaf in zip(gradients, leaves, strict=True):
            torch.testing.assert_close(ours[trial], leaf.grad, rtol=1e-10, atol=1e-14)


def test_adamw_is_the_published_update():
    """θ ← θ·(1 - lr·wd), then the Adam step with bias correction, in plain numpy."""
    cell, lr, (b1, b2), eps = Cell(p=7, d=4, width=5, weight_decay=0.7), 0.02, (0.8, 0.95), 1e-6
    values = {"optimizer": {"lr": lr, "betas": [b1, b2], "eps": eps}, "arithmetic": "float64"}
    start = initial_state(cell, protocol(1), 0, [0])
    theta = [x[0].copy() for x in start.parameters.arrays()]
    m = [np.zeros_like(x) for x in theta]
    v = [np.zeros_like(x) for x in theta]
    pairs = torch.tensor(start.train_pairs[0])
    for t in range(1, 6):
        leaves = [torch.tensor(x, requires_grad=True) for x in theta]
        e, w1, c1, w2, c2, w3, c3 = leaves
        act = torch.nn.functional.silu
        x = torch.cat([e[pairs // cell.p], e[pairs % cell.p]], 1)
        logits = act(act(x @ w1 + c1) @ w2 + c2) @ w3 + c3
        exact_cross_entropy(logits, torch.tensor(labels(cell.p))[pairs]).backward()
        for i, leaf in enumerate(leaves):
            g = leaf.grad.numpy()
            m[i] = b1 * m[i] + (1 - b1) * g
            v[i] = b2 * v[i] + (1 - b2) * g**2
            step = (m[i] / (1 - b1**t)) / (np.sqrt(v[i] / (1 - b2**t)) + eps)
            theta[i] = theta[i] * (1 - lr * cell.weight_decay) - lr * step
    ours = train(cell, protocol(5, **values), [0])
    for array, expected in zip(ours.final.arrays(), theta, strict=True):
        np.testing.assert_allclose(array[0], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(
    "cell", [Cell(p=31, d=64, width=100), Cell(p=12, d=7, width=11, embedding="redrawn")]
)
def test_a_trial_is_bit_identical_whatever_it_was_trained_with(cell):
    proto = protocol(300)
    together = train(cell, proto, range(5))
    for trials in ([3], [3, 0], [4, 2, 3], range(2, 5)):
        other = train(cell, proto, trials)
        for name in ("signal", "train_loss", "test_loss", "parameter_norm", "gradient_signal"):
            ours = getattr(other, name)[list(trials).index(3)]
            assert np.array_equal(ours, getattr(together, name)[3]), (name, trials)


def test_a_trial_is_bit_identical_whatever_the_thread_count():
    # Large enough that torch would split its loops, were it let.
    cell, proto = Cell(p=47, d=64, width=100), protocol(30)
    one = train(cell, proto, range(3))
    torch.set_num_threads(2)
    two = train(cell, proto, range(3), threads=2)
    assert torch.get_num_threads() == 2, "the caller's setting is left as it was"
    assert np.array_equal(one.signal, two.signal)
    assert np.array_equal(one.train_loss, two.train_loss)


@pytest.mark.parametrize("failing", ["first", "last"])
def test_one_failing_trial_ends_the_others_at_once(failing):
    seen = []
    threads = []

    def interrupt(amount):
        seen.append(amount)
        threads.append(threading.get_ident())
        known = list(dict.fromkeys(threads))
        which = known[0] if failing == "first" else known[-1]
        if len(known) == 2 and len(seen) > 20 and threads[-1] == which:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(Cell(p=7, d=4, width=5), protocol(100_000), range(4), threads=2, progress=interrupt)
    assert 20 <= len(seen) < 5000


def test_every_step_of_every_trial_counts_as_progress():
    seen = []
    train(Cell(p=7, d=4, width=5), protocol(10), range(4), threads=2, progress=seen.append)
    assert sum(seen) == 40


def test_a_stack_follows_single_trials_to_rounding():
    """On a GPU all trials of a block are one stack: the same code, on the CPU."""
    cell, proto = Cell(p=13, d=16, width=24), protocol(300, arithmetic="float64")
    np.testing.assert_allclose(
        train(cell, proto, range(3), stack=3).signal, train(cell, proto, range(3)).signal, rtol=1e-9
    )


@pytest.mark.parametrize("engine", ["native", "torch"])
def test_only_the_first_of_a_blocks_trials_stores_networks(monkeypatch, engine):
    """Those of the others would be thrown away, and fill the memory until then."""
    if engine == "native" and not native_levels():
        pytest.skip("not built")
    module = import_module(f"fittest.training.{engine}_engine")
    name = {"native": "train_trial", "torch": "train_stack"}[engine]
    one, made = getattr(module, name), []

    def watched(*arguments):
        made.append(one(*arguments))
        return made[-1]

    monkeypatch.setattr(module, name, watched)
    cell, proto = Cell(p=7, d=4, width=5), protocol(20, record={"networks": 10})
    record = train(cell, proto, range(3), engine=engine)
    assert [len(each.network_step) for each in made] == [3, 0, 0]
    assert [each.networks is None for each in made] == [False, True, True]
    assert np.array_equal(record.networks.w2[-1], record.final.w2[0])
    assert np.array_equal(record.networks.w2, made[0].networks.w2)


def test_training_does_not_touch_the_arrays_given():
    cell, proto = Cell(p=7, d=4, width=5), protocol(5, arithmetic="float64")
    start = initial_state(cell, proto, 0, [0])
    before = [x.copy() for x in start.parameters.arrays()]
    train_ensemble(start.parameters, start.train_pairs, proto, weight_decay=0.5)
    for array, copy in zip(start.parameters.arrays(), before, strict=True):
        assert np.array_equal(array, copy)


def test_a_frozen_embedding_is_neither_stepped_nor_decayed():
    cell = Cell(p=13, d=16, width=24)
    frozen = train(cell, protocol(50, frozen=["embedding"]), [0])
    start = initial_state(cell, protocol(50), 0, [0]).parameters
    assert np.array_equal(frozen.final.embedding, start.embedding.astype(np.float32))
    assert not np.array_equal(frozen.final.w1, start.w1.astype(np.float32))


def test_records_are_of_the_parameters_after_that_many_updates():
    cell, proto = Cell(p=13, d=16, width=24), protocol(40, arithmetic="float64")
    full = train(cell, proto, [0])
    short = train(cell, protocol(25, arithmetic="float64"), [0])
    at = list(full.step).index(25)
    assert short.step[-1] == 25
    assert np.array_equal(short.signal[0, -1], full.signal[0, at])
    assert np.array_equal(short.test_loss[0, -1], full.test_loss[0, at])
    # What is recorded last belongs to the final parameters, computed here independently.
    e, w1, b1, w2, b2, w3, b3 = (x[0] for x in full.final.arrays())
    norm = np.sqrt(sum((x**2).sum() for x in (e, w1, b1, w2, b2, w3, b3)))
    assert full.parameter_norm[0, -1] == pytest.approx(norm, rel=1e-12)
    spectrum = np.linalg.norm(np.fft.fft(e, axis=0), axis=1)
    np.testing.assert_allclose(full.signal[0, -1], spectrum[1:7], rtol=1e-10)
    assert full.mean_signal[0, -1] == pytest.approx(spectrum.mean(), rel=1e-10)

    def silu(x):
        return x / (1 + np.exp(-x))

    a, b = np.divmod(np.arange(13**2), 13)
    z = silu(silu(np.hstack([e[a], e[b]]) @ w1 + b1) @ w2 + b2) @ w3 + b3
    loss = np.log(np.exp(z).sum(1)) - z[np.arange(169), labels(13)]
    right = z.argmax(1) == labels(13)
    chosen = np.isin(np.arange(169), initial_state(cell, proto, 0, [0]).train_pairs[0])
    for name, some in (("train", chosen), ("test", ~chosen)):
        assert getattr(full, f"{name}_loss")[0, -1] == pytest.approx(loss[some].mean(), rel=1e-9)
        assert getattr(full, f"{name}_accuracy")[0, -1] == pytest.approx(right[some].mean())


def test_signals_are_recorded_densely_then_every_hundred_steps_and_at_the_end():
    proto = protocol(250, record={"dense_until": 100, "every": 100, "snapshots": [0, 7, 250, 999]})
    record = train(Cell(p=7, d=4, width=5), proto, [0, 1])
    assert list(record.step) == [*range(101), 200, 250]
    assert record.signal.shape == (2, 103, 3)
    assert list(record.snapshot_step) == [0, 7, 250]
    assert np.array_equal(record.snapshot_embedding[-1], record.final.embedding[0])


def small_until_the_loss_is_tiny(**values):
    """Train a small network to a loss near 1e-8 in seconds.

    Adam's step shrinks no faster than its second moment forgets, so that the loss falls by a factor
    e every 2/(1 - β₂) steps; β₂ = 0.99 does in 3,000 steps what the default does in 30,000.
    """
    cell = Cell(p=11, d=16, width=32)
    proto = protocol(
        3000, optimizer={"betas": [0.9, 0.99]}, record={"every": 20, "gradients": 10}, **values
    )
    start = initial_state(cell, proto, 0, [0, 1])
    return start, train_ensemble(
        start.parameters, start.train_pairs, proto, weight_decay=0.5, engine="torch"
    )


@pytest.fixture(scope="module")
def tiny_loss():
    torch.set_num_threads(1)
    return small_until_the_loss_is_tiny(arithmetic="float64")


def test_exact_float32_follows_float64_over_a_whole_run(tiny_loss):
    _, truth = tiny_loss
    _, exact = small_until_the_loss_is_tiny()
    assert truth.train_loss[:, -1].max() < 1e-7
    np.testing.assert_allclose(exact.signal, truth.signal, rtol=1e-3)
    np.testing.assert_allclose(exact.train_loss, truth.train_loss, rtol=2e-2)


def test_naive_float32_goes_wrong_late_while_accuracy_reads_one(tiny_loss):
    """The finding the project rests on: the framework's own loss parts from the truth, suddenly."""
    _, truth = tiny_loss
    _, naive = small_until_the_loss_is_tiny(loss="naive")
    early = naive.step <= 1000
    np.testing.assert_allclose(naive.signal[:, early], truth.signal[:, early], rtol=1e-2)
    apart = np.abs(naive.signal / truth.signal - 1).max(axis=(1, 2))
    assert (apart > 0.2).all()
    late = naive.step > 1500
    assert (naive.train_loss[:, late].max(axis=1) > 1e3 * truth.train_loss[:, late].max()).all()


@pytest.mark.parametrize(("form", "error"), [("exact", 1e-4), ("naive", None)])
def test_gradient_in_float32_of_a_network_whose_loss_is_below_1e_7(tiny_loss, form, error):
    start, truth = tiny_loss
    pairs, p, width = torch.tensor(start.train_pairs), 11, 32
    gradient_ = {"exact": exact_gradient_, "naive": naive_gradient_}[form]

    def gradients(dtype, gradient_):
        # The same float32 numbers in both: only the arithmetic differs.
        rounded = [torch.tensor(x.astype(np.float32)).to(dtype) for x in truth.final.arrays()]
        batch = Batch(pairs, torch.tensor(labels(p)), p, width, "silu", rounded[0])
        out = [torch.empty_like(x) for x in rounded]
        m, _ = gradient_(forward(rounded, batch), batch.label, batch.count)
        backward(rounded, out, batch)
        return float(loss_of_margin(m).mean()), [x.double() for x in out]

    loss, expected = gradients(torch.float64, exact_gradient_)
    assert loss < 1e-7
    _, ours = gradients(torch.float32, gradient_)
    relative = [float((a - b).norm() / b.norm()) for a, b in zip(ours, expected, strict=True)]
    if form == "exact":
        assert max(relative) < error
    else:
        assert min(relative) > 0.05


@pytest.mark.parametrize("m", [-90.0, -20.0, -1e-3, 0.0, 30.0, 5000.0])
def test_loss_is_exact_at_any_margin(m):
    ours = float(loss_of_margin(torch.tensor([m], dtype=torch.float32))[0])
    assert ours == pytest.approx(np.logaddexp(0, m), rel=2e-6)
    assert ours > 0


def test_wrong_shapes_are_refused_by_name():
    arrays = initial_state(Cell(p=7, d=4, width=5), protocol(1), 0, [0]).parameters.arrays()
    arrays[1] = arrays[1][:, :-1]
    with pytest.raises(ValueError, match=r"w1 has shape .* must be \(1, 8, 5\)"):
        Parameters(*arrays)


def test_normal_initialisation_trains_with_a_finite_loss_in_the_thousands():
    """The text's N(0, 1): losses overflow the unstable softplus, not this one."""
    proto = protocol(3, init={"mlp": "normal"})
    record = train(Cell(p=59, d=128, width=100), proto, [0])
    assert np.isfinite(record.train_loss).all()
    assert record.train_loss[0, 0] > 100


def test_the_full_protocol_text_reads_back_as_the_protocol():
    proto = protocol(7, optimizer={"lr": 0.5})
    assert Protocol.model_validate(json.loads(proto.full)) == proto


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda pairs: pairs[:1], r"must be \(2, N\)"),
        (lambda pairs: pairs[0], r"must be \(2, N\)"),
        (lambda pairs: pairs + 40, "must lie in"),
        (lambda pairs: pairs - 40, "must lie in"),
        (lambda pairs: pairs * 0, "twice"),
        (lambda pairs: pairs.astype(float), "whole numbers"),
        (lambda pairs: pairs[:, :0], "whole numbers"),
        (lambda pairs: np.tile(np.arange(49), (2, 1)), "whole numbers"),
    ],
)
def test_pairs_that_make_no_sense_are_refused_by_name(change, says):
    start = initial_state(Cell(p=7, d=4, width=5), protocol(1), 0, [0, 1])
    with pytest.raises(ValueError, match=f"train_pairs.*{says}"):
        train_ensemble(start.parameters, change(start.train_pairs), protocol(1), weight_decay=0.5)
