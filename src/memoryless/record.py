"""The record: all that survives of past states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor

from memoryless.heads import ProjectionSums
from memoryless.statistics import Statistics
from memoryless.store import read_tensors, write_tensors
from memoryless.transports import Drift


@dataclass(frozen=True)
class Record:
    """Initial rows and biases, the state of each class, one number for each state, and, where the
    settings ask for them, class statistics.

    Nothing in it grows with the number of images.
    """

    W: Tensor  # (N, d) row of each class at the end of its own state
    b: Tensor  # (N,)
    class_state: Tensor  # (N,) int64
    mu: Tensor  # (states,) mean top logit of each state's model on its training images
    statistics: Mapping[str, Statistics] = field(default_factory=dict)
    """By transport: none, linear, widened, sdc."""
    moved: Tensor | None = None  # (N, d) rows under the transport backward
    projection: ProjectionSums | None = None

    @classmethod
    def empty(cls, features: int) -> Record:
        no_class = torch.zeros(0)
        return cls(torch.zeros(0, features), no_class, no_class.long(), no_class)

    def extend(self, W_new: Tensor, b_new: Tensor, mu: float) -> Record:
        """The record after a state that trained these rows; values are copied."""
        state = len(self.mu)
        return replace(
            self,
            W=torch.cat([self.W, W_new.detach().cpu()]),
            b=torch.cat([self.b, b_new.detach().cpu()]),
            class_state=torch.cat([self.class_state, torch.full((len(b_new),), state)]),
            mu=torch.cat([self.mu, torch.tensor([mu])]),
        )

    def carry(self, birth: Statistics, drift: Drift | None, transports: tuple[str, ...]) -> Record:
        """Past statistics and rows through a state's drift, and the new classes' as they are."""
        statistics = {
            name: drift.move(name, self.statistics[name]).join(birth) if drift else birth
            for name in transports
            if name != "backward" and (name != "widened" or birth.has_covariances)
        }
        moved = self.W
        if drift and self.moved is not None:
            moved = torch.cat([drift.move_rows(self.moved), self.W[len(self.moved) :]])
        return replace(
            self, statistics=statistics, moved=moved if "backward" in transports else None
        )

    @property
    def basics(self) -> Record:
        """What every strategy keeps: the record without optional parts."""
        return Record(self.W, self.b, self.class_state, self.mu)

    def tensors(self) -> dict[str, Tensor]:
        """Its parts by name; statistics stand under their transport."""
        parts = {name: getattr(self, name) for name in ("W", "b", "class_state", "mu")}
        for transport, statistics in self.statistics.items():
            parts |= {f"{transport}.{name}": t for name, t in statistics.tensors().items()}
        if self.moved is not None:
            parts["backward.W"] = self.moved
        if self.projection is not None:
            parts |= {"projection.gram": self.projection.gram}
            parts |= {"projection.sums": self.projection.sums}
        return parts

    @property
    def ledger(self) -> dict[str, int]:
        """Bytes of each part."""
        return {name: part.nbytes for name, part in self.tensors().items()}

    def save(self, path: Path, bound: str = "") -> None:
        write_tensors(path, self.tensors(), bound=bound)

    @classmethod
    def load(cls, path: Path, bound: str = "") -> Record:
        return cls.of(read_tensors(path, bound=bound)[0])

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> Record:
        """The record whose parts these are."""
        groups: dict[str, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            group, _, part = name.rpartition(".")
            groups.setdefault(group, {})[part] = tensor
        basics, moved = groups.pop(""), groups.pop("backward", {}).get("W")
        sums = groups.pop("projection", None)
        return cls(
            **basics,
            statistics={name: Statistics(**parts) for name, parts in groups.items()},
            moved=moved,
            projection=ProjectionSums(**sums) if sums else None,
        )
