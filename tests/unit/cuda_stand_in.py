"""Stand-ins for CUDA graphs, streams and events on the CPU.

A captured graph is a fixed list of operations on fixed arrays: capturing does none of them, and a
replay runs no Python. The stand-in keeps that, so that what would go wrong on a GPU goes wrong
here: a number that Python keeps, an array made anew, moments that are made within the capture.
"""

from contextlib import contextmanager, nullcontext

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def tensors(tree):
    return [x for x in tree_leaves(tree) if isinstance(x, torch.Tensor)]


class Recorder(TorchDispatchMode):
    """Keeps every operation, and every array as it was before the first."""

    def __init__(self):
        super().__init__()
        self.calls, self.before, self.made = [], {}, set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.namespace != "aten":
            return function(*args, **kwargs)
        for x in tensors((args, kwargs)):
            storage = x.untyped_storage()
            if storage.data_ptr() not in self.made:
                self.before.setdefault(storage.data_ptr(), (storage, storage.clone()))
        out = function(*args, **kwargs)
        new = {x.untyped_storage().data_ptr() for x in tensors(out)} - self.before.keys()
        self.made |= new
        self.calls.append((function, args, kwargs, out))
        return out


class Graph:
    """Instead of `torch.cuda.CUDAGraph`."""

    def __init__(self):
        self.calls = None
        self.replays = 0

    def replay(self):
        self.replays += 1
        for function, args, kwargs, out in self.calls:
            for old, new in zip(tensors(out), tensors(function(*args, **kwargs)), strict=True):
                if old.untyped_storage().data_ptr() != new.untyped_storage().data_ptr():
                    old.copy_(new)


@contextmanager
def capture(graph, stream, capture_error_mode):
    """Instead of `torch.cuda.graph`."""
    with Recorder() as recorder:
        yield
    for storage, copy in recorder.before.values():
        storage.copy_(copy)
    for x in tensors([out for *_, out in recorder.calls]):
        if x.untyped_storage().data_ptr() in recorder.made and x.is_floating_point():
            x.fill_(torch.nan)  # not computed before the first replay
    graph.calls = recorder.calls


class Stream:
    def wait_stream(self, other):
        assert isinstance(other, Stream)


class Event:
    """Instead of `torch.cuda.Event`."""

    def __init__(self, blocking):
        assert blocking

    def record(self):
        pass

    def synchronize(self):
        pass


def install(monkeypatch):
    """Put the stand-ins in torch's place; `train_stack(step_of=CudaGraph)` then runs on the CPU."""
    for name, value in {
        "CUDAGraph": Graph,
        "graph": capture,
        "Stream": Stream,
        "current_stream": Stream,
        "stream": lambda stream: nullcontext(),
        "Event": Event,
    }.items():
        monkeypatch.setattr(torch.cuda, name, value)
