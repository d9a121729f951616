"""Batched augmentation: what comes out is really a crop, a mirror image, a normalised image."""

from __future__ import annotations

import pytest
import torch

from memoryless.errors import ConfigError
from memoryless.train.augment import (
    AUGMENTATIONS,
    Preparation,
    affine,
    centre,
    flip,
    pad_crop,
    resized_crop,
)
from memoryless.train.randomness import torch_generator

IMAGES = torch.arange(1, 6 * 3 * 8 * 8 + 1).view(6, 3, 8, 8).remainder(250).to(torch.uint8)


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_augmentation_contract(name):
    """The size asked for, from the same draws the same images, other draws others."""
    preparation = Preparation(8, (0.5,) * 3, (0.2,) * 3, (name,))
    one, same, other = (preparation.train(IMAGES, torch_generator(s)) for s in (1, 1, 2))
    assert one.shape == (6, 3, 8, 8)
    assert one.dtype == torch.float32
    assert one.isfinite().all()
    assert torch.equal(one, same)
    assert torch.equal(one, other) == (name == "none")


def test_flip_mirrors_whole_images():
    flipped = flip(IMAGES, 8, torch_generator(0))
    mirrored = [torch.equal(a, b.flip(-1)) for a, b in zip(flipped, IMAGES, strict=True)]
    same = [torch.equal(a, b) for a, b in zip(flipped, IMAGES, strict=True)]
    assert all(m != s for m, s in zip(mirrored, same, strict=True))
    assert any(mirrored)
    assert any(same)


def coordinates(side: int) -> torch.Tensor:
    """Images whose two channels are the pixel's x and y, from -1 to 1."""
    line = (torch.arange(side) + 0.5) / side * 2 - 1
    return torch.stack([line.expand(side, side), line[:, None].expand(side, side)])


def test_resized_crop_takes_boxes_of_8_to_100_percent():
    images = coordinates(64).expand(300, -1, -1, -1)
    crops = resized_crop(images, 32, torch_generator(0))
    spans = crops.amax((2, 3)) - crops.amin((2, 3))  # of x and y, nearly twice the share
    area = (spans / 2 * 32 / 31).prod(1)
    ratio = spans[:, 0] / spans[:, 1]
    assert 0.5 < area.mean() < 0.58  # of areas from 0.08 to 1 that are equally likely
    assert 0.06 < area.min() < 0.15
    assert 0.9 < area.max() < 1.02
    assert 0.70 < ratio.min() < 0.85
    assert 1.2 < ratio.max() < 1.42


def test_affine_turns_scales_and_shifts_a_little():
    images = coordinates(65).expand(400, -1, -1, -1)
    moved = affine(images, 65, torch_generator(0))
    step = 2 / 65
    along_x = (moved[:, :, 32, 33] - moved[:, :, 32, 31]) / (2 * step)  # (cos, sin) * zoom
    angle = torch.atan2(along_x[:, 1], along_x[:, 0]).rad2deg()
    zoom = along_x.norm(dim=1)
    shift = moved[:, :, 32, 32]  # (x, y) of what stands in the middle
    assert -15.2 < angle.min() < -14.3
    assert 14.3 < angle.max() < 15.2
    assert 0.84 < zoom.min() < 0.88
    assert 1.12 < zoom.max() < 1.16
    for along in shift.T:
        assert -0.205 < along.min() < -0.19
        assert 0.19 < along.max() < 0.205
    assert abs(torch.corrcoef(shift.T)[0, 1]) < 0.2


def test_pad_crop_brings_other_sizes_to_size_first():
    assert pad_crop(IMAGES, 32, torch_generator(0)).shape == (6, 3, 32, 32)
    flat = torch.full((1, 1, 64, 64), 9, dtype=torch.uint8)
    assert pad_crop(flat, 8, torch_generator(0)).max() == pytest.approx(9)


def test_centre_crops_a_margin_and_resizes_the_rest():
    wide = torch.rand(2, 3, 256, 256)
    assert torch.equal(centre(wide, 224), wide[..., 16:240, 16:240])
    assert centre(IMAGES, 16).shape == (6, 3, 16, 16)
    flat = torch.full((1, 1, 32, 32), 9, dtype=torch.uint8)
    torch.testing.assert_close(centre(flat, 8), torch.full((1, 1, 8, 8), 9.0))


def test_normalisation_by_hand():
    images = torch.tensor([0, 255], dtype=torch.uint8).view(2, 1, 1, 1)
    prepared = Preparation(1, (0.5,), (0.25,)).test(images)
    assert prepared.flatten().tolist() == [-2, 2]


def test_unknown_augmentation():
    with pytest.raises(ConfigError, match="did you mean 'flip'"):
        Preparation(8, (0.5,), (0.5,), ("flop",))


def test_resized_crop_stays_within_the_image():
    """Beyond it there is black; half a pixel of that is mixed in at the very edge."""
    assert resized_crop(torch.ones(300, 1, 64, 64), 32, torch_generator(0)).min() > 0.4


def test_pad_crop_leaves_a_margin_to_choose_from():
    wide = torch.arange(1, 101, dtype=torch.uint8).view(1, 1, 10, 10).expand(40, -1, -1, -1)
    padded = torch.nn.functional.pad(wide[0], (1, 1, 1, 1))
    windows = [padded[:, y : y + 8, x : x + 8] for y in range(5) for x in range(5)]
    places = [
        [i for i, window in enumerate(windows) if torch.equal(crop, window)]
        for crop in pad_crop(wide, 8, torch_generator(0))
    ]
    assert all(len(place) == 1 for place in places)
    assert len({place for (place,) in places}) > 15  # of 25


@pytest.mark.parametrize("side", [257, 258])
@pytest.mark.parametrize(
    "cut", [centre, lambda images, size: pad_crop(images, size, torch_generator(0))]
)
def test_a_margin_of_an_eighth_is_cut_off_and_more_is_resized(cut, side):
    """256 pixels for 224, and one more for rounding; what is resized becomes floats."""
    images = torch.zeros(1, 1, side, side, dtype=torch.uint8)
    out = cut(images, 224)
    assert out.shape == (1, 1, 224, 224)
    assert out.dtype == (torch.uint8 if side == 257 else torch.float32)


def test_the_black_border_is_an_eighth():
    images = torch.ones(200, 1, 32, 32, dtype=torch.uint8)
    rows = [int((image.sum(2) == 0).sum()) for image in pad_crop(images, 32, torch_generator(0))]
    assert max(rows) == 4


@pytest.mark.parametrize("names", [("flip", "none"), ("flip", "flip"), ("none", "none")])
def test_augmentations_that_contradict_each_other(names):
    with pytest.raises(
        ConfigError, match=f"augment {' '.join(names)} contradicts itself: name each"
    ):
        Preparation(8, (0.5,), (0.5,), names)


def test_changes_are_made_in_their_order():
    preparation = Preparation(8, (0.0,) * 3, (1 / 255,) * 3, ("flip", "pad_crop"))
    by_hand = torch_generator(4)
    expected = pad_crop(flip(IMAGES, 8, by_hand), 8, by_hand)
    torch.testing.assert_close(preparation.train(IMAGES, torch_generator(4)), expected.float())
