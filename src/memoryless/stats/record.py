"""The record: all that survives of past states, and what there is beside it when a state ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from memoryless.errors import ConfigError
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.projection import ProjectionSums
from memoryless.stats.scorers import Scorer, View


@dataclass(frozen=True)
class Record:
    """Initial rows and biases, the state of each class, one number for each state, and, where the
    settings ask for them, class statistics.

    Nothing in it grows with the number of images.
    """

    W: np.ndarray  # (N, d) row of each class at the end of its own state
    b: np.ndarray  # (N,)
    class_state: np.ndarray  # (N,) int64
    mu: np.ndarray  # (states,) mean top logit of each state's model on its training images
    statistics: Mapping[str, ClassStatistics] = field(default_factory=dict)
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
        none = np.zeros(0, np.float32)
        return cls(np.zeros((0, features), np.float32), none, none.astype(np.int64), none)

    def extend(self, W_new: np.ndarray, b_new: np.ndarray, mu: float) -> Record:
        """Return the record after a state that trained these rows; values are copied."""
        return replace(
            self,
            W=np.concatenate([self.W, W_new]),
            b=np.concatenate([self.b, b_new]),
            class_state=np.concatenate([self.class_state, np.full(len(b_new), self.states)]),
            mu=np.concatenate([self.mu, np.array([mu], np.float32)]),
        )

    @property
    def blocks(self) -> np.ndarray:
        """A matrix (N, states), 1 where a class belongs to a state."""
        return (self.class_state[:, None] == np.arange(self.states)).astype(np.float32)

    def source(self, reads: str, transport: str) -> Any:
        """Return what a head reads under a transport, or nothing where it is not kept."""
        if reads == "rows":
            return self.W, self.b
        if reads == "projection":
            return self.projection
        statistics = self.statistics.get(transport)
        enough = statistics and (reads == "means" or statistics.has_covariances)
        return statistics if enough else None

    @property
    def basics(self) -> Record:
        """What every strategy keeps: the record without optional parts."""
        return Record(self.W, self.b, self.class_state, self.mu)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the record's parts by name; statistics stand under their transport."""
        parts = {name: getattr(self, name) for name in ("W", "b", "class_state", "mu")}
        for transport, statistics in self.statistics.items():
            parts |= {f"{transport}.{name}": a for name, a in statistics.arrays().items()}
        if self.projection is not None:
            parts |= {"projection.gram": self.projection.gram}
            parts |= {"projection.sums": self.projection.sums}
        return parts

    @property
    def ledger(self) -> dict[str, int]:
        """Bytes of each part."""
        return {name: part.nbytes for name, part in self.arrays().items()}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray], fixed: bool) -> Record:
        """Return the record of these parts, named as `arrays` names them.

        `fixed` says whether its statistics are sums over fixed features.
        """
        parts: dict[str, dict[str, np.ndarray]] = {}
        for name, array in arrays.items():
            first, _, rest = name.partition(".")
            parts.setdefault(first if rest else "", {})[rest or first] = array
        basics, sums = parts.pop(""), parts.pop("projection", None)
        return cls(
            **basics,
            statistics={name: ClassStatistics.restore(own, fixed) for name, own in parts.items()},
            projection=ProjectionSums(**sums) if sums else None,
        )


@dataclass(frozen=True)
class EndOfState:
    """What methods are made of at the end of a state."""

    record: Record
    layer: tuple[np.ndarray, np.ndarray]
    """The classification layer as trained."""
    fitted: Mapping[str, Scorer] = field(default_factory=dict)
    """Heads that were fitted while the state's images were there, as head+transport."""
    held_out: tuple[np.ndarray, np.ndarray] | None = None
    """Features and labels of the state's images that were held out from training."""
    view: View = View()  # noqa: RUF009 - frozen
    """Which features class statistics are computed from."""

    def held_out_images(self) -> tuple[np.ndarray, np.ndarray]:
        """Return features and labels of held-out images, or raise an error if there are none."""
        if self.held_out is None:
            raise ConfigError(
                f"state {self.record.states - 1} held out no image from training: train with "
                "`held_out=0.1`, on classes of at least two images"
            )
        return self.held_out[0].astype(np.float32), self.held_out[1]
