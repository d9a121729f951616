"""Toy data and settings small enough for a test; the same random numbers every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import strategies as st

from memoryless.config import Config
from memoryless.data import Dataset, from_arrays
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder

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


@pytest.fixture
def toy() -> Dataset:
    return make_toy()


@pytest.fixture
def tiny(tmp_path: Path) -> Config:
    """Settings that train the toy data in well under a second."""
    return Config(states="3", width=2, epochs=2, batch_size=16, output=tmp_path / "out")


@pytest.fixture
def finished(tiny: Config, toy: Dataset) -> RunFolder:
    return RunFolder(run(tiny, toy)[0])
