"""ONNX graphs from photos to features: any backbone behind one preparation of pixels.

A features graph takes `photos`, uint8 (n, h, w, 3) of any size, and gives `features` (n, d). It
takes the central square, resizes it, takes the centre, normalises, and applies the backbone. Only
the making of graphs needs this module; running one needs onnxruntime alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, compose, external_data_helper, helper, numpy_helper, version_converter

from memoryless.errors import ConfigError
from memoryless.preparation import PhotoPreparation

OPSET = 18  # the first in which Resize can antialias
IR_VERSION = 9
LARGEST = 2**31 - 2**20  # bytes: protobuf writes no message of 2 GiB


class Nodes:
    """Nodes of a graph, written in order; each gets a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.values: list[onnx.TensorProto] = []

    def value(self, array: Any) -> str:
        """The name of a constant."""
        name = f"value_{len(self.values)}"
        self.values.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """The name of what a new node puts out."""
        output = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def model(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> onnx.ModelProto:
        """The whole graph; inputs and outputs are (type, shape) by name."""
        ends = [
            [helper.make_tensor_value_info(name, *kind) for name, kind in part.items()]
            for part in (inputs, outputs)
        ]
        graph = helper.make_graph(self.nodes, "memoryless", ends[0], ends[1], self.values)
        opsets = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)


def whole(*numbers: int) -> np.ndarray:
    """Whole numbers as ONNX wants them."""
    return np.array(numbers, dtype=np.int64)


def preparation_graph(preparation: PhotoPreparation) -> onnx.ModelProto:
    """From `photos` uint8 (n, h, w, 3) to `pixels` float (n, 3, size, size)."""
    size, resized, nodes = preparation.size, preparation.resized, Nodes()
    # The square comes first: a photo of 1 x 30,000 would else grow to 256 x 7,680,000.
    sides = nodes.add("Shape", "photos", start=1, end=3)
    short = nodes.add("ReduceMin", sides, keepdims=1)
    start = nodes.add("Div", nodes.add("Sub", sides, short), nodes.value(whole(2)))
    end = nodes.add("Add", start, short)
    square = nodes.add("Slice", "photos", start, end, nodes.value(whole(1, 2)))
    channels = nodes.add("Transpose", square, perm=[0, 3, 1, 2])
    nodes.add(
        "Resize",
        nodes.add("Cast", channels, to=TensorProto.FLOAT),
        "",
        "",
        nodes.value(whole(resized, resized)),
        name="resized",
        axes=[2, 3],
        mode="cubic",
        antialias=1,
        cubic_coeff_a=-0.5,  # as Pillow and torch have it where they antialias
        exclude_outside=1,
        coordinate_transformation_mode="half_pixel",
    )
    edge = (resized - size) // 2
    cut = [nodes.value(whole(x, x)) for x in (edge, edge + size)]
    centre = nodes.add("Slice", "resized", *cut, nodes.value(whole(2, 3)))
    # Cubic weights overshoot at edges; no pixel is darker than 0 or brighter than 255.
    bounds = [nodes.value(np.float32(x)) for x in (0, 255)]
    clipped = nodes.add("Clip", centre, *bounds)
    mean, std = (
        nodes.value(np.array(x, dtype=np.float32).reshape(1, 3, 1, 1))
        for x in (preparation.mean, preparation.std)
    )
    nodes.add("Div", nodes.add("Sub", clipped, mean), std, name="pixels")
    return nodes.model(
        {"photos": (TensorProto.UINT8, ["n", "h", "w", 3])},
        {"pixels": (TensorProto.FLOAT, ["n", 3, size, size])},
    )


def features_graph(backbone: onnx.ModelProto, preparation: PhotoPreparation) -> bytes:
    """The graph of preparation and backbone, as one file without external data."""
    prepare = preparation_graph(preparation)
    backbone = _of_one_version(backbone, prepare)
    joined = compose.merge_models(
        compose.add_prefix(prepare, "prepare/", rename_inputs=False),
        compose.add_prefix(backbone, "backbone/"),
        io_map=[("prepare/pixels", "backbone/" + input_name(backbone))],
        producer_name="memoryless",
        producer_version="",
    )
    _rename_output(joined, "features")
    return joined.SerializeToString(deterministic=True)


