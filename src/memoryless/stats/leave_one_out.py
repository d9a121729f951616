"""Leave-one-out: each learned photo scored by the discriminant without it, from the sums.

Taking photos out of the sums changes L by a matrix of low rank, so their scores follow in closed
form (Lachenbruch and Mickey 1968; Fukunaga and Kessell 1971). Photos of one class that are nearly
the same are left out together. The 1 / N of S, the shrinkage and tau stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from memoryless.stats.discriminant import Discriminant, Solution
from memoryless.threads import one_thread

AT_ONCE = 2**19  # numbers in work
MOST, FEWEST = 20_000, 2_000  # rows of a call that are checked
MOST_SCORES = 50_000_000  # of them: with many classes fewer rows are checked, which takes seconds
TOGETHER = 256  # photos left out at once; a larger set takes too long, and is not scored
SMALLEST = 1e-6
"""The least eigenvalue of what is inverted, times N. It is above 0 without rounding; the least that
was seen was 0.035, with two photos a class."""


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
) -> Iterator[LeftOut]:
    """Yield leave-one-out scores of learned photos, some photos at a time.

    Features (m, d) stand in one array for each group. Photos of a class with the same number in
    `alike` (m,) are left out together. A photo without another one of its class is not scored, nor
    one of more than `TOGETHER` that are nearly the same.
    """
    count = discriminant.groups[0].count
    _, sets, sizes = np.unique(
        np.stack([labels, alike]), axis=1, return_inverse=True, return_counts=True
    )
    size = sizes[sets.reshape(-1)]
    order = np.lexsort((sets.reshape(-1), size))
    order = order[(size[order] < count[labels[order]]) & (size[order] <= TOGETHER)]
    widest = max(len(count), *(len(group.centre) for group in discriminant.groups))
    for k in np.unique(size[order]).tolist():
        together = order[size[order] == k].reshape(-1, k)
        step = max(1, AT_ONCE // (k * (widest + k)))
        for start in range(0, len(together), step):
            some = together[start : start + step]
            with one_thread():
                scores, mean = _scores(discriminant, features, labels[some[:, 0]], some)
            scores, mean = scores.reshape(-1, len(count)), mean.reshape(-1)
            yield LeftOut(some.reshape(-1), scores, scores.max(1) - mean)


def _scores(
    discriminant: Discriminant, features: Sequence[np.ndarray], labels: np.ndarray, some: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The weighted sum over groups of the scores of photos (G, k) of classes (G,)."""
    scores = np.zeros((*some.shape, len(discriminant.groups[0].count)))
    mean = np.zeros(some.shape)
    each = zip(discriminant.weights, discriminant.groups, features, strict=True)
    for weight, group, rows in each:
        if weight:
            own, of_mean = leave_out(group, rows[some].astype(np.float64), labels)
            scores += weight * own
            mean += weight * of_mean
    return scores, mean


def leave_out(
    group: Solution, features: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Scores (G, k, C) of G sets of k photos of one class by the model without the set.

    With them comes the score (G, k) of the mean of all other photos. `y` has the class of each set.
    """
    G, k, d = features.shape
    N, n, sets = group.photos, group.count[y], np.arange(G)
    F = features - group.centre
    A = F - group.means[y][:, None]  # (G, k, d), less the mean of their class
    AL = (A.reshape(-1, d) @ group.inverse).reshape(G, k, d)  # one product, not one for each set
    Q = AL @ A.swapaxes(1, 2)  # a L a'
    classes, place = np.unique(y, return_inverse=True)
    K = (group.W[classes] @ group.means.T)[place]  # (G, C), m_y L m_j
    B = (AL.reshape(-1, d) @ group.means.T).reshape(G, k, -1)  # (G, k, C), a L m_j
    P = B + K[:, None]  # f L m_j
    own = group.own[y]
    By = B[sets, :, y]  # (G, k)

    # Without the set the inverse is L + L A' H A L.
    H = np.linalg.inv(_floored(N * (np.eye(k) - 1 / n[:, None, None]) - Q, N))
    fA = Q + By[:, None]  # (G, k, k), f L a'
    HB = H @ B
    scores = P + fA @ HB + group.b - (B * HB).sum(1, keepdims=True) / 2

    v = 1 / (n - k)  # the mean of their class without them is m_y - v sum of a
    b = By - v[:, None] * Q.sum(2)
    squared = own - 2 * v * By.sum(1) + v**2 * Q.sum((1, 2))
    Hb = (H @ b[:, :, None])[:, :, 0]
    scores[sets, :, y] = (
        P[sets, :, y]
        - v[:, None] * fA.sum(2)
        + (fA @ Hb[:, :, None])[:, :, 0]
        + (group.tau * v - squared - (b * Hb).sum(1))[:, None] / 2
    )

    u = 1 / (N - k)  # the mean of all photos, 0 here, without them is - u sum of f
    ff = fA + (By + own[:, None])[:, :, None]  # f L f'
    c = -u * fA.sum(1)  # a L times that mean
    Hc = (H @ c[:, :, None])[:, :, 0]
    mean = (
        -u * ff.sum(2)
        + (fA @ Hc[:, :, None])[:, :, 0]
        + (group.tau * u - u**2 * ff.sum((1, 2)) - (c * Hc).sum(1))[:, None] / 2
    )
    return scores, mean


def _floored(matrices: np.ndarray, N: float) -> np.ndarray:
    """Symmetric matrices with no eigenvalue below `SMALLEST` N."""
    values, vectors = np.linalg.eigh(matrices)
    if values.min(initial=1.0 * N) >= SMALLEST * N:
        return matrices
    return (vectors * np.maximum(values, SMALLEST * N)[:, None]) @ vectors.swapaxes(1, 2)


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
