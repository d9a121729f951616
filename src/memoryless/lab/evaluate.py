"""Scores methods on the test images of a state, in bounded memory.

Heads over class statistics may hold a matrix for each class, so each head is built, scored with all
its calibrations, and dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate
from math import isnan

import msgspec
import numpy as np

from memoryless.lab.described import Scored, Typology
from memoryless.stats.calibration import CALIBRATIONS
from memoryless.stats.methods import Method, bytes_needed, head_scorer
from memoryless.stats.metrics import accuracy_at, accuracy_by_state, error_typology
from memoryless.stats.record import EndOfState, Record
from memoryless.threads import in_threads

CHUNK = 256  # images scored at once: 1 MB of scores for 1,000 classes, which caches hold
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Outcome:
    """The answers of one method."""

    predictions: np.ndarray  # (n,)
    ranks: np.ndarray  # (n,) of the true class, 0 is best
    cost: int
    """Multiplications for one image."""

    @classmethod
    def empty(cls, images: int, cost: int) -> Outcome:
        return cls(np.empty(images, np.int64), np.empty(images, np.int64), cost)

    def enter(self, chunk: slice, scores: np.ndarray, labels: np.ndarray) -> None:
        """Enter the answers of a chunk of images, from scores (n, N) and labels (n,)."""
        self.predictions[chunk] = scores.argmax(1)
        # metrics.ranks in half its time: NumPy sums small integers faster than booleans
        true, classes = scores[np.arange(len(labels)), labels], scores.shape[1]
        below = (scores < true[:, None]).view(np.uint8)
        self.ranks[chunk] = (
            classes - 1 - below.sum(1, dtype=np.min_scalar_type(classes)).astype(int)
        )


def score_methods(
    features: np.ndarray,
    labels: np.ndarray,
    methods: Mapping[str, Method],
    end: EndOfState,
    progress: Progress = lambda done, total: None,
) -> dict[str, Scored]:
    """Return the results of every method on these images, in percent."""
    outcomes = score(features, labels, methods, end, progress)
    record = end.record.arrays()
    return {
        name: figures_of(outcome, labels, end.record, bytes_needed(methods[name], record))
        for name, outcome in outcomes.items()
    }


def figures_of(outcome: Outcome, labels: np.ndarray, record: Record, kept: int = 0) -> Scored:
    """Return the results after the record's last state of a method that needs `kept` bytes."""
    past = int((record.class_state < record.states - 1).sum())
    shares = error_typology(outcome.predictions, labels, past)
    known = {kind: None if isnan(share) else share for kind, share in shares.items()}
    return Scored(
        top1=accuracy_at(outcome.ranks, 1),
        top5=accuracy_at(outcome.ranks, min(5, record.classes)),
        typology=msgspec.convert(known, Typology),
        by_state=accuracy_by_state(outcome.predictions, labels, record.class_state),
        bytes=kept,
        cost=outcome.cost,
    )


def score(
    features: np.ndarray,
    labels: np.ndarray,
    methods: Mapping[str, Method],
    end: EndOfState,
    progress: Progress = lambda done, total: None,
) -> dict[str, Outcome]:
    """Return the answers of every method.

    `progress` gets the number of images scored by all methods so far, or as much work by some, and
    the number of images.
    """
    found: dict[str, Outcome] = {}
    groups = _groups(methods)
    for number, group in enumerate(groups):
        for finished in _score_group(features, labels, group, end, found):
            progress((number * len(labels) + finished) // len(groups), len(labels))
    return {name: found[name] for name in methods}


def _groups(methods: Mapping[str, Method]) -> list[dict[str, Method]]:
    """Group methods that differ in their calibration alone."""
    groups: dict[Method, dict[str, Method]] = {}
    for name, method in methods.items():
        groups.setdefault(replace(method, calibration="none"), {})[name] = method
    return list(groups.values())


def _score_group(
    features: np.ndarray,
    labels: np.ndarray,
    methods: Mapping[str, Method],
    end: EndOfState,
    found: dict[str, Outcome],
) -> Iterator[int]:
    """Put the answers of one head with some calibrations into `found`; yield the images finished.

    The head lives in here only.
    """
    head = head_scorer(next(iter(methods.values())), end)
    fits = {
        name: fit(head, end)
        for name, method in methods.items()
        if (fit := CALIBRATIONS[method.calibration].fit)
    }
    outcomes = {name: Outcome.empty(len(labels), head.cost) for name in methods}
    found |= outcomes

    def enter(chunk: slice) -> int:
        scores = head(features[chunk].astype(np.float32))
        for name, outcome in outcomes.items():
            gain, offset = fits.get(name, (None, None))
            own = scores if gain is None else scores * gain + offset
            outcome.enter(chunk, own, labels[chunk])
        return len(labels[chunk])

    chunks = [slice(start, start + CHUNK) for start in range(0, len(labels), CHUNK)]
    yield from accumulate(in_threads(enter, chunks))
