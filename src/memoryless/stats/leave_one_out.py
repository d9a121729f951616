"""Leave-one-out: each learned photo scored by the discriminant without it, from the sums.

Taking photos out of the sums changes L by a matrix of low rank, so their scores follow in closed
form (Lachenbruch and Mickey 1968; Fukunaga and Kessell 1971). Photos of one class that are nearly
the same are left out together. The 1 / N of S, the shrinkage and tau stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from memoryless.stats.confidence import softmax
from memoryless.stats.discriminant import Discriminant, Solution
from memoryless.threads import one_thread

AT_ONCE = 2**19  # numbers in work
MOST, FEWEST = 20_000, 2_000  # rows of a call that are checked
MOST_SCORES = 50_000_000  # of them: with many classes fewer rows are checked, which takes seconds
TOGETHER = 256  # photos left out at once; a larger set takes too long, and is not scored
SMALLEST = 1e-6
"""The least eigenvalue of what is inverted, times N. It is above 0 without rounding; the least that
was seen was 0.035, with two photos a class."""
UNLIKELY = 0.01
"""A photo whose own class has a smaller probability may have the wrong label. Of labels changed at
random this finds more than half; `benchmarks/suspects.py` measures it."""


class LeftOut(NamedTuple):
    """Scores of some photos, each by the model without it."""

    photos: np.ndarray  # (m,), their numbers
    scores: np.ndarray  # (m, C)
    margins: np.ndarray  # (m,), of the best class over the mean of all photos


def leave_one_out(
    discriminant: Discriminant,
    features: Sequence[np.ndarray],
    labels: np.ndarray,
    alike: np.ndarray,
    only: np.ndarray | None = None,
) -> Iterator[LeftOut]:
    """Yield leave-one-out scores of learned photos, some photos at a time.

    Features (m, d) stand in one array for each group. Photos of a class with the same number in
    `alike` (m,) are left out together. A photo without another one of its class is not scored, nor
    one of more than `TOGETHER` that are nearly the same. With a mask `only` (m,), those in it are
    scored, and those that are left out together with them.
    """
    count = discriminant.groups[0].count
    _, sets, sizes = np.unique(
        np.stack([labels, alike]), axis=1, return_inverse=True, return_counts=True
    )
    sets = sets.reshape(-1)
    size = sizes[sets]
    order = np.lexsort((sets, size))
    order = order[(size[order] < count[labels[order]]) & (size[order] <= TOGETHER)]
    if only is not None:
        order = order[np.isin(sets[order], sets[only])]
    widest = max(len(count), *(len(group.centre) for group in discriminant.groups))
    for k in np.unique(size[order]).tolist():
        together = order[size[order] == k].reshape(-1, k)
        step = max(1, AT_ONCE // (k * (widest + k)))
        for start in range(0, len(together), step):
            some = together[start : start + step]
            with one_thread():
                scores = _scores(discriminant, features, labels[some[:, 0]], some)
            scores, mean = scores[:, :-1], scores[:, -1]
            yield LeftOut(some.reshape(-1), scores, scores.max(1) - mean)


def _scores(
    discriminant: Discriminant, features: Sequence[np.ndarray], labels: np.ndarray, some: np.ndarray
) -> np.ndarray:
    """Return the weighted sum over groups of the scores (G k, C + 1) of sets of classes (G,)."""
    scores = np.zeros((some.size, len(discriminant.groups[0].count) + 1))
    each = zip(discriminant.weights, discriminant.groups, features, strict=True)
    for weight, group, rows in each:
        if weight:
            own = leave_out(group, rows[some].astype(np.float64), labels)
            scores += weight * own.reshape(scores.shape)
    return scores


def leave_out(group: Solution, features: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return scores (G, k, C + 1) of G sets of k photos of a class y (G,), by the model without
    the set.

    The last score is that of the mean of all other photos.
    """
    G, k, d = features.shape
    N, n, sets = group.photos, group.count[y], np.arange(G)
    F = features - group.centre
    A = F - group.means[y][:, None]  # (G, k, d), less the mean of their class
    AL = (A.reshape(-1, d) @ group.inverse).reshape(G, k, d)  # one product, not one for each set
    aLa = AL @ A.swapaxes(1, 2)  # (G, k, k)
    centres = np.pad(group.means, ((0, 1), (0, 0)))  # (C + 1, d), the last is that of all photos
    classes, place = np.unique(y, return_inverse=True)
    yLm = (group.W[classes] @ centres.T)[place]  # (G, C + 1), y the mean of their class
    aLm = (AL.reshape(-1, d) @ centres.T).reshape(G, k, -1)  # (G, k, C + 1)
    fLm = aLm + yLm[:, None]
    mLm = np.tile(np.append(group.own, 0.0), (G, 1))  # (G, C + 1)
    number = np.tile(np.append(group.count, N), (G, 1))
    aLy, yLy = aLm[sets, :, y], mLm[sets, y]
    fLa = aLa + aLy[:, None]  # (G, k, k)
    fLf = fLa + (aLy + yLy[:, None])[:, :, None]

    v = 1 / (n - k)  # the mean of their class without them is y - v sum of a
    fLm[sets, :, y] -= v[:, None] * fLa.sum(2)
    aLm[sets, :, y] -= v[:, None] * aLa.sum(2)
    mLm[sets, y] += v**2 * aLa.sum((1, 2)) - 2 * v * aLy.sum(1)

    u = 1 / (N - k)  # the mean of all photos, 0 here, without them is - u sum of f
    fLm[:, :, -1] = -u * fLf.sum(2)
    aLm[:, :, -1] = -u * fLa.sum(1)
    mLm[:, -1] = u**2 * fLf.sum((1, 2))
    number[sets, y] -= k
    number[:, -1] -= k

    # Without the set the inverse is L + L A' H A L.
    H = np.linalg.inv(_floored(N * (np.eye(k) - 1 / n[:, None, None]) - aLa, N))
    HaLm = H @ aLm
    b = (group.tau / number - mLm - (aLm * HaLm).sum(1)) / 2
    return fLm + fLa @ HaLm + b[:, None]


