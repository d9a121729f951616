"""Models of a stranger's making: their bytes, arrays, descriptions and graphs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import onnx


def header(entries: Any, data: bytes = b"") -> bytes:
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text + data


EMPTY = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
OVERLAP = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
RAW = {
    "a header of 2^63 bytes": (2**63 - 1).to_bytes(8, "little"),
    "a header beyond its end": (10**6).to_bytes(8, "little") + bytes(99),
    "overlapping arrays": header({"over.W": OVERLAP, "over.b": OVERLAP}, bytes(8)),
    "deep": header(b"[" * 100_000),
    "200,000 empty arrays": header({f"x{i}": EMPTY for i in range(200_000)}),
    "absurd sizes": header({"x": {"dtype": "F32", "shape": [2**62], "data_offsets": [0, 8]}}),
    "nothing": b"",
    "text": b"a letter to a friend",
}


WRONG = {
    "rows that are not numbers": ("scorer", {"over.W": np.full((3, 3), np.nan)}, "not all numbers"),
    "rows of another width": ("scorer", {"over.W": np.ones((3, 2))}, "over.W has the shape"),
    "rows of fewer classes": ("scorer", {"over.b": np.ones(2)}, "over.b has the shape"),
    "no rows": ("scorer", {"over.W": None}, "missing required field `W`"),
    "sums that are not numbers": ("record", {"mean": np.full((2, 3), np.inf)}, "not all numbers"),
    "no mean": ("record", {"mean": None}, "not of the sizes in the description"),
    "more than there is": ("record", {"x": np.ones(3)}, "not of the sizes in the description"),
    "another scatter": ("record", {"scatter": np.ones(9)}, "not of the sizes in the description"),
    "other counts": ("record", {"count": np.array([20.0, 21])}, "not as in the table of classes"),
    "single precision": ("record", {"mean": np.ones((2, 6), np.float32)}, "in float64"),
}


TEXTS = ["[" * 100_000, '{"seed": ' + "1" * 9999 + "}", "", "null", '"']
"""Texts that are no description."""


def reading_a_secret(graph: bytes) -> bytes:
    """The graph with a tensor more, whose data are in the file secret.bin of the current folder."""
    model = onnx.load_model_from_string(graph)
    secret = onnx.TensorProto(name="secret", data_type=onnx.TensorProto.FLOAT, dims=[48])
    secret.data_location = onnx.TensorProto.EXTERNAL
    secret.external_data.add(key="location", value="secret.bin")
    model.graph.initializer.append(secret)
    last = model.graph.node[-1]
    name, last.output[0] = last.output[0], "told"
    model.graph.node.append(onnx.helper.make_node("Add", ["told", "secret"], [name]))
    return model.SerializeToString()


def asking_for_a_terabyte(graph: bytes) -> bytes:
    """The graph with a constant of so many numbers more, which stands in it as its shape."""
    model = onnx.load_model_from_string(graph)
    shape = onnx.numpy_helper.from_array(np.array([2**38]), "shape")
    model.graph.initializer.append(shape)
    last = model.graph.node[-1]
    name, last.output[0] = last.output[0], "small"
    model.graph.node.append(onnx.helper.make_node("ConstantOfShape", ["shape"], ["large"]))
    model.graph.node.append(onnx.helper.make_node("ReduceMax", ["large"], ["most"]))
    model.graph.node.append(onnx.helper.make_node("Add", ["small", "most"], [name]))
    return model.SerializeToString()
