"""How often `learn` warns of more photos of a class, right ones and others, and of new classes that
are known ones under another name. Halves of classes and known kinds are drawn at random.
"""

from __future__ import annotations

import copy
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from memoryless import Model
from memoryless.images.find import find_photos
from memoryless.photos.doubts import RIGHT, TAKEN, Answers, count_answers, taken_for
from memoryless.photos.embedding import features

DRAWS, SWAPPED = 20, 5
AS_NEW = 5  # draws in which classes come as new ones
LIMITS = (0.5, 0.6, 0.7, 0.8, 0.9)


def look_at(place: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of all training photos."""
    photos = find_photos(place).photos
    return np.stack(list(features(Model(), photos))), np.array([photo.label for photo in photos])


def warned(first: Model, features: np.ndarray, labels: list[str]) -> set[str]:
    """Return the classes that learning more photos would warn of."""
    model = copy.copy(first)
    answers: Answers = defaultdict(Counter)
    count_answers(model, features, labels, answers)
    taken = taken_for(model.classes, answers)
    unlike = model.learn(features, labels, more=True).unlike
    return {name for name, found in taken.items() if found[0] != name} | set(unlike)


def measure(place: Path) -> None:
    """Print how many classes are warned of."""
    X, y = look_at(place)
    more_photos(X, y)
    new_classes(X, y)


def halves(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a mask (n,) of a random half of each class."""
    half = np.zeros(len(y), dtype=bool)
    for name in np.unique(y):
        own = np.flatnonzero(y == name)
        half[rng.permutation(own)[: len(own) // 2]] = True
    return half


def teach(X: np.ndarray, y: np.ndarray) -> Model:
    model = Model()
    model.learn(X, y.tolist())
    return model


def more_photos(X: np.ndarray, y: np.ndarray) -> None:
    """Second halves of classes come as more photos of them, and of other classes."""
    names, rng = np.unique(y), np.random.default_rng(0)
    means = np.stack([X[y == name].mean(0) for name in names])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    likest = (means @ means.T - 2 * np.eye(len(names))).argmax(1)
    told = dict.fromkeys(("right", "another kind", "the likest kind"), 0)
    for _ in range(DRAWS):
        half = halves(y, rng)
        first = teach(X[half], y[half])
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


def new_classes(X: np.ndarray, y: np.ndarray) -> None:
    """Half of the kinds are known, by half of their photos; the other halves of all kinds come as
    new classes, one at a time.
    """
    names, rng = np.unique(y), np.random.default_rng(1)
    shares: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for _ in range(AS_NEW):
        half, known = halves(y, rng), rng.permutation(names)[: len(names) // 2]
        seen = half & np.isin(y, known)
        first = teach(X[seen], y[seen])
        for name in names:
            shares[name in known].append(as_new(first, X[~half & (y == name)]))
    for limit in LIMITS:
        told = {again: 100 * np.mean([taken >= TAKEN and right < limit for taken, right in found])
                for again, found in shares.items()}  # fmt: skip
        chosen = ", as memoryless warns" if limit == RIGHT else ""
        print(f"limit {limit}{chosen}: warned of {told[True]:.0f} % of known kinds under another "
              f"name, of {told[False]:.0f} % of new kinds")  # fmt: skip


def as_new(first: Model, features: np.ndarray) -> tuple[float, float]:
    """Return the share of photos that were taken for one known class, and, once they are learned
    as a class of their own, the share that leave-one-out finds right.
    """
    model, name, answers = copy.copy(first), "as new", defaultdict(Counter)
    labels = [name] * len(features)
    count_answers(model, features, labels, answers)
    ((best, times),) = answers[name].most_common(1)
    right, checked = model.learn(features, labels).correct_by_class[name]
    return times / len(features) if best >= 0 else 0.0, right / checked