def _floored(matrices: np.ndarray, N: float) -> np.ndarray:
    """Return symmetric matrices with no eigenvalue below `SMALLEST` N."""
    values, vectors = np.linalg.eigh(matrices)
    if values.min(initial=1.0 * N) >= SMALLEST * N:
        return matrices
    return (vectors * np.maximum(values, SMALLEST * N)[:, None]) @ vectors.swapaxes(1, 2)


class Unlikely(NamedTuple):
    """Photos whose own class is unlikely, the least probable first."""

    photos: np.ndarray  # (m,), their numbers
    answers: np.ndarray  # (m,), the class that fits each best
    probabilities: np.ndarray  # (m,), of their own class


def unlikely(
    discriminant: Discriminant,
    features: Sequence[np.ndarray],
    labels: np.ndarray,
    alike: np.ndarray,
    gaps: np.ndarray,
    temperature: float,
) -> Unlikely:
    """Return the photos whose own class is below `UNLIKELY` by leave-one-out, and not the best.

    `gaps` (m,) says how far the best class of each photo scores above its own, -inf for photos that
    were not scored. The temperature is known only once all photos are scored, and their scores of
    all classes take too much memory to wait for it. So those photos that can be unlikely are scored
    again, and their gaps tell which: a probability is at least exp(-gap / T) / C.
    """
    classes = len(discriminant.groups[0].count)
    can_be = gaps > temperature * max(0.0, -np.log(UNLIKELY * classes))
    none = np.zeros(0, np.int64)
    found = [Unlikely(none, none, np.zeros(0))]
    for photos, scores, _ in leave_one_out(discriminant, features, labels, alike, can_be):
        own, answers = labels[photos], scores.argmax(1)
        probabilities = softmax(scores / temperature)[np.arange(len(own)), own]
        some = (probabilities < UNLIKELY) & (answers != own)
        found.append(Unlikely(photos[some], answers[some], probabilities[some]))
    whole = Unlikely(*map(np.concatenate, zip(*found, strict=True)))
    order = np.lexsort((whole.photos, whole.probabilities))
    return Unlikely(*(column[order] for column in whole))


class Sample:
    """Rows of a call that wait for leave-one-out: a bounded number, evenly over its classes.

    Of each class the rows with the smallest hashes stay, so that neither the order of the rows nor
    the chunks that they come in change which ones do.
    """

    def __init__(self, brought: int, classes: int):
        """Expect rows of `brought` classes, to be scored over so many classes in all."""
        self.size = min(MOST, max(FEWEST, MOST_SCORES // classes))
        self.quota = max(1, self.size // brought)
        self.seen = 0
        self.labels = np.zeros(0, np.int64)  # (m,)
        self.numbers = np.zeros(0, np.int64)  # (m,), the number of each row among all of the call
        self._hashes = np.zeros(0, np.uint64)  # (m,)
        self._places = np.zeros(0, np.int64)  # (m,), where each row stands among those that wait
        self._waiting = np.zeros((0, 0))

    @property
    def rows(self) -> np.ndarray:
        """The rows (m, d) that wait."""
        return self._waiting[self._places]

    def add(self, rows: np.ndarray, labels: np.ndarray) -> None:
        """Add a chunk of rows (n, d) of classes (n,)."""
        if not len(self._waiting):
            self._waiting = np.empty((self.size, rows.shape[1]), rows.dtype)
        numbers = np.arange(self.seen, self.seen + len(labels))
        self.seen += len(labels)
        labels = np.concatenate([self.labels, labels])
        hashes = np.concatenate([self._hashes, _hashes(rows)])
        stay = self._smallest(labels, hashes)
        past = stay < len(self._places)
        places = np.empty(len(stay), np.int64)
        places[past] = self._places[stay[past]]
        free = np.setdiff1d(np.arange(self.size), places[past])  # a row that goes leaves its place
        places[~past] = free[: np.count_nonzero(~past)]
        self._waiting[places[~past]] = rows[stay[~past] - len(self._places)]
        self.numbers = np.concatenate([self.numbers, numbers])[stay]
        self.labels, self._hashes, self._places = labels[stay], hashes[stay], places

    def _smallest(self, labels: np.ndarray, hashes: np.ndarray) -> np.ndarray:
        """Return which rows stay, in their order."""
        order = np.lexsort((hashes, labels))
        rank = np.arange(len(order)) - np.searchsorted(labels[order], labels[order])
        stay = order[rank < self.quota]
        return np.sort(stay[np.argsort(hashes[stay], kind="stable")[: self.size]])


def _hashes(rows: np.ndarray) -> np.ndarray:
    """Return a number for each row (n, d) that looks random and depends on its values alone."""
    bits = np.ascontiguousarray(rows, dtype=np.float64).view(np.uint64)
    bits = bits ^ (bits >> np.uint64(32))
    factors = np.random.default_rng(0).integers(2**63, size=bits.shape[1], dtype=np.uint64) | 1
    sums = (bits * factors).sum(1, dtype=np.uint64)
    sums ^= sums >> np.uint64(32)
    return (sums * np.uint64(0xD6E8FEB86659FD93)) >> np.uint64(1)
