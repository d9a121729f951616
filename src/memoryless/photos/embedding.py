"""Photos read and embedded in threads, in order; an unreadable one comes as an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from memoryless.images.files import Photo
from memoryless.images.read import Facts, UnreadableError, load, read
from memoryless.model import Model
from memoryless.threads import ahead

T = TypeVar("T")
Progress = Callable[[int], None]


def silent(done: int) -> None:
    """Ignore how many photos are done."""


class Embedded(NamedTuple):
    """A photo, what a model learns from it, and the facts about it."""

    photo: Photo
    features: np.ndarray
    """(d,); where features are trained, the photo's central square."""
    facts: Facts


class Features(NamedTuple):
    """The features of those photos that can be read, and why others cannot."""

    photos: list[Photo]
    rows: np.ndarray  # (n, d)
    broken: dict[str, str]
    """A sentence for the name of each photo."""


def embed(
    model: Model, photos: Iterable[Photo], progress: Progress = silent
) -> Iterator[Embedded | UnreadableError]:
    """Yield what the model learns from each photo, which is read and decoded once."""
    model.open()
    side = model.min_side  # raises where the model takes no photos

    def embed_one(photo: Photo) -> Embedded:
        pixels, facts = read(photo, side)
        return Embedded(photo, model.learning_input(pixels), facts)

    return _each(embed_one, photos, progress)


def features(
    model: Model, photos: Sequence[Photo], progress: Progress = silent
) -> Iterator[np.ndarray | UnreadableError]:
    """Yield the feature (d,) of each photo."""
    model.open()
    side = model.min_side  # raises where the model takes no photos
    return _each(lambda photo: model.embed_photo(load(photo, side)), photos, progress)


def all_features(model: Model, photos: Sequence[Photo], progress: Progress = silent) -> Features:
    """Return the features of photos, all at once."""
    found = list(zip(photos, features(model, photos, progress), strict=True))
    sound = [(photo, row) for photo, row in found if not isinstance(row, UnreadableError)]
    broken = {photo.name: str(row) for photo, row in found if isinstance(row, UnreadableError)}
    rows = np.stack([row for _, row in sound]) if sound else np.zeros((0, 0))
    return Features([photo for photo, _ in sound], rows, broken)


def _each(
    work: Callable[[Photo], T], photos: Iterable[Photo], progress: Progress
) -> Iterator[T | UnreadableError]:
    def attempt(photo: Photo) -> T | UnreadableError:
        try:
            return work(photo)
        except UnreadableError as error:
            return error

    for done, found in enumerate(ahead(attempt, photos), 1):
        yield found
        progress(done)
