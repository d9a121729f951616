"""The record: all that survives of past states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from memoryless.heads import ProjectionSums
from memoryless.statistics import Statistics
from memoryless.store import read_tensors, write_tensors
from memoryless.transports import TRANSPORTS, Drift, holds


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
    """Class statistics, by the transport under which they are kept."""
    projection: ProjectionSums | None = None

    @property
    def classes(self) -> int:
        return len(self.b)

    @property
    def states(self) -> int:
        return len(self.mu)

    @classmethod
    def empty(cls, features: int) -> Record:
        no_class = torch.zeros(0)
        return cls(torch.zeros(0, features), no_class, no_class.long(), no_class)

    def extend(self, W_new: Tensor, b_new: Tensor, mu: float) -> Record:
        """The record after a state that trained these rows; values are copied."""
        return replace(
            self,
            W=torch.cat([self.W, W_new.detach().cpu()]),
            b=torch.cat([self.b, b_new.detach().cpu()]),
            class_state=torch.cat([self.class_state, torch.full((len(b_new),), self.states)]),
            mu=torch.cat([self.mu, torch.tensor([mu])]),
        )

    def source(self, reads: str, transport: str) -> Any:
        """What a head reads under a transport, or nothing where it is not kept."""
        if reads == "rows":
            return self.W, self.b
        if reads == "projection":
            return self.projection
        statistics = self.statistics.get(transport)
        enough = statistics and (reads == "means" or statistics.has_covariances)
        return statistics if enough else None

    def carry(self, birth: Statistics, drift: Drift | None, transports: Sequence[str]) -> Record:
        """The record with past statistics moved by a state's drift, and new ones added."""
        statistics = {}
        for name in transports:
            if holds(name, birth):
                moved = (
                    TRANSPORTS[name].move(self.statistics[name], drift)
                    if drift is not None
                    else None
                )
                statistics[name] = moved.join(birth) if moved else birth
        return replace(self, statistics=statistics)

    @property
    def basics(self) -> Record:
        """What every strategy keeps: the record without optional parts."""
        return Record(self.W, self.b, self.class_state, self.mu)

    def tensors(self) -> dict[str, Tensor]:
        """The record's parts by name; statistics stand under their transport."""
        parts = {name: getattr(self, name) for name in ("W", "b", "class_state", "mu")}
        for transport, statistics in self.statistics.items():
            parts |= {f"{transport}.{name}": t for name, t in statistics.tensors().items()}
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
        """The record made of these parts, named as `tensors` names them."""
        groups: dict[str, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            group, _, part = name.rpartition(".")
            groups.setdefault(group, {})[part] = tensor
        basics, sums = groups.pop(""), groups.pop("projection", None)
        return cls(
            **basics,
            statistics={name: Statistics(**parts) for name, parts in groups.items()},
            projection=ProjectionSums(**sums) if sums else None,
        )
