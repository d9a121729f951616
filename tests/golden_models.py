"""Small models as a version wrote them, which every later version opens: `tests/models/`.

`python tests/golden_models.py` writes the folder of today's format anew, which is right only as
long as no release has written that format. 0.2.0 wrote format-1: two states of two classes with
trained features, a ResNet-18 of width 1 at 8 pixels.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.model import Model
from memoryless.model_folder import FORMAT
from photo_toys import make_backbone, tiny_settings

MODELS = Path(__file__).parent / "models"
IMAGES = (np.arange(4 * 8 * 8).reshape(4, 8, 8) ** 2 * 37 % 251).astype(np.uint8)
PHOTOS = (np.arange(5 * 9 * 12 * 3).reshape(5, 9, 12, 3) ** 2 * 37 % 251).astype(np.uint8)


def expected(name: str) -> Any:
    """What the model made of IMAGES, or of PHOTOS, when it was written."""
    return json.loads((MODELS / f"{name}.json").read_text())


def draw_photos(*classes: int, number: int = 12) -> tuple[list[np.ndarray], list[str]]:
    """Photos of 12 x 10 pixels, of one colour each under noise, and the names of their classes."""
    rng = np.random.default_rng(classes)
    colours = [(90 * c % 256, 150 * c % 256, 210 * c % 256) for c in classes for _ in range(number)]
    photos = [np.clip(rng.normal(c, 40, (12, 10, 3)), 0, 255).astype(np.uint8) for c in colours]
    return photos, [f"class {c}" for c in classes for _ in range(number)]


def write(folder: Path) -> None:
    """Two states over a tiny backbone, and what the model makes of photos; the second brings two
    classes and more photos of one, and every class can be forgotten exactly.
    """
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        file = make_backbone(Path(temporary) / "tiny.onnx")
        model = Model(forgettable=True, **tiny_settings(file))
        for classes in ((0, 1), (1, 2, 3)):
            model.learn(*draw_photos(*classes, number=6), more=True)
            model.save(folder)
    (folder / ".lock").unlink()
    judged = model.judge(PHOTOS)
    told = {name: getattr(judged, name).tolist() for name in ("scores", "probabilities", "margin")}
    folder.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    write(MODELS / f"format-{FORMAT}")
