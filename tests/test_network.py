"""Layers that grow, and devices by name."""

from __future__ import annotations

import pytest
import torch

from memoryless.errors import ConfigError
from memoryless.network import CosineLayer, check_device, pick_device


def test_unusable_device():
    with pytest.raises(ConfigError, match="unknown device 'nonsense': choose auto, cpu"):
        check_device("nonsense")
    assert pick_device("cpu").type == "cpu"


def test_lucir_imprints_mean_directions_at_the_mean_length():
    layer = CosineLayer(3)
    generator = torch.Generator().manual_seed(0)
    layer.grow(2, True, generator)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3.0, 0, 0], [0, 5.0, 0]]))
    layer.grow(1, True, generator)
    layer.imprint(torch.tensor([[0.0, 2, 0], [0, 0, 7.0]]), torch.tensor([2, 2]))
    expected = torch.tensor([0, 0.5**0.5, 0.5**0.5]) * 4  # lengths 3 and 5
    torch.testing.assert_close(layer.weight[0].detach(), expected)


def test_a_cosine_layer_ranks_as_the_linear_layer_it_gives():
    layer = CosineLayer(4)
    layer.grow(3, True, torch.Generator().manual_seed(0))
    features = torch.randn(9, 4)
    W, b = layer.as_linear()
    length = features.norm(dim=1, keepdim=True)
    torch.testing.assert_close(layer(features).detach(), (features @ W.T + b) / length)
