"""From features to answers, as nodes of a graph: a scorer, a temperature and a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

from memoryless.embed.graph import Nodes, unit, whole

OUTPUTS = ("scores", "probabilities", "margin", "known")
KINDS = ("viewed", "linear", "affine")
"""Kinds of scorers that can be written as a graph."""
LAST = 2**31  # beyond the last column


def kinds_of(facts: Mapping[str, Any]) -> set[str]:
    """Return the kinds of a described scorer and of those within it."""
    return {facts["kind"]} | (kinds_of(facts["over"]) if "over" in facts else set())


def append_answers(model: ModelProto, scorer: Any, classes: int, sure: Any) -> None:
    """Make a features graph give answers instead: a scorer, then `confidence.classify`."""
    nodes = Nodes()
    rows = _score(nodes, scorer, "features")
    over = _margin(nodes, rows, classes, fixed=_rows_of(scorer) > classes)
    cooled = nodes.add("Div", "scores", nodes.value(np.float32(sure.temperature)))
    nodes.add("Softmax", cooled, name="probabilities", axis=1)
    nodes.add("Sub", over, nodes.value(np.float32(sure.threshold)), name="margin")
    nodes.add("GreaterOrEqual", "margin", nodes.value(np.float32(0)), name="known")
    model.graph.node.extend(nodes.nodes)
    model.graph.initializer.extend(nodes.values)
    del model.graph.output[:]
    for name in OUTPUTS:
        kind = TensorProto.BOOL if name == "known" else TensorProto.FLOAT
        shape: list[str | int | None] = ["n"] if name in ("margin", "known") else ["n", classes]
        model.graph.output.append(helper.make_tensor_value_info(name, kind, shape))


def _rows_of(scorer: Any) -> int:
    """Return how many scores a scorer gives."""
    return _rows_of(scorer.over) if hasattr(scorer, "over") else len(scorer.W)


def _score(nodes: Nodes, scorer: Any, x: str) -> str:
    """Write the nodes of a scorer, one of `KINDS`."""
    if scorer.kind == "viewed":
        return _score(nodes, scorer.over, _view(nodes, scorer, x))
    if scorer.kind == "affine":
        gain, offset = (nodes.value(np.float32(v)) for v in (scorer.gain, scorer.offset))
        return nodes.add("Add", nodes.add("Mul", _score(nodes, scorer.over, x), gain), offset)
    x = _columns(nodes, x, 0, scorer.W.shape[1])
    x = unit(nodes, x) if scorer.unit else x
    layer = (nodes.value(np.float32(v)) for v in (scorer.W, scorer.b))
    return nodes.add("Gemm", x, *layer, transB=1)  # (n, rows)


def _view(nodes: Nodes, view: Any, x: str) -> str:
    """Write what `stats.scorers.View` does: columns from `start` on, square roots at length one."""
    x = _columns(nodes, x, view.start, LAST) if view.start else x
    if not view.square_roots:
        return x
    if len(view.parts) > 1:
        ends = np.cumsum(view.parts).tolist()
        parts = zip([0, *ends[:-1]], ends, strict=True)
        each = [unit(nodes, _columns(nodes, x, start, end)) for start, end in parts]
        x = nodes.add("Concat", *each, axis=1)
    else:
        x = unit(nodes, x)
    return nodes.add("Mul", nodes.add("Sign", x), nodes.add("Sqrt", nodes.add("Abs", x)))


def _columns(nodes: Nodes, x: str, start: int, end: int) -> str:
    return nodes.add("Slice", x, *(nodes.value(whole(i)) for i in (start, end, 1)))


def _margin(nodes: Nodes, rows: str, classes: int, fixed: bool) -> str:
    """Write `scores`, and by how much the best one leads: over fixed features the score of the mean
    of all photos, which is the last row, else the second best class.
    """
    columns = nodes.value(whole(1))
    if fixed:
        sizes, ends = nodes.value(whole(classes, 1)), ["scores", "second"]
        nodes.nodes.append(helper.make_node("Split", [rows, sizes], ends, axis=1))
    else:
        nodes.add("Identity", rows, name="scores")
        two = nodes.value(whole(min(classes, 2)))
        nodes.nodes.append(helper.make_node("TopK", ["scores", two], ["two", "places"], axis=1))
        nodes.add("ReduceMin", "two", columns, name="second", keepdims=1)
    best = nodes.add("ReduceMax", "scores", columns, keepdims=0)
    return nodes.add("Sub", best, nodes.add("Squeeze", "second", columns))
