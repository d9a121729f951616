"""Class statistics: count, mean and covariance of each class's features, in a form of choice.

Rows are features: a mean is (d,), a covariance (d, d), and a linear map A (d, d) moves features as
f A, so that means move as m A and covariances as A' S A.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.errors import ConfigError
from memoryless.names import suggestion
from memoryless.settings import MEANINGS

FORMS = MEANINGS["statistics"]


def check_form(form: str) -> str:
    """The form, if it is one: full, tied, mean, none, or low-rank:K."""
    if re.fullmatch(r"none|mean|low-rank:[1-9]\d{0,5}|tied|full", form):
        return form
    raise ConfigError(
        f"unknown statistics '{form}': choose from {', '.join(FORMS)}, K a number"
        f"{suggestion(form, FORMS)}"
    )


@dataclass(frozen=True)
class Statistics:
    """Statistics of N classes; covariances are of the population (divided by the count)."""

    count: Tensor  # (N,)
    mean: Tensor  # (N, d)
    full: Tensor | None = None  # (N, d, d)
    tied: Tensor | None = None  # (d, d), weighted by the counts
    factors: Tensor | None = None  # (N, K, d), whose outer products sum to the widest part
    rest: Tensor | None = None  # (N,), variance in each direction that the factors leave out

    def tensors(self) -> dict[str, Tensor]:
        """The parts that are there, by name."""
        parts = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: part for name, part in parts.items() if part is not None}

    @property
    def has_covariances(self) -> bool:
        return self.tensors().keys() > {"count", "mean"}

    @property
    def covariances(self) -> Tensor:
        """A covariance for each class (N, d, d), as far as the form knows it."""
        classes, d = self.mean.shape
        if self.full is not None:
            return self.full
        if self.tied is not None:
            return self.tied.expand(classes, d, d)
        if self.factors is not None and self.rest is not None:
            identity = torch.eye(d).expand(classes, d, d)
            return self.factors.mT @ self.factors + self.rest[:, None, None] * identity
        raise ConfigError(
            "the record holds no covariances: learn with `statistics=full`, tied or low-rank:K"
        )

    @property
    def pooled(self) -> Tensor:
        """One covariance for all classes (d, d), weighted by their counts."""
        if self.tied is not None:
            return self.tied
        weights = (self.count / self.count.sum()).to(self.mean)
        return torch.einsum("n,nij->ij", weights, self.covariances)

    def move(self, A: Tensor) -> Self:
        """The statistics of features f A.

        Exact for full and tied. Low-rank factors are moved too, and the rest grows by A's mean
        square.
        """
        moved = {"mean": self.mean @ A}
        if self.full is not None:
            moved["full"] = A.T @ self.full @ A
        if self.tied is not None:
            moved["tied"] = A.T @ self.tied @ A
        if self.factors is not None and self.rest is not None:
            moved["factors"] = self.factors @ A
            moved["rest"] = self.rest * A.square().sum() / len(A)
        return replace(self, **moved)

    def widen(self, covariance: Tensor) -> Self:
        """The statistics of features plus independent noise; low-rank forms take it in the rest."""
        noise = {"full": covariance, "tied": covariance, "rest": covariance.diagonal().mean()}
        parts = self.tensors()
        return replace(self, **{n: parts[n] + noise[n] for n in noise if n in parts})

    def scale(self, factors: Tensor) -> Self:
        """The statistics of features times a factor (N,) of each class; tied ones take the mean."""
        parts, square = self.tensors(), factors.square()
        by = {"mean": factors[:, None], "factors": factors[:, None, None], "rest": square}
        by["full"] = square[:, None, None]
        by["tied"] = (square * self.count).sum() / self.count.sum().clamp(min=1)
        return replace(self, **{name: parts[name] * by[name] for name in by if name in parts})

    def levelled(self, is_new: Tensor) -> Self:
        """The statistics with past means as long, on average, as those of new classes.

        A map is fitted on new classes, and means of others come out too short: a regression leans
        to what it has seen. Where lengths differ between classes, they go on to differ.
        """
        length = self.mean.norm(dim=1)
        if is_new.all() or not length[~is_new].any():
            return self
        ratio = length[is_new].mean() / length[~is_new].mean()
        return self.scale(torch.where(is_new, torch.ones_like(length), ratio))

    def join(self, other: Self) -> Self:
        """These classes and then the other's, which must be in the same form."""
        joined = {
            name: torch.cat([part, other.tensors()[name]])
            for name, part in self.tensors().items()
            if name != "tied"
        }
        if self.tied is not None and other.tied is not None:
            mine, theirs = self.count.sum(), other.count.sum()
            joined["tied"] = (self.tied * mine + other.tied * theirs) / (mine + theirs)
        return type(self)(**joined)


