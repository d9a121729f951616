"""Graphs from photos to features: the preparation of torch, and backbones of any version."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from onnx import helper

from graphs import FLOAT, ROWS, add_function, every_pixel, mean_of_pixels, plain_feature, with_ends
from memoryless.embed import PhotoPreparation
from memoryless.embed.graph import OPSET, Nodes, features_graph
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


def test_each_channel_has_its_mean_and_deviation():
    preparation = PhotoPreparation(8, 1.0, (10.0, 20.0, 30.0), (1.0, 2.0, 4.0))
    photo = np.full((8, 8, 3), 50, dtype=np.uint8)
    found = Extractor(features_graph(mean_of_pixels(), preparation)).feature(photo)
    assert found.tolist() == [40.0, 15.0, 5.0]


def test_two_networks_see_a_photo_at_two_sizes():
    """Each as if it were alone."""
    nodes = Nodes()
    for name in ("images", "second_images"):
        nodes.add("Flatten", name, name=f"pixels of {name}")
    both = nodes.model(
        {"images": (FLOAT, ["n", 3, 8, 8]), "second_images": (FLOAT, ["n", 3, 20, 20])},
        {"pixels of images": (FLOAT, ["n", 192]), "pixels of second_images": (FLOAT, ["n", 1200])},
    )
    pixels = ((10.0, 20.0, 30.0), (1.0, 2.0, 4.0))
    photo = np.random.default_rng(0).integers(0, 256, (37, 50, 3), dtype=np.uint8)
    graph = features_graph(both, PhotoPreparation(8, 0.8, *pixels, second_size=20))
    alone = [
        Extractor(features_graph(every_pixel(side), PhotoPreparation(side, 0.8, *pixels)))
        for side in (8, 20)
    ]
    expected = np.concatenate([extractor.feature(photo) for extractor in alone])
    assert Extractor(graph).feature(photo).tolist() == expected.tolist()


def test_equal_backbones_have_equal_bytes_whatever_their_exporter_noted():
    """What the model says of itself, as its license, stays."""
    backbone = mean_of_pixels()
    helper.set_model_props(backbone, {"license": "MIT"})
    add_function(backbone, "F", ["x"], ["y"], [helper.make_node("Relu", ["x"], ["y"])])
    plain = features_graph(backbone, PhotoPreparation(8))
    (function,) = backbone.functions
    for part in (backbone.graph, *backbone.graph.node, *backbone.graph.output, *function.node):
        part.metadata_props.add(key="trace", value="/home/someone/train.py")
        part.doc_string = "/home/someone/train.py"
    assert features_graph(backbone, PhotoPreparation(8)) == plain
    assert b"license" in plain


def test_an_output_that_other_nodes_read_too_keeps_its_name_for_them():
    backbone = mean_of_pixels()
    backbone.graph.node.append(helper.make_node("Relu", ["out"], ["unused"]))
    assert plain_feature(backbone) == [50.0] * 3


@pytest.mark.parametrize("opset", [9, 11, 17, OPSET + 1, OPSET + 3])
def test_older_and_newer_versions_of_onnx_give_the_same(opset):
    photo = np.random.default_rng(0).integers(0, 256, (30, 20, 3), dtype=np.uint8)
    found = []
    for version in (OPSET, opset):
        model = every_pixel(8)
        model.opset_import[0].version = version
        found.append(Extractor(features_graph(model, PhotoPreparation(8))).feature(photo))
    assert np.array_equal(*found)


@pytest.mark.parametrize(
    ("sides", "message"),
    [
        ([96, 96], r"of 96 pixels, not of 8: set `image_size=96`"),
        (["h", 96], r"of 96 pixels, not of 8: set `image_size=96`"),
        ([96, 8], r"of 8 x 96 pixels.*: export it for squares"),
    ],
)
def test_images_of_another_size_are_refused(sides, message):
    with pytest.raises(ConfigError, match=message):
        plain_feature(with_ends({"images": (FLOAT, ["n", 3, *sides])}, ROWS))


@pytest.mark.parametrize(
    ("opset", "domain", "message"),
    [
        (11, "", r"opset 11 and cannot be raised to 18 \(.*\): export it again with opset 18"),
        (OPSET, "", r"not sound ONNX \(No Op registered for Nonsense.*\): export it again"),
        (OPSET, "own", r"onnxruntime [\d.]+ cannot run the backbone \(.*Nonsense.*\): export it"),
    ],
)
def test_an_unknown_operator_is_refused_in_one_sentence(opset, domain, message, capfd):
    model = mean_of_pixels()
    model.opset_import[0].version = opset
    model.opset_import.append(helper.make_opsetid("own", 1))
    model.graph.node[0].op_type, model.graph.node[0].domain = "Nonsense", domain
    with pytest.raises(ConfigError, match=message) as caught:
        plain_feature(model)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")
