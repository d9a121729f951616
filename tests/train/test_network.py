"""Layers that grow, and devices by name."""

from __future__ import annotations

import pytest
import torch

from memoryless.errors import ConfigError
from memoryless.train.network import (
    CosineLayer,
    LinearLayer,
    Network,
    check_device,
    pick_device,
)


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


@pytest.mark.parametrize("kind", [LinearLayer, CosineLayer])
def test_new_rows_are_drawn_as_torch_draws_them(kind):
    layer = kind(16)
    layer.grow(2000, True, torch.Generator().manual_seed(0))
    for drawn in layer.as_linear() if kind is LinearLayer else [layer.weight.detach()]:
        assert 0.249 < drawn.max() <= 0.25  # 1 / sqrt(16)
        assert -0.25 <= drawn.min() < -0.249


@pytest.mark.parametrize("keep", [False, True])
def test_old_rows_and_biases_are_kept_or_made_anew(keep):
    layer, generator = LinearLayer(4), torch.Generator().manual_seed(0)
    layer.grow(2, keep, generator)
    W, b = (part.clone() for part in layer.as_linear())
    layer.grow(3, keep, generator)
    assert (layer.weight.shape, layer.bias.shape, layer.classes) == ((5, 4), (5,), 5)
    assert torch.equal(layer.weight[:2], W) == torch.equal(layer.bias[:2], b) == keep
    assert layer.weight.requires_grad
    assert layer.bias.requires_grad


def test_a_cosine_layers_scale_is_in_its_rows():
    layer = CosineLayer(2)
    layer.grow(1, True, torch.Generator())
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3.0, 4.0]]))
        layer.scale.fill_(10)
    W, b = layer.as_linear()
    torch.testing.assert_close(W, torch.tensor([[6.0, 8.0]]))
    assert b.tolist() == [0.0]
    torch.testing.assert_close(layer(torch.tensor([[5.0, 0.0]])).detach(), torch.tensor([[6.0]]))


@pytest.mark.parametrize("kind", [LinearLayer, CosineLayer])
def test_a_layer_as_rows_carries_no_gradient(kind):
    layer = kind(4)
    layer.grow(2, True, torch.Generator())
    assert not any(part.requires_grad for part in layer.as_linear())


@pytest.mark.parametrize("kind", [LinearLayer, CosineLayer])
def test_a_layer_takes_its_size_from_weights(kind):
    source, target = kind(4), kind(4)
    for number in (2, 3):
        source.grow(number, True, torch.Generator().manual_seed(number))
    target.load_state_dict(source.state_dict())
    assert all(map(torch.equal, target.as_linear(), source.as_linear()))
    assert dict(target.named_parameters()).keys() == dict(source.named_parameters()).keys()
    assert dict(target.named_buffers()).keys() == dict(source.named_buffers()).keys()


def test_weights_of_the_same_size_go_into_the_tensors_there_are():
    """An optimiser holds them."""
    layer = LinearLayer(4)
    layer.grow(2, True, torch.Generator())
    held = layer.weight
    layer.load_state_dict({"weight": torch.ones(2, 4), "bias": torch.zeros(2)})
    assert layer.weight is held
    assert held.sum() == 8


def test_a_network_is_its_layer_over_its_backbone():
    network = Network(torch.nn.Flatten(), LinearLayer(4))
    network.layer.grow(3, True, torch.Generator())
    images = torch.randn(5, 1, 2, 2)
    assert torch.equal(network(images), network.layer(images.flatten(1)))
    assert network.classes == 3


@pytest.mark.parametrize("name", ["auto", "cpu", "mps", "cuda", "cuda:1", "cuda:12"])
def test_a_device_is_tried(name, monkeypatch):
    tried = []
    monkeypatch.setattr(torch, "empty", lambda size, device: tried.append(device))
    check_device(name)
    assert tried == ["cpu" if name == "auto" else name]


@pytest.mark.parametrize("name", ["cuda:", "cuda:1000", "CPU", "cpu:0", "xcpu", ""])
def test_names_that_are_no_devices(name):
    with pytest.raises(ConfigError, match="choose auto, cpu, cuda, cuda:N or mps"):
        check_device(name)


@pytest.mark.parametrize("error", [RuntimeError, AssertionError])
def test_a_device_that_is_not_there_has_its_reason(error, monkeypatch):
    def fail(size, device):
        raise error("x" * 300 + ". More.\nAnd a trace")

    monkeypatch.setattr(torch, "empty", fail)
    with pytest.raises(ConfigError) as caught:
        check_device("mps")
    reason = "x" * 200
    assert str(caught.value) == f"device 'mps' cannot be used here: {reason}; choose auto or cpu"


@pytest.mark.parametrize(
    ("there", "device"), [((), "cpu"), (("mps",), "mps"), (("cuda", "mps"), "cuda")]
)
def test_auto_is_the_fastest_device_there_is(there, device, monkeypatch):
    for name in ("cuda", "mps"):
        monkeypatch.setattr(getattr(torch, name), "is_available", lambda name=name: name in there)
    assert pick_device("auto").type == device
    assert pick_device("cpu").type == "cpu"


@pytest.mark.parametrize("kind", [LinearLayer, CosineLayer])
def test_a_layer_starts_with_no_class(kind):
    W, b = kind(4).as_linear()
    assert (W.shape, b.shape, kind(4).classes) == ((0, 4), (0,), 0)