class Moments:
    """Gathers statistics batch by batch, in one pass and any order (Chan et al. 1979)."""

    def __init__(self, classes: int, features: int, form: str):
        self.form = check_form(form)
        self.count = torch.zeros(classes, dtype=torch.float64)
        self.mean = torch.zeros(classes, features, dtype=torch.float64)
        shapes = {"mean": (0,), "tied": (features,) * 2}
        shape = shapes.get(form, (classes, features, features))
        self.scatter = torch.zeros(shape, dtype=torch.float64)

    def add(self, features: Tensor, labels: Tensor) -> None:
        """Take in features (n, d) of classes 0..classes - 1."""
        features = features.double()
        own = F.one_hot(labels, len(self.count)).double()  # (n, classes)
        count = own.sum(0)
        total = (self.count + count).clamp(min=1)
        mean = own.T @ features / count.clamp(min=1)[:, None]
        away = mean - self.mean
        # Chan's update: the scatter of two parts together is the sum of theirs, and what lies
        # between their means, weighted by n m / (n + m). No large squares are subtracted.
        self._scatter(features - mean[labels], labels)
        weight = (self.count * count / total).sqrt()
        self._scatter(away * weight[:, None], torch.arange(len(count)))
        self.mean += away * (count / total)[:, None]
        self.count += count

    def _scatter(self, rows: Tensor, labels: Tensor) -> None:
        """Add the rows' outer products, in as little room as the form allows."""
        if self.form == "tied":
            self.scatter += rows.T @ rows
        elif self.form != "mean" and len(rows):
            # Rows of each class, padded with zeros, so that one batched product does for a loop.
            present, own = labels.unique(return_inverse=True)
            order, count = own.argsort(stable=True), own.bincount()
            place = torch.arange(len(own)) - (count.cumsum(0) - count)[own[order]]
            padded = rows.new_zeros(len(present), int(count.max()), rows.shape[1])
            padded[own[order], place] = rows[order]
            self.scatter[present] += padded.mT @ padded

    def statistics(self) -> Statistics:
        """The statistics that were gathered, in single precision."""
        each = self.count.clamp(min=1)
        parts, scatter = {}, self.scatter
        if self.form == "tied":
            parts["tied"] = scatter / each.sum()
        elif self.form == "full":
            parts["full"] = scatter / each[:, None, None]
        elif self.form != "mean":
            rank = int(self.form.removeprefix("low-rank:"))
            parts["factors"], parts["rest"] = low_rank(scatter / each[:, None, None], rank)
        single = {name: part.float() for name, part in parts.items()}
        return Statistics(self.count.float(), self.mean.float(), **single)


def low_rank(covariances: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The widest directions of covariances, scaled (N, rank, d), and the variance left (N,)."""
    d = covariances.shape[-1]
    rank = min(rank, d)
    values, vectors = torch.linalg.eigh(covariances)  # ascending
    values = values.clamp(min=0)
    rest = values[:, : d - rank].sum(1) / max(d - rank, 1)
    widths = (values[:, d - rank :] - rest[:, None]).clamp(min=0).sqrt()
    return (vectors[:, :, d - rank :] * widths[:, None]).mT, rest
