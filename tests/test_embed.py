"""The backbone of fixed features: made of settings, and prepared as it was trained."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from memoryless.backbones import EfficientNetLite0, ResNet18, fixed_backbone
from memoryless.embed import PhotoPreparation
from memoryless.embed.session import Extractor
from memoryless.errors import ConfigError, MissingError
from memoryless.model.fixed import features_graph_of, preparation_for
from memoryless.strategies import ModelSettings


@pytest.fixture(scope="module")
def resnet(tmp_path_factory):
    """Settings of a small ResNet with weights, and its graph."""
    file = tmp_path_factory.mktemp("weights") / "w.safetensors"
    torch.manual_seed(0)
    save_file(ResNet18(width=4).state_dict(), file)
    settings = ModelSettings(backbone="resnet18", width=4, backbone_weights=file, image_size=48)
    return settings, *features_graph_of(settings)


def photo(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (70, 90, 3), dtype=np.uint8)


def prepared(preparation: PhotoPreparation) -> torch.Tensor:
    """The photo as torch prepares it."""
    size, resized = preparation.size, preparation.resized
    square = torch.from_numpy(photo()[:, 10:80].copy()).permute(2, 0, 1)[None].float()
    pixels = torch.nn.functional.interpolate(square, (resized,) * 2, mode="bicubic", antialias=True)
    seen = slice((resized - size) // 2, (resized - size) // 2 + size)
    mean, std = (torch.tensor(x)[:, None, None] for x in (preparation.mean, preparation.std))
    return (pixels[:, :, seen, seen].clamp(0, 255) - mean) / std


def test_a_resnet_with_weights_becomes_a_graph(resnet):
    settings, graph, preparation = resnet
    assert preparation == PhotoPreparation(48)
    with torch.no_grad():
        expected = fixed_backbone(settings)(prepared(preparation))[0].numpy()
    assert Extractor(graph).feature(photo()) == pytest.approx(expected, abs=1e-3)
    assert expected.std() > 0.1


class FakeTimm:
    """Stands in for timm, which needs a torchvision that fits torch."""

    @staticmethod
    def create_model(name, pretrained, in_chans, num_classes):
        return nn.Sequential(nn.Conv2d(in_chans, 5, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def test_a_model_of_timm_with_weights_becomes_a_graph(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", FakeTimm)
    file = tmp_path / "w.safetensors"
    save_file(FakeTimm.create_model("tiny", False, 3, 0).state_dict(), file)
    settings = ModelSettings(backbone="timm:tiny", backbone_weights=file, image_size=16)
    graph, preparation = features_graph_of(settings)
    expected = fixed_backbone(settings)(prepared(preparation))[0].detach().numpy()
    assert np.abs(Extractor(graph).feature(photo()) - expected).max() < 1e-4


def test_what_is_not_said_is_as_the_backbone_was_trained():
    assert preparation_for(ModelSettings(backbone="efficientnet-lite0")) == PhotoPreparation(
        224, 0.875, (127.0,) * 3, (128.0,) * 3
    )
    assert preparation_for(ModelSettings(backbone="onnx:x")) == PhotoPreparation()


def test_what_is_said_is_on_the_scale_of_one():
    said = ModelSettings(
        backbone="onnx:x", image_size=96, crop=0.75, mean=(0.5, 0.2, 0.0), std=(1.0, 0.5, 0.2)
    )
    assert preparation_for(said) == PhotoPreparation(
        96, 0.75, (127.5, 51.0, 0.0), (255.0, 127.5, 51.0)
    )


@pytest.mark.parametrize("name", ["mean", "std"])
def test_a_number_for_each_channel_is_needed(name):
    numbers = {"mean": (0.5,) * 3, "std": (0.5,) * 3} | {name: (0.5,)}
    with pytest.raises(ConfigError) as caught:
        preparation_for(ModelSettings(backbone="onnx:x", **numbers))
    assert str(caught.value) == f"`{name}` has 1 numbers: give three, for R, G and B"


@pytest.mark.parametrize("name", ["resnet18", "resnet18_3x3", "timm:resnet50"])
def test_a_backbone_without_weights_is_refused(name):
    with pytest.raises(ConfigError) as caught:
        features_graph_of(ModelSettings(backbone=name))
    assert str(caught.value) == (
        f"backbone {name} brings no weights, and fixed features need some: choose "
        "`backbone=efficientnet-lite0`, give `backbone_weights=FILE`, or train it with "
        "`method=inFT_siw`"
    )


def test_an_unknown_backbone_is_not_said_to_lack_weights():
    with pytest.raises(ConfigError, match=r"; did you mean 'efficientnet-lite0'\?$"):
        features_graph_of(ModelSettings(backbone="efficientnet_lite0"))


def test_making_a_backbone_draws_no_random_number_of_the_callers(resnet):
    torch.manual_seed(3)
    before = torch.get_rng_state()
    fixed_backbone(resnet[0])
    assert torch.equal(torch.get_rng_state(), before)


NO_TORCH = """
import sys
sys.modules["torch"] = None
from memoryless.embed.session import Extractor
from memoryless.model.fixed import features_graph_of
from memoryless.strategies import ModelSettings
settings = ModelSettings(backbone=sys.argv[1], image_size=32)
print(Extractor(features_graph_of(settings)[0]).d)
"""


@pytest.mark.parametrize("backbone", ["efficientnet-lite0", "onnx:b.onnx"])
def test_what_comes_with_its_weights_needs_no_torch(backbone, tmp_path):
    onnx.save(EfficientNetLite0().graph(32), tmp_path / "b.onnx")
    command = [sys.executable, "-c", NO_TORCH, backbone]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("1280\n", "")


def test_what_needs_torch_says_how_to_install_it(resnet, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("memoryless.backbones")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingError) as caught:
        features_graph_of(resnet[0])
    assert str(caught.value) == (
        "this needs torch, which is not installed: pip install 'memoryless[lab]'"
    )


def test_a_backbone_that_gives_nan_is_refused_at_once(tmp_path):
    network = EfficientNetLite0()
    network._bn1.bias.data[3] = float("nan")
    onnx.save(network.graph(32), tmp_path / "b.onnx")
    with pytest.raises(ConfigError) as caught:
        features_graph_of(ModelSettings(backbone=f"onnx:{tmp_path / 'b.onnx'}", image_size=32))
    assert str(caught.value) == (
        "the backbone gives features that are not finite (nan or inf): check its weights, and "
        "`mean` and `std`"
    )


@pytest.mark.parametrize("given", [{"mean": (0.5,) * 3}, {"std": (0.5,) * 3}])
def test_mean_and_std_come_together(given):
    with pytest.raises(ConfigError, match=r"^mean and std must be given together$"):
        preparation_for(ModelSettings(backbone="onnx:a.onnx", **given))


@pytest.mark.parametrize(
    ("size", "crop", "resized"), [(224, 0.875, 256), (224, 1.0, 224), (300, 0.9, 333), (1, 0.4, 2)]
)
def test_the_square_is_larger_by_its_margin(size, crop, resized):
    assert PhotoPreparation(size, crop).resized == resized
