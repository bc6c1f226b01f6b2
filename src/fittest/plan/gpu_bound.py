"""What a training step would take on a GPU at best: calculated, not measured on one.

The stacked torch engine goes through large arrays once per kernel. Two bounds, of which the larger
counts: its matrix products at an assumed share of the card's peak, and the bytes its kernels move
at the card's full bandwidth. Launching kernels, recording, and all else is left out: a stack is
taken to be large enough that launches do not count and that its arrays do not fit in a cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from fittest.plan.products import Size, floor_products, flops

PEAK_SHARE = 0.5
"""Share of the peak that the products are assumed to reach. Their inner sides are 59 to 128, and
the card's tiles 64 or 128."""

INDEX_BYTES = 8


@dataclass(frozen=True)
class Card:
    """A GPU by its data sheet: float32 peak without tensor cores, and memory bandwidth."""

    name: str
    tera_flops: float
    gigabytes_per_second: float


CARDS = (Card("V100", 15.7, 900.0), Card("H200", 67.0, 4800.0))


@dataclass(frozen=True)
class Pass:
    """What one kernel moves for one trial: numbers read and written, and indices read."""

    name: str
    values: int
    indices: int = 0


def passes(size: Size) -> list[Pass]:
    """Return every kernel of one step of one trial: forward, loss, backward, AdamW.

    In the order of `fittest.training.network`, `loss` and `torch_engine`. Each argument is read
    once and each result written once. A table of tokens is read once, however often it is gathered
    from; a gather or scatter of one number a row touches that number only.
    """
    p, d, h, n = size.p, size.d, size.width, size.rows
    nh, np, first, tokens = n * h, n * p, d * h, p * h
    layer2, layer3 = h * h, h * p
    return [
        # forward: a bias is copied into the result before the product is added to it
        Pass("from a, with bias", h + 2 * tokens + p * d + first + tokens),
        Pass("from b", p * d + first + tokens),
        Pass("gather a", tokens + nh, n),
        Pass("gather b", tokens + nh, n),
        Pass("add", 3 * nh),
        Pass("activation 1", 2 * nh),
        Pass("layer 2, with bias", h + 2 * nh + nh + layer2 + nh),
        Pass("activation 2", 2 * nh),
        Pass("layer 3, with bias", p + 2 * np + nh + layer3 + np),
        # loss and its gradient by the logits
        Pass("true logit", 2 * n, n),
        Pass("hide true logit", n, n),
        Pass("largest", np + n),
        Pass("subtract largest", 2 * np + n),
        Pass("exponential", 2 * np),
        Pass("total", np + n),
        Pass("log, add, subtract", 2 * n + 3 * n + 3 * n),
        Pass("correct", 2 * n),
        Pass("sigmoid, divide, share of total", 2 * n + 2 * n + 3 * n),
        Pass("scale by share", 2 * np + n),
        Pass("negative, into true logit", 2 * n + 2 * n, n),
        # backward
        Pass("w3", nh + np + layer3),
        Pass("b3", np + p),
        Pass("by hidden 2", np + layer3 + nh),
        Pass("through activation 2", 3 * nh),
        Pass("w2", 2 * nh + layer2),
        Pass("b2", nh + h),
        Pass("by hidden 1", nh + layer2 + nh),
        Pass("through activation 1", 3 * nh),
        Pass("sum by a", nh + tokens, n + p),
        Pass("sum by b", nh + tokens, n + p),
        Pass("b1", tokens + h),
        Pass("w1", 2 * (p * d + tokens + first)),
        Pass("embedding from a", tokens + first + p * d),
        Pass("embedding from b", tokens + first + 2 * p * d),
        # reads parameter, gradient and two moments; writes all but the gradient
        Pass("AdamW", 7 * size.parameters),
    ]


def step_bytes(size: Size, value_bytes: int = 4) -> int:
    """Return the bytes that one step of one trial moves; a value has 4 bytes, or 8 in float64."""
    return sum(one.values * value_bytes + one.indices * INDEX_BYTES for one in passes(size))


def bounds(size: Size, card: Card, value_bytes: int = 4) -> tuple[float, float]:
    """Return the seconds of one trial-step by arithmetic and by memory.

    Double precision has half the peak on these cards.
    """
    peak = card.tera_flops * 1e12 * 4 / value_bytes
    return (
        flops(floor_products(size)) / (PEAK_SHARE * peak),
        step_bytes(size, value_bytes) / (card.gigabytes_per_second * 1e9),
    )


def step_seconds(size: Size, card: Card, value_bytes: int = 4) -> float:
    """Return the larger of both bounds."""
    return max(bounds(size, card, value_bytes))
