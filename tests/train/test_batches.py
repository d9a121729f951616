"""Batches bring every image once; channels have NumPy's mean and deviation."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from conftest import make_toy
from memoryless.images.dataset import Split
from memoryless.train.batches import batches, channel_statistics


def test_channel_statistics_equal_numpys():
    split = make_toy().train
    pixels = split.read(np.arange(len(split))).numpy() / 255
    mean, std = channel_statistics(split)
    np.testing.assert_allclose(mean, pixels.mean((0, 2, 3)), rtol=1e-6)
    np.testing.assert_allclose(std, pixels.std((0, 2, 3)), rtol=1e-5)


def test_a_constant_channel_is_not_divided_by_zero():
    split = make_toy().train
    split.images.pixels[:] = 7
    assert channel_statistics(split)[1] == (1.0,)


class LazyImages:
    """Not in memory: read one batch ahead in another thread."""

    shape = (1, 2, 2)

    def __len__(self) -> int:
        return 11

    def read(self, indices: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(indices.astype(np.uint8))[:, None, None, None].expand(-1, 1, 2, 2)

    def stored_bytes(self, indices: np.ndarray) -> int:
        return 4 * len(indices)


@pytest.mark.parametrize("batch_size", [1, 2, 4, 5, 11, 20])
def test_lazy_batches_bring_everything_once_and_never_one_image(batch_size):
    split = Split.whole(LazyImages(), np.arange(11))
    order = np.random.default_rng(0).permutation(11)
    seen = list(batches(split, batch_size, order))
    assert torch.cat([labels for _, labels in seen]).tolist() == order.tolist()
    assert torch.cat([images[:, 0, 0, 0] for images, _ in seen]).tolist() == order.tolist()
    assert min(len(labels) for _, labels in seen) > 1
