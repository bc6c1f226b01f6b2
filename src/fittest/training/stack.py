"""A stack of networks with its optimiser and its batches, and what one training step does to it."""

from __future__ import annotations

from itertools import zip_longest

import numpy as np
import torch

from fittest.protocol import Protocol
from fittest.task import labels, test_pairs
from fittest.training.arrays import Parameters
from fittest.training.loss import GRADIENTS, loss_of_margin, margin
from fittest.training.network import Batch, backward, forward

DTYPES = {"float32": torch.float32, "float64": torch.float64}
"""`Protocol.dtype` → torch's."""

Margins = tuple[torch.Tensor, torch.Tensor]
"""Of every pair of a batch: the margin m, and whether it is right. Each of shape (T·N, 1)."""


class Stack:
    """T networks that go through every step together; see `fittest.train_ensemble`.

    A step never looks at a number on the host, so that a GPU can be given many steps at once.
    """

    def __init__(
        self,
        initial: Parameters,
        train_pairs: np.ndarray,
        protocol: Protocol,
        weight_decay: float,
        device: str,
    ) -> None:
        dtype = DTYPES[protocol.dtype]
        # A copy: on the CPU a tensor may share the array's memory, and training overwrites it.
        self.parameters = [torch.tensor(x, dtype=dtype, device=device) for x in initial.arrays()]
        self.gradients = [torch.zeros_like(x) for x in self.parameters]
        for parameter, gradient in zip(self.parameters, self.gradients, strict=True):
            parameter.grad = gradient
        frozen = "embedding" in protocol.frozen
        self.optimizer = torch.optim.AdamW(
            self.parameters[1:] if frozen else self.parameters,
            lr=protocol.optimizer.lr,
            betas=(protocol.optimizer.betas[0], protocol.optimizer.betas[1]),
            eps=protocol.optimizer.eps,
            weight_decay=weight_decay,
            fused=True,
        )
        self.trials, p = len(train_pairs), initial.embedding.shape[1]
        held_out = np.stack([test_pairs(p, pairs) for pairs in train_pairs])
        all_labels = torch.as_tensor(labels(p, protocol.operation), device=device)
        self.train, self.test = (
            Batch(
                torch.as_tensor(pairs, device=device),
                all_labels,
                p,
                initial.b1.shape[1],
                protocol.activation,
                self.parameters[0],
            )
            for pairs in (train_pairs, held_out)
        )
        self._loss_gradient = GRADIENTS[protocol.loss]

    def gradient(self) -> Margins:
        """Fill the gradients at the parameters as they are; return the training pairs' margins."""
        logits = forward(self.parameters, self.train)
        m, correct = self._loss_gradient(logits, self.train.label, self.train.count)
        backward(self.parameters, self.gradients, self.train)
        return m, correct

    def advance(self) -> Margins:
        """Do one step: the update that the gradients say, then the gradients at where it led."""
        self.optimizer.step()
        return self.gradient()

    def scores(self, train: Margins) -> dict[str, torch.Tensor]:
        """Return mean loss and accuracy of each trial, given its training pairs' margins."""
        m, _, correct = margin(forward(self.parameters, self.test), self.test.label)
        found = {}
        for which, (some_m, some_correct) in (("train", train), ("test", (m, correct))):
            loss = loss_of_margin(some_m).view(self.trials, -1)
            found[f"{which}_loss"] = loss.mean(1)
            right = some_correct.view(self.trials, -1).to(loss.dtype)
            found[f"{which}_accuracy"] = right.mean(1)
        return found

    def _carried(self) -> list[torch.Tensor]:
        """Return all that a step reads and changes: parameters, gradients, moments."""
        states = self.optimizer.state.values()
        moments = [x for state in states for x in state.values()]
        return [*self.parameters, *self.gradients, *moments]

    def state(self) -> list[torch.Tensor]:
        """Return copies of all that a step reads and changes."""
        return [x.clone() for x in self._carried()]

    def restore(self, state: list[torch.Tensor]) -> None:
        """Go back to a state that `state` returned.

        The optimiser makes its moments and its count of steps when it first steps: where the state
        is from before that, they go back to zero, which is what they are made as.
        """
        for now, then in zip_longest(self._carried(), state):
            now.zero_() if then is None else now.copy_(then)
