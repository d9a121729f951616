"""ONNX files of any framework: what is read of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from graphs import (
    FLOAT,
    IMAGES,
    ROWS,
    TWOS,
    UINT8,
    add_function,
    mean_of_pixels,
    outside,
    plain_feature,
    saved,
    with_ends,
)
from memoryless.embed import onnx_file
from memoryless.embed.onnx_file import read_backbone
from memoryless.errors import ConfigError


def assert_refused(file: Path, *parts: str) -> None:
    """Reading the file raises one sentence that names it and has these parts."""
    with pytest.raises(ConfigError) as caught:
        read_backbone(file)
    text = str(caught.value)
    assert "\n" not in text
    for part in (str(file), *parts):
        assert part in text


@pytest.mark.parametrize("number", ["n", None, 0, -1])
@pytest.mark.parametrize("side", [8, "side"])
def test_any_number_of_images_is_written_in_several_ways(number, side, tmp_path):
    images, rows = [number, 3, side, side], [number, 3]
    model = with_ends({"images": (FLOAT, images)}, {"out": (FLOAT, rows)})
    assert plain_feature(read_backbone(saved(model, tmp_path))) == [50.0] * 3


def list_weights_as_input(model: onnx.ModelProto) -> None:
    """As files of before 2019 do."""
    (weights,) = model.graph.initializer
    model.graph.input.insert(0, helper.make_tensor_value_info(weights.name, FLOAT, [1, 3]))


def use_long_name(model: onnx.ModelProto) -> None:
    model.opset_import[0].domain = model.graph.node[0].domain = "ai.onnx"


def use_long_name_and_an_old_version(model: onnx.ModelProto) -> None:
    use_long_name(model)
    model.opset_import[0].version = 11


def call_function(model: onnx.ModelProto) -> None:
    model.graph.node[-1].op_type, model.graph.node[-1].domain = "Scaled", "own"
    add_function(model, "Scaled", "xw", "y", [helper.make_node("Mul", ["x", "w"], ["y"])])


CHANGES = [list_weights_as_input, use_long_name, use_long_name_and_an_old_version, call_function]


@pytest.mark.parametrize("change", CHANGES)
def test_other_ways_to_write_a_network_give_the_same_feature(change, tmp_path):
    model = mean_of_pixels()
    change(model)
    assert plain_feature(read_backbone(saved(model, tmp_path))) == [50.0] * 3


@pytest.mark.parametrize(
    ("inputs", "outputs", "problem"),
    [
        (IMAGES | {"mask": (FLOAT, ["n", 3])}, ROWS, "2 inputs (images, mask)"),
        ({}, ROWS, "0 inputs ()"),
        (IMAGES, ROWS | {"map": (FLOAT, ["n", 9, 4, 4])}, "features of shape (n, 9, 4, 4)"),
        ({"images": (UINT8, ["n", 3, 8, 8])}, ROWS, "the input of"),
        (IMAGES, {"out": (TensorProto.FLOAT16, ["n", 3])}, "the type float16"),
        ({"images": (FLOAT, ["n", 1, 8, 8])}, ROWS, "images of shape (n, 1, 8, 8)"),
        ({"images": (FLOAT, [None, 8, 8, 3])}, ROWS, "images of shape (?, 8, 8, 3)"),
        ({"images": (FLOAT, ["n", 3])}, ROWS, "images of shape (n, 3)"),
        ({"images": (FLOAT, [1, 3, 8, 8])}, {"out": (FLOAT, [1, 3])}, "takes 1 images"),
        (IMAGES, {"out": (FLOAT, ["n", 3, 8, 8])}, "features of shape (n, 3, 8, 8)"),
        (IMAGES, {"out": (FLOAT, None)}, "features of shape ()"),
    ],
)
def test_a_graph_with_other_ends_is_refused(inputs, outputs, problem, tmp_path):
    assert_refused(saved(with_ends(inputs, outputs), tmp_path), problem, ": export it")


CUT = mean_of_pixels().SerializeToString()[:-9]


@pytest.mark.parametrize("suffix", [".onnx", ".json", ".txt"])
@pytest.mark.parametrize(
    "content", [b"", b"a text\n", b"\x89PNG\r\n\x1a\n" + bytes(64), b"PK\x03\x04", b"\x08\x07", CUT]
)
def test_a_file_that_is_no_network_is_refused(content, suffix, tmp_path):
    file = tmp_path / f"b{suffix}"
    file.write_bytes(content)
    assert_refused(file, "is not an ONNX file", "check `backbone`")


def test_a_file_that_cannot_be_read_is_refused(tmp_path, monkeypatch):
    for missing in (tmp_path / "none.onnx", tmp_path):
        assert_refused(missing, "there is no file")

    def refuse(file: Path) -> bytes:
        raise PermissionError("Permission denied")

    file = saved(mean_of_pixels(), tmp_path)
    monkeypatch.setattr(Path, "read_bytes", refuse)
    assert_refused(file, "cannot be read (Permission denied)")


@pytest.mark.parametrize(
    ("place", "entries", "content"),
    [
        ("w.bin", {}, TWOS),
        ("w.bin", {"offset": 4, "length": 12}, b"head" + TWOS + b"tail"),
        ("w.bin", {"offset": 4, "checksum": 7, "odd": 1}, b"head" + TWOS),
        ("deeper/w.bin", {}, TWOS),
        ("deeper/../w.bin", {}, TWOS),
    ],
)
def test_external_data_in_the_folder_is_brought_in(place, entries, content, tmp_path):
    (tmp_path / "deeper").mkdir()
    (tmp_path / place).write_bytes(content)
    model = read_backbone(saved(outside(mean_of_pixels(), place, **entries), tmp_path))
    (tmp_path / place).unlink()
    assert b"w.bin" not in model.SerializeToString()
    assert plain_feature(model) == [100.0] * 3


def test_external_data_of_attributes_subgraphs_and_functions_is_brought_in(tmp_path):
    """onnxruntime would look for it in the folder that it is run from."""
    (tmp_path / "w.bin").write_bytes(TWOS)
    (tensor,) = outside(mean_of_pixels(), "w.bin").graph.initializer
    tensor.dims[:] = [3]
    constant = helper.make_node("Constant", [], ["c"], value=tensor)
    inner = helper.make_graph([constant], "inner", [], [])
    model = mean_of_pixels()
    add_function(model, "F", [], ["c"], [constant])
    model.graph.node.extend([constant, helper.make_node("If", [], [], then_branch=inner)])
    found = read_backbone(saved(model, tmp_path)).SerializeToString()
    assert found.count(TWOS) == 3
    assert b"w.bin" not in found


@pytest.mark.parametrize("place", ["{above}/w.bin", "../w.bin", "link.bin", "up/w.bin"])
def test_external_data_outside_the_folder_is_not_followed(place, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "w.bin").write_bytes(TWOS)
    (tmp_path / "in" / "link.bin").symlink_to(tmp_path / "w.bin")
    (tmp_path / "in" / "up").symlink_to(tmp_path)
    place = place.format(above=tmp_path)
    file = saved(outside(mean_of_pixels(), place), tmp_path / "in")
    assert_refused(file, f"keeps data in {place}, outside its folder")


@pytest.mark.parametrize(
    ("place", "entries"),
    [
        *((place, {}) for place in ("none.bin", "", ".", "w\0.bin")),
        *(("w.bin", {"length": length}) for length in (13, -1, "x")),
        *(("w.bin", {"offset": offset, "length": 12}) for offset in (1, 99, -1)),
        ("w.bin", {"offset": 99}),
    ],
)
def test_external_data_that_cannot_be_read_are_refused(place, entries, tmp_path):
    (tmp_path / "w.bin").write_bytes(TWOS)
    file = saved(outside(mean_of_pixels(), place, **entries), tmp_path)
    assert_refused(file, f"keeps data in {place}, which cannot be read (", "export it as one file")


@pytest.mark.parametrize("large", ["b.onnx", "w.bin"])
def test_more_than_2_gib_are_refused_before_they_are_read(large, tmp_path):
    """Files with holes: they have a size, and take no room."""
    file = saved(outside(mean_of_pixels(), "w.bin"), tmp_path)
    with (tmp_path / large).open("wb") as opened:
        opened.truncate(2**31)
    assert_refused(file, "more than 2 GiB")


def test_data_that_are_named_many_times_are_counted_as_often(tmp_path, monkeypatch):
    (tmp_path / "w.bin").write_bytes(TWOS)
    model = outside(mean_of_pixels(), "w.bin")
    model.graph.initializer.extend([model.graph.initializer[0]] * 99)
    file = saved(model, tmp_path)
    read_backbone(file)
    monkeypatch.setattr(onnx_file, "LARGEST", file.stat().st_size + 50 * len(TWOS))
    assert_refused(file, "more than 2 GiB")
