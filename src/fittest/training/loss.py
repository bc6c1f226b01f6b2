"""Cross-entropy and its gradient, in the form that survives float32.

With the true class's logit z_y, the loss of a pair is softplus(m), m = logsumexp_{j≠y} z_j - z_y.
The gradient is sigmoid(m) · softmax_{j≠y} for the other classes and minus their sum, -sigmoid(m),
for the true one: nothing cancels. The framework's own form computes softmax_y - 1 instead; near a
loss of 1e-6 that is the difference of two numbers within 1e-6 of 1, of which float32 keeps few
bits, and training goes wrong (docs/method.md, Arithmetic).
"""

from __future__ import annotations

import torch


def margin(logits: torch.Tensor, label: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return what the loss needs of each row, turning the logits into other classes' exponentials.

    Parameters
    ----------
    logits
        Shape (rows, p). Overwritten with exp(z_j - max_{j≠y} z_j), 0 for the true class.
    label
        Shape (rows, 1), int64.

    Returns
    -------
    (m, total, correct)
        The margin m; the sum of the exponentials; whether the true class has the largest logit.
        Each of shape (rows, 1).
    """
    true = logits.gather(1, label)
    logits.scatter_(1, label, -torch.inf)
    largest = logits.amax(1, keepdim=True)
    logits.sub_(largest).exp_()
    total = logits.sum(1, keepdim=True)
    return total.log().add_(largest).sub_(true), total, true > largest


def loss_of_margin(m: torch.Tensor) -> torch.Tensor:
    """Return softplus(m) = max(m, 0) + log1p(exp(-|m|)): exact for any m, never 0.0 by rounding."""
    return m.clamp_min(0) + torch.log1p(torch.exp(-m.abs()))


def exact_gradient_(
    logits: torch.Tensor, label: torch.Tensor, pairs: int
) -> tuple[torch.Tensor, ...]:
    """Replace logits by the gradient of the mean loss over `pairs` pairs; return m, correct."""
    m, total, correct = margin(logits, label)
    share = torch.sigmoid(m).div_(pairs)
    logits.mul_(share / total).scatter_(1, label, -share)
    return m, correct


def naive_gradient_(
    logits: torch.Tensor, label: torch.Tensor, pairs: int
) -> tuple[torch.Tensor, ...]:
    """Do the same as the framework's own cross-entropy does: softmax - 1 for the true class.

    Only the gradient is naive. The margin returned, hence the recorded loss, is the exact one.
    """
    probability = torch.log_softmax(logits, 1).exp_()
    m, _, correct = margin(logits, label)
    one = torch.full_like(m, -1.0 / pairs)
    logits.copy_(probability.div_(pairs)).scatter_add_(1, label, one)
    return m, correct


GRADIENTS = {"exact": exact_gradient_, "naive": naive_gradient_}
"""Loss form of a protocol → its gradient."""
