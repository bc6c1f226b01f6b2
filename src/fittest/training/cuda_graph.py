"""A training step as a CUDA graph: launched as one, without the host in between.

A step is some forty small kernels. Launched one by one, the host would be what limits a GPU; a
graph of them is launched at once. What a graph reads and writes is fixed when it is captured, so
that everything a step needs stays where it is: parameters, gradients, moments and batches.
"""

from __future__ import annotations

import time

import torch

from fittest.training.stack import Margins, Stack

WARM_UP = 3
"""Steps before the capture, in which libraries and the optimiser allocate what they keep."""


class CudaGraph:
    """The step of a stack on the current CUDA device. Making it leaves the stack as it was."""

    def __init__(self, stack: Stack) -> None:
        before = stack.state()
        side, current = torch.cuda.Stream(), torch.cuda.current_stream()
        side.wait_stream(current)
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                stack.advance()
        current.wait_stream(side)
        stack.restore(before)
        del before
        for group in stack.optimizer.param_groups:
            group["capturable"] = True  # only now: torch warns when such a one steps uncaptured
        self.graph = torch.cuda.CUDAGraph()
        # Other threads of the program may go on using the device meanwhile.
        with torch.cuda.graph(self.graph, stream=side, capture_error_mode="thread_local"):
            self.margins = stack.advance()
        self.pace = Pace()

    def replay(self) -> Margins:
        """Do one step; return margins as `Stack.advance` does, in the same tensors every time."""
        self.graph.replay()
        self.pace()
        return self.margins


class Pace:
    """Keeps the host from running ahead of the device by more than about 2 × `seconds` of work.

    The device needs work waiting for it, but progress should be true and Ctrl-C quick. So every so
    many steps the host waits for those before the last so many; how many is found by the clock.
    """

    def __init__(self, seconds: float = 0.1) -> None:
        self.seconds = seconds
        self.every = 1
        self.queued = 0
        self.earlier: torch.cuda.Event | None = None
        self.looked = time.monotonic()

    def __call__(self) -> None:
        """Count a step just launched; wait where it is time to."""
        self.queued += 1
        if self.queued < self.every:
            return
        self.queued = 0
        event = torch.cuda.Event(blocking=True)  # blocking: the waiting host's core is free
        event.record()
        if self.earlier is not None:
            self.earlier.synchronize()
        self.earlier = event
        now = time.monotonic()
        took, self.looked = now - self.looked, now
        if took < self.seconds / 2:
            self.every *= 2
        elif took > self.seconds:
            self.every = max(1, self.every // 2)
