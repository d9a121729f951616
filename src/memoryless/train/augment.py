"""Images are prepared in batches on the training device: random changes, size, normalisation.

Random numbers are drawn on the CPU from the caller's generator, a few for each image, so that
every device gets the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.embed.preparation import MARGIN
from memoryless.errors import ConfigError
from memoryless.names import choose

PADDING = 1 / 8  # of the side: 4 pixels at 32, as in He et al. 2016
Augmentation = Callable[[Tensor, int, torch.Generator], Tensor]


def _uniform(images: Tensor, low: float, high: float, generator: torch.Generator) -> Tensor:
    draws = torch.rand(len(images), generator=generator)
    return (low + (high - low) * draws).to(images.device)


def flip(images: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Mirror each image or not, by a coin's toss."""
    mirrored = _uniform(images, 0, 1, generator) < 0.5
    number = len(images)
    both = torch.cat([images, images.flip(-1)])
    return both.index_select(0, torch.arange(number, device=images.device) + number * mirrored)


def pad_crop(images: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Cut out a random window of `size`, over a black border of an eighth."""
    if not size <= images.shape[-1] <= size * MARGIN + 1:
        images = centre(images, size)
    pad = round(size * PADDING)
    padded = F.pad(images, (pad, pad, pad, pad))
    batch, channels, _, width = padded.shape
    starts = torch.randint(width - size + 1, (2, batch, 1), generator=generator).to(images.device)
    rows, columns = starts + torch.arange(size, device=images.device)  # (B, size) each
    places = (rows[:, :, None] * width + columns[:, None, :]).flatten(1)  # (B, size * size)
    window = padded.flatten(2).gather(2, places[:, None].expand(-1, channels, -1))
    return window.view(batch, channels, size, size)


def resized_crop(images: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Bring a random box of 8 to 100 % of the area, sides 3:4 to 4:3, to `size`."""
    area = _uniform(images, 0.08, 1, generator)
    ratio = _uniform(images, math.log(3 / 4), math.log(4 / 3), generator).exp().sqrt()
    width, height = ((area.sqrt() * r).clamp(max=1) for r in (ratio, 1 / ratio))
    x = _uniform(images, -1, 1, generator) * (1 - width)
    y = _uniform(images, -1, 1, generator) * (1 - height)
    zero = torch.zeros_like(x)
    return _sample(images, [width, zero, x, zero, height, y], size)


def affine(images: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Images turn by up to 15 degrees, scale by up to 15 % and shift by up to a tenth."""
    angle = _uniform(images, -math.pi / 12, math.pi / 12, generator)
    zoom = _uniform(images, 0.85, 1.15, generator)
    x, y = (_uniform(images, -0.2, 0.2, generator) for _ in range(2))  # the image spans -1..1
    cos, sin = angle.cos() * zoom, angle.sin() * zoom
    return _sample(images, [cos, -sin, x, sin, cos, y], size)


def _sample(images: Tensor, coefficients: list[Tensor], size: int) -> Tensor:
    theta = torch.stack(coefficients, dim=1).view(-1, 2, 3)
    grid = F.affine_grid(theta, [len(images), images.shape[1], size, size], align_corners=False)
    return F.grid_sample(images.float(), grid, align_corners=False)


AUGMENTATIONS: dict[str, Augmentation | None] = {
    "resized_crop": resized_crop,
    "pad_crop": pad_crop,
    "affine": affine,
    "flip": flip,
    "none": None,
}


def check_augmentations(names: Sequence[str]) -> None:
    """Raise unless every name is an augmentation's, each stands once, and `none` stands alone."""
    for name in names:
        choose("augmentation", name, AUGMENTATIONS)
    if len(set(names)) < len(names) or ("none" in names and len(names) > 1):
        raise ConfigError(
            f"augment {' '.join(names)} contradicts itself: name each change once, or none alone"
        )


def centre(images: Tensor, size: int) -> Tensor:
    """Cut out the central square of `size` where there is a margin; else resize all."""
    side = images.shape[-1]
    if side == size:
        return images
    if size < side <= size * MARGIN + 1:
        start = (side - size) // 2
        return images[..., start : start + size, start : start + size]
    return F.interpolate(
        images.float(), (size, size), mode="bilinear", antialias=True, align_corners=False
    )


@dataclass(frozen=True)
class Preparation:
    """A preparation is applied to uint8 images before the network sees them."""

    size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    augment: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_augmentations(self.augment)

    def train(self, images: Tensor, generator: torch.Generator) -> Tensor:
        for name in self.augment:
            change = AUGMENTATIONS[name]
            images = change(images, self.size, generator) if change else images
        return self.test(images)

    def test(self, images: Tensor) -> Tensor:
        return self.normalise(centre(images, self.size))

    def normalise(self, images: Tensor) -> Tensor:
        """Return images as floats with mean 0 and deviation 1; a float input is overwritten."""
        mean, std = (
            torch.tensor(v, device=images.device).view(1, -1, 1, 1) * 255
            for v in (self.mean, self.std)
        )
        return images.float().sub_(mean).div_(std)
