"""No graph reads another file, wherever in it a tensor stands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from memoryless.embed.onnx_bytes import check_alone, reads_files
from memoryless.embed.session import open_session
from memoryless.errors import StoreError


def external(name: str = "bias") -> TensorProto:
    """A tensor whose data are in the file secret.bin of the current folder."""
    tensor = numpy_helper.from_array(np.zeros(3, np.float32), name)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="secret.bin")
    return tensor


def graph_of(*nodes: onnx.NodeProto, values: list[TensorProto]) -> onnx.GraphProto:
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3]) for name in ("x", "y")]
    return helper.make_graph(list(nodes), "g", ends[:1], ends[1:], values)


def model_of(graph: onnx.GraphProto) -> onnx.ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


ADD = helper.make_node("Add", ["x", "bias"], ["y"])
INSIDE = numpy_helper.from_array(np.ones(3, np.float32), "bias")


def in_an_initializer() -> onnx.ModelProto:
    return model_of(graph_of(ADD, values=[external()]))


def in_a_constant() -> onnx.ModelProto:
    constant = helper.make_node("Constant", [], ["bias"], value=external())
    return model_of(graph_of(constant, ADD, values=[]))


def in_a_branch() -> onnx.ModelProto:
    branch = graph_of(ADD, values=[external()])
    del branch.input[:]
    chosen = numpy_helper.from_array(np.array(True), "chosen")
    node = helper.make_node("If", ["chosen"], ["y"], then_branch=branch, else_branch=branch)
    return model_of(graph_of(node, values=[chosen]))


def in_a_function() -> onnx.ModelProto:
    model = model_of(graph_of(ADD, values=[INSIDE]))
    nodes = [helper.make_node("Constant", [], ["z"], value=external())]
    opsets = [helper.make_opsetid("", 18)]
    model.functions.append(helper.make_function("own", "F", [], ["z"], nodes, opsets))
    return model


def in_a_sparse_initializer() -> onnx.ModelProto:
    model = model_of(graph_of(ADD, values=[INSIDE]))
    model.graph.sparse_initializer.add().values.CopyFrom(external())
    return model


@pytest.mark.parametrize(
    "make",
    [in_an_initializer, in_a_constant, in_a_branch, in_a_function, in_a_sparse_initializer],
)
def test_data_in_another_file_are_found(make: Callable[[], onnx.ModelProto], tmp_path, monkeypatch):
    np.full(3, 7, np.float32).tofile(tmp_path / "secret.bin")
    monkeypatch.chdir(tmp_path)
    graph = make().SerializeToString()
    assert reads_files(graph)
    with pytest.raises(StoreError, match=r"graph is damaged \(its graph reads other files\)"):
        open_session(graph)


def test_a_graph_with_its_own_data_runs():
    graph = model_of(graph_of(ADD, values=[INSIDE])).SerializeToString()
    assert not reads_files(graph)
    (sums,) = open_session(graph).run(None, {"x": np.full(3, 2, np.float32)})
    assert sums.tolist() == [3, 3, 3]


def test_that_data_are_elsewhere_may_be_written_as_any_number(tmp_path):
    """A number of more bytes than it needs means the same to protobuf."""
    tensor = bytes([14 << 3, 0x81, 0x80, 0])
    graph = bytes([5 << 3 | 2, len(tensor)]) + tensor
    assert reads_files(bytes([7 << 3 | 2, len(graph)]) + graph)


def test_what_is_no_graph_is_refused():
    graph = model_of(graph_of(ADD, values=[INSIDE])).SerializeToString()
    rng = np.random.default_rng(0)
    for cut in range(1, len(graph), 7):
        try:
            reads_files(graph[:cut])
        except ValueError:
            continue
    for content in (graph[:-1], b"\x3a\xff\xff\xff\xff\x0f", b"\xff" * 20, b"\x0b", b"no graph"):
        with pytest.raises(StoreError, match=r"is damaged \(its graph is no ONNX graph\): "):
            check_alone(content, "it")
    for _ in range(300):
        noise = rng.bytes(200)
        try:
            reads_files(noise)
        except ValueError as error:
            assert str(error) == "its graph is no ONNX graph"


def test_a_graph_as_deep_as_one_likes_is_read_without_recursion():
    def inside(content: bytes, field: int) -> bytes:
        size, length = len(content), b""
        while size > 127:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        return bytes([field << 3 | 2]) + length + bytes([size]) + content

    graph = inside(bytes([14 << 3, 1]), 5)
    for _ in range(2000):
        graph = inside(inside(inside(graph, 6), 5), 1)  # a graph in an attribute in a node
    assert reads_files(inside(graph, 7))
