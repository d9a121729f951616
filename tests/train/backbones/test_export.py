"""Backbones of torch as ONNX graphs: the same features, any number of images, no traces."""

from __future__ import annotations

import logging
import subprocess
import sys
import warnings

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

from memoryless.embed import PhotoPreparation
from memoryless.embed.graph import features_graph
from memoryless.errors import ConfigError
from memoryless.train.backbones.export import module_graph
from memoryless.train.backbones.resnet import ResNet18


@pytest.fixture(scope="module")
def resnet() -> nn.Module:
    """A module that torch exports: of a ResNet alone we write the graph."""
    module = nn.Sequential(ResNet18(3, 4))
    generator = torch.Generator().manual_seed(0)
    for name, value in module.state_dict().items():
        if "running" in name or "bn" in name:
            value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
    return module


@pytest.fixture(scope="module")
def graph(resnet):
    return module_graph(resnet, 32)


def test_the_graph_gives_what_the_network_gives(resnet, graph):
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    for number in (1, 5):
        images = torch.randn(number, 3, 32, 32, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            expected = resnet(images).numpy()
        (found,) = session.run(["features"], {"images": images.numpy()})
        assert found.shape == (number, 32)
        assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()
    assert expected.std() > 0.01


def test_the_features_graph_says_nothing_of_where_it_was_made(graph):
    assert b".py" in graph.SerializeToString()  # as torch writes it
    assert b".py" not in features_graph(graph, PhotoPreparation(32))


MAKE = """
import hashlib, torch
from torch import nn
from memoryless.train.backbones.export import module_graph
from memoryless.embed.graph import features_graph
from memoryless.embed import PhotoPreparation
module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
for i, value in enumerate(module.parameters()):
    nn.init.constant_(value, i + 0.5)
graph = features_graph(module_graph(module, 16), PhotoPreparation(16))
print(hashlib.sha256(graph).hexdigest())
"""


@pytest.mark.slow
def test_the_same_backbone_has_the_same_bytes_and_making_them_is_silent(graph, tmp_path, capsys):
    """In a process that has made another graph before, and in a fresh one, elsewhere."""
    exec(MAKE, {})
    here = capsys.readouterr()
    command = [sys.executable, "-W", "default", "-c", MAKE]
    there = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert here.err == there.stderr == ""
    assert here.out == there.stdout


class Odd(nn.Module):
    """A module with dropout, in training, whose forward runs other code for odd sizes."""

    def __init__(self):
        super().__init__()
        self.conv, self.drop = nn.Conv2d(3, 4, 3), nn.Dropout(0.5)

    def forward(self, x):
        if x.shape[2] % 2:
            raise ValueError("odd sides\nare not for me")
        return self.drop(self.conv(x).mean((2, 3)))


def shared_state() -> list[object]:
    logger = logging.getLogger("torch.onnx")
    return [
        torch.get_rng_state().tolist(),
        torch.get_num_threads(),
        torch.get_default_dtype(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        list(warnings.filters),
        (logger.level, logger.disabled, logging.root.level, logging.root.manager.disable),
    ]


def test_nothing_that_a_program_shares_is_changed():
    module, before = Odd(), shared_state()
    module_graph(module, 16)
    assert shared_state() == before
    assert all(value.requires_grad and value.grad is None for value in module.parameters())
    with pytest.raises(ConfigError):
        module_graph(module, 17)
    assert shared_state() == before


def test_dropout_is_off():
    module, images = Odd(), torch.randn(2, 3, 16, 16)
    session = onnxruntime.InferenceSession(module_graph(module, 16).SerializeToString())
    (found,) = session.run(None, {"images": images.numpy()})
    assert np.abs(found - module.eval()(images).detach().numpy()).max() < 1e-5


def test_what_torch_cannot_export_is_one_sentence():
    with pytest.raises(ConfigError, match=r"^torch cannot export .* 17 pixels \(.*`image_size`$"):
        module_graph(Odd(), 17)
