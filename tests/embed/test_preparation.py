"""How pixels are prepared."""

from __future__ import annotations

import msgspec
import pytest

from memoryless.embed.preparation import PhotoPreparation


@pytest.mark.parametrize(
    ("size", "crop", "resized"), [(224, 0.875, 256), (224, 1.0, 224), (300, 0.9, 333), (1, 0.4, 2)]
)
def test_the_square_is_larger_by_its_margin(size, crop, resized):
    assert PhotoPreparation(size, crop).resized == resized


@pytest.mark.parametrize(("size", "resized"), [(224, 297), (320, 366)])
def test_a_photo_is_large_enough_for_the_larger_of_two_networks(size, resized):
    assert PhotoPreparation(size, second_size=260).resized == resized


@pytest.mark.parametrize(
    "wrong", [{"size": 0}, {"crop": 0}, {"mean": []}, {"std": [0.0]}, {"mean": [1e31]}, {"odd": 1}]
)
def test_bounds_are_checked_where_it_is_read(wrong):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(wrong, PhotoPreparation)
