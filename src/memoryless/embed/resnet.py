"""ResNet-18 (He et al., CVPR 2016) from its weights, as a graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, TensorProto

from memoryless.embed.graph import Nodes, convolve, unit, whole

EPS = 1e-5  # of batch normalisation, torch's default

Weights = Mapping[str, np.ndarray]


def network_graph(
    weights: Weights, size: int, last_relu: bool = True, middle: bool = False
) -> ModelProto:
    """Write the network as a graph of images (n, C, size, size), with the stem of its weights.

    With `middle`, features of the second and third stage follow those of the last.
    """
    nodes, channels = Nodes(), weights["conv1.weight"].shape[1]
    x = _stem(nodes, weights)
    stages = []
    for stage in range(1, 5):
        x = _block(nodes, weights, x, f"layer{stage}.0", stride=1 if stage == 1 else 2)
        x = _block(nodes, weights, x, f"layer{stage}.1", relu=stage < 4 or last_relu)
        stages.append(x)
    parts = [nodes.add("Flatten", nodes.add("GlobalAveragePool", x))]
    if middle:
        parts += [_quarters(nodes, stage) for stage in stages[1:3]]
    nodes.add("Concat", *parts, name="features", axis=1)
    return nodes.model(
        {"images": (TensorProto.FLOAT, ["n", channels, size, size])},
        {"features": (TensorProto.FLOAT, ["n", "d"])},
    )


def _stem(nodes: Nodes, weights: Weights) -> str:
    """Write a 3x3 convolution for small images, or a 7x7 one with stride and pooling."""
    if weights["conv1.weight"].shape[2] == 3:
        return nodes.add("Relu", _convolve(nodes, weights, "images", "conv1", "bn1"))
    x = nodes.add("Relu", _convolve(nodes, weights, "images", "conv1", "bn1", stride=2))
    return nodes.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)


def _block(
    nodes: Nodes, weights: Weights, x: str, name: str, stride: int = 1, relu: bool = True
) -> str:
    """Write two 3x3 convolutions and a shortcut."""
    shortcut = x
    if f"{name}.downsample.0.weight" in weights:
        path = f"{name}.downsample.0", f"{name}.downsample.1"
        shortcut = _convolve(nodes, weights, x, *path, stride=stride)
    path = f"{name}.conv1", f"{name}.bn1"
    y = nodes.add("Relu", _convolve(nodes, weights, x, *path, stride=stride))
    y = _convolve(nodes, weights, y, f"{name}.conv2", f"{name}.bn2")
    total = nodes.add("Add", y, shortcut)
    return nodes.add("Relu", total) if relu else total


def _convolve(nodes: Nodes, weights: Weights, x: str, conv: str, norm: str, stride: int = 1) -> str:
    """Write a convolution padded by half of its kernel on each side."""
    edge = weights[f"{conv}.weight"].shape[2] // 2
    strides, pads = [stride, stride], [edge] * 4
    return convolve(nodes, weights, x, conv, norm, EPS, strides=strides, pads=pads)


def _quarters(nodes: Nodes, x: str) -> str:
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
