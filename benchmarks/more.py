"""How often `learn --more` warns, of right photos and of others, over random halves of classes."""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from memoryless import Model
from memoryless.images.find import find_photos
from memoryless.photos.embedding import features
from memoryless.photos.learn import Answers, count_answers, taken_for

DRAWS, SWAPPED = 20, 5


def look_at(place: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of all training photos."""
    photos = find_photos(place).photos
    return np.stack(list(features(Model(), photos))), np.array([photo.label for photo in photos])


def warned(first: Model, features: np.ndarray, labels: list[str]) -> set[str]:
    """The classes that learning more photos would warn of."""
    model = copy.copy(first)
    answers: Answers = defaultdict(Counter)
    count_answers(model, features, labels, answers)
    taken = taken_for(model.classes, answers)
    unlike = model.learn(features, labels, more=True).unlike
    return {name for name, found in taken.items() if found[0] != name} | set(unlike)


def measure(place: Path) -> None:
    """Print how many classes are warned of."""
    X, y = look_at(place)
    names, rng = np.unique(y), np.random.default_rng(0)
    means = np.stack([X[y == name].mean(0) for name in names])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    likest = (means @ means.T - 2 * np.eye(len(names))).argmax(1)
    told = dict.fromkeys(("right", "another kind", "the likest kind"), 0)
    for _ in range(DRAWS):
        half = np.zeros(len(y), dtype=bool)
        for name in names:
            own = np.flatnonzero(y == name)
            half[rng.permutation(own)[: len(own) // 2]] = True
        first = Model(backbone="none", square_roots=True)
        first.learn(X[half], y[half].tolist())
        rest, labels = X[~half], y[~half]
        told["right"] += len(warned(first, rest, labels.tolist()))
        for kind in ("another kind", "the likest kind"):
            for c in rng.choice(len(names), SWAPPED, replace=False):
                others = [k for k in range(len(names)) if k != c]
                other = likest[c] if kind == "the likest kind" else rng.choice(others)
                photos = rest[labels == names[other]]
                name = str(names[c])
                told[kind] += name in warned(first, photos, [name] * len(photos))
    all_right, swapped = DRAWS * len(names), DRAWS * SWAPPED
    print(f"warned of {told['right']} of {all_right} right second halves")
    for kind in ("another kind", "the likest kind"):
        print(f"warned of {told[kind]} of {swapped} second halves of {kind}")
