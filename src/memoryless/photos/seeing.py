"""Photos through a model: read in threads, in order; those that cannot be read come as errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from memoryless.images.read import Facts, Photo, UnreadableError, load, read
from memoryless.threads import ahead

if TYPE_CHECKING:
    from memoryless.model import Model

T = TypeVar("T")
Progress = Callable[[int], None]
CHUNK = 256  # photos that are classified together


def silent(done: int) -> None:
    """Tell nobody how many photos are done."""


class Embedded(NamedTuple):
    """A photo, what a model learns from it, and the facts about it."""

    photo: Photo
    look: np.ndarray
    facts: Facts


class Verdict(NamedTuple):
    """What a model makes of one photo."""

    scores: np.ndarray  # (N,)
    probabilities: np.ndarray  # (N,)
    margin: float
    """How far above the threshold of `known`."""

    @property
    def known(self) -> bool:
        return bool(self.margin >= 0)


def embed(
    model: Model, photos: Sequence[Photo], progress: Progress = silent
) -> Iterator[Embedded | UnreadableError]:
    """Yield what the model learns from each photo, which is read and decoded once."""
    model.open()
    side = model.least  # raises where the model takes no photos

    def embed_one(photo: Photo) -> Embedded:
        pixels, facts = read(photo, side)
        return Embedded(photo, model.look(pixels), facts)

    return _each(embed_one, photos, progress)


def features(
    model: Model, photos: Sequence[Photo], progress: Progress = silent
) -> Iterator[np.ndarray | UnreadableError]:
    """Yield the feature (d,) of each photo."""
    model.open()
    side = model.least  # raises where the model takes no photos
    return _each(lambda photo: model.feature(load(photo, side)), photos, progress)


def _each(
    work: Callable[[Photo], T], photos: Sequence[Photo], progress: Progress
) -> Iterator[T | UnreadableError]:
    def attempt(photo: Photo) -> T | UnreadableError:
        try:
            return work(photo)
        except UnreadableError as error:
            return error

    for done, found in enumerate(ahead(attempt, photos), 1):
        yield found
        progress(done)


def judge(
    model: Model, photos: Sequence[Photo], progress: Progress = silent
) -> Iterator[Verdict | UnreadableError]:
    """Yield what the model makes of each photo."""
    found = features(model, photos, progress)
    while some := list(islice(found, CHUNK)):
        sound = [one for one in some if not isinstance(one, UnreadableError)]
        verdicts = iter(_verdicts(model, np.stack(sound)) if sound else ())
        yield from (one if isinstance(one, UnreadableError) else next(verdicts) for one in some)


def _verdicts(model: Model, looks: np.ndarray) -> Iterator[Verdict]:
    found = model.judge(looks)
    for scores, probabilities, margin in zip(
        found.scores, found.probabilities, found.margin, strict=True
    ):
        yield Verdict(scores, probabilities, float(margin))
