"""A backbone of torch as an ONNX graph."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from onnx import ModelProto
from torch import nn

from memoryless.embed.graph import OPSET
from memoryless.errors import ConfigError, cause
from memoryless.train.backbones.efficientnet import EfficientNetLite0
from memoryless.train.backbones.resnet import ResNet18
from memoryless.train.network import device_of


def module_graph(
    module: nn.Module, size: int, channels: int = 3, middle: bool = False
) -> ModelProto:
    """Make the graph of a module, from images (n, channels, size, size) to features (n, d).

    With `middle`, features of a network's middle layers follow.
    """
    module.eval()
    if isinstance(module, ResNet18):
        return module.graph(size, middle)
    if isinstance(module, EfficientNetLite0):
        return module.graph(size, channels, middle)
    try:
        with _quiet():
            program = torch.onnx.export(
                module,
                (torch.zeros(2, channels, size, size, device=device_of(module)),),
                dynamo=True,
                external_data=False,
                verbose=False,
                opset_version=OPSET,
                input_names=["images"],
                output_names=["features"],
                dynamic_shapes=({0: torch.export.Dim("n")},),
            )
    except Exception as error:  # other people's modules, and the exporter, can raise anything
        raise ConfigError(
            f"torch cannot export the backbone for images of {size} pixels ({cause(error)}): "
            "check `backbone` and `image_size`"
        ) from error
    assert program is not None
    return program.model_proto


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence warnings and logs of torch's exporter that are no fault of the user's.

    It says that torchvision is missing, which no backbone here needs, and what it deprecates
    itself.
    """
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
