"""Backbone and classification layer; the layer grows with the classes."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from memoryless.errors import ConfigError, cause
from memoryless.settings import DEVICES

Layer = tuple[Tensor, Tensor]  # rows (N, d) and biases (N,)


class GrowingLayer(nn.Module):
    """A layer with a row for each class; it starts with none, and grows or is loaded."""

    def _load_from_state_dict(self, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        for name, old in [*self._parameters.items(), *self._buffers.items()]:
            assert old is not None
            shape = state[prefix + name].shape
            if shape != old.shape:  # otherwise it stays the tensor that an optimiser holds
                empty = old.detach().new_empty(shape)
                setattr(self, name, nn.Parameter(empty) if name in self._parameters else empty)
        super()._load_from_state_dict(state, prefix, *rest)

    def grow(self, new: int, keep_rows: bool, generator: torch.Generator) -> None:
        """Make room for `new` classes; old rows are kept, or all are drawn again."""
        raise TypeError(f"{type(self).__name__} does not grow")

    def as_linear(self) -> Layer:
        """Return the linear layer (W, b) that ranks classes as this one does, on the CPU."""
        raise TypeError(f"{type(self).__name__} is not linear")

    @property
    def classes(self) -> int:
        return len(self.as_linear()[1])


class LinearLayer(GrowingLayer):
    """A linear layer: a row and a bias for each class."""

    def __init__(self, features: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(0, features))
        self.bias = nn.Parameter(torch.empty(0))

    def forward(self, features: Tensor) -> Tensor:
        return F.linear(features, self.weight, self.bias)

    def grow(self, new: int, keep_rows: bool, generator: torch.Generator) -> None:
        past = len(self.bias)
        for name in ("weight", "bias"):
            old = getattr(self, name).detach()
            rows = _draw((past + new, *old.shape[1:]), self.weight.shape[1], generator).to(old)
            if keep_rows:
                rows[:past] = old
            setattr(self, name, nn.Parameter(rows))

    def as_linear(self) -> Layer:
        return self.weight.detach().cpu(), self.bias.detach().cpu()


class CosineLayer(GrowingLayer):
    """A layer of scaled cosines of features and rows; rows of past states are fixed (LUCIR)."""

    def __init__(self, features: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(0, features))
        self.scale = nn.Parameter(torch.ones(1))
        self.past: Tensor
        self.register_buffer("past", torch.empty(0, features))

    @property
    def rows(self) -> Tensor:
        return torch.cat([self.past, self.weight])

    def forward(self, features: Tensor) -> Tensor:
        return self.scale * F.linear(F.normalize(features), F.normalize(self.rows))

    def grow(self, new: int, keep_rows: bool, generator: torch.Generator) -> None:
        """Fix the rows there are and add `new` ones; old rows are never drawn again."""
        self.past = self.rows.detach().clone()
        features = self.weight.shape[1]
        self.weight = nn.Parameter(_draw((new, features), features, generator).to(self.past))

    @torch.no_grad()
    def imprint(self, features: Tensor, labels: Tensor) -> None:
        """Set the new rows to their classes' mean direction, at the old rows' mean length."""
        directions = F.normalize(features)
        length = self.past.norm(dim=1).mean()
        for row, label in enumerate(range(len(self.past), self.classes)):
            mean = directions[labels == label].mean(0)
            self.weight[row] = F.normalize(mean, dim=0).to(self.past) * length

    def as_linear(self) -> Layer:
        rows = (F.normalize(self.rows) * self.scale).detach().cpu()
        return rows, torch.zeros(len(rows))


def _draw(shape: tuple[int, ...], features: int, generator: torch.Generator) -> Tensor:
    bound = features**-0.5  # as torch.nn.Linear draws rows and biases
    return torch.empty(shape).uniform_(-bound, bound, generator=generator)


class Network(nn.Module):
    """A network turns images into logits over all classes seen so far."""

    def __init__(self, backbone: nn.Module, layer: GrowingLayer):
        super().__init__()
        self.backbone = backbone
        self.layer = layer

    def forward(self, images: Tensor) -> Tensor:
        scores: Tensor = self.layer(self.backbone(images))
        return scores

    @property
    def classes(self) -> int:
        return self.layer.classes


def check_device(name: str) -> None:
    """Raise unless the name is that of a device which can be used."""
    if not DEVICES.fullmatch(name):
        raise ConfigError(f"unknown device '{name}': choose auto, cpu, cuda, cuda:N or mps")
    try:
        torch.empty(0, device="cpu" if name == "auto" else name)
    except (RuntimeError, AssertionError) as error:
        reason = cause(error).partition(". ")[0]
        raise ConfigError(
            f"device '{name}' cannot be used here: {reason}; choose auto or cpu"
        ) from error


def pick_device(name: str) -> torch.device:
    """Return the device of a checked name; `auto` is CUDA, else MPS, else the CPU."""
    fast = [n for n in ("cuda", "mps") if getattr(torch, n).is_available()]
    return torch.device([*fast, "cpu"][0] if name == "auto" else name)


def device_of(module: nn.Module) -> torch.device:
    """Return the device of a module's parameters; the CPU if it has none."""
    return next((p.device for p in module.parameters()), torch.device("cpu"))
