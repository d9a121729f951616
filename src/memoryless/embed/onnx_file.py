"""Networks of any framework in ONNX files, read and checked before anything runs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto

from memoryless.embed.graph import LARGEST, inputs_of, messages, shape_of
from memoryless.errors import ConfigError, cause
from memoryless.names import first_ten


def read_backbone(file: Path) -> onnx.ModelProto:
    """Read a network of any framework: one NCHW float input, and outputs of features (n, d).

    Beside the file only external data in its own folder is read.
    """
    if not file.is_file():
        raise ConfigError(f"there is no file {file}: check `backbone`")
    _check_bytes(file, file.stat().st_size)
    try:
        model = onnx.load_model_from_string(file.read_bytes())
    except OSError as error:
        raise ConfigError(f"{file} cannot be read ({cause(error)}): check `backbone`") from error
    except Exception:  # protobuf has errors of its own
        model = onnx.ModelProto()
    if not model.graph.node:
        raise ConfigError(f"{file} is not an ONNX file of a network: check `backbone`")
    for message in messages(model):
        if getattr(message, "domain", "") == "ai.onnx":  # the long name of the same operators
            message.domain = ""
    _check_ends(file, model)
    _inline(file, model)
    return model


def _check_bytes(file: Path, number: int) -> None:
    if number > LARGEST:
        raise ConfigError(f"{file} has more than 2 GiB with its data: choose a smaller backbone")


def _check_ends(file: Path, model: onnx.ModelProto) -> None:
    """Raise unless the graph takes float images of three channels, any number, and gives rows."""
    inputs, outputs = inputs_of(model), list(model.graph.output)
    if len(inputs) != 1:
        names = first_ten(end.name for end in inputs)
        raise ConfigError(
            f"{file} has {len(inputs)} inputs ({names}), and a backbone has one: export it with "
            "the images alone"
        )
    for kind, end in (("input", inputs[0]), *(("output", output) for output in outputs)):
        _check_float(file, kind, end)
    shape = shape_of(inputs[0])
    if len(shape) != 4 or (isinstance(shape[1], int) and shape[1] != 3):
        raise ConfigError(
            f"{file} takes images of shape {_shown(shape)}, and a backbone takes "
            "(n, 3, height, width): export it so"
        )
    each = [shape_of(output) for output in outputs]
    for rows in each:
        if len(rows) != 2:
            raise ConfigError(
                f"{file} gives features of shape {_shown(rows)}, and a backbone gives (n, d): "
                "export it with its pooling, and flattened"
            )
    for number in (shape[0], *(rows[0] for rows in each)):
        if isinstance(number, int):
            raise ConfigError(
                f"{file} takes {number} images at a time, and a backbone takes any number: export "
                "it with a free (dynamic) first dimension"
            )


def _shown(shape: list[int | str]) -> str:
    return f"({', '.join(map(str, shape))})"


def _check_float(file: Path, kind: str, end: onnx.ValueInfoProto) -> None:
    found = TensorProto.DataType.Name(end.type.tensor_type.elem_type).lower()
    if found != "float":
        raise ConfigError(
            f"the {kind} of {file} has the type {found}, and a backbone needs float: export it so"
        )


def _inline(file: Path, model: onnx.ModelProto) -> None:
    """Bring external data into the model; data outside the file's own folder is refused.

    onnxruntime looks for external data in the folder that it is run from.
    """
    total = model.ByteSize()
    for tensor in messages(model):
        if isinstance(tensor, TensorProto) and tensor.data_location == TensorProto.EXTERNAL:
            entries = {entry.key: entry.value for entry in tensor.external_data}
            place = entries.get("location", "")
            try:
                data = _inside(file, place)
                start = int(entries.get("offset", 0))
                length = int(entries.get("length", data.stat().st_size - start))
                total += length
                _check_bytes(file, total)
                tensor.raw_data = np.fromfile(data, np.uint8, length, offset=start).tobytes()
                if len(tensor.raw_data) != length:
                    raise ValueError("it is too short")
            except ConfigError:  # a ValueError that says more
                raise
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"{file} keeps data in {place}, which cannot be read ({cause(error)}): export "
                    "it as one file"
                ) from error
            tensor.data_location = TensorProto.DEFAULT
            del tensor.external_data[:]


def _inside(file: Path, place: str) -> Path:
    """Return the file of external data, which must lie in the folder of the graph."""
    folder = file.parent.resolve()
    data = (folder / place).resolve()
    if not data.is_relative_to(folder):
        raise ConfigError(
            f"{file} keeps data in {place}, outside its folder, which is not followed: export it "
            "as one file"
        )
    if not data.is_file():
        raise ValueError("there is no such file")
    return data
