"""The choice of weights and shrinkages of feature groups, from the sums alone.

For each pair of classes the sums tell by how much the right class should score above the other one
on new photos, and how widely that difference spreads. A model is judged on its own sums, which is
too optimistic; the factor `Solution.optimism` corrects this. So each choice has an expected error,
and the smallest one wins. Classes are no normal distributions, so the expected error is far too
small: it is good for a choice, and is never shown as an accuracy.
"""

from __future__ import annotations

import numpy as np

from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.discriminant import FREE, SHRINKAGE, Discriminant, Solution, combined
from memoryless.threads import one_thread

WEIGHTS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)  # of each group after the first, which has 1
SHRINKAGES = (0.1, 0.3, 1.0)
GAIN = 0.98  # a choice must bring the criterion below this share of the best so far
NOISE = 1e-6  # a criterion below this says nothing
ROUNDS = 4
ALL, NEAREST, AMONG = 1_000, 20, 20_000
"""With more classes than `ALL`, so many are compared, each with its `NEAREST` among at most `AMONG`
others."""


def choose(statistics: ClassStatistics) -> Discriminant:
    """Return the discriminant with the weights and shrinkages of the smallest expected error.

    If the sums tell too little, these are the values of `start`.
    """
    if too_little(statistics):
        return start(statistics)
    with one_thread():
        errors = _Errors(statistics)
        chosen = _search(errors, _start(statistics))
        each = (errors.solution(g, c) for g, (_, c) in enumerate(chosen))
        return Discriminant(tuple(each), tuple(weight for weight, _ in chosen))


def start(statistics: ClassStatistics) -> Discriminant:
    """Return the discriminant at which a choice starts: the first group alone counts."""
    weights, shrinkages = zip(*_start(statistics), strict=True)
    return Discriminant.of(statistics, shrinkages, weights)


def too_little(statistics: ClassStatistics) -> str | None:
    """Say why the sums tell nothing of errors on new photos, if they do not."""
    if statistics.classes < 2:
        return "one class"
    if statistics.photos - statistics.classes < FREE:
        return f"fewer than {FREE} photos beyond one for each class"
    alike = any(group.alike(statistics.count) for group in statistics.groups)
    return "photos of a class do not differ" if alike else None


Choice = list[tuple[float, float]]
"""The weight and the shrinkage of each group."""


def _start(statistics: ClassStatistics) -> Choice:
    return [(1.0, SHRINKAGE)] + [(0.0, SHRINKAGE)] * (len(statistics.groups) - 1)


def _search(errors: _Errors, chosen: Choice) -> Choice:
    """Try each group's weights and shrinkages with the others held, until none gains."""
    best = errors(chosen)
    for _ in range(ROUNDS):
        before = list(chosen)
        for g in range(len(chosen)):
            for weight in WEIGHTS if g else (1.0,):
                for c in SHRINKAGES:
                    other = [*chosen[:g], (weight, c), *chosen[g + 1 :]]
                    if best >= NOISE and (value := errors(other)) < GAIN * best:
                        best, chosen = value, other
        if chosen == before:
            break
    return chosen


class _Errors:
    """Expected errors of choices: of new photos of a class, how many another class takes."""

    def __init__(self, statistics: ClassStatistics):
        self.statistics = statistics
        order = _shuffled(statistics)
        self.rows = order[statistics.count[order] > 1][:ALL]  # a single photo says nothing
        self.columns = order[:AMONG]
        self.near: np.ndarray | None = None
        self.solved: dict[tuple[int, float], Solution] = {}
        self.pairs: dict[tuple[int, float], tuple[np.ndarray, np.ndarray]] = {}

    def solution(self, g: int, c: float) -> Solution:
        if (g, c) not in self.solved:
            self.solved[g, c] = Solution.of(self.statistics, self.statistics.groups[g], c)
        return self.solved[g, c]

    def __call__(self, chosen: Choice) -> float:
        from scipy.special import ndtr  # predicting starts faster without it

        used = [(w, *self._pairs(g, c)) for g, (w, c) in enumerate(chosen) if w]
        lead = sum(weight * own for weight, own, _ in used)
        variance = combined([weight * spread for weight, _, spread in used])
        taken = ndtr(-lead / np.sqrt(np.maximum(variance, 1e-12)))
        return float(np.minimum(taken.sum(1), 1).mean())

    def _pairs(self, g: int, c: float) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much a class leads another on its new photos, (R, J), and the spread."""
        if (g, c) not in self.pairs:
            lead, variance = self.solution(g, c).pairs(self.rows, self.columns)
            lead[self.rows[:, None] == self.columns] = np.inf  # no class takes its own photos
            if len(self.columns) > ALL:
                if self.near is None:  # the first pairs asked for are those of the start
                    self.near = np.argpartition(lead, NEAREST, axis=1)[:, :NEAREST]
                lead, variance = (np.take_along_axis(m, self.near, 1) for m in (lead, variance))
            self.pairs[g, c] = lead, np.sqrt(variance)
        return self.pairs[g, c]


def _shuffled(statistics: ClassStatistics) -> np.ndarray:
    """Return the classes in an order that looks random, and depends on their means alone.

    So neither their names nor the order in which they came change which ones are compared.
    """
    if statistics.classes <= ALL:
        return np.arange(statistics.classes)
    direction = np.random.default_rng(0).normal(size=statistics.mean.shape[1])
    away = statistics.mean - statistics.centre
    cosines = away @ direction / np.linalg.norm(away, axis=1).clip(min=1e-300)
    return np.argsort(cosines * 1e5 % 1, kind="stable")
