"""Features of many images, and how they are stored."""

from __future__ import annotations

import numpy as np
import torch

from memoryless.train.augment import Preparation
from memoryless.train.backbones.resnet import ResNet18
from memoryless.train.features import compact, extract_features


def test_what_fits_float16_is_stored_so():
    assert compact(np.array([[65000.0, -65000.0]], np.float32)).dtype == np.float16
    for value in (65504.0, -65504.0, 1e6):  # the largest float16, and beyond
        features = np.array([[value]], np.float32)
        assert compact(features) is features


def test_features_are_those_of_prepared_images_in_order_and_eval_mode(toy):
    backbone = ResNet18(channels=1, width=2, small_images=True)
    preparation = Preparation(8, (0.4,), (0.2,), ("flip",))
    features = extract_features(backbone, toy.test, preparation, batch_size=5)
    assert not backbone.training
    with torch.no_grad():
        whole = backbone(preparation.test(toy.test.read(np.arange(len(toy.test)))))
    torch.testing.assert_close(features, whole)
    assert not features.requires_grad
    more = extract_features(backbone, toy.test, preparation, middle=True)
    assert more.shape == (len(toy.test), 4 * features.shape[1])
    torch.testing.assert_close(more[:, : features.shape[1]], features)
