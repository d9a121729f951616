"""The extractor: order, threads, and errors from within."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from memoryless.embed import PhotoPreparation
from memoryless.embed.graph import Nodes, features_graph
from memoryless.embed.session import (
    CPU,
    CUDA,
    Extractor,
    providers,
    trial_photo,
)
from memoryless.errors import ConfigError
from memoryless.threads import ahead

FLOAT, UINT8, STRING = TensorProto.FLOAT, TensorProto.UINT8, TensorProto.STRING


def backbone(kind: str, *values: object) -> onnx.ModelProto:
    """Pixels, changed by one node, and flattened."""
    nodes = Nodes()
    nodes.add("Flatten", nodes.add(kind, "images", *map(nodes.value, values)), name="out")
    ends = {"images": (FLOAT, ["n", 3, "h", "w"])}
    return nodes.model(ends, {"out": (FLOAT, ["n", "d"])})


def extractor(kind: str, *values: object) -> Extractor:
    return Extractor(features_graph(backbone(kind, *values), PhotoPreparation(8)))


def photos(number: int) -> list[np.ndarray]:
    """Random photos, each of a size of its own."""
    draw = np.random.default_rng(0)
    return [draw.integers(0, 256, (9 + i, 40 - i, 3), dtype=np.uint8) for i in range(number)]


def test_threads_share_an_extractor():
    found = extractor("Relu")
    expected = [found.feature(photo) for photo in photos(20)]
    for _ in range(5):
        for one, other in zip(ahead(found.feature, photos(20), threads=8), expected, strict=True):
            assert np.array_equal(one, other)
    assert expected[0].any()


def test_a_trial_finds_the_number_of_features():
    assert extractor("Relu").d == 3 * 8 * 8
    assert extractor("GlobalAveragePool").d == 3
    photo = trial_photo()
    assert photo.std() > 50  # it has contrast
    assert (photo == photo[..., :1]).all()  # and no colour


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("Reshape", np.array([-1, 3, 7, 7]), r"photo of 256 x 256 pixels \(.*`image_size`$"),
        ("Reshape", np.array([6, -1, 4, 4]), r"features of shape \(6, 32\) for one photo"),
        ("Mul", np.float32(np.nan), "not finite"),
        ("Mul", np.float32(np.inf), "not finite"),
    ],
)
def test_features_that_cannot_be_used_are_refused_in_one_sentence(kind, value, message, capfd):
    with pytest.raises(ConfigError, match=message) as caught:
        extractor(kind, value).feature(trial_photo())
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


COUNT = """
import os, sys
from memoryless.embed.session import Extractor, trial_photo
graph = open(sys.argv[1], "rb").read()
import onnxruntime
before = len(os.listdir("/proc/self/task"))
Extractor(graph).feature(trial_photo())
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted as in Linux")
def test_an_extractor_starts_no_thread_and_prints_nothing(tmp_path):
    (tmp_path / "g.onnx").write_bytes(features_graph(backbone("Relu"), PhotoPreparation(8)))
    command = [sys.executable, "-c", COUNT, str(tmp_path / "g.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("0\n", "")
    options = extractor("Relu")._session.get_session_options()
    assert options.intra_op_num_threads == options.inter_op_num_threads == 1


def with_ends(name: str, kind: int, output: str, other: int) -> bytes:
    """A graph of one node that casts its input to another type."""
    nodes = Nodes()
    nodes.add("Cast", name, name=output, to=other)
    return nodes.model({name: (kind, ["n"])}, {output: (other, ["n"])}).SerializeToString()


@pytest.mark.parametrize(
    ("graph", "problem"),
    [
        (b"no graph", r"^onnxruntime [\d.]+ cannot run the backbone \(.*\): export it"),
        (
            with_ends("photos", UINT8, "features", STRING),
            r"takes photos tensor\(uint8\) and gives features tensor\(string\)",
        ),
        (with_ends("photos", UINT8, "out", FLOAT), r"gives out tensor\(float\)"),
        (with_ends("images", FLOAT, "features", FLOAT), r"takes images tensor\(float\)"),
    ],
)
def test_another_graph_is_refused(graph, problem):
    with pytest.raises(ConfigError, match=problem):
        Extractor(graph)


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda", "cuda:3"])
def test_cuda_is_used_where_it_is_offered(device):
    found = providers(device, [CUDA, CPU])
    number = device.partition(":")[2] or "0"
    cuda = [(CUDA, {"device_id": number, "use_tf32": "0"})]
    assert found == ([] if device == "cpu" else cuda) + [CPU]


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("cuda", "pip install onnxruntime-gpu"),
        ("mps", "leave out `device`, or add `train=True`"),
        ("gpu", "choose auto, cpu, cuda or cuda:N"),
    ],
)
def test_a_device_that_onnxruntime_does_not_offer_is_refused(device, message):
    with pytest.raises(ConfigError, match=message):
        providers(device, [CPU])


def test_cuda_that_onnxruntime_gives_up_on_is_refused(monkeypatch):
    """It then runs on the CPU, and says so only in its log."""
    monkeypatch.setattr("onnxruntime.get_available_providers", lambda: [CUDA, CPU])
    monkeypatch.setattr("memoryless.embed.session.providers", lambda device, offered: [CPU])
    graph = features_graph(backbone("Relu"), PhotoPreparation(8))
    with pytest.raises(ConfigError, match="cannot use device cuda"):
        Extractor(graph, "cuda")
