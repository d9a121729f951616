"""EfficientNet-Lite0 (Tan & Le, ICML 2019; the Lite variant of 2020), named as its weights are."""

from __future__ import annotations

import numpy as np
import torch.nn.functional as F
from onnx import ModelProto, TensorProto
from torch import Tensor, nn

from memoryless.graph import Nodes

FEATURES = 1280
STEM = 32
EPS = 1e-3  # of batch normalisation, as in TensorFlow, where the weights were trained
# Each stage: blocks, kernel, stride of its first block, expansion, channels (Table 1; no stage is
# scaled in Lite0).
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
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
        y = F.relu6(self._bn0(self._expand_conv(x))) if self.expands else x
        y = F.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.adds else y

    def emit(self, nodes: Nodes, x: str) -> str:
        """The same as nodes of a graph."""
        y = x
        if self.expands:
            y = _relu6(nodes, _convolve(nodes, y, self._expand_conv, self._bn0))
        y = _relu6(nodes, _convolve(nodes, y, self._depthwise_conv, self._bn1))
        y = _convolve(nodes, y, self._project_conv, self._bn2)
        return nodes.add("Add", x, y) if self.adds else y


class EfficientNetLite0(nn.Module):
    """EfficientNet-Lite0 turns images (B, 3, H, W) into features (B, 1280) from 0 to 6.

    Grey images (B, 1, H, W) stand in all three channels.
    """

    feature_size = FEATURES

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
        x = x.expand(-1, 3, -1, -1)
        x = self._blocks(F.relu6(self._bn0(self._conv_stem(x))))
        return F.relu6(self._bn1(self._conv_head(x))).mean((2, 3))  # (B, 1280)

    def graph(self, size: int) -> ModelProto:
        """The network as an ONNX graph of images (n, 3, size, size).

        Written by hand, it is there in a tenth of a second and has the same bytes everywhere;
        torch's exporter takes eight seconds.
        """
        nodes = Nodes()
        x = _relu6(nodes, _convolve(nodes, "images", self._conv_stem, self._bn0))
        for block in self._blocks:
            assert isinstance(block, Block)
            x = block.emit(nodes, x)
        x = _relu6(nodes, _convolve(nodes, x, self._conv_head, self._bn1))
        nodes.add("Flatten", nodes.add("GlobalAveragePool", x), name="features")
        images, features = ["n", 3, size, size], ["n", FEATURES]
        return nodes.model(
            {"images": (TensorProto.FLOAT, images)}, {"features": (TensorProto.FLOAT, features)}
        )


def _convolve(nodes: Nodes, x: str, conv: nn.Conv2d, norm: nn.BatchNorm2d) -> str:
    """A SAME convolution, batch normalisation taken into its weights."""
    assert norm.running_mean is not None and norm.running_var is not None
    gain = norm.weight / (norm.running_var + norm.eps).sqrt()
    weight = conv.weight * gain[:, None, None, None]
    bias = norm.bias - norm.running_mean * gain
    values = [nodes.value(v.detach().cpu().numpy()) for v in (weight, bias)]
    return nodes.add(
        "Conv", x, *values, auto_pad="SAME_UPPER", strides=list(conv.stride), group=conv.groups
    )


def _relu6(nodes: Nodes, x: str) -> str:
    return nodes.add("Clip", x, *(nodes.value(np.float32(bound)) for bound in (0, 6)))
