"""How the pixels of a photo are prepared before a backbone sees them."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

PHOTO_SIDE = 224
LITE2_SIDE = 260
"""What EfficientNet-Lite2 was trained on."""
MARGIN = 256 / 224  # the largest square, as a share of what is seen, whose edges are cut off
IMAGENET = ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375))
"""Mean and deviation of the pixels of most networks' training images, on the scale 0..255."""
Number = Annotated[float, Meta(ge=-1e30, le=1e30)]
Positive = Annotated[float, Meta(gt=0, le=1e30)]


class PhotoPreparation(Struct, frozen=True, forbid_unknown_fields=True):
    """What happens to the pixels of a photo before the backbone sees them.

    A model's description holds it; bounds are checked when it is read from there.
    """

    size: Annotated[int, Meta(ge=1, le=2048)] = PHOTO_SIDE
    """Side of what the backbone sees."""
    crop: Annotated[float, Meta(gt=0, le=1)] = 0.875
    """Share of the resized square's side that is seen; the rest is cut off around it."""
    mean: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=3)] = IMAGENET[0]
    std: Annotated[tuple[Positive, ...], Meta(min_length=1, max_length=3)] = IMAGENET[1]
    second_size: Annotated[int, Meta(ge=1, le=2048)] | None = None
    """Side of what a second network sees, if there are two."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Side of what each network sees."""
        return (self.size,) if self.second_size is None else (self.size, self.second_size)

    @property
    def resized(self) -> int:
        """Side of the square before its edges are cut off; the larger one of two networks."""
        return self.resized_for(max(self.sizes))

    def resized_for(self, size: int) -> int:
        """Return the side of the square whose centre a network of some size sees."""
        return round(size / self.crop)

    @property
    def channels(self) -> int:
        return len(self.mean)
