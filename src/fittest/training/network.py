"""A stack of networks on a fixed batch of pairs: forward pass, and backward pass written out.

The first layer uses [E_a, E_b] W₁ = E_a W₁ᵃ + E_b W₁ᵇ: two (p × d)(d × h) products and a gather
over pairs, exact and far cheaper than a (pairs × 2d)(2d × h) product. The backward pass is written
out, not left to autograd, so that every large array is allocated once; a test holds it to autograd.
"""

from __future__ import annotations

import torch
from torch.nn import functional

aten = torch.ops.aten

# name → (activation into out, gradient through it into out)
ACTIVATIONS = {
    "silu": (
        lambda x, out: aten.silu.out(x, out=out),
        lambda grad, x, out: aten.silu_backward.grad_input(grad, x, grad_input=out),
    ),
    "relu": (
        lambda x, out: aten.relu.out(x, out=out),
        lambda grad, x, out: aten.threshold_backward.grad_input(grad, x, 0, grad_input=out),
    ),
}


class Batch:
    """The pairs of every trial of a stack, and the arrays that a pass over them fills.

    Parameters
    ----------
    pairs
        Shape (T, N), int64: pair indices a·p + b.
    labels
        Shape (p²,), int64.
    p, width
        Tokens and neurons in each hidden layer.
    activation
        A key of `ACTIVATIONS`.
    like
        Gives dtype and device.
    """

    def __init__(
        self,
        pairs: torch.Tensor,
        labels: torch.Tensor,
        p: int,
        width: int,
        activation: str,
        like: torch.Tensor,
    ) -> None:
        t, n = pairs.shape
        self.trials, self.count, self.p, self.width = t, n, p, width
        self.activate, self.activate_backward = ACTIVATIONS[activation]
        offset = p * torch.arange(t, device=pairs.device)[:, None]
        self.row_a = (pairs // p + offset).reshape(-1)
        self.row_b = (pairs % p + offset).reshape(-1)
        self.label = labels[pairs].reshape(-1, 1)
        self.bags = [self._bags(row) for row in (self.row_a, self.row_b)]
        self.x1, self.h1, self.x2, self.h2, self.spare = (
            like.new_empty(t * n, width) for _ in range(5)
        )
        self.logits = like.new_empty(t * n, p)

    def _bags(self, row: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return for each (trial, token) the pairs that have it, in pair order."""
        count = torch.bincount(row, minlength=self.trials * self.p)
        return torch.argsort(row, stable=True), torch.cumsum(count, 0) - count

    def stacked(self, array: torch.Tensor) -> torch.Tensor:
        """Return a (T·N, m) array as (T, N, m)."""
        return array.view(self.trials, self.count, -1)


def forward(parameters: list[torch.Tensor], batch: Batch) -> torch.Tensor:
    """Fill the batch's activations; return its logits, shape (T·N, p).

    `parameters` are embedding, w1, b1, w2, b2, w3, b3 as in `fittest.training.Parameters`.
    """
    embedding, w1, b1, w2, b2, w3, b3 = parameters
    d = embedding.shape[2]
    from_a = torch.baddbmm(b1[:, None], embedding, w1[:, :d])
    from_b = torch.bmm(embedding, w1[:, d:])
    torch.index_select(from_a.view(-1, batch.width), 0, batch.row_a, out=batch.x1)
    torch.index_select(from_b.view(-1, batch.width), 0, batch.row_b, out=batch.spare)
    batch.x1.add_(batch.spare)
    batch.activate(batch.x1, batch.h1)
    torch.baddbmm(b2[:, None], batch.stacked(batch.h1), w2, out=batch.stacked(batch.x2))
    batch.activate(batch.x2, batch.h2)
    torch.baddbmm(b3[:, None], batch.stacked(batch.h2), w3, out=batch.stacked(batch.logits))
    return batch.logits


def backward(parameters: list[torch.Tensor], gradients: list[torch.Tensor], batch: Batch) -> None:
    """Fill the gradients, given that `batch.logits` holds the loss's gradient by the logits.

    Overwrites the batch's activations.
    """
    embedding, w1, _, w2, _, w3, _ = parameters
    g_embedding, g_w1, g_b1, g_w2, g_b2, g_w3, g_b3 = gradients
    d = embedding.shape[2]
    g_logits, g_x2, spare = (batch.stacked(x) for x in (batch.logits, batch.x2, batch.spare))

    torch.bmm(batch.stacked(batch.h2).mT, g_logits, out=g_w3)
    torch.sum(g_logits, 1, out=g_b3)
    torch.bmm(g_logits, w3.mT, out=spare)
    batch.activate_backward(batch.spare, batch.x2, batch.x2)

    torch.bmm(batch.stacked(batch.h1).mT, g_x2, out=g_w2)
    torch.sum(g_x2, 1, out=g_b2)
    torch.bmm(g_x2, w2.mT, out=spare)
    batch.activate_backward(batch.spare, batch.x1, batch.x1)

    # A bag's sum runs over its pairs in order on every device: index_add_ would be atomic on CUDA.
    from_a, from_b = (
        functional.embedding_bag(order, batch.x1, start, mode="sum").view(
            batch.trials, batch.p, batch.width
        )
        for order, start in batch.bags
    )
    torch.sum(from_a, 1, out=g_b1)
    torch.bmm(embedding.mT, from_a, out=g_w1[:, :d])
    torch.bmm(embedding.mT, from_b, out=g_w1[:, d:])
    torch.bmm(from_a, w1[:, :d].mT, out=g_embedding)
    g_embedding.baddbmm_(from_b, w1[:, d:].mT)
