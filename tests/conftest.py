"""Toy data and settings small enough for a test; the same random numbers every time."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import strategies as st
from PIL import Image
from torch import nn

from memoryless.data import Dataset, Split, from_arrays
from memoryless.data.cifar import LAYOUTS
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.learner import Learner, prepare
from memoryless.strategies import Totals

COLOURS = {"blue": (0, 0, 255), "green": (0, 255, 0), "red": (255, 0, 0)}

# What has a meaning somewhere: to a terminal, LaTeX, Markdown, HTML, a spreadsheet, matplotlib.
SIGNS = [*"\n\r\t\x00\x1b\x85\u2028\u202e\udcff\ud800$\\{}^~_%&#±|`<>*[]=+-@'\"!:;,🦕é "]
SIGNS += [
    "&lt;",
    "\x1b[31m",
    "<script>",
    "</td>",
    "-->",
    "[red]",
    ":smile:",
    "=1+1",
    r"\input{x}",
    "$x$",
]
hostile_text = st.lists(st.sampled_from(SIGNS) | st.text(max_size=2), max_size=6).map("".join)


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)


def make_toy(classes: int = 6, train: int = 12, test: int = 4, side: int = 8) -> Dataset:
    """Grey images, each class a pattern of its own under noise: learnable in a few epochs."""
    rng = np.random.default_rng(5)
    patterns = rng.integers(0, 256, (classes, side, side))

    def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.arange(classes), number)
        noise = rng.normal(0, 40, (len(labels), side, side))
        return np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8), labels

    return from_arrays(*draw(train), *draw(test), name="toy", augment=("pad_crop", "flip"))


def make_learner(
    config: Config, first: Split, seed: int = 0, backbone: nn.Module | None = None
) -> Learner:
    """A learner of the toy data, before its first state."""
    config = config.resolved(8)
    preparation = prepare(config, first, 8, ("pad_crop", "flip"))
    return Learner(config, seed, 1, preparation, backbone, Totals(classes=6, train_images=72))


def make_photos(root: Path, classes: int = 4, number: int = 6) -> Path:
    """A folder of small photos of odd sizes, each class a colour of its own under noise."""
    rng = np.random.default_rng(7)
    for label in range(classes):
        colour = rng.integers(0, 256, 3)
        (root / f"class {label}").mkdir(parents=True)
        for i in range(number):
            pixels = colour + rng.normal(0, 40, (11 + label, 9 + i, 3))
            photo = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
            photo.save(root / f"class {label}" / f"{i}.png")
    return root


@pytest.fixture
def toy() -> Dataset:
    return make_toy()


@pytest.fixture
def tiny(tmp_path: Path) -> Config:
    """Settings that train the toy data in well under a second."""
    return Config(states="3", width=2, epochs=2, batch_size=16, output=tmp_path / "out")


def make_folder(root: Path, images: int = 5, side: int = 12, seed: int = 0) -> Path:
    """Three classes of speckled colours, of several sizes, with spaces in their names."""
    rng = np.random.default_rng(seed)
    for name, colour in COLOURS.items():
        (root / name).mkdir(parents=True)
        for i in range(images):
            pixels = (np.array(colour) + rng.integers(0, 120, (side, side + i, 3))) // 2
            Image.fromarray(pixels.astype(np.uint8)).save(root / name / f"{i} a.png")
    return root


def make_lists(root: Path) -> dict[str, Path]:
    make_folder(root / "images")
    for split, numbers in (("train", range(4)), ("test", range(4, 5))):
        lines = [f"images/{name}/{i} a.png {label}"
                 for label, name in enumerate(COLOURS) for i in numbers]  # fmt: skip
        (root / f"{split}.txt").write_text("\n".join(lines) + "\n\n")
    return {"train_list": root / "train.txt", "test_list": root / "test.txt"}


def as_python_2(content: dict) -> bytes:
    """A pickle that names NumPy's functions as the official files do."""
    pickled = pickle.dumps(content, protocol=3)
    return pickled.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def make_cifar(root: Path, name: str, classes: int = 10) -> Path:
    layout = LAYOUTS[name]
    folder = root / layout.folder
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for file in (*layout.train, *layout.test):
        labels = list(range(classes)) * 2
        pixels = rng.integers(0, 256, (len(labels), 3072), dtype=np.uint8)
        content = {b"data": pixels, layout.label_key: labels, b"filenames": [b"x.png"]}
        (folder / file).write_bytes(as_python_2(content))
    names = [f"class {i}".encode() for i in range(classes)]
    (folder / layout.meta).write_bytes(as_python_2({layout.names_key: names}))
    return folder


@pytest.fixture
def finished(tiny: Config, toy: Dataset) -> RunFolder:
    return RunFolder(run(tiny, toy)[0])
