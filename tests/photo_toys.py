"""Toys of the tests for photos: a tiny backbone, coloured photos, and a browser."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from memoryless.images.files import Photo


def make_backbone(file: Path) -> Path:
    """An ONNX file whose features are the mean colours of a grid of 4 x 4 cells."""
    from onnx import TensorProto

    from memoryless.embed.graph import Nodes

    nodes, size = Nodes(), 16
    cells = nodes.add("AveragePool", "images", kernel_shape=[4, 4], strides=[4, 4])
    nodes.add("Flatten", cells, name="out")
    ends = {"images": (TensorProto.FLOAT, ["n", 3, size, size])}
    model = nodes.model(ends, {"out": (TensorProto.FLOAT, ["n", 48])})
    file.write_bytes(model.SerializeToString())
    return file


def tiny_settings(backbone: Path) -> dict[str, object]:
    """Settings of a model over the tiny backbone."""
    return {
        "backbone": f"onnx:{backbone}",
        "image_size": 16,
        "crop": 1.0,
        "mean": (0.0, 0.0, 0.0),
        "std": (1.0, 1.0, 1.0),
    }


def tiny_flags(backbone: Path) -> list[str]:
    """The same as flags."""
    flags = f"--image-size 16 --crop 1 --mean 0 0 0 --std 1 1 1 --backbone onnx:{backbone}"
    return flags.split()


def make_colours(root: Path, *classes: str, number: int = 12, seed: int = 0) -> Path:
    """Folders of small photos; a class is a grid of colours, drawn from its name, under noise."""
    for name in classes:
        colours = np.random.default_rng([*name.encode()]).integers(0, 256, (4, 4, 3))
        rng = np.random.default_rng([seed, *name.encode()])
        (root / name).mkdir(parents=True, exist_ok=True)
        for i in range(number):
            cells = np.clip(colours + rng.normal(0, 60, (4, 4, 3)), 0, 255)
            pixels = np.kron(cells, np.ones((5, 5, 1))).astype(np.uint8)
            Image.fromarray(pixels).save(root / name / f"{i}.png")
    return root


def draw_photos(*classes: int, number: int = 12) -> tuple[list[np.ndarray], list[str]]:
    """Photos of 12 x 10 pixels, of one colour each under noise, and the names of their classes."""
    rng = np.random.default_rng(classes)
    colours = [(90 * c % 256, 150 * c % 256, 210 * c % 256) for c in classes for _ in range(number)]
    photos = [np.clip(rng.normal(c, 40, (12, 10, 3)), 0, 255).astype(np.uint8) for c in colours]
    return photos, [f"class {c}" for c in classes for _ in range(number)]


CHROMIUM = Path("/usr/bin/chromium")


@contextmanager
def shown(file: Path, width: int, scheme: str) -> Iterator[Any]:
    """A page in a browser: no errors, no request but for itself, nothing wider than the screen."""
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        problems: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert problems == []
        assert [r for r in requests if not r.startswith("data:")] == [file.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background != "rgb(255, 255, 255)") == (scheme == "dark")
        yield page
        browser.close()


@cache
def paint(seed: int, width: int = 300, height: int = 200) -> Image.Image:
    """Shapes of all sizes on a ground of soft colours, as photos have them."""
    rng = np.random.default_rng(seed)
    pixels = np.zeros((height, width, 3))
    for size in (2, 4, 8, 16, 32):
        blobs = Image.fromarray(rng.integers(0, 256, (size, size, 3), dtype=np.uint8))
        pixels += np.asarray(blobs.resize((width, height), Image.Resampling.BICUBIC)) / 5.0
    return Image.fromarray(pixels.astype(np.uint8))


def saved(image: Image.Image, kind: str = "png", **options: Any) -> bytes:
    """The bytes of an image's file."""
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def make_photo(content: bytes | Image.Image, name: str = "a.png", label: str = "cat") -> Photo:
    """A photo whose file lies in memory."""
    found = content if isinstance(content, bytes) else saved(content)
    return Photo(name, label, lambda _: io.BytesIO(found))
