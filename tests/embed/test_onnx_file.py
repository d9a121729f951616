"""Data of ONNX files that stand outside them: brought in, bounded, and never followed far."""

from __future__ import annotations

import pytest
from onnx import helper

from graphs import (
    TOO_LARGE,
    TWOS,
    mean_of_pixels,
    outside,
    plain_feature,
    refusal,
    saved,
)
from memoryless.embed import onnx_file
from memoryless.embed.graph import OPSET
from memoryless.embed.onnx_file import read_backbone


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
    model = read_backbone(saved(outside(mean_of_pixels(8), place, **entries), tmp_path))
    (tmp_path / place).unlink()
    assert b"w.bin" not in model.SerializeToString()
    assert plain_feature(model) == [100.0] * 3


def test_external_data_of_attributes_subgraphs_and_functions_is_brought_in(tmp_path):
    """onnxruntime would look for it in the folder that it is run from."""
    (tmp_path / "w.bin").write_bytes(TWOS)
    (tensor,) = outside(mean_of_pixels(8), "w.bin").graph.initializer
    tensor.dims[:] = [3]
    constant = helper.make_node("Constant", [], ["c"], value=tensor)
    inner = helper.make_graph([constant], "inner", [], [])
    model = mean_of_pixels(8)
    opsets = [helper.make_opsetid("", OPSET)]
    model.functions.append(helper.make_function("own", "F", [], ["c"], [constant], opsets))
    model.graph.node.extend([constant, helper.make_node("If", [], [], then_branch=inner)])
    found = read_backbone(saved(model, tmp_path)).SerializeToString()
    assert found.count(TWOS) == 3
    assert b"w.bin" not in found


@pytest.mark.parametrize("kind", ["absolute", "above", "link", "folder link"])
def test_external_data_outside_the_folder_is_not_followed(kind, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "w.bin").write_bytes(TWOS)
    (tmp_path / "in" / "link.bin").symlink_to(tmp_path / "w.bin")
    (tmp_path / "in" / "up").symlink_to(tmp_path)
    place = {
        "absolute": str(tmp_path / "w.bin"),
        "above": "../w.bin",
        "link": "link.bin",
        "folder link": "up/w.bin",
    }[kind]
    file = saved(outside(mean_of_pixels(8), place), tmp_path / "in")
    assert refusal(file) == (
        f"{file} keeps data in {place}, outside its folder, which is not followed: export it as "
        "one file"
    )


@pytest.mark.parametrize(
    ("place", "entries", "why"),
    [
        ("none.bin", {}, "there is no such file"),
        ("", {}, "there is no such file"),
        (".", {}, "there is no such file"),
        ("w.bin", {"length": 13}, "it is too short"),
        ("w.bin", {"offset": 1, "length": 12}, "it is too short"),
        ("w.bin", {"offset": 99}, "it is too short"),
        ("w.bin", {"length": -1}, "it is too short"),
        ("w.bin", {"offset": -1, "length": 3}, "[Errno 22] Invalid argument"),
        ("w.bin", {"length": "x"}, "invalid literal for int() with base 10: 'x'"),
        ("w\0.bin", {}, "embedded null byte"),
    ],
)
def test_external_data_that_cannot_be_read_says_so(place, entries, why, tmp_path):
    (tmp_path / "w.bin").write_bytes(TWOS)
    file = saved(outside(mean_of_pixels(8), place, **entries), tmp_path)
    assert refusal(file) == (
        f"{file} keeps data in {place}, which cannot be read ({why}): export it as one file"
    )


def test_more_than_2_gib_are_refused_before_they_are_read(tmp_path):
    """Files with holes: they have a size, and take no room."""
    file = tmp_path / "b.onnx"
    with file.open("wb") as opened:
        opened.truncate(2**31)
    assert refusal(file) == TOO_LARGE.format(file=file)
    saved(outside(mean_of_pixels(8), "w.bin"), tmp_path)
    with (tmp_path / "w.bin").open("wb") as opened:
        opened.truncate(2**31)
    assert refusal(file) == TOO_LARGE.format(file=file)


def test_data_that_are_named_many_times_are_counted_as_often(tmp_path, monkeypatch):
    (tmp_path / "w.bin").write_bytes(TWOS)
    model = outside(mean_of_pixels(8), "w.bin")
    model.graph.initializer.extend([model.graph.initializer[0]] * 99)
    file = saved(model, tmp_path)
    read_backbone(file)
    monkeypatch.setattr(onnx_file, "LARGEST", file.stat().st_size + 50 * len(TWOS))
    assert refusal(file) == TOO_LARGE.format(file=file)
