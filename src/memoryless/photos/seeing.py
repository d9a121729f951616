"""Photos as a model sees them: read in threads, in order; those that cannot be read say why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memoryless.images.glances import load
from memoryless.images.photos import Photo
from memoryless.embed.session import ahead
from memoryless.errors import DataError

if TYPE_CHECKING:
    from memoryless.model import Model

Progress = Callable[[int], None]
CHUNK = 256  # photos that are judged together


def silent(done: int) -> None:
    """Tell nobody how many photos are done."""


class Verdict(NamedTuple):
    """What a model makes of one photo."""

    scores: np.ndarray  # (N,)
    probabilities: np.ndarray  # (N,)
    margin: float
    """How far above the threshold of `known`."""

    @property
    def known(self) -> bool:
        return bool(self.margin >= 0)


def see(
    model: Model,
    photos: Sequence[Photo],
    progress: Progress = silent,
    take: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Iterator[np.ndarray | str]:
    """What the model learns from each photo, or what else is to be taken from it, or why one cannot
    be read.
    """
    model.open()
    least, take = model.least, take or model.look  # raises where the model takes no photos

    def look(photo: Photo) -> np.ndarray | str:
        try:
            return take(load(photo, least))
        except DataError as error:
            return str(error)

    for done, seen in enumerate(ahead(look, photos), 1):
        yield seen
        progress(done)


def judge(
    model: Model, photos: Sequence[Photo], progress: Progress = silent
) -> Iterator[Verdict | str]:
    """What the model makes of each photo, or why one cannot be read."""
    seen = see(model, photos, progress, model.feature)
    while looks := list(islice(seen, CHUNK)):
        sound = [look for look in looks if not isinstance(look, str)]
        verdicts = iter(_verdicts(model, np.stack(sound)) if sound else ())
        yield from (look if isinstance(look, str) else next(verdicts) for look in looks)


def _verdicts(model: Model, looks: np.ndarray) -> Iterator[Verdict]:
    found = model.judge(looks)
    for scores, probabilities, margin in zip(
        found.scores, found.probabilities, found.margin, strict=True
    ):
        yield Verdict(scores, probabilities, float(margin))
