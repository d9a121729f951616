"""Whether an ONNX graph reads other files, found in its bytes without the package onnx.

The bytes are a message of protobuf (protobuf.dev/programming-guides/encoding): fields follow each
other, each a number, how it is written, and a value. Fields have the numbers of onnx.proto.
"""

from __future__ import annotations

from memoryless.errors import StoreError
from memoryless.store import RESTORE

MESSAGES = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse tensor"},
    "node": {5: "attribute"},
    "attribute": {
        5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse tensor",
        23: "sparse tensor",
    },
    "sparse tensor": {1: "tensor", 2: "tensor"},
    "tensor": {},
}  # fmt: skip
"""Which messages a message has that may hold tensors, by the number of the field."""
DATA_LOCATION = 14  # of a tensor: 0 where its data stand in the message itself
NUMBER, EIGHT_BYTES, MESSAGE, FOUR_BYTES = 0, 1, 2, 5  # how a value is written


def check_alone(graph: bytes, where: str) -> None:
    """Raise unless a graph of someone else's making is one, and has all of its data in itself.

    onnxruntime would read other files from the folder that it is run from.
    """
    try:
        problem = "its graph reads other files" if reads_files(graph) else ""
    except ValueError as error:
        problem = str(error)
    if problem:
        raise StoreError(f"{where} is damaged ({problem}): {RESTORE}")


def reads_files(graph: bytes) -> bool:
    """Return whether any tensor of a graph lies in another file; a ValueError if it is no graph.

    >>> reads_files(bytes([7 << 3 | MESSAGE, 4, 5 << 3 | MESSAGE, 2, DATA_LOCATION << 3, 1]))
    True
    """
    left = [("model", 0, len(graph))]
    while left:
        kind, place, end = left.pop()
        while place < end:
            key, place = _number(graph, place)
            field, written = key >> 3, key & 7
            if written == NUMBER:
                value, place = _number(graph, place)
                if kind == "tensor" and field == DATA_LOCATION and value:
                    return True
            elif written == MESSAGE:
                size, place = _number(graph, place)
                if part := MESSAGES[kind].get(field):
                    left.append((part, place, place + size))
                place += size
            elif written in (EIGHT_BYTES, FOUR_BYTES):
                place += 8 if written == EIGHT_BYTES else 4
            else:
                raise ValueError("its graph is no ONNX graph")
        if place > end:
            raise ValueError("its graph is no ONNX graph")
    return False


def _number(graph: bytes, place: int) -> tuple[int, int]:
    """Return a number, seven bits a byte with the lowest first, and the place after it."""
    value = shift = 0
    for byte in graph[place : place + 10]:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, place + shift // 7
    raise ValueError("its graph is no ONNX graph")
