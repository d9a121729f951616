"""The backbone of fixed features: made of settings, prepared as it was trained, on a device."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from memoryless.backbones import EfficientNetLite0, ResNet18, fixed_backbone
from memoryless.errors import ConfigError
from memoryless.extractor import Extractor, TorchExtractor
from memoryless.fixed_backbone import features_graph_of, open_extractor, preparation_for
from memoryless.preparation import PhotoPreparation
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


def test_a_resnet_with_weights_becomes_a_graph(resnet):
    settings, graph, preparation = resnet
    assert preparation == PhotoPreparation(48)
    square = torch.from_numpy(photo()[:, 10:80].copy()).permute(2, 0, 1)[None].float()
    pixels = torch.nn.functional.interpolate(square, (55, 55), mode="bicubic", antialias=True)
    pixels = pixels[:, :, 3:51, 3:51].clamp(0, 255)
    mean, std = (torch.tensor(x)[:, None, None] for x in (preparation.mean, preparation.std))
    with torch.no_grad():
        expected = fixed_backbone(settings)((pixels - mean) / std)[0].numpy()
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
    on_device = TorchExtractor(fixed_backbone(settings), preparation, "cpu")
    assert np.abs(Extractor(graph).feature(photo()) - on_device.feature(photo())).max() < 1e-4


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


def test_torch_on_a_device_gives_the_features_of_the_graph(resnet):
    settings, graph, preparation = resnet
    on_device = TorchExtractor(fixed_backbone(settings), preparation, "cpu")
    extractor = Extractor(graph)
    assert on_device.d == extractor.d == 32
    for seed in range(3):
        expected = extractor.feature(photo(seed))
        found = on_device.feature(photo(seed))
        assert found.dtype == expected.dtype == np.float32
        assert np.abs(found - expected).max() < 1e-4 * np.abs(expected).max()


def test_onnxruntime_is_used_unless_a_device_is_named(resnet):
    settings, graph, preparation = resnet
    for device in ("auto", "cpu"):
        chosen = replace(settings, device=device)
        assert type(open_extractor(graph, chosen, preparation)) is Extractor


@pytest.fixture
def a_device(monkeypatch):
    """The CPU by another name stands in for a device."""
    monkeypatch.setattr("memoryless.network.check_device", lambda name: None)
    monkeypatch.setattr(nn.Module, "to", lambda self, device: self)
    monkeypatch.setattr(torch.Tensor, "to", lambda self, device: self)
    return "cuda"


def test_a_named_device_runs_torch(resnet, a_device):
    settings, graph, preparation = resnet
    found = open_extractor(graph, replace(settings, device=a_device), preparation)
    assert isinstance(found, TorchExtractor)
    assert found.feature(photo()) == pytest.approx(Extractor(graph).feature(photo()), abs=1e-3)


def test_what_a_device_cannot_run_is_one_sentence(resnet):
    _, _, preparation = resnet
    broken = TorchExtractor(nn.Linear(5, 5), preparation, "cpu")
    with pytest.raises(ConfigError) as caught:
        broken.feature(photo())
    assert str(caught.value) == (
        "the backbone cannot run on cpu (mat1 and mat2 shapes cannot be multiplied (144x48 and "
        "5x5)): leave out `device`"
    )


def test_other_weights_than_those_of_the_graph_are_refused(resnet, a_device, tmp_path):
    settings, graph, preparation = resnet
    torch.manual_seed(1)
    save_file(ResNet18(width=4).state_dict(), tmp_path / "other.safetensors")
    other = replace(settings, device=a_device, backbone_weights=tmp_path / "other.safetensors")
    with pytest.raises(ConfigError) as caught:
        open_extractor(graph, other, preparation)
    assert str(caught.value) == (
        "backbone resnet18 gives other features on cuda than the graph that the model keeps: give "
        "the same `backbone_weights`, or leave out `device`"
    )


def test_a_file_of_onnx_runs_on_no_device(resnet):
    _, graph, preparation = resnet
    with pytest.raises(ConfigError) as caught:
        open_extractor(graph, ModelSettings(backbone="onnx:f.onnx", device="cuda"), preparation)
    assert str(caught.value) == (
        "backbone onnx:f.onnx runs in onnxruntime on the CPU, not on cuda: leave out `device`"
    )


def test_a_device_that_is_not_here_is_refused(resnet):
    settings, graph, preparation = resnet
    with pytest.raises(ConfigError, match=r"^device 'cuda:99' cannot be used here: .*; choose"):
        open_extractor(graph, replace(settings, device="cuda:99"), preparation)


NO_TORCH = """
import sys
sys.modules["torch"] = None
from memoryless.extractor import Extractor, trial_photo
from memoryless.fixed_backbone import features_graph_of, open_extractor
from memoryless.strategies import ModelSettings
settings = ModelSettings(backbone="onnx:" + sys.argv[1], image_size=32)
graph, preparation = features_graph_of(settings)
print(open_extractor(graph, settings, preparation).d)
"""


def test_a_file_of_onnx_needs_no_torch(tmp_path):
    onnx.save(EfficientNetLite0().graph(32), tmp_path / "b.onnx")
    command = [sys.executable, "-c", NO_TORCH, str(tmp_path / "b.onnx")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1280\n", "")


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
