"""Small graphs for the tests of graphs, and files of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from memoryless.embed import PhotoPreparation
from memoryless.embed.graph import OPSET, Nodes, features_graph
from memoryless.embed.session import Extractor

FLOAT, UINT8 = TensorProto.FLOAT, TensorProto.UINT8
IMAGES, ROWS = {"images": (FLOAT, ["n", 3, 8, 8])}, {"out": (FLOAT, ["n", 3])}
TWOS = np.full(3, 2, np.float32).tobytes()


def mean_of_pixels(size: int | str = 8) -> onnx.ModelProto:
    """A backbone whose features are the means of the three channels, times weights of 1."""
    nodes = Nodes()
    means = nodes.add("Flatten", nodes.add("GlobalAveragePool", "images"))
    nodes.add("Mul", means, nodes.value(np.ones((1, 3), np.float32)), name="out")
    return nodes.model({"images": (FLOAT, ["n", 3, size, size])}, ROWS)


def two_outputs(size: int = 8) -> onnx.ModelProto:
    """A backbone with two groups of features: means of channels, and means of 16 squares."""
    nodes = Nodes()
    nodes.add("Flatten", nodes.add("GlobalAveragePool", "images"), name="colours")
    sides = {"kernel_shape": [size // 4] * 2, "strides": [size // 4] * 2}
    nodes.add("Flatten", nodes.add("AveragePool", "images", **sides), name="places")
    ends = {"images": (FLOAT, ["n", 3, size, size])}
    return nodes.model(ends, {"colours": (FLOAT, ["n", 3]), "places": (FLOAT, ["n", 48])})


def every_pixel(size: int) -> onnx.ModelProto:
    """A backbone whose features are the pixels."""
    nodes = Nodes()
    nodes.add("Flatten", "images", name="out")
    ends = {"images": (FLOAT, ["n", 3, size, size])}
    return nodes.model(ends, {"out": (FLOAT, ["n", 3 * size * size])})


def with_ends(inputs: dict[str, Any], outputs: dict[str, Any]) -> onnx.ModelProto:
    """The nodes of `mean_of_pixels` with other inputs and outputs."""
    model = mean_of_pixels()
    for ends, given in ((model.graph.input, inputs), (model.graph.output, outputs)):
        del ends[:]
        ends.extend(helper.make_tensor_value_info(name, *kind) for name, kind in given.items())
    return model


def add_function(model: onnx.ModelProto, *arguments: Any) -> None:
    """Add a function of the domain `own`: its name, inputs, outputs and nodes."""
    opsets = [helper.make_opsetid("", OPSET)]
    model.functions.append(helper.make_function("own", *arguments, opsets))
    model.opset_import.append(helper.make_opsetid("own", 1))


def outside(model: onnx.ModelProto, place: str, **entries: int) -> onnx.ModelProto:
    """The model with its weights in a file beside it."""
    (weights,) = model.graph.initializer
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": place, **entries}.items():
        weights.external_data.add(key=key, value=str(value))
    return model


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    file = folder / "b.onnx"
    file.write_bytes(model.SerializeToString())
    return file


def plain_feature(backbone: onnx.ModelProto) -> list[float]:
    """The feature of a photo of 50s."""
    preparation = PhotoPreparation(8, 1.0, (0.0,) * 3, (1.0,) * 3)
    photo = np.full((8, 8, 3), 50, dtype=np.uint8)
    return Extractor(features_graph(backbone, preparation)).feature(photo).tolist()
