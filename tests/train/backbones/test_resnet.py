"""ResNet-18 by torchvision's names, its stages, its shortcut, and its graph."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from memoryless.train.backbones.resnet import ResNet18


def torchvision_resnet18() -> dict[str, tuple[int, ...]]:
    """Names and shapes of torchvision's resnet18, written down from its published weights."""
    shapes: dict[str, tuple[int, ...]] = {"conv1.weight": (64, 3, 7, 7)}

    def norm(name: str, size: int) -> None:
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.{part}"] = (size,)
        shapes[f"{name}.num_batches_tracked"] = ()

    norm("bn1", 64)
    before = 64
    for stage, size in ((1, 64), (2, 128), (3, 256), (4, 512)):
        for block in (0, 1):
            name = f"layer{stage}.{block}"
            inputs = before if block == 0 else size
            shapes[f"{name}.conv1.weight"] = (size, inputs, 3, 3)
            norm(f"{name}.bn1", size)
            shapes[f"{name}.conv2.weight"] = (size, size, 3, 3)
            norm(f"{name}.bn2", size)
            if block == 0 and stage > 1:
                shapes[f"{name}.downsample.0.weight"] = (size, inputs, 1, 1)
                norm(f"{name}.downsample.1", size)
        before = size
    return shapes


def test_resnet18_has_torchvisions_names_and_shapes():
    ours = {name: tuple(v.shape) for name, v in ResNet18().state_dict().items()}
    assert ours == torchvision_resnet18()
    assert sum(p.numel() for p in ResNet18().parameters()) == 11_689_512 - 512 * 1000 - 1000


@pytest.mark.parametrize("side", [8, 14, 28])  # stages of 4 and 2, of 7 and 4, of 14 and 7
def test_middle_features_are_quarters_of_stages_at_length_one(side):
    backbone = ResNet18(channels=1, width=2, small_images=True).eval()
    images = torch.randn(3, 1, side, side)
    with torch.no_grad():
        second, third, _ = backbone.stages(images)
        features = backbone.with_middle(images)
        assert torch.equal(features[:, :16], backbone(images))
    assert features.shape == (3, 16 + 4 * 4 + 4 * 8)
    for stage, part in ((second, features[:, 16:32]), (third, features[:, 32:])):
        quarters = F.adaptive_avg_pool2d(stage, 2).flatten(1)
        torch.testing.assert_close(part, quarters / quarters.norm(dim=1, keepdim=True))


def test_strided_shortcut_equals_a_strided_convolution():
    shortcut = ResNet18(width=4).layer2[0].downsample[0]
    x = torch.randn(2, 4, 7, 7)
    torch.testing.assert_close(shortcut(x), nn.functional.conv2d(x, shortcut.weight, stride=2))


@pytest.mark.parametrize("width", [1, 3, 4, 6])
def test_narrow_networks_train_with_channels_last(width):
    backbone = ResNet18(1, width, small_images=True).to(memory_format=torch.channels_last)
    backbone(torch.randn(16, 1, 28, 28)).sum().backward()
    assert all(p.grad.isfinite().all() for p in backbone.parameters())


def trained(channels: int, width: int, small_images: bool) -> ResNet18:
    """A network whose batch normalisations are far from those of a new one."""
    module = ResNet18(channels, width, small_images)
    generator = torch.Generator().manual_seed(0)
    for name, value in module.state_dict().items():
        if "running" in name or "bn" in name or "downsample.1" in name:
            value.copy_(torch.rand(value.shape, generator=generator) + 0.5)
    return module.eval()


@pytest.mark.parametrize("middle", [False, True])
@pytest.mark.parametrize("last_relu", [False, True])
@pytest.mark.parametrize(
    ("channels", "width", "small_images", "size"),
    [(3, 4, False, 45), (1, 3, True, 8), (3, 8, True, 14), (1, 2, False, 32), (3, 2, True, 28)],
)
def test_the_graph_gives_what_the_network_gives(
    channels, width, small_images, size, last_relu, middle
):
    module = trained(channels, width, small_images)
    if not last_relu:
        module.drop_last_relu()
    module.to(memory_format=torch.channels_last)
    graph = module.graph(size, middle).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    images = torch.randn(3, channels, size, size, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = (module.with_middle if middle else module)(images).numpy()
    (found,) = session.run(["features"], {"images": images.numpy()})
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 1e-5 * np.abs(expected).max()
    assert (expected[:, : 8 * width].min() < 0) == (not last_relu)
