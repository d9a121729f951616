"""Backbones by name, weights from files, any module."""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from memoryless.embed import check_backbone
from memoryless.errors import ConfigError
from memoryless.settings import BackboneSettings
from memoryless.train.backbones import BACKBONES, build_backbone, feature_size, load_weights
from memoryless.train.backbones.resnet import ResNet18


@pytest.mark.parametrize("name", BACKBONES)
@pytest.mark.parametrize("channels", [1, 3])
def test_backbone_contract(name, channels):
    """Images to features of the size it says, for one channel or three."""
    backbone = BACKBONES[name](channels, 4)
    features = backbone(torch.randn(2, channels, 32, 32))
    assert features.shape == (2, feature_size(backbone, channels, 32))


@pytest.mark.parametrize(
    ("suffix", "last"),
    [(".safetensors", "fc"), (".pth", "fc"), (".pth", "classifier"), (".pth", "head.fc")],
)
def test_weights_load_and_the_last_layer_is_left_out(tmp_path, suffix, last):
    source = ResNet18(width=4)
    layer = {f"{last}.weight": torch.zeros(10, 32), f"{last}.bias": torch.zeros(10)}
    weights = source.state_dict() | layer
    # published files are older than this counter
    weights = {k: v for k, v in weights.items() if not k.endswith("num_batches_tracked")}
    file = tmp_path / f"weights{suffix}"
    save_file(weights, file) if suffix == ".safetensors" else torch.save(weights, file)
    target = build_backbone(
        BackboneSettings(backbone="resnet18", width=4, backbone_weights=file), 3
    )
    for name, value in source.state_dict().items():
        torch.testing.assert_close(target.state_dict()[name], value)


class Attack:
    def __reduce__(self):
        return Path.touch, (Path("attacked"),)


def test_a_pth_that_would_run_code_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"conv1.weight": Attack()}, "evil.pth")
    with pytest.raises(ConfigError, match="hold more than plain tensors"):
        load_weights(ResNet18(width=4), Path("evil.pth"))
    assert not Path("attacked").exists()


def test_weights_that_do_not_fit_are_named(tmp_path):
    file = tmp_path / "w.safetensors"
    save_file(ResNet18(width=8).state_dict(), file)
    with pytest.raises(
        ConfigError, match=r"do not fit the backbone in conv1\.weight.*; check `backbone`, "
    ):
        load_weights(ResNet18(width=4), file)
    with pytest.raises(ConfigError, match=r"there is no weights file .*none\.pth"):
        load_weights(ResNet18(width=4), tmp_path / "none.pth")
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ConfigError, match="cannot be read"):
        load_weights(ResNet18(width=8), file)
    torch.save({1: torch.zeros(2)}, tmp_path / "numbers.pth")
    with pytest.raises(ConfigError, match="are not a table of tensors: save a state_dict"):
        load_weights(ResNet18(width=8), tmp_path / "numbers.pth")


def test_a_head_that_the_backbone_has_is_no_last_layer(tmp_path):
    """As in timm's ConvNeXt, whose `head.norm` belongs to its features."""
    source = nn.ModuleDict({"head": nn.Linear(2, 2)})
    torch.save(source.state_dict(), tmp_path / "w.pth")
    target = nn.ModuleDict({"head": nn.Linear(2, 2)})
    load_weights(target, tmp_path / "w.pth")
    assert torch.equal(target["head"].weight, source["head"].weight)


def test_any_module_tells_its_feature_size():
    module = nn.Sequential(nn.Conv2d(3, 5, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    assert feature_size(module, 3, 16) == 5
    with pytest.raises(ConfigError, match=r"into features \(B, d\)"):
        feature_size(nn.Conv2d(3, 5, 3), 3, 16)
    with pytest.raises(ConfigError, match=r"images of 16 pixels with 3 channels \(Given groups=1"):
        feature_size(nn.Conv2d(1, 5, 3), 3, 16)


class FakeTimm:
    """Stands in for timm, which needs a torchvision that fits torch."""

    @staticmethod
    def create_model(name, pretrained, in_chans, num_classes):
        if name != "tiny":
            raise RuntimeError(f"Unknown model ({name}) {'x' * 999}\nand more lines")
        assert not pretrained
        assert num_classes == 0
        return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * in_chans, 7))


def test_timm_models_by_name(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", FakeTimm)
    backbone = build_backbone(BackboneSettings(backbone="timm:tiny"), channels=3)
    assert feature_size(backbone, 3, 16) == 7
    with pytest.raises(ConfigError, match=r"build 'huge' \(Unknown model \(huge\) x{179}\): check"):
        build_backbone(BackboneSettings(backbone="timm:huge"), channels=3)


def test_timm_missing_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(ConfigError, match=r"pip install 'memoryless\[timm\]', or choose resnet18"):
        build_backbone(BackboneSettings(backbone="timm:resnet18"), channels=3)


def test_no_backbone_is_no_module():
    check_backbone("none", "last")
    with pytest.raises(ConfigError, match="no network to build: choose resnet18, "):
        build_backbone(BackboneSettings(backbone="none"), 3)


def saved(state: dict[str, torch.Tensor]) -> bytes:
    content = io.BytesIO()
    torch.save(state, content)
    return content.getvalue()


def script() -> bytes:
    """What is taken for TorchScript."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("w/constants.pkl", "")
    return content.getvalue()


@pytest.mark.parametrize(
    "content",
    [b"", b"no weights, but a text\n", pickle.dumps([1, 2]), b"\x80", b"PK\x03\x04 and no more",
     saved(ResNet18(width=4).state_dict())[:-50], script()],
)  # fmt: skip
def test_what_is_no_weights_file_says_so(content, tmp_path):
    """Without torch's own advice, which is to let the file run code."""
    file = tmp_path / "w.pth"
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="cannot be read: give a"):
        load_weights(ResNet18(width=4), file)


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("prefix", ["", "module."])
def test_checkpoints_are_unwrapped(wrapped, prefix, tmp_path):
    source = ResNet18(width=4)
    weights = {prefix + k: v for k, v in source.state_dict().items()}
    weights[f"{prefix}fc.weight"] = torch.zeros(10, 32)
    file = tmp_path / "w.pth"
    torch.save({"epoch": 90, "state_dict": weights} if wrapped else weights, file)
    target = ResNet18(width=4)
    load_weights(target, file)
    assert torch.equal(target.conv1.weight, source.conv1.weight)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e300])
def test_weights_that_are_not_finite_are_refused(value, tmp_path):
    weights = {k: v.double() for k, v in ResNet18(width=4).state_dict().items()}
    weights["layer1.0.conv1.weight"][0, 0, 0, 0] = value
    file = tmp_path / "w.safetensors"
    save_file(weights, file)
    with pytest.raises(ConfigError, match=r"not finite .* in layer1\.0\.conv1\.weight: fetch"):
        load_weights(ResNet18(width=4), file)


@pytest.mark.parametrize(
    "odd",
    [
        torch.zeros(4, 3, 7, 7, dtype=torch.complex64),
        torch.zeros(4, 3, 7, 7).to_sparse(),
        torch.zeros(4, 3, 7, 7, device="meta"),
    ],
)
def test_tensors_that_are_not_plain_numbers_do_not_fit(odd, tmp_path):
    file = tmp_path / "w.pth"
    torch.save(ResNet18(width=4).state_dict() | {"conv1.weight": odd}, file)
    with pytest.raises(ConfigError, match=r"do not fit the backbone in conv1\.weight; check"):
        load_weights(ResNet18(width=4), file)
