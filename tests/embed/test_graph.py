"""Graphs from photos to features: preparation as torch computes it, foreign backbones checked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper

from graphs import (
    FLOAT,
    GREY,
    IMAGES,
    ROWS,
    UINT8,
    every_pixel,
    mean_of_pixels,
    plain_feature,
    refusal,
    saved,
    with_ends,
)
from memoryless.embed import PhotoPreparation
from memoryless.embed.graph import OPSET, features_graph
from memoryless.embed.onnx_file import read_backbone
from memoryless.embed.session import Extractor
from memoryless.errors import ConfigError


@pytest.mark.parametrize("sides", [(37, 50), (64, 64), (20, 9), (1, 1), (1, 300), (90, 200)])
def test_preparation_is_torchs_antialiased_resize_and_crop(sides):
    preparation = PhotoPreparation(28, 0.875, (127.0,) * 3, (128.0,) * 3)
    photo = np.random.default_rng(0).integers(0, 256, (*sides, 3), dtype=np.uint8)
    found = Extractor(features_graph(every_pixel(28), preparation)).feature(photo)
    short, (top, left) = min(sides), [(side - min(sides)) // 2 for side in sides]
    square = torch.from_numpy(photo[top : top + short, left : left + short].copy())
    expected = torch.nn.functional.interpolate(
        square.permute(2, 0, 1)[None].float(), (32, 32), mode="bicubic", antialias=True
    )[:, :, 2:30, 2:30].clamp(0, 255)
    assert np.abs(found * 128 + 127 - expected.flatten().numpy()).max() < 0.02


def test_means_and_deviations_are_of_channels():
    preparation = PhotoPreparation(8, 1.0, (10.0, 20.0, 30.0), (1.0, 2.0, 4.0))
    photo = np.full((8, 8, 3), 50, dtype=np.uint8)
    found = Extractor(features_graph(mean_of_pixels(8), preparation)).feature(photo)
    assert found.tolist() == [40.0, 15.0, 5.0]


def test_equal_graphs_have_equal_bytes():
    first, second = (features_graph(mean_of_pixels(8), PhotoPreparation(8)) for _ in range(2))
    assert first == second


def test_what_exporters_note_is_left_out_and_what_the_model_says_of_itself_stays():
    backbone = mean_of_pixels(8)
    helper.set_model_props(backbone, {"license": "MIT"})
    opsets, body = [helper.make_opsetid("", OPSET)], [helper.make_node("Relu", ["x"], ["y"])]
    backbone.functions.append(helper.make_function("own", "F", ["x"], ["y"], body, opsets))
    backbone.opset_import.append(helper.make_opsetid("own", 1))
    plain = features_graph(backbone, PhotoPreparation(8))
    (function,) = backbone.functions
    for part in (backbone.graph, *backbone.graph.node, *backbone.graph.output, *function.node):
        part.metadata_props.add(key="trace", value="/home/someone/train.py")
        part.doc_string = "/home/someone/train.py"
    assert features_graph(backbone, PhotoPreparation(8)) == plain
    assert b"license" in plain


def test_an_output_that_other_nodes_read_too_keeps_its_name_for_them(tmp_path):
    backbone = mean_of_pixels(8)
    backbone.graph.node.append(helper.make_node("Relu", ["out"], ["unused"]))
    found = Extractor(features_graph(backbone, PhotoPreparation(8, 1.0, (0,) * 3, (1,) * 3)))
    assert found.feature(GREY).tolist() == [50.0] * 3


@pytest.mark.parametrize("size", [8, "side"])
def test_a_foreign_backbone_is_read(size, tmp_path):
    assert plain_feature(read_backbone(saved(mean_of_pixels(size), tmp_path))) == [50.0] * 3


@pytest.mark.parametrize("opset", [9, 11, 17, OPSET, OPSET + 1, OPSET + 3])
def test_older_and_newer_versions_of_onnx_are_joined(opset, tmp_path):
    photo = np.random.default_rng(0).integers(0, 256, (30, 20, 3), dtype=np.uint8)
    found = []
    for version in (OPSET, opset):
        model = every_pixel(8)
        model.opset_import[0].version = version
        model = read_backbone(saved(model, tmp_path))
        found.append(Extractor(features_graph(model, PhotoPreparation(8))).feature(photo))
    assert np.array_equal(*found)


@pytest.mark.parametrize("opset", [11, OPSET])
def test_the_long_name_of_onnx_is_the_same(opset, tmp_path):
    model = mean_of_pixels(8)
    model.opset_import[0].domain, model.opset_import[0].version = "ai.onnx", opset
    model.graph.node[0].domain = "ai.onnx"
    assert plain_feature(read_backbone(saved(model, tmp_path))) == [50.0] * 3


@pytest.mark.parametrize("number", [0, -1])
def test_some_write_a_number_for_any_number(number, tmp_path):
    model = with_ends({"images": (FLOAT, [number, 3, 8, 8])}, {"out": (FLOAT, [number, 3])})
    assert len(read_backbone(saved(model, tmp_path)).graph.node) == 3


def test_weights_among_the_inputs_are_not_taken_for_images(tmp_path):
    """As files of before 2019 have them."""
    model = mean_of_pixels(8)
    (weights,) = model.graph.initializer
    entry = helper.make_tensor_value_info(weights.name, FLOAT, [1, 3])
    model.graph.input.insert(0, entry)
    assert plain_feature(read_backbone(saved(model, tmp_path))) == [50.0] * 3


def test_operators_of_other_domains_and_local_functions_are_kept(tmp_path):
    model = mean_of_pixels(8)
    model.graph.node[-1].op_type, model.graph.node[-1].domain = "Scaled", "own"
    body = [helper.make_node("Mul", ["x", "w"], ["y"])]
    opsets = [helper.make_opsetid("", OPSET)]
    model.functions.append(helper.make_function("own", "Scaled", "xw", "y", body, opsets))
    model.opset_import.append(helper.make_opsetid("own", 1))
    assert plain_feature(read_backbone(saved(model, tmp_path))) == [50.0] * 3


BAD_ENDS = {
    "two inputs": (
        with_ends(IMAGES | {"mask": (FLOAT, ["n", 3])}, ROWS),
        "{file} has 2 inputs (images, mask), and a backbone has one: export it with the images "
        "alone",
    ),
    "no input": (
        with_ends({}, ROWS),
        "{file} has 0 inputs (), and a backbone has one: export it with the images alone",
    ),
    "two outputs": (
        with_ends(IMAGES, ROWS | {"logits": (FLOAT, ["n", 9])}),
        "{file} has 2 outputs (out, logits), and a backbone has one: export it with the features "
        "alone",
    ),
    "bytes in": (
        with_ends({"images": (UINT8, ["n", 3, 8, 8])}, ROWS),
        "the input of {file} is of type uint8, and that of a backbone is float: export it so",
    ),
    "halves out": (
        with_ends(IMAGES, {"out": (TensorProto.FLOAT16, ["n", 3])}),
        "the output of {file} is of type float16, and that of a backbone is float: export it so",
    ),
    "grey": (
        with_ends({"images": (FLOAT, ["n", 1, 8, 8])}, ROWS),
        "{file} takes images of shape (n, 1, 8, 8), and a backbone takes (n, 3, height, width): "
        "export it so",
    ),
    "channels last": (
        with_ends({"images": (FLOAT, [None, 8, 8, 3])}, ROWS),
        "{file} takes images of shape (?, 8, 8, 3), and a backbone takes (n, 3, height, width): "
        "export it so",
    ),
    "rows in": (
        with_ends({"images": (FLOAT, ["n", 3])}, ROWS),
        "{file} takes images of shape (n, 3), and a backbone takes (n, 3, height, width): export "
        "it so",
    ),
    "one at a time": (
        with_ends({"images": (FLOAT, [1, 3, 8, 8])}, {"out": (FLOAT, [1, 3])}),
        "{file} takes 1 images at a time, and a backbone takes any number: export it with a free "
        "(dynamic) first dimension",
    ),
    "no pooling": (
        with_ends(IMAGES, {"out": (FLOAT, ["n", 3, 8, 8])}),
        "{file} gives features of shape (n, 3, 8, 8), and a backbone gives (n, d): export it with "
        "its pooling, and flattened",
    ),
    "no shape": (
        with_ends(IMAGES, {"out": (FLOAT, None)}),
        "{file} gives features of shape (), and a backbone gives (n, d): export it with its "
        "pooling, and flattened",
    ),
}


@pytest.mark.parametrize("name", BAD_ENDS)
def test_a_graph_with_other_ends_is_refused(name, tmp_path):
    model, message = BAD_ENDS[name]
    file = saved(model, tmp_path)
    assert refusal(file) == message.format(file=file)


def test_there_is_no_such_file(tmp_path):
    missing = tmp_path / "none.onnx"
    assert refusal(missing) == f"there is no file {missing}: check `backbone`"
    assert refusal(tmp_path) == f"there is no file {tmp_path}: check `backbone`"


@pytest.mark.parametrize(
    "content", [b"", b"a text\n", b"\x89PNG\r\n\x1a\n" + bytes(64), b"PK\x03\x04", b"\x08\x07"]
)
@pytest.mark.parametrize("suffix", [".onnx", ".json", ".txt"])
def test_what_is_no_onnx_file_says_so(content, suffix, tmp_path):
    file = tmp_path / f"b{suffix}"
    file.write_bytes(content)
    assert refusal(file) == f"{file} is not an ONNX file of a network: check `backbone`"


def test_a_cut_file_is_none(tmp_path):
    file = saved(mean_of_pixels(8), tmp_path)
    file.write_bytes(file.read_bytes()[:-9])
    assert refusal(file) == f"{file} is not an ONNX file of a network: check `backbone`"


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def refuse(file: Path) -> bytes:
        raise PermissionError("Permission denied")

    file = saved(mean_of_pixels(8), tmp_path)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert refusal(file) == f"{file} cannot be read (Permission denied): check `backbone`"


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        ([96, 96], "the backbone takes images of 96 pixels, not of 8: set `image_size=96`"),
        (["h", 96], "the backbone takes images of 96 pixels, not of 8: set `image_size=96`"),
        (
            [96, 8],
            "the backbone takes images of 8 x 96 pixels, and photos are prepared as squares: "
            "export it for squares, or for any size",
        ),
    ],
)
def test_images_of_another_size_are_refused(sides, message):
    with pytest.raises(ConfigError) as caught:
        plain_feature(with_ends({"images": (FLOAT, ["n", 3, *sides])}, ROWS))
    assert str(caught.value) == message


def test_an_old_operator_that_cannot_be_raised_is_refused():
    model = mean_of_pixels(8)
    model.opset_import[0].version = 11
    model.graph.node[0].op_type = "Nonsense"
    with pytest.raises(ConfigError) as caught:
        plain_feature(model)
    text = str(caught.value)
    assert text.startswith("the backbone is of ONNX opset 11 and cannot be raised to 18 (")
    assert text.endswith("): export it again with opset 18 or newer")
    assert "\n" not in text


def test_an_operator_that_onnx_does_not_have_is_refused():
    model = mean_of_pixels(8)
    model.graph.node[0].op_type = "Nonsense"
    with pytest.raises(ConfigError) as caught:
        plain_feature(model)
    assert str(caught.value) == (
        "the backbone is not sound ONNX (No Op registered for Nonsense with domain_version of "
        "18): export it again, or choose another `backbone`"
    )


def test_an_operator_of_another_domain_that_onnxruntime_does_not_know_is_refused(capfd):
    model = mean_of_pixels(8)
    model.graph.node[0].op_type, model.graph.node[0].domain = "Odd", "own"
    model.opset_import.append(helper.make_opsetid("own", 1))
    with pytest.raises(ConfigError) as caught:
        plain_feature(model)
    text = str(caught.value)
    assert text.startswith(f"onnxruntime {onnxruntime.__version__} cannot run the backbone (")
    assert "Odd" in text
    assert text.endswith(
        "): export it with operators of a released ONNX opset, or choose another `backbone`"
    )
    assert "\n" not in text
    assert capfd.readouterr() == ("", "")
