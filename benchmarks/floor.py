"""The floor under every engine: the matrix products of a training step and nothing else."""

from __future__ import annotations

import time

import numpy as np
import torch

from benchmarks.clock import WARM_UP, step_time
from fittest.plan.products import Size

ROW_BLOCKS = (64, 128, 256, 512, 1024, 2048)


class Floor:
    """The matrix products of a training step and nothing else, float32, through BLAS.

    Rows go through in blocks, all products of a block before the next, in the same buffers: what
    an engine that keeps a block in the cache could do at best.
    """

    def __init__(self, size: Size, block: int) -> None:
        p, d, h = size.p, size.d, size.width
        self.size, self.block = size, min(block, size.rows)

        def draw(*shape: int) -> torch.Tensor:
            return torch.randn(shape, generator=generator) / 10

        generator = torch.Generator().manual_seed(0)
        self.embedding, self.from_a, self.from_b = draw(p, d), draw(p, h), draw(p, h)
        self.w1, self.w2, self.w3 = draw(2 * d, h), draw(h, h), draw(h, p)
        self.g_embedding = torch.empty_like(self.embedding)
        self.g_w1, self.g_w2, self.g_w3 = (torch.empty_like(w) for w in (self.w1, self.w2, self.w3))
        self.rows = [draw(self.block, width) for width in (h, h, h, p, h)]

    def step(self) -> None:
        """Do the products of one step."""
        d = self.size.d
        halves = ((self.from_a, slice(None, d)), (self.from_b, slice(d, None)))
        for tokens, half in halves:
            torch.mm(self.embedding, self.w1[half], out=tokens)
        for first in range(0, self.size.rows, self.block):
            count = min(self.block, self.size.rows - first)
            h1, x2, h2, logits, spare = (array[:count] for array in self.rows)
            torch.mm(h1, self.w2, out=x2)
            torch.mm(h2, self.w3, out=logits)
            beta = int(first > 0)  # 0 overwrites, 1 adds to what earlier blocks left
            torch.addmm(self.g_w3, h2.mT, logits, beta=beta, out=self.g_w3)
            torch.mm(logits, self.w3.mT, out=spare)
            torch.addmm(self.g_w2, h1.mT, x2, beta=beta, out=self.g_w2)
            torch.mm(x2, self.w2.mT, out=spare)
        for beta, (tokens, half) in enumerate(halves):
            torch.mm(self.embedding.mT, tokens, out=self.g_w1[half])
            torch.addmm(self.g_embedding, tokens, self.w1[half].mT, beta=beta, out=self.g_embedding)

    def time(self, counted: int) -> float:
        """Time some steps."""
        marks = []
        for _ in range(WARM_UP + 1 + counted):
            self.step()
            marks.append(time.process_time())
        return step_time(marks)

    @classmethod
    def fastest(cls, size: Size, tries: int = 4) -> Floor:
        """Return the floor with the row blocks that suit BLAS best."""
        blocks = [*(b for b in ROW_BLOCKS if b < size.rows), size.rows]
        floors = [cls(size, block) for block in blocks]
        # In turn, so that a busy moment of the machine does not fall on one of them alone.
        times = [[floor.time(10) for floor in floors] for _ in range(tries)]
        return floors[int(np.argmin(np.min(times, axis=0)))]
