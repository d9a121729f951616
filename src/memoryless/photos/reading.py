"""The photos of a plan as they are read, and facts about them that learning reports."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from memoryless.errors import DataError
from memoryless.images.duplicates import SEVERAL_LABELS, near_identical, under_several_labels
from memoryless.images.files import Photo
from memoryless.images.read import Facts, UnreadableError
from memoryless.model import LearningReport
from memoryless.model.model import CHUNK
from memoryless.names import first_ten
from memoryless.photos.doubts import Answers, count_answers
from memoryless.photos.embedding import Embedded, Progress, embed, silent
from memoryless.photos.plan import LEAST_IN_ALL, Plan, check_enough, few_photos


class TooFewError(DataError):
    """Classes that have too few photos that differ and can be read, in `fields["classes"]`."""


class Reading:
    """The photos of a plan as they are read, with facts about them.

    Beyond a chunk of features it holds a few numbers for each photo.
    """

    def __init__(self, plan: Plan, progress: Progress = silent):
        self.plan, self.progress = plan, progress
        self.unsure = under_several_labels(plan.photos)
        self.broken = {photo.name: SEVERAL_LABELS for photo in self.unsure}
        """Photos that cannot be used, and why."""
        self.size = 0
        self.notes: list[str] = []
        self.odd: list[tuple[Photo, Facts]] = []
        """Photos that can be used and have something to remark."""
        self.answers: Answers = defaultdict(Counter)
        self.learned: list[Photo] = []
        """The photos that can be used, in the order of the plan."""
        self._hashes = array("Q")
        """The perceptual hash of each of them."""
        self._digests: dict[str, set[str]] = defaultdict(set)
        """Digests of different files of each class, up to as many as are enough."""

    def learn(self, training: Callable[[Any], None]) -> LearningReport:
        """Learn the photos as they are read."""
        plan = self.plan
        return plan.model.learn_chunks(
            self.chunks(), plan.counts, lambda: self.alike, training, more=bool(plan.more)
        )

    def chunks(self) -> Iterator[tuple[np.ndarray, list[str]]]:
        """Yield features of photos with their classes; raise at the end if photos are too few."""
        sound = self._sound()
        while chunk := list(islice(sound, CHUNK)):
            features = np.stack([one.features for one in chunk])
            labels = [str(one.photo.label) for one in chunk]
            if self.plan.model.classes:
                count_answers(self.plan.model, features, labels, self.answers)
            yield features, labels
        self.notes = self._check_enough()

    def _sound(self) -> Iterator[Embedded]:
        """Yield the photos that can be used, and note facts about them."""
        plan = self.plan
        read = embed(plan.model, (photo for photo in plan.photos if photo not in self.unsure))
        for done, photo in enumerate(plan.photos, 1):
            if photo not in self.unsure:
                one = next(read)
                if isinstance(one, UnreadableError):
                    self.broken[one.name] = one.why
                else:
                    self._note(photo, one.facts)
                    yield one
            self.progress(done)

    def _note(self, photo: Photo, facts: Facts) -> None:
        self.learned.append(photo)
        self._hashes.append(facts.hash)
        self.size += facts.size
        digests = self._digests[str(photo.label)]
        if len(digests) < LEAST_IN_ALL:
            digests.add(facts.sha256)
        if facts.frames > 1 or not facts.exif:
            self.odd.append((photo, facts))

    def _check_enough(self) -> list[str]:
        """Raise if a class has too few different photos; return warnings that the plan lacks."""
        plan = self.plan
        counts = {name: len(self._digests.get(name, ())) for name in plan.counts}
        if few := few_photos(counts, plan.allow_few):
            raise TooFewError("classes have too few photos", classes=few)
        said = check_enough(counts, plan.allow_few)
        return [sentence for sentence in said if sentence not in plan.warnings]

    @cached_property
    def alike(self) -> np.ndarray:
        """A number for each photo that was learned; photos that look the same share one."""
        return near_identical(np.array(self._hashes, dtype=np.uint64))

    def across_classes(self) -> Iterator[str]:
        """Yield nearly the same photos in different classes: perhaps a mistake in the labels."""
        labels: dict[int, dict[str, str]] = {}
        several = np.flatnonzero(np.bincount(self.alike)[self.alike] > 1)
        for i in several.tolist():
            photo = self.learned[i]
            labels.setdefault(int(self.alike[i]), {}).setdefault(str(photo.label), photo.name)
        found = [" and ".join(names.values()) for names in labels.values() if len(names) > 1]
        if found:
            yield f"nearly the same photo in different classes: {first_ten(found)}"
