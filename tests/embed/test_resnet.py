"""ResNet-18 as a graph gives the features of the module that has its weights."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
import torch

from memoryless.train.backbones.resnet import ResNet18


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
