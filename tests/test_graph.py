"""Graphs from photos to features: preparation as torch computes it, foreign backbones checked."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto

from memoryless.extractor import Extractor
from memoryless.graph import Nodes, features_graph
from memoryless.preparation import PhotoPreparation


def mean_of_pixels(size: int) -> onnx.ModelProto:
    """A backbone whose features are the means of the three channels."""
    nodes = Nodes()
    nodes.add("Flatten", nodes.add("GlobalAveragePool", "images"), name="out")
    ends = {"images": (TensorProto.FLOAT, ["n", 3, size, size])}
    return nodes.model(ends, {"out": (TensorProto.FLOAT, ["n", 3])})


def every_pixel(size: int) -> onnx.ModelProto:
    """A backbone whose features are the pixels."""
    nodes = Nodes()
    nodes.add("Flatten", "images", name="out")
    ends = {"images": (TensorProto.FLOAT, ["n", 3, size, size])}
    return nodes.model(ends, {"out": (TensorProto.FLOAT, ["n", 3 * size * size])})


@pytest.mark.parametrize("sides", [(37, 50), (64, 64), (20, 9), (1, 1), (1, 300), (90, 200)])
def test_preparation_is_torchs_antialiased_resize_and_crop(sides):
    preparation = PhotoPreparation(28, 0.875, (127.0,) * 3, (128.0,) * 3)
    photo = np.random.default_rng(0).integers(0, 256, (*sides, 3), dtype=np.uint8)
    found = Extractor(features_graph(every_pixel(28), preparation)).feature(photo)
    short, (top, left) = min(sides), [(side - min(sides)) // 2 for side in sides]
    square = torch.from_numpy(photo[top : top + short, left : left + short].copy())
    expected = torch.nn.functional.interpolate(
        square.permute(2, 0, 1)[None].float(), (32, 32), mode="bicubic", antialias=True
    )[:, :, 2:30, 2:30].clamp(0, 255)
    assert np.abs(found * 128 + 127 - expected.flatten().numpy()).max() < 0.02


def test_means_and_deviations_are_of_channels():
    preparation = PhotoPreparation(8, 1.0, (10.0, 20.0, 30.0), (1.0, 2.0, 4.0))
    photo = np.full((8, 8, 3), 50, dtype=np.uint8)
    found = Extractor(features_graph(mean_of_pixels(8), preparation)).feature(photo)
    assert found.tolist() == [40.0, 15.0, 5.0]


def test_equal_graphs_have_equal_bytes():
    first, second = (features_graph(mean_of_pixels(8), PhotoPreparation(8)) for _ in range(2))
    assert first == second
