"""How the pixels of a photo are prepared for a backbone, as plain numbers that a model keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class PhotoPreparation:
    """What happens to the pixels of a photo before the backbone sees them."""

    size: int = 224
    """Side of what the backbone sees."""
    crop: float = 0.875
    """Share of the resized square's side that is seen; the rest is cut off around it."""
    mean: tuple[float, ...] = (123.675, 116.28, 103.53)  # ImageNet's, on the scale 0..255
    std: tuple[float, ...] = (58.395, 57.12, 57.375)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """The preparation that a description tells of."""
        return cls(**{**told, "mean": tuple(told["mean"]), "std": tuple(told["std"])})

    @property
    def resized(self) -> int:
        """Side of the square before its edges are cut off."""
        return round(self.size / self.crop)


OWN_PIXELS = {"efficientnet-lite0": ((127.0,) * 3, (128.0,) * 3)}


def own_pixels(backbone: str) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Mean and deviation of the pixels that a backbone of this name was trained on, on the scale
    0..255; of a file that is said nowhere, and most have ImageNet's.
    """
    if backbone.startswith("onnx:"):
        return PhotoPreparation.mean, PhotoPreparation.std
    return OWN_PIXELS.get(backbone)
