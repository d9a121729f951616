"""ResNet-18 (He et al., CVPR 2016) without its last layer: in torch, and as an ONNX graph.

Parameters have the names of torchvision's.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from onnx import ModelProto, TensorProto
from torch import Tensor, nn

from memoryless.embed.graph import Nodes, convolve, unit, whole


class Pointwise(nn.Conv2d):
    """A 1x1 convolution that takes its stride by slicing.

    With a stride a 1x1 kernel reads every second pixel alone, so slicing first changes nothing.
    oneDNN's strided kernel writes past its buffer for few channels laid out last (its issue 6035).
    """

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__(inputs, outputs, kernel_size=1, bias=False)
        self.step = stride

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x[..., :: self.step, :: self.step], self.weight)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.last_relu = True
        self.downsample: nn.Sequential | None = None
        if stride > 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                Pointwise(inputs, outputs, stride), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        shortcut = self.downsample(x) if self.downsample else x
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y)).add_(shortcut)
        return F.relu(y, inplace=True) if self.last_relu else y

    def write(self, nodes: Nodes, x: str) -> str:
        """Write the block as nodes of a graph; returns the name of its output."""
        shortcut = _convolve(nodes, x, *self.downsample) if self.downsample else x
        y = nodes.add("Relu", _convolve(nodes, x, self.conv1, self.bn1))
        y = nodes.add("Add", _convolve(nodes, y, self.conv2, self.bn2), shortcut)
        return nodes.add("Relu", y) if self.last_relu else y


class ResNet18(nn.Module):
    """ResNet-18 turns images (B, C, H, W) into features (B, 8 * width)."""

    def __init__(self, channels: int = 3, width: int = 64, small_images: bool = False):
        super().__init__()
        self.feature_size = 8 * width
        if small_images:  # 3x3 stem without pooling, for images of about 32 pixels
            self.conv1 = nn.Conv2d(channels, width, 3, padding=1, bias=False)
            self.maxpool: nn.Module = nn.Identity()
        else:
            self.conv1 = nn.Conv2d(channels, width, 7, stride=2, padding=3, bias=False)
            self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = _stage(width, width, stride=1)
        self.layer2 = _stage(width, 2 * width, stride=2)
        self.layer3 = _stage(2 * width, 4 * width, stride=2)
        self.layer4 = _stage(4 * width, 8 * width, stride=2)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def drop_last_relu(self) -> None:
        """Let features be negative too, as a cosine layer wants them (LUCIR)."""
        self._last_block.last_relu = False

    @property
    def _last_block(self) -> BasicBlock:
        block = self.layer4[-1]
        assert isinstance(block, BasicBlock)
        return block

    def forward(self, x: Tensor) -> Tensor:
        return self.stages(x)[-1].mean((2, 3))  # (B, d)

    def with_middle(self, x: Tensor) -> Tensor:
        """Return features of the last stage, then of the second and third, (B, 4 d) in all.

        The middle stages are averaged over each quarter of the image, and brought to length one.
        """
        second, third, last = self.stages(x)
        quarters = [F.normalize(_quarters(stage)) for stage in (second, third)]
        return torch.cat([last.mean((2, 3)), *quarters], dim=1)

    def stages(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the outputs of the last three stages, (B, channels, height, width) each."""
        x = self.layer1(self.maxpool(F.relu(self.bn1(self.conv1(x)), inplace=True)))
        second = self.layer2(x)
        third = self.layer3(second)
        return second, third, self.layer4(third)

    def graph(self, size: int, middle: bool = False) -> ModelProto:
        """Return the network as a graph of images (n, C, size, size), perhaps `with_middle`."""
        nodes, stages = Nodes(), []
        x = nodes.add("Relu", _convolve(nodes, "images", self.conv1, self.bn1))
        if isinstance(self.maxpool, nn.MaxPool2d):
            x = nodes.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            for block in stage:
                assert isinstance(block, BasicBlock)
                x = block.write(nodes, x)
            stages.append(x)
        parts = [nodes.add("Flatten", nodes.add("GlobalAveragePool", x))]
        if middle:
            parts += [_quarter_nodes(nodes, stage) for stage in stages[1:3]]
        nodes.add("Concat", *parts, name="features", axis=1)
        return nodes.model(
            {"images": (TensorProto.FLOAT, ["n", self.conv1.in_channels, size, size])},
            {"features": (TensorProto.FLOAT, ["n", "d"])},
        )


def _quarters(x: Tensor) -> Tensor:
    """Return means (B, 4 channels) over the quarters of an image, which share an odd middle row.

    That is adaptive_avg_pool2d to 2 x 2, which some devices refuse for odd sides.
    """
    middle = x.shape[2] // 2, x.shape[3] // 2
    upper, lower = x[:, :, : x.shape[2] - middle[0]], x[:, :, middle[0] :]
    halves = [(y[..., : x.shape[3] - middle[1]], y[..., middle[1] :]) for y in (upper, lower)]
    return torch.stack([part.mean((2, 3)) for row in halves for part in row], dim=2).flatten(1)


def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1))


def _convolve(nodes: Nodes, x: str, conv: nn.Conv2d, norm: nn.BatchNorm2d) -> str:
    """Write a convolution and the batch normalisation after it."""
    arrays = {name: value.cpu().numpy() for name, value in norm.state_dict().items()}
    kernel, edge = conv.weight.detach().cpu().numpy(), conv.kernel_size[0] // 2
    stride = conv.step if isinstance(conv, Pointwise) else conv.stride[0]
    shape = {"strides": [stride] * 2, "pads": [edge] * 4}
    return convolve(nodes, x, kernel, arrays, norm.eps, **shape)


def _quarter_nodes(nodes: Nodes, x: str) -> str:
    """Write means over the quarters of an image, which share an odd middle row, at length one.

    They stand as (n, channels, 4), flattened.
    """
    parts = []
    sides = nodes.add("Shape", x, start=2, end=4)
    half = nodes.add("Div", sides, nodes.value(whole(2)))  # rounded down
    rest = nodes.add("Sub", sides, half)
    axes = nodes.value(whole(2, 3))
    for lower in (0, 1):
        for right in (0, 1):
            mask = nodes.value(whole(lower, right))
            start = nodes.add("Mul", half, mask)
            end = nodes.add("Add", start, rest)
            part = nodes.add("Slice", x, start, end, axes)
            parts.append(nodes.add("ReduceMean", part, axes, keepdims=1))
    flat = nodes.add("Flatten", nodes.add("Concat", *parts, axis=3))
    return unit(nodes, flat)
