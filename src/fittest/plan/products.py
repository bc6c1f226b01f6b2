"""The work of a training step from first principles: sizes, matrix products, parameters."""

from __future__ import annotations

from dataclasses import dataclass

from fittest.protocol import Protocol
from fittest.task import training_pairs_count

Product = tuple[int, int, int]
"""(m, k, n): an (m × k) matrix times a (k × n) one."""


@dataclass(frozen=True)
class Size:
    """Tokens p, embedding dimension d and width h of both hidden layers."""

    p: int
    d: int
    width: int = 100

    @property
    def key(self) -> str:
        """How the size is named in the results."""
        return f"p{self.p}-d{self.d}" + ("" if self.width == 100 else f"-width{self.width}")

    @property
    def rows(self) -> int:
        """Training pairs N = floor(0.8 p²)."""
        return training_pairs_count(self.p, Protocol().train_share)

    @property
    def parameters(self) -> int:
        """Numbers that are trained: the embedding, three weight matrices, three biases."""
        p, d, h = self.p, self.d, self.width
        return p * d + (2 * d * h + h) + (h * h + h) + (h * p + p)


def floor_products(size: Size) -> list[Product]:
    """Return every matrix product of one training step.

    Forward, then by weights, then by inputs; the first layer's are on tokens, once for a and once
    for b, the others on the N training pairs.
    """
    p, d, h, n = size.p, size.d, size.width, size.rows
    first = 2 * [(p, d, h), (d, p, h), (p, h, d)]
    return [*first, (n, h, h), (h, n, h), (n, h, h), (n, h, p), (h, n, p), (n, p, h)]


def test_products(size: Size) -> list[Product]:
    """Return the matrix products of one forward pass over the pairs held out."""
    p, d, h, n = size.p, size.d, size.width, size.p**2 - size.rows
    return [*2 * [(p, d, h)], (n, h, h), (n, h, p)]


# pytest collects by name: this is a function of the benchmark, not a test.
test_products.__test__ = False  # type: ignore[attr-defined]


def flops(products: list[Product]) -> int:
    """Return the multiplications and additions in some products."""
    return sum(2 * m * k * n for m, k, n in products)
