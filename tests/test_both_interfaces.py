"""A name means the same in the laboratory and in the tool for photos."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from torch import Tensor, nn

from conftest import TINY, make_learner, make_toy
from memoryless import Model
from memoryless.stats.heads import HEADS


class Pixels(nn.Module):
    """A backbone whose features are the pixels."""

    def forward(self, images: Tensor) -> Tensor:
        return images.flatten(1)


def test_both_interfaces_give_the_same_bits():
    images = make_toy().train
    config = replace(TINY, strategy="fixed", statistics="tied")
    learner = make_learner(config, images, backbone=Pixels())
    learner.learn(images, 6)
    model = Model(backbone="none", square_roots=True)
    names = [f"class {c}" for c in images.labels]
    model.learn(learner.all_features(images), names)
    found, own = learner.record.statistics["none"], model._current.statistics
    for name, array in own.arrays().items():
        assert np.array_equal(found.arrays()[name], array), name
    layer, stored = HEADS["lda"].over(found), model._current.answers.scorer.over
    assert np.array_equal(layer.W, stored.W[:-1])
    assert np.array_equal(layer.b, stored.b[:-1])
