"""EfficientNet-Lite0 and Lite2: weights, graphs, and layers computed another way."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from PIL import Image

from memoryless.embed import OWN_PIXELS, PhotoPreparation
from memoryless.embed.efficientnet import (
    LITE2,
    MIDDLE,
    network_graph,
    two_networks_graph,
    weights_file,
)
from memoryless.embed.graph import features_graph
from memoryless.embed.session import Extractor, open_session
from memoryless.settings import BackboneSettings
from memoryless.train.backbones import build_backbone
from memoryless.train.backbones.efficientnet import Block, EfficientNetLite0, SameConv


@pytest.fixture(scope="module")
def weights():
    return torch.load(weights_file(), weights_only=True)


@pytest.fixture(scope="module")
def network():
    return build_backbone(BackboneSettings(backbone="efficientnet-lite0"), 3).eval()


def test_every_key_of_the_weights_is_used(weights, network):
    ours = network.state_dict()
    assert set(weights) - set(ours) == {"_fc.weight", "_fc.bias"}
    assert not set(ours) - set(weights)
    assert all(torch.equal(ours[key], weights[key]) for key in ours)


def test_padding_is_that_of_tensorflow():
    """Stride 2 over an even side: nothing before, one pixel after."""
    conv = SameConv(1, 1, 3, stride=2)
    torch.nn.init.ones_(conv.weight)
    x = torch.arange(16.0).reshape(1, 1, 4, 4)
    expected = [[x[0, 0, :3, :3].sum(), x[0, 0, :3, 2:].sum()]]
    expected += [[x[0, 0, 2:, :3].sum(), x[0, 0, 2:, 2:].sum()]]
    assert conv(x)[0, 0].tolist() == [[float(v) for v in row] for row in expected]


def test_first_layers_by_loops(weights, network):
    """The stem and the first block at one place, from the weights by sums in NumPy."""
    w = {key: value.double().numpy() for key, value in weights.items()}
    image = np.random.default_rng(0).uniform(-1, 1, (3, 8, 8))

    def norm(x, name):
        scale = w[f"{name}.weight"] / np.sqrt(w[f"{name}.running_var"] + 1e-3)
        shift = w[f"{name}.bias"] - w[f"{name}.running_mean"] * scale
        return x * scale[:, None, None] + shift[:, None, None]

    padded = np.pad(image, ((0, 0), (0, 1), (0, 1)))
    stem = np.zeros((32, 4, 4))
    for row in range(4):
        for column in range(4):
            seen = padded[:, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
            stem[:, row, column] = (w["_conv_stem.weight"] * seen).sum((1, 2, 3))
    stem = norm(stem, "_bn0").clip(0, 6)
    padded = np.pad(stem, ((0, 0), (1, 1), (1, 1)))
    deep = np.zeros((32, 4, 4))
    for row in range(4):
        for column in range(4):
            seen = padded[:, row : row + 3, column : column + 3]
            deep[:, row, column] = (w["_blocks.0._depthwise_conv.weight"][:, 0] * seen).sum((1, 2))
    deep = norm(deep, "_blocks.0._bn1").clip(0, 6)
    project = w["_blocks.0._project_conv.weight"][:, :, 0, 0]
    expected = norm(np.einsum("oi,ihw->ohw", project, deep), "_blocks.0._bn2")
    with torch.no_grad():
        x = torch.from_numpy(image).float()[None]
        stem_out = torch.nn.functional.relu6(network._bn0(network._conv_stem(x)))
        found = network._blocks[0](stem_out)[0].numpy()
    assert np.allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(("size", "channels"), [(32, 3), (45, 3), (32, 1)])
def test_the_graph_gives_what_the_network_gives(network, size, channels):
    graph = network.graph(size, channels).SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    images = torch.rand(2, channels, size, size, generator=torch.Generator().manual_seed(0)) * 2 - 1
    with torch.no_grad():
        expected = network(images).numpy()
    (found,) = session.run(None, {"images": images.numpy()})
    assert found.shape == (2, 1280)
    assert np.abs(found - expected).max() < 1e-4
    assert expected.std() > 0.01


def test_middle_outputs_are_those_of_the_blocks(network):
    """Of blocks 4, 7 and 10, as hooks on the torch modules see them."""
    images, seen = torch.rand(2, 3, 64, 64) * 2 - 1, {}
    hooks = [
        network._blocks[b]._bn1.register_forward_hook(
            lambda _, inputs, output, b=b: seen.update({b: F.relu6(output).mean((2, 3))})
        )
        for b in MIDDLE
    ]
    with torch.no_grad():
        head = network(images)
    for hook in hooks:
        hook.remove()
    weights = {name: value.numpy() for name, value in network.state_dict().items()}
    session = open_session(network_graph(weights, 64).SerializeToString())
    found = session.run(None, {"images": images.numpy()})
    middle = torch.cat([F.normalize(seen[b]) for b in MIDDLE], dim=1)
    assert middle.shape[1] == 240 + 480 + 672
    for rows, expected in zip(found, (head, middle), strict=True):
        np.testing.assert_allclose(rows, expected.numpy(), atol=1e-4)
    with torch.no_grad():
        both = network.with_middle(images)
    assert torch.allclose(both, torch.cat([head, middle], dim=1), atol=1e-5)


# Blocks of Lite2: kernel, stride, expansion, channels. By hand from Table 1 of the paper with
# ceil(1.2 n) blocks in inner stages, and 1.1 c channels, rounded to a multiple of 8.
LITE2_BLOCKS = [
    *[(3, 1, 1, 16)],
    *[(3, 2, 6, 24), (3, 1, 6, 24), (3, 1, 6, 24)],
    *[(5, 2, 6, 48), (5, 1, 6, 48), (5, 1, 6, 48)],
    *[(3, 2, 6, 88), (3, 1, 6, 88), (3, 1, 6, 88), (3, 1, 6, 88)],
    *[(5, 1, 6, 120), (5, 1, 6, 120), (5, 1, 6, 120), (5, 1, 6, 120)],
    *[(5, 2, 6, 208), (5, 1, 6, 208), (5, 1, 6, 208), (5, 1, 6, 208), (5, 1, 6, 208)],
    *[(3, 1, 6, 352)],
]


@pytest.fixture(scope="module")
def lite2_weights():
    return torch.load(weights_file(LITE2), weights_only=True)


@pytest.fixture(scope="module")
def lite2(lite2_weights):
    """Lite2 in torch: Lite0 with other blocks, each key of the weights in its place."""
    network, inputs, blocks = EfficientNetLite0(), 32, []
    for kernel, stride, expansion, outputs in LITE2_BLOCKS:
        blocks.append(Block(inputs, outputs, kernel, stride, expansion))
        inputs = outputs
    network._blocks, network._conv_head = torch.nn.Sequential(*blocks), SameConv(352, 1280, 1)
    left_out = ("_fc.weight", "_fc.bias")
    network.load_state_dict({k: v for k, v in lite2_weights.items() if k not in left_out})
    return network.eval()


@pytest.fixture(scope="module")
def two_networks():
    return open_session(two_networks_graph(64).SerializeToString())


def test_two_networks_give_what_each_gives(network, lite2, two_networks):
    """In the order head and middle of Lite0, head and block 14 of Lite2."""
    generator = torch.Generator().manual_seed(0)
    small, large = (torch.rand(1, 3, side, side, generator=generator) * 2 - 1 for side in (64, 260))
    seen = []
    block = lite2._blocks[14]._bn1
    hook = block.register_forward_hook(lambda _, inputs, output: seen.append(F.relu6(output)))
    with torch.no_grad():
        expected = network(small), lite2(large)
    hook.remove()
    inputs = {"images": small.numpy(), "second_images": large.numpy()}
    found = two_networks.run(None, inputs)
    assert [rows.shape for rows in found] == [(1, d) for d in (1280, 1392, 1280, 720)]
    for rows, by_torch in (
        (found[0], expected[0]),
        (found[2], expected[1]),
        (found[3], F.normalize(seen[0].mean((2, 3)))),
    ):
        assert by_torch.std() > 0.001
        np.testing.assert_allclose(rows, by_torch.numpy(), atol=1e-4)


def test_grey_images_stand_in_all_three_channels(network):
    grey = torch.rand(1, 1, 32, 32)
    with torch.no_grad():
        assert torch.equal(network(grey), network(grey.expand(-1, 3, -1, -1)))


# Classes of ImageNet by their index. The photos are those that scikit-learn ships: a tower of the
# Summer Palace in Beijing, and a dahlia, for which ImageNet has no class.
BELL_COTE, MONASTERY, PALACE, DAISY = 442, 663, 698, 985


def photo_of(name: str) -> np.ndarray:
    datasets = find_spec("sklearn.datasets")
    assert datasets is not None
    assert datasets.origin is not None
    return np.asarray(Image.open(Path(datasets.origin).parent / "images" / name).convert("RGB"))


def likely_classes(feature, weights) -> list[int]:
    """The three most likely classes of ImageNet, by the last layer that came with the weights."""
    logits = weights["_fc.weight"].numpy() @ feature + weights["_fc.bias"].numpy()
    return np.argsort(-logits)[:3].tolist()


def test_real_photos_get_sensible_classes(network, weights):
    preparation = PhotoPreparation(224, 0.875, *OWN_PIXELS["efficientnet-lite0"])
    extractor = Extractor(features_graph(network.graph(224), preparation))
    tower, flower = (extractor.feature(photo_of(name)) for name in ("china.jpg", "flower.jpg"))
    assert likely_classes(tower, weights) == [PALACE, BELL_COTE, MONASTERY]
    assert likely_classes(flower, weights)[0] == DAISY


def test_two_networks_agree_on_a_real_photo(weights, lite2_weights):
    preparation = PhotoPreparation(224, 0.875, *OWN_PIXELS["efficientnet-lite0+lite2"], 260)
    extractor = Extractor(features_graph(two_networks_graph(224), preparation))
    feature = extractor.feature(photo_of("china.jpg"))
    assert likely_classes(feature[:1280], weights)[:2] == [PALACE, BELL_COTE]
    assert likely_classes(feature[2672:3952], lite2_weights)[:2] == [PALACE, BELL_COTE]
