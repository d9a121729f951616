"""The backbone of fixed features: made of settings, and prepared as it was trained."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import onnx
import pytest
import torch
from safetensors.torch import save_file

from memoryless import Model
from memoryless.embed import PhotoPreparation
from memoryless.embed.session import Extractor
from memoryless.errors import ConfigError, MissingError
from memoryless.model.fixed import features_graph_of, preparation_for
from memoryless.settings import ModelSettings
from memoryless.train.backbones import fixed_backbone
from memoryless.train.backbones.efficientnet import EfficientNetLite0
from memoryless.train.backbones.resnet import ResNet18


@pytest.fixture(scope="module")
def resnet(tmp_path_factory) -> ModelSettings:
    """Settings of a small ResNet with weights."""
    file = tmp_path_factory.mktemp("weights") / "w.safetensors"
    torch.manual_seed(0)
    save_file(ResNet18(width=4).state_dict(), file)
    return ModelSettings(backbone="resnet18", width=4, backbone_weights=file, image_size=48)


def test_a_resnet_with_weights_becomes_a_graph(resnet):
    graph, preparation, _ = features_graph_of(resnet)
    assert preparation == PhotoPreparation(48)
    assert Extractor(graph).d == 32


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"backbone": "efficientnet-lite0"}, (224, 0.875, (127.0,) * 3, (128.0,) * 3)),
        (
            {"backbone": "efficientnet-lite0+lite2"},
            (224, 0.875, (127.0,) * 3, (128.0,) * 3, 260),
        ),
        ({}, ()),
        (
            {"image_size": 96, "crop": 0.75, "mean": (0.5, 0.2, 0.0), "std": (1.0, 0.5, 0.2)},
            (96, 0.75, (127.5, 51.0, 0.0), (255.0, 127.5, 51.0)),
        ),
    ],
)
def test_preparation_is_as_settings_say_or_as_the_backbone_was_trained(given, expected):
    """Settings give mean and std on the scale 0..1."""
    settings = ModelSettings(**{"backbone": "onnx:x", **given})
    assert preparation_for(settings) == PhotoPreparation(*expected)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"mean": (0.5,), "std": (0.5,) * 3}, "`mean` has 1 numbers: give three"),
        ({"mean": (0.5,) * 3, "std": (0.5,)}, "`std` has 1 numbers: give three"),
        ({"mean": (0.5,) * 3}, "together"),
        ({"std": (0.5,) * 3}, "together"),
    ],
)
def test_mean_and_std_come_together_with_a_number_for_each_channel(numbers, message):
    with pytest.raises(ConfigError, match=message):
        preparation_for(ModelSettings(backbone="onnx:x", **numbers))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("resnet18", "backbone resnet18 brings no weights"),
        ("resnet18_3x3", "no weights.*`backbone_weights=FILE`"),
        ("timm:resnet50", "no weights.*`backbone=efficientnet-lite0`"),
        ("efficientnet_lite0", "did you mean 'efficientnet-lite0'"),
    ],
)
def test_a_backbone_without_weights_is_refused(name, message):
    with pytest.raises(ConfigError, match=message):
        features_graph_of(ModelSettings(backbone=name))


def test_weights_that_a_backbone_has_are_not_replaced(resnet):
    settings = replace(resnet, backbone="efficientnet-lite0+lite2")
    with pytest.raises(ConfigError, match=r"own weights: leave out `backbone_weights`$"):
        features_graph_of(settings)


def test_nobody_chooses_the_size_of_two_networks():
    with pytest.raises(ConfigError, match=r"each sees photos at its own size: leave out `image_"):
        Model(backbone="efficientnet-lite0+lite2", image_size=224)


def test_making_a_backbone_draws_no_random_number_of_the_callers(resnet):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    fixed_backbone(resnet)
    assert torch.equal(torch.get_rng_state(), before)


NO_TORCH = """
import sys
sys.modules["torch"] = None
from memoryless.embed.session import Extractor
from memoryless.settings import ModelSettings
from memoryless.model.fixed import features_graph_of
settings = ModelSettings(backbone=sys.argv[1], image_size=32)
print(Extractor(features_graph_of(settings)[0]).d)
"""


@pytest.mark.parametrize(
    ("backbone", "d"),
    [("efficientnet-lite0", 2672), ("efficientnet-lite0+lite2", 4672), ("onnx:b.onnx", 1280)],
)
def test_what_comes_with_its_weights_needs_no_torch(backbone, d, tmp_path):
    onnx.save(EfficientNetLite0().graph(32), tmp_path / "b.onnx")
    command = [sys.executable, "-c", NO_TORCH, backbone]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (f"{d}\n", "")


def test_what_needs_torch_says_how_to_install_it(resnet, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("memoryless.train.backbones")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingError, match=r"pip install 'memoryless\[lab\]'"):
        features_graph_of(resnet)


def test_a_backbone_that_gives_nan_is_refused_at_once(tmp_path):
    network = EfficientNetLite0()
    network._bn1.bias.data[3] = float("nan")
    onnx.save(network.graph(32), tmp_path / "b.onnx")
    with pytest.raises(ConfigError, match="not finite"):
        features_graph_of(ModelSettings(backbone=f"onnx:{tmp_path / 'b.onnx'}", image_size=32))
