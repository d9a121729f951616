"""EfficientNet-Lite0 as a module of torch, to be trained; named as its weights are."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from onnx import ModelProto
from torch import Tensor, nn

from memoryless.embed.efficientnet import (
    EPS,
    FEATURES,
    MIDDLE,
    STAGES,
    STEM,
    network_graph,
)


class SameConv(nn.Conv2d):
    """A convolution without bias whose input is padded as TensorFlow's SAME: the end gets the odd
    pixel.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1):
        super().__init__(inputs, outputs, kernel, stride, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x, (*self._around(x.shape[3]), *self._around(x.shape[2]))))

    def _around(self, side: int) -> tuple[int, int]:
        kernel, stride = self.kernel_size[0], self.stride[0]
        missing = max((-(-side // stride) - 1) * stride + kernel - side, 0)
        return missing // 2, missing - missing // 2


class Block(nn.Module):
    """An inverted residual: widen, filter each channel, narrow; ReLU6, no squeeze-and-excite."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int):
        super().__init__()
        wide = inputs * expansion
        self.expands, self.adds = expansion > 1, stride == 1 and inputs == outputs
        if self.expands:
            self._expand_conv = SameConv(inputs, wide, 1)
            self._bn0 = nn.BatchNorm2d(wide, eps=EPS)
        self._depthwise_conv = SameConv(wide, wide, kernel, stride, groups=wide)
        self._bn1 = nn.BatchNorm2d(wide, eps=EPS)
        self._project_conv = SameConv(wide, outputs, 1)
        self._bn2 = nn.BatchNorm2d(outputs, eps=EPS)

    def forward(self, x: Tensor) -> Tensor:
        return self.narrowed(x, self.filtered(x))

    def filtered(self, x: Tensor) -> Tensor:
        """Return the outputs of the filters of the widened channels."""
        y = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        return F.relu6(self._bn1(self._depthwise_conv(y)))

    def narrowed(self, x: Tensor, filtered: Tensor) -> Tensor:
        """Return the output of the block from its input and the filters' outputs."""
        y: Tensor = self._bn2(self._project_conv(filtered))
        return x + y if self.adds else y


class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0 turns images (B, 3, H, W) into features (B, 1280) from 0 to 6.

    Grey images (B, 1, H, W) stand in all three channels.
    """

    feature_size = FEATURES
    groups = (FEATURES, sum(MIDDLE.values()))
    """Features of the head and of the middle, which `with_middle` gives."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem, self._bn0 = SameConv(3, STEM, 3, stride=2), nn.BatchNorm2d(STEM, eps=EPS)
        blocks, inputs = [], STEM
        for number, kernel, stride, expansion, outputs in STAGES:
            for i in range(number):
                blocks.append(Block(inputs, outputs, kernel, 1 if i else stride, expansion))
                inputs = outputs
        self._blocks = nn.Sequential(*blocks)
        self._conv_head = SameConv(inputs, FEATURES, 1)
        self._bn1 = nn.BatchNorm2d(FEATURES, eps=EPS)

    def forward(self, x: Tensor) -> Tensor:
        return self._head(self._blocks(self._stem(x)))

    def with_middle(self, x: Tensor) -> Tensor:
        """Return features, then those of the blocks `MIDDLE`, each block's at length one."""
        x, middle = self._stem(x), []
        for number, block in enumerate(self._blocks):
            assert isinstance(block, Block)
            filtered = block.filtered(x)
            if number in MIDDLE:
                middle.append(F.normalize(filtered.mean((2, 3))))
            x = block.narrowed(x, filtered)
        return torch.cat([self._head(x), *middle], dim=1)  # (B, 2672)

    def _stem(self, x: Tensor) -> Tensor:
        return F.relu6(self._bn0(self._conv_stem(x.expand(-1, 3, -1, -1))))

    def _head(self, x: Tensor) -> Tensor:
        return F.relu6(self._bn1(self._conv_head(x))).mean((2, 3))  # (B, 1280)

    def graph(self, size: int, channels: int = 3, middle: bool = False) -> ModelProto:
        """Return the network as an ONNX graph of images (n, channels, size, size)."""
        weights = {name: value.cpu().numpy() for name, value in self.state_dict().items()}
        return network_graph(weights, size, channels, middle)
