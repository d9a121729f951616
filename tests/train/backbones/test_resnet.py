"""ResNet-18 by torchvision's names, its stages and its shortcut."""

from __future__ import annotations

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
