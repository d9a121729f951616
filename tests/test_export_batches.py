"""Backbones that cannot take several photos at once are noticed when a model is exported."""

from __future__ import annotations

import re

import onnx
import pytest
from onnx import TensorProto

from exports import NAMES, refusal, teach
from memoryless.embed import graph
from memoryless.embed.graph import Nodes
from memoryless.errors import ConfigError


def tied(kind: str) -> onnx.ModelProto:
    """A backbone whose features depend on other photos of a batch, or that takes one at a time."""
    nodes = Nodes()
    cells = nodes.add("AveragePool", "images", kernel_shape=[4, 4], strides=[4, 4])
    rows = nodes.add("Flatten", cells)
    if kind == "one":
        nodes.add("Reshape", rows, nodes.value(graph.whole(1, 48)), name="out")
    else:
        largest = nodes.add("ReduceMax", rows, nodes.value(graph.whole(0)), keepdims=1)
        nodes.add("Add", rows, largest, name="out")
    ends = {"images": (TensorProto.FLOAT, ["n", 3, 16, 16])}
    return nodes.model(ends, {"out": (TensorProto.FLOAT, ["n", 48])})


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("all", r"the probabilities of the exported file differ from the model's by up to [01].*"),
        (
            "one",
            r"the exported file cannot take 3 photos of \d+ x \d+ pixels at once \(.*\): export "
            r"the backbone for any number of images, and learn with that",
        ),
    ],
)
def test_backbones_that_cannot_take_batches_are_noticed(kind, sentence, tmp_path):
    onnx.save(tied(kind), tmp_path / "own.onnx")
    model = teach(tmp_path / "model", tmp_path / "own.onnx", *NAMES)
    assert re.fullmatch(sentence, refusal(ConfigError, model, tmp_path / "out.onnx"))
    assert not (tmp_path / "out.onnx").exists()
