"""The record: all that survives of past states."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import torch
from torch import Tensor

from memoryless.store import read_tensors, write_tensors


@dataclass(frozen=True)
class Record:
    """Initial rows and biases, the state of each class, and one number for each state.

    Nothing in it grows with the number of images.
    """

    W: Tensor  # (N, d) row of each class at the end of its own state
    b: Tensor  # (N,)
    class_state: Tensor  # (N,) int64
    mu: Tensor  # (states,) mean top logit of each state's model on its training images

    @classmethod
    def empty(cls, features: int) -> Record:
        no_class = torch.zeros(0)
        return cls(torch.zeros(0, features), no_class, no_class.long(), no_class)

    def extend(self, W_new: Tensor, b_new: Tensor, mu: float) -> Record:
        """The record after a state that trained these rows; values are copied."""
        state = len(self.mu)
        return Record(
            W=torch.cat([self.W, W_new.detach().cpu()]),
            b=torch.cat([self.b, b_new.detach().cpu()]),
            class_state=torch.cat([self.class_state, torch.full((len(b_new),), state)]),
            mu=torch.cat([self.mu, torch.tensor([mu])]),
        )

    @property
    def ledger(self) -> dict[str, int]:
        """Bytes of each part."""
        return {f.name: getattr(self, f.name).nbytes for f in fields(self)}

    def save(self, path: Path) -> None:
        write_tensors(path, {f.name: getattr(self, f.name) for f in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Record:
        return cls(**read_tensors(path)[0])
