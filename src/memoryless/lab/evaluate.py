"""Scores methods on the test images of a state, in bounded memory.

Heads over rows are small and share their matrix products. Heads over class statistics may hold a
matrix for each class, so each is built, scored with all its calibrations, and dropped.
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
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import Method, build_scorer, bytes_needed, head_scorer
from memoryless.stats.metrics import accuracy_at, accuracy_by_state, error_typology
from memoryless.stats.record import EndOfState, Record
from memoryless.stats.scorers import Linear
from memoryless.threads import in_threads

CHUNK = 256  # images scored at once: 1 MB of scores for 1,000 classes, which caches hold
Progress = Callable[[int, int], None]
ScoreChunk = Callable[[np.ndarray], Iterator[tuple[str, np.ndarray]]]
"""Features (n, d) to the scores (n, N) of each method of a group."""


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
    """Group methods that share work: all over rows, and the calibrations of each other head."""
    groups: dict[Method | None, dict[str, Method]] = {}
    for name, method in methods.items():
        over_rows = HEADS[method.head].gives_logits
        key = None if over_rows else replace(method, calibration="none")
        groups.setdefault(key, {})[name] = method
    return sorted(groups.values(), key=lambda group: group is not groups.get(None))


def _score_group(
    features: np.ndarray,
    labels: np.ndarray,
    methods: Mapping[str, Method],
    end: EndOfState,
    found: dict[str, Outcome],
) -> Iterator[int]:
    """Put the answers of methods that share work into `found`; yield the images finished.

    Their scorers live in here only.
    """
    first = next(iter(methods.values()))
    over_rows = HEADS[first.head].gives_logits
    costs, score_chunk = (_row_methods if over_rows else _calibrations)(methods, end)
    outcomes = {name: Outcome.empty(len(labels), cost) for name, cost in costs.items()}
    found |= outcomes

    def enter(chunk: slice) -> int:
        for name, scores in score_chunk(features[chunk].astype(np.float32)):
            outcomes[name].enter(chunk, scores, labels[chunk])
        return len(labels[chunk])

    chunks = [slice(start, start + CHUNK) for start in range(0, len(labels), CHUNK)]
    yield from accumulate(in_threads(enter, chunks))


def _row_methods(
    methods: Mapping[str, Method], end: EndOfState
) -> tuple[dict[str, int], ScoreChunk]:
    """Return the cost of methods over rows, and their scorer, which shares matrix products."""
    layers = {name: build_scorer(method, end) for name, method in methods.items()}
    return {name: layer.cost for name, layer in layers.items()}, SharedProducts.of(layers)


def _calibrations(
    methods: Mapping[str, Method], end: EndOfState
) -> tuple[dict[str, int], ScoreChunk]:
    """Return the cost of the calibrations of one head over class statistics, and their scorer."""
    head = head_scorer(next(iter(methods.values())), end)
    fits = {
        name: fit(head, end)
        for name, method in methods.items()
        if (fit := CALIBRATIONS[method.calibration].fit)
    }

    def score_chunk(features: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        scores = head(features)
        for name in methods:
            gain, offset = fits.get(name, (None, None))
            yield name, scores if gain is None else scores * gain + offset

    return dict.fromkeys(methods, head.cost), score_chunk


@dataclass(frozen=True)
class SharedLayer:
    """A layer over rows that others share: scores = gain * (rows f) + (sum(f), 1) shift."""

    product: int
    """Which of the shared rows."""
    gain: np.ndarray  # (N,)
    shift: np.ndarray  # (2, N)
    unit: bool
    """Whether features are read at length one."""


@dataclass(frozen=True)
class SharedProducts:
    """Few matrices that must be multiplied, and how to read every layer off their products.

    A layer needs no product of its own if its rows, centred, are multiples of centred rows already
    there: all of the paper's heads, with or without mc, are read off the initial rows. For a row w
    with mean m, w f = (w - m) f + m sum(f), and those heads only shift and scale rows.
    """

    products: list[np.ndarray]
    layers: dict[str, SharedLayer]

    @classmethod
    def of(cls, layers: Mapping[str, Linear]) -> SharedProducts:
        shared = cls([], {})
        for name, layer in layers.items():
            tilt = layer.W.mean(1)
            i, gain = shared._find(layer.W - tilt[:, None], 1e-6 * np.abs(layer.W).max(1))
            shared.layers[name] = SharedLayer(i, gain, np.stack([tilt, layer.b]), layer.unit)
        return shared

    def _find(self, centred: np.ndarray, rounding: np.ndarray) -> tuple[int, np.ndarray]:
        """Return which product, maybe a new one, rows are multiples of, and the factors."""
        for i, rows in enumerate(self.products):
            factor = (centred * rows).sum(1) / np.square(rows).sum(1).clip(min=1e-30)
            if (np.abs(centred - factor[:, None] * rows).max(1) <= rounding).all():
                return i, factor
        self.products.append(centred)
        return len(self.products) - 1, np.ones(len(centred), centred.dtype)

    def __call__(self, features: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
        """Yield the scores of every layer."""
        rows = features[:, : self.products[0].shape[1]]
        raw = [rows @ W.T for W in self.products]  # (n, N) each
        sums, ones = rows.sum(1, keepdims=True), np.ones((len(rows), 1), rows.dtype)
        length = np.linalg.norm(rows, axis=1, keepdims=True).clip(min=1e-12)
        for name, layer in self.layers.items():
            by = length if layer.unit else ones
            scores = (raw[layer.product] if by is ones else raw[layer.product] / by) * layer.gain
            scores += np.concatenate([sums / by, ones], 1) @ layer.shift
            yield name, scores
