"""Small models as a version wrote them, which every later version opens: `tests/models/`.

`python tests/golden_models.py` writes the folder of today's format anew, which is right only as
long as no release has written that format. 0.2.0 wrote format-1: two states of two classes with
trained features, a ResNet-18 of width 1 at 8 pixels.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from folders import describe_toy
from memoryless.model_folder import FORMAT, Saved, load_state, save_state
from memoryless.scorers import restore, square_roots

MODELS = Path(__file__).parent / "models"
IMAGES = (np.arange(4 * 8 * 8).reshape(4, 8, 8) ** 2 * 37 % 251).astype(np.uint8)
FEATURES = (np.arange(5 * 6).reshape(5, 6) ** 2 * 37 % 251).astype(np.float32)


def expected(name: str) -> np.ndarray:
    """What the model scored when it was written: images of 8 pixels, or features."""
    return np.array(json.loads((MODELS / f"{name}.json").read_text()))


def draw_features(classes: int, number: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(classes), number)
    return rng.gamma(2, 1, (classes, 6))[labels] + rng.gamma(1, 1, (len(labels), 6)), labels


def discriminant(features: np.ndarray, labels: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """Sums over square roots of unit features, and the linear discriminant made of them."""
    seen, count = square_roots(features), np.bincount(labels).astype(float)
    mean = np.stack([seen[labels == c].mean(0) for c in range(len(count))])
    scatter = (seen - mean[labels]).T @ (seen - mean[labels])  # (d, d)
    whole = np.concatenate([mean, [count @ mean / count.sum()]])  # the last: all photos' mean
    W = np.linalg.solve(scatter / count.sum() + 0.01 * np.eye(len(scatter)), whole.T).T
    b = -0.5 * (W * whole).sum(1)
    record = {"count": count, "mean": mean, "scatter": scatter[np.triu_indices(len(scatter))]}
    return {"record": record, "scorer": {"over.W": W.astype("f4"), "over.b": b.astype("f4")}}


def scores(saved: Saved, features: np.ndarray) -> np.ndarray:
    scorer: Any = restore(saved.about["scorer"], saved.arrays("scorer"))
    return scorer(features)


def write(folder: Path) -> None:
    """Two states of two classes over fixed features that are given, and what the model scores."""
    shutil.rmtree(folder, ignore_errors=True)
    saved = None
    for states in (1, 2):
        features, labels = draw_features(2 * states)
        about = describe_toy(2 * states, states)
        saved = save_state(folder, about, discriminant(features, labels), saved)
    (folder / ".lock").unlink()
    told = scores(load_state(folder), FEATURES).tolist()
    folder.with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    write(MODELS / f"format-{FORMAT}")
