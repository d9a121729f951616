"""Small models as a version wrote them, which every later version opens: `tests/models/`.

`python tests/golden_models.py` writes the folder of today's format anew, which is right only as
long as no release has written that format.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np

from conftest import draw_birds
from memoryless import Model
from memoryless.model_folder import FORMAT

MODELS = Path(__file__).parent / "models"
IMAGES = (np.arange(4 * 8 * 8).reshape(4, 8, 8) ** 2 * 37 % 251).astype(np.uint8)


def write(folder: Path) -> None:
    """Two states of two classes, and what the model scores."""
    shutil.rmtree(folder, ignore_errors=True)
    model = Model("inFT_siw_mc", epochs=2, width=1, batch_size=16)
    for classes in ((0, 1), (2, 3)):
        model.learn(*draw_birds(*classes))
        model.save(folder)
    (folder / ".lock").unlink()
    scores = model.scores(IMAGES).tolist()
    folder.with_suffix(".json").write_text(json.dumps(scores, indent=1) + "\n")


if __name__ == "__main__":
    write(MODELS / f"format-{FORMAT}")
