"""How pixels are prepared, as numbers."""

from __future__ import annotations

import pytest

from memoryless.preparation import PhotoPreparation


@pytest.mark.parametrize(
    ("size", "crop", "resized"), [(224, 0.875, 256), (224, 1.0, 224), (300, 0.9, 333), (1, 0.4, 2)]
)
def test_the_square_is_larger_by_its_margin(size, crop, resized):
    assert PhotoPreparation(size, crop).resized == resized
