"""Graphs as backbones: of a file, and of the backbone with weights on a CPU."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto

from conftest import make_toy
from memoryless.embed.graph import Nodes
from memoryless.errors import ConfigError, StoreError
from memoryless.images import from_arrays
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.train.backbones import named_backbone
from memoryless.train.backbones.efficientnet import EfficientNetLite0
from memoryless.train.backbones.onnx_backbone import OnnxBackbone
from memoryless.train.features import extract_features
from memoryless.train.learner import Learner, prepare


def pooling(gain: float = 1.0, side: int | str = "side") -> onnx.ModelProto:
    """A network whose features are the mean of each channel."""
    nodes = Nodes()
    scaled = nodes.add("Mul", "pixels", nodes.value(np.float32(gain)))
    nodes.add("Flatten", nodes.add("GlobalAveragePool", scaled), name="means")
    images, means = (TensorProto.FLOAT, ["n", 3, side, side]), (TensorProto.FLOAT, ["n", 3])
    return nodes.model({"pixels": images}, {"means": means})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    onnx.save(pooling(), tmp_path / "means.onnx")
    return tmp_path / "means.onnx"


def test_features_are_the_graphs_in_order():
    images = torch.randn(9, 3, 4, 4)
    torch.testing.assert_close(OnnxBackbone(pooling())(images), images.mean((2, 3)))


def test_grey_images_stand_in_all_channels():
    grey = torch.randn(2, 1, 4, 4)
    features = OnnxBackbone(pooling())(grey)
    torch.testing.assert_close(features, grey.mean((2, 3)).expand(2, 3))


def test_a_feature_does_not_depend_on_what_is_beside_its_image():
    graph = OnnxBackbone(EfficientNetLite0().eval().graph(32))
    images = torch.randn(5, 3, 32, 32)
    assert torch.equal(graph(images)[2:3], graph(images[2:3]))


def test_a_copy_opens_the_graph_again():
    backbone = OnnxBackbone(pooling(2.0))
    images = torch.randn(2, 3, 4, 4)
    expected = backbone(images)
    twin = copy.deepcopy(backbone)
    assert twin.session is None
    assert torch.equal(twin(images), expected)


def fixed(config: Config, side: int, images: np.ndarray) -> tuple[Learner, object]:
    labels = np.arange(len(images)) % 2
    split = replace(from_arrays(images, labels, images, labels), image_size=side).train
    config = replace(config, strategy="fixed", backbone="efficientnet-lite0").resolved(side)
    channels = split.images.shape[0]
    return Learner(config, 0, channels, prepare(config, split, side, ("flip",))), split


@pytest.mark.parametrize("channels", [1, 3])
def test_on_a_cpu_the_backbone_with_weights_runs_as_a_graph(tiny, channels):
    """Small drawings too, at the size that the settings name; the features are torch's."""
    images = np.random.default_rng(0).integers(0, 256, (4, channels, 28, 28), dtype=np.uint8)
    learner, split = fixed(tiny, 96, images)
    by_graph = learner.all_features(split)
    by_torch = extract_features(learner.network.backbone, split, learner.preparation)
    assert isinstance(learner._graph, OnnxBackbone)
    assert by_graph.shape == (4, 1280)
    np.testing.assert_allclose(by_graph, by_torch, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(learner.preparation.mean, [127 / 255] * channels)
    np.testing.assert_allclose(learner.preparation.std, [128 / 255] * channels)
    assert learner.preparation.augment == ()


def test_images_of_ones_own_backbone_are_measured(tiny):
    config, split = replace(tiny, strategy="fixed", backbone=None).resolved(8), make_toy().train
    assert config.backbone == "efficientnet-lite0"
    measured = prepare(config, split, 8, (), torch.nn.Flatten()).mean
    assert measured == pytest.approx((float(split.images.pixels.float().mean()) / 255,))


def test_other_weights_make_another_graph(tiny):
    images = np.random.default_rng(0).integers(0, 256, (4, 3, 32, 32), dtype=np.uint8)
    learner, split = fixed(tiny, 32, images)
    before, record = learner.all_features(split), learner.record
    learner.restore({k: 0.5 * v for k, v in learner.tensors().items()}, record)
    assert not np.allclose(learner.all_features(split), before)


def test_a_file_as_the_backbone_of_a_run(tiny, file):
    config = replace(tiny, strategy="fixed", backbone=f"onnx:{file}", statistics="tied")
    (path,) = run(config, make_toy())
    folder = RunFolder(path)
    assert folder.arrays(2, "test")["features"].shape[1] == 3
    assert set(folder.arrays(2, "network")) == {"network.layer.weight", "network.layer.bias"}
    mean = folder.about.preparation.mean
    assert mean == pytest.approx([123.675 / 255])  # ImageNet's, of a grey image


def test_a_run_does_not_go_on_with_another_file_of_the_same_name(tiny, file):
    config = replace(tiny, strategy="fixed", backbone=f"onnx:{file}").resolved(8)
    run(config, make_toy())
    before = named_backbone(config)
    onnx.save(pooling(2.0), file)
    assert named_backbone(config) != before
    with pytest.raises((ConfigError, StoreError), match="holds another experiment"):
        run(config, make_toy())


def test_a_file_for_another_size_is_refused_in_one_sentence(tiny, file):
    onnx.save(pooling(side=16), file)
    config = replace(tiny, strategy="fixed", backbone=f"onnx:{file}")
    with pytest.raises(ConfigError, match=r"^the backbone cannot take images of 8 pixels with 1 "):
        run(config, make_toy())