def _of_one_version(backbone: onnx.ModelProto, prepare: onnx.ModelProto) -> onnx.ModelProto:
    """The backbone in a version of ONNX that can antialias; the preparation follows its version."""
    own = {opset.domain: opset.version for opset in backbone.opset_import}.get("", OPSET)
    if own < OPSET:
        try:
            backbone, own = version_converter.convert_version(backbone, OPSET), OPSET
        except Exception as error:  # the converter raises whatever its C++ raises
            raise ConfigError(
                f"the backbone is of ONNX opset {own} and cannot be raised to {OPSET} "
                f"({_cause(error)}): export it again with opset {OPSET} or newer"
            ) from error
    prepare.opset_import[0].version = own
    prepare.ir_version = backbone.ir_version = max(prepare.ir_version, backbone.ir_version)
    return backbone


def _rename_output(model: onnx.ModelProto, name: str) -> None:
    (output,) = model.graph.output
    for node in model.graph.node:
        for i, other in enumerate(node.output):
            if other == output.name:
                node.output[i] = name
    output.name = name


def input_name(model: onnx.ModelProto) -> str:
    """The one input of a backbone."""
    constants = {value.name for value in model.graph.initializer}
    (name,) = [one.name for one in model.graph.input if one.name not in constants]
    return name


def read_backbone(file: Path) -> onnx.ModelProto:
    """Any framework's network: one NCHW float input, features (n, d) out; nothing beside the file
    but external data in its own folder is read.
    """
    if not file.is_file():
        raise ConfigError(f"there is no file {file}: check `backbone`")
    try:
        model = onnx.load(file, load_external_data=False)
    except Exception as error:  # protobuf has errors of its own
        raise ConfigError(
            f"{file} is not an ONNX file ({_cause(error)}): check `backbone`"
        ) from error
    _check_ends(file, model)
    _inline(file, model)
    return model


def _check_ends(file: Path, model: onnx.ModelProto) -> None:
    """Raise unless the graph takes float images of three channels, any number, and gives rows."""
    constants = {value.name for value in model.graph.initializer}
    inputs = [one for one in model.graph.input if one.name not in constants]
    ends = f"{file} has {_shown(inputs)} and {_shown(model.graph.output, 'output')}"
    wanted = "one float input (n, 3, height, width) and one float output (n, d), n free"
    sound = len(inputs) == len(model.graph.output) == 1 and (
        _fits(inputs[0], (None, 3, -1, -1)) and _fits(model.graph.output[0], (None, -1))
    )
    if not sound:
        raise ConfigError(f"{ends}, and a backbone needs {wanted}: export it so")


def _shown(values: Any, kind: str = "input") -> str:
    shapes = [f"({', '.join(map(str, _shape(v)))})" for v in values]
    return f"{len(shapes)} {kind}{'s' * (len(shapes) != 1)} {' '.join(shapes)}".rstrip()


def _shape(value: onnx.ValueInfoProto) -> list[Any]:
    sides = value.type.tensor_type.shape.dim
    return [
        side.dim_value if side.HasField("dim_value") else side.dim_param or "?" for side in sides
    ]


def _fits(value: onnx.ValueInfoProto, wanted: tuple[int | None, ...]) -> bool:
    """Whether a shape is as wanted: None must be free, -1 may be anything."""
    shape = _shape(value)
    return (
        value.type.tensor_type.elem_type == TensorProto.FLOAT
        and len(shape) == len(wanted)
        and all(
            w == -1 or isinstance(side, str) or side == w
            for side, w in zip(shape, wanted, strict=True)
        )
    )


def _inline(file: Path, model: onnx.ModelProto) -> None:
    """Bring external data into the model; data outside the file's own folder is refused."""
    outside = external_data_helper.uses_external_data
    folder = file.resolve().parent
    for tensor in external_data_helper._get_all_tensors(model):
        if outside(tensor):
            place = external_data_helper.ExternalDataInfo(tensor).location
            if Path(place).is_absolute() or not (folder / place).resolve().is_relative_to(folder):
                raise ConfigError(
                    f"{file} keeps data in {place}, outside its folder, which is not followed: "
                    "export it as one file"
                )
    try:
        external_data_helper.load_external_data_for_model(model, str(folder))
    except Exception as error:
        raise ConfigError(
            f"the external data of {file} cannot be read ({_cause(error)}): export it as one file"
        ) from error
    if model.ByteSize() > LARGEST:
        raise ConfigError(f"{file} has more than 2 GiB with its data: choose a smaller backbone")


def _cause(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200] or type(error).__name__
