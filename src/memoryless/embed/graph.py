"""ONNX graphs from photos to features: any backbone behind one preparation of pixels.

A features graph takes `photos`, uint8 (n, h, w, 3) of any size, and gives `features` (n, d). It
takes the central square, resizes it, takes the centre, normalises, and applies the backbone.
Networks that learned from grey images take one channel. Only the making of graphs needs this
module; running one needs onnxruntime alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, compose, helper, numpy_helper, version_converter

from memoryless.embed.preparation import PhotoPreparation
from memoryless.errors import ConfigError, cause

OPSET = 18  # the first in which Resize can antialias
IR_VERSION = 9
SHORTEST = 1e-12  # length that is divided by, as in torch.nn.functional.normalize
LARGEST = 2**31 - 2**20  # bytes: protobuf writes no message of 2 GiB


class Nodes:
    """Nodes of a graph, written in order; each gets a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.values: list[onnx.TensorProto] = []

    def value(self, array: Any) -> str:
        """Add a constant; returns its name."""
        name = f"value_{len(self.values)}"
        self.values.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node; returns the name of its output."""
        output = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def model(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> onnx.ModelProto:
        """Return the whole graph; inputs and outputs are (type, shape) by name."""
        ends = [
            [helper.make_tensor_value_info(name, *kind) for name, kind in part.items()]
            for part in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, "memoryless", ends[0], ends[1], self.values)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def whole(*numbers: int) -> np.ndarray:
    """Return whole numbers as ONNX wants them."""
    return np.array(numbers, dtype=np.int64)


def convolve(
    nodes: Nodes,
    x: str,
    kernel: np.ndarray,
    norm: Mapping[str, np.ndarray],
    eps: float,
    **attributes: Any,
) -> str:
    """Write a convolution without bias, the batch normalisation after it taken into its weights."""
    scale, shift, mean, variance = (
        norm[name] for name in ("weight", "bias", "running_mean", "running_var")
    )
    gain = scale / np.sqrt(variance + np.float32(eps))
    values = nodes.value(kernel * gain[:, None, None, None]), nodes.value(shift - mean * gain)
    return nodes.add("Conv", x, *values, **attributes)


def unit(nodes: Nodes, rows: str) -> str:
    """Write a division of rows by their length; a row of zeros stays so."""
    length = nodes.add("ReduceL2", rows, nodes.value(whole(1)), keepdims=1)
    return nodes.add("Div", rows, nodes.add("Clip", length, nodes.value(np.float32(SHORTEST))))


def preparation_graph(preparation: PhotoPreparation) -> onnx.ModelProto:
    """Make the graph from `photos` uint8 (n, h, w, C) to `pixels` float (n, C, size, size), and to
    `second_pixels` for a second network.
    """
    nodes, channels = Nodes(), preparation.channels
    # The square comes first: a photo of 1 x 30,000 would else grow to 256 x 7,680,000.
    sides = nodes.add("Shape", "photos", start=1, end=3)
    short = nodes.add("ReduceMin", sides, keepdims=1)
    start = nodes.add("Div", nodes.add("Sub", sides, short), nodes.value(whole(2)))
    end = nodes.add("Add", start, short)
    square = nodes.add("Slice", "photos", start, end, nodes.value(whole(1, 2)))
    planes = nodes.add("Transpose", square, perm=[0, 3, 1, 2])
    planes = nodes.add("Cast", planes, to=TensorProto.FLOAT)
    outputs = {}
    for prefix, size in zip(("", "second_"), preparation.sizes, strict=False):
        outputs[_pixels(nodes, planes, preparation, size, prefix)] = size
    return nodes.model(
        {"photos": (TensorProto.UINT8, ["n", "h", "w", channels])},
        {name: (TensorProto.FLOAT, ["n", channels, size, size]) for name, size in outputs.items()},
    )


def _pixels(
    nodes: Nodes, planes: str, preparation: PhotoPreparation, size: int, prefix: str
) -> str:
    """Write what comes after the cutting of a square; returns the name of the output."""
    resized, channels = preparation.resized_for(size), preparation.channels
    square = nodes.add(
        "Resize",
        planes,
        "",
        "",
        nodes.value(whole(resized, resized)),
        name=f"{prefix}resized",
        axes=[2, 3],
        mode="cubic",
        antialias=1,
        cubic_coeff_a=-0.5,  # as Pillow and torch have it where they antialias
        exclude_outside=1,
        coordinate_transformation_mode="half_pixel",
    )
    edge = (resized - size) // 2
    cut = [nodes.value(whole(x, x)) for x in (edge, edge + size)]
    centre = nodes.add("Slice", square, *cut, nodes.value(whole(2, 3)))
    # Cubic weights overshoot at edges; no pixel is darker than 0 or brighter than 255.
    bounds = [nodes.value(np.float32(x)) for x in (0, 255)]
    clipped = nodes.add("Clip", centre, *bounds)
    mean, std = (
        nodes.value(np.array(x, dtype=np.float32).reshape(1, channels, 1, 1))
        for x in (preparation.mean, preparation.std)
    )
    return nodes.add("Div", nodes.add("Sub", clipped, mean), std, name=f"{prefix}pixels")


def features_graph(backbone: onnx.ModelProto, preparation: PhotoPreparation) -> bytes:
    """Make the graph of preparation and backbone, as one file without external data."""
    images = inputs_of(backbone)
    for one, size in zip(images, preparation.sizes, strict=True):
        _check_size(one, size)
    prepare = preparation_graph(preparation)
    pixels = [output.name for output in prepare.graph.output]
    backbone = _of_one_version(backbone, prepare)
    try:
        joined = compose.merge_models(
            compose.add_prefix(prepare, "prepare/", rename_inputs=False),
            compose.add_prefix(backbone, "backbone/"),
            io_map=[
                (f"prepare/{name}", f"backbone/{one.name}")
                for name, one in zip(pixels, images, strict=True)
            ],
            producer_name="memoryless",
            producer_version="",
        )
    except Exception as error:  # onnx checks what it joins, and raises what it likes
        raise ConfigError(
            f"the backbone is not sound ONNX ({cause(error)}): export it again, or choose another "
            "`backbone`"
        ) from error
    names = [output.name for output in joined.graph.output]
    if len(names) > 1:
        node = helper.make_node("Concat", names, ["features"], axis=1)
        rows = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", "d"])
        del joined.graph.output[:]
        joined.graph.output.append(rows)
    else:
        node = helper.make_node("Identity", names, ["features"])
        joined.graph.output[0].name = "features"
    joined.graph.node.append(node)
    _forget_origins(joined)
    return bytes(joined.SerializeToString(deterministic=True))


def feature_groups(backbone: onnx.ModelProto) -> tuple[int, ...]:
    """Return the sizes of the groups of features, one for each output of a backbone.

    A single output may leave its size open; then there is nothing to return.
    """
    sizes = [shape_of(output)[1] for output in backbone.graph.output]
    known = tuple(size for size in sizes if isinstance(size, int))
    if len(known) < len(sizes) > 1:
        raise ConfigError(
            f"the backbone has {len(sizes)} outputs, and does not say how many features each has: "
            "export it with fixed numbers of features, or with one output"
        )
    return known


def backbone_alone(graph: bytes) -> bytes:
    """Cut the preparation off a features graph: from `prepare/pixels` to `features`."""
    model = onnx.load_model_from_string(graph)
    prepared = [n for n in model.graph.node if n.output[0].startswith("prepare/")]
    for node in prepared:
        model.graph.node.remove(node)
    del model.graph.input[:]
    free = ["n", "channels", "height", "width"]
    pixels = helper.make_tensor_value_info("prepare/pixels", TensorProto.FLOAT, free)
    model.graph.input.append(pixels)
    return bytes(model.SerializeToString())


def _check_size(images: onnx.ValueInfoProto, size: int) -> None:
    height, width = shape_of(images)[2:]
    if height != width and isinstance(height, int) and isinstance(width, int):
        raise ConfigError(
            f"the backbone takes images of {width} x {height} pixels, and photos are prepared as "
            "squares: export it for squares, or for any size"
        )
    for side in (height, width):
        if isinstance(side, int) and side != size:
            raise ConfigError(
                f"the backbone takes images of {side} pixels, not of {size}: set "
                f"`image_size={side}`"
            )


def _of_one_version(backbone: onnx.ModelProto, prepare: onnx.ModelProto) -> onnx.ModelProto:
    """Return the backbone in an ONNX version that can antialias; the preparation gets the same."""
    own = {opset.domain: opset.version for opset in backbone.opset_import}.get("", OPSET)
    if own < OPSET:
        try:
            backbone, own = version_converter.convert_version(backbone, OPSET), OPSET
        except Exception as error:  # the converter raises whatever its C++ raises
            raise ConfigError(
                f"the backbone has ONNX opset {own} and cannot be raised to {OPSET} "
                f"({cause(error)}): export it again with opset {OPSET} or newer"
            ) from error
    prepare.opset_import[0].version = own
    prepare.ir_version = backbone.ir_version = max(prepare.ir_version, backbone.ir_version)
    return backbone


def _forget_origins(model: onnx.ModelProto) -> None:
    """Delete the notes of exporters in the graph: traces with paths of their machine."""
    for message in chain(*map(messages, (model.graph, *model.functions))):
        for note in {"doc_string", "metadata_props"} & set(message.DESCRIPTOR.fields_by_name):
            message.ClearField(note)


def messages(message: Any) -> Iterator[Any]:
    """Yield a protobuf message and all within it, at any depth."""
    yield message
    for field, value in message.ListFields():
        if field.message_type:
            for part in [value] if hasattr(value, "ListFields") else value:
                yield from messages(part)


def inputs_of(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """Return the inputs of a graph; in old files its weights stand among them."""
    constants = {value.name for value in model.graph.initializer}
    return [one for one in model.graph.input if one.name not in constants]


def images_input(backbone: onnx.ModelProto) -> onnx.ValueInfoProto:
    """Return the one input of a backbone's graph."""
    (images,) = inputs_of(backbone)
    return images


def shape_of(value: onnx.ValueInfoProto) -> list[int | str]:
    """Return the sides of a shape; a free one has a name, or 0 or -1 in some files."""
    sides = value.type.tensor_type.shape.dim
    return [side.dim_value if side.dim_value > 0 else side.dim_param or "?" for side in sides]
