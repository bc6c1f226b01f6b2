"""The ordinary way to train one network: what most code for this task looks like.

Concatenated embeddings, one network at a time, autograd, `AdamW(foreach=False)`, test loss at every
step. It shares no code with the engine, so it is also what the engine is tested against.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn


def exact_cross_entropy(logits: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Return the mean of softplus(logsumexp over the other classes - true logit)."""
    true = logits.gather(1, label[:, None])[:, 0]
    others = logits.scatter(1, label[:, None], -torch.inf).logsumexp(1)
    x = others - true
    return (x.clamp_min(0) + torch.log1p(torch.exp(-x.abs()))).mean()


def train_one(
    arrays: list[np.ndarray],
    train_pairs: np.ndarray,
    steps: int,
    *,
    dtype: torch.dtype = torch.float64,
    lr: float = 0.01,
    weight_decay: float = 0.5,
    activation: str = "silu",
    frozen: bool = False,
    loss_function=exact_cross_entropy,
    device: str = "cpu",
) -> dict[str, np.ndarray]:
    """Train one network and record signals and losses at every step.

    Parameters
    ----------
    arrays
        Embedding (p, d) and w1 (2d, h), b1, w2, b2, w3, b3, inputs first.
    train_pairs
        Indices a·p + b.
    steps
        Optimiser steps.

    Returns
    -------
    dict
        `signal` (steps + 1, circles), `train_loss` and `test_loss` (steps + 1).
    """
    p, d = arrays[0].shape
    width = arrays[1].shape[1]
    embedding = nn.Parameter(
        torch.tensor(arrays[0], dtype=dtype, device=device), requires_grad=not frozen
    )
    act = nn.SiLU if activation == "silu" else nn.ReLU
    mlp = nn.Sequential(
        nn.Linear(2 * d, width), act(), nn.Linear(width, width), act(), nn.Linear(width, p)
    ).to(device, dtype)
    with torch.no_grad():
        for layer, w, b in zip((mlp[0], mlp[2], mlp[4]), arrays[1::2], arrays[2::2], strict=True):
            layer.weight.copy_(torch.tensor(w.T, dtype=dtype))
            layer.bias.copy_(torch.tensor(b, dtype=dtype))
    trained = [*mlp.parameters()] if frozen else [embedding, *mlp.parameters()]
    optimizer = torch.optim.AdamW(trained, lr=lr, weight_decay=weight_decay, foreach=False)

    rest = np.setdiff1d(np.arange(p * p), train_pairs)
    a, b = (torch.tensor(x, device=device) for x in (train_pairs // p, train_pairs % p))
    test_a, test_b = (torch.tensor(x, device=device) for x in (rest // p, rest % p))

    def loss(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return loss_function(mlp(torch.cat([embedding[a], embedding[b]], 1)), (a + b) % p)

    signal, train_loss, test_loss = [], [], []
    for step in range(steps + 1):
        with torch.no_grad():
            spectrum = torch.fft.fft(embedding.detach().double(), dim=0)
            signal.append(spectrum[1 : (p - 1) // 2 + 1].norm(dim=1).cpu().numpy())
            test_loss.append(float(loss(test_a, test_b)))
        optimizer.zero_grad()
        value = loss(a, b)
        train_loss.append(float(value.detach()))
        if step < steps:
            value.backward()
            optimizer.step()
    return {
        "signal": np.array(signal),
        "train_loss": np.array(train_loss),
        "test_loss": np.array(test_loss),
    }
