"""The evidence for the defaults of models over fixed features; docs/lab/archive.md has the answers.

Choices are made on held-out photos of the training part and confirmed on test photos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.choosing_features import extractor
from benchmarks.choosing_known import known
from benchmarks.choosing_maths import (
    EACH,
    RULES,
    SEEDS,
    SETS,
    VIEWS,
    Discriminant,
    Part,
    at_most,
    few,
    joined,
    load,
    show,
    splits,
    top1,
)
from benchmarks.timing import side_by_side
from memoryless.embed.session import Extractor
from memoryless.stats import discriminant
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.scorers import unit

RULE = "d / n"
Head = Callable[[Part, np.ndarray], np.ndarray]


def nearest_mean(part: Part, X: np.ndarray) -> np.ndarray:
    means = [part.X[part.y == c].mean(0) for c in range(part.classes)]
    return unit(X) @ unit(np.stack(means)).T


def lda(part: Part, X: np.ndarray, rule: str = RULE, sphere: bool = False) -> np.ndarray:
    fit = Discriminant(part)
    return fit.scores(X, fit.shrunk(rule), sphere)[:, :-1]


def ridge(part: Part, X: np.ndarray, penalty: float) -> np.ndarray:
    """Least squares to one-hot labels; the penalty is a multiple of the mean variance."""
    centre, targets = part.X.mean(0), np.eye(part.classes)[part.y]
    away = part.X - centre
    C = away.T @ away
    C += penalty * C.trace() / len(C) * np.eye(len(C))
    return (X - centre) @ np.linalg.solve(C, away.T @ (targets - targets.mean(0)))


def rda(part: Part, X: np.ndarray, share: float) -> np.ndarray:
    """Each class with a share of its own covariance, shrunk as the one for all."""
    fit = Discriminant(part)
    S = fit.V * fit.values @ fit.V.T
    shared, scores = S + np.trace(S) / fit.n * np.eye(fit.d), []
    for c, mean in enumerate(fit.mean):
        own = np.cov(part.X[part.y == c].T, bias=True)
        own += np.trace(own) / fit.n * np.eye(fit.d)
        root = np.linalg.cholesky((1 - share) * shared + share * own)
        away = np.linalg.solve(root, (X - mean).T)
        scores.append(-(away**2).sum(0) / 2 - np.log(np.diag(root)).sum())
    return np.stack(scores, 1)


def logistic(part: Part, X: np.ndarray, C: float) -> np.ndarray:
    """Logistic regression on all photos at once: not memoryless, an upper bound."""
    from sklearn.linear_model import LogisticRegression

    learned = LogisticRegression(C=C, max_iter=300).fit(part.X.astype(np.float32), part.y)
    return learned.decision_function(X)


def bound(head: Any, **settings: Any) -> Head:
    return lambda part, X: head(part, X, **settings)


LOGISTIC = {f"logistic C = {C}": bound(logistic, C=C) for C in (1, 10, 100)}
HEADS: dict[str, Head] = {
    "nearest mean (cosine)": nearest_mean,
    "lda, means as they are": lda,
    "lda, means on the sphere": bound(lda, sphere=True),
    **{f"ridge {p}": bound(ridge, penalty=p) for p in (0.3, 1, 3)},
}


def heads(cache: Path) -> None:
    """Held-out photos choose a head, its view and its penalty."""
    for name in SETS:
        show(f"{name}, heads", ["view", "head", "held-out", "test"], list(_heads(cache, name)))


def _heads(cache: Path, name: str) -> Iterable[list[Any]]:
    for view in VIEWS:
        train, test = few(cache, name, view)
        slow = SLOW if name == "birds40" else LOGISTIC
        for head, scorer in (HEADS | (slow if view == "roots" else {})).items():
            yield [view, head, *both(scorer, train, test, EACH, seeds_of(head))]


SLOW = LOGISTIC | {f"rda, own share {a}": bound(rda, share=a) for a in (0.1, 0.3)}


def seeds_of(head: str) -> Sequence[int]:
    """Some heads take minutes, so one seed must do for them."""
    return SEEDS[:1] if head in SLOW else SEEDS


def both(
    head: Head, train: Part, test: Part, each: int, seeds: Sequence[int] = SEEDS
) -> tuple[float, float]:
    """Top-1 of held-out photos, and of test photos when held-out ones are learned too."""
    measured = [
        top1(head(at_most(learned, each, seed), measuring.X), measuring.y)
        for seed, learned, measuring in splits(train, seeds)
    ]
    draws = seeds if each < np.bincount(train.y).min() else seeds[:1]
    confirmed = [top1(head(at_most(train, each, seed), test.X), test.y) for seed in draws]
    return float(np.mean(measured)), float(np.mean(confirmed))


def shrinkage(cache: Path) -> None:
    """Top-1 under every rule, for few and many photos and classes."""
    cases, found = [], []
    for name, sizes in CASES.items():
        train, test = load(cache, f"{name}-224")
        for classes, each in sizes:
            cases.append([name, classes, each])
            found.append(np.mean(list(_under(train, test, classes, each)), 0))
    for title, figures in zip(("held-out", "test"), np.swapaxes(found, 0, 1), strict=True):
        losses = figures.max(1, keepdims=True) - figures
        rows = [[*case, *row.tolist()] for case, row in zip(cases, figures, strict=True)]
        rows.append(["mean", "", "", *figures.mean(0).tolist()])
        rows.append(["most lost to the best", "", "", *losses.max(0).tolist()])
        show(f"shrinkage, {title}", ["data", "classes", "photos a class", *TRIED], rows)


TRIED = ("0.1", "0.2", "0.3", "0.5", "0.7", "1", "2", *RULES)
CASES = {
    "birds40": [(2, 5), (2, 24), (5, 5), (5, 24), (40, 5), (40, 24)],
    "cifar100": [(5, 5), (5, 20), (5, 80), (10, 400), (100, 5), (100, 20), (100, 80)],
    "drawings": [(5, 5), (5, 20), (5, 64), (100, 5), (100, 20), (100, 64)],
}


def _under(train: Part, test: Part, classes: int, each: int) -> Iterable[list[list[float]]]:
    """Held-out and test accuracy under every rule, for drawn classes; few classes are drawn ten
    times for each seed.
    """
    for seed, learned, measuring in splits(train):
        for draw in range(10 if classes <= 5 else 1):
            among = 10 if each > 80 else train.classes  # more photos are there of the first ten
            new = np.full(train.classes, -1)
            new[np.random.default_rng([seed, draw]).permutation(among)[:classes]] = range(classes)
            part = at_most(learned.relabelled(new), each, seed)
            fit = Discriminant(part)
            ends = [at_most(end.relabelled(new), 20, seed) for end in (measuring, test)]
            yield [
                [top1(fit.scores(end.X, fit.shrunk(rule))[:, :-1], end.y) for rule in TRIED]
                for end in ends
            ]


def size(cache: Path) -> None:
    """Larger images, at the same number of photos."""
    rows = []
    for name, each in (("birds40", 30), ("birds40", 5)):
        for side in (224, 320):
            rows.append([name, each, side, *both(lda, *load(cache, f"{name}-{side}"), each)])
    photo = np.random.default_rng(0).integers(256, size=(256, 256, 3), dtype=np.uint8)
    graphs = {side: extractor(side) for side in (224, 320)}
    looks = {str(side): bound_look(graph, photo) for side, graph in graphs.items()}
    seconds = side_by_side(looks, rounds=20)
    print(f"\n320 px take {seconds['320'] / seconds['224']:.1f} times as long as 224 px")
    show("image size", ["data", "photos a class", "pixels", "held-out", "test"], rows)


def bound_look(through: Extractor, photo: np.ndarray) -> Callable[[], object]:
    return lambda: through.feature(photo)


def mirror(cache: Path) -> None:
    """The photo and its mirror image, in learning, in predicting, or in both."""
    plain, mirrored = (load(cache, f"birds40-224{end}") for end in ("", "-mirror"))
    rows = [[each, way, *_mirrored(plain, mirrored, each, way)]
            for each in (5, 30) for way in WAYS]  # fmt: skip
    show("two views, birds40", ["photos a class", "way", "held-out", "test"], rows)


WAYS = ("photo alone", "both learned", "both predicted", "both learned and predicted",
        "mean of both features")  # fmt: skip


def _mirrored(plain: Any, mirrored: Any, each: int, way: str) -> tuple[float, float]:
    """Top-1 of held-out photos and of test photos."""
    found = []
    for one, other in zip(splits(plain[0]), splits(mirrored[0]), strict=True):
        learned = [at_most(part, each, one[0]) for part in (one[1], other[1])]
        found.append(top1(_two(way, learned, [one[2], other[2]]), one[2].y))
    whole = [at_most(part, each, 0) for part in (plain[0], mirrored[0])]
    return float(np.mean(found)), top1(_two(way, whole, [plain[1], mirrored[1]]), plain[1].y)


def _two(way: str, learned: list[Part], asked: list[Part]) -> np.ndarray:
    if way == "mean of both features":
        learned, asked = ([Part((a.X + b.X) / 2, a.y)] for a, b in (learned, asked))
    learned = learned if "learned" in way else learned[:1]
    fit = Discriminant(joined(*learned))
    g = fit.shrunk(RULE) * len(learned)  # two views of a photo are not two photos
    asked = asked if "predicted" in way else asked[:1]
    return np.mean([fit.scores(p.X, g)[:, :-1] for p in asked], axis=0)


def states(cache: Path) -> None:
    """The largest difference of scores between orders and splits, as a share of their range."""
    train, test = load(cache, "birds40-224")
    whole = solved(ClassStatistics.of(*train, train.classes, fixed=True), test.X)
    rows = []
    for number in (1, 8, 40):
        for seed in SEEDS:
            order = np.random.default_rng(seed).permutation(train.classes)
            scores = solved(_in_states(train, order, number), test.X)
            gap = np.abs(scores - whole[:, order]).max() / np.ptp(whole)
            rows.append([number, seed, f"{gap:.0e}", top1(scores, np.argsort(order)[test.y])])
    show("orders and splits, birds40", ["states", "order", "difference / range", "test"], rows)


def solved(statistics: ClassStatistics, X: np.ndarray) -> np.ndarray:
    """Scores (n, N) of the layer that memoryless solves from class statistics."""
    W, b = discriminant.Discriminant.of(statistics).layer
    return (X @ W.T + b)[:, :-1]


def _in_states(train: Part, order: np.ndarray, number: int) -> ClassStatistics:
    whole: ClassStatistics | None = None
    for classes in np.array_split(order, number):
        new = np.full(train.classes, -1)
        new[classes] = range(len(classes))
        own = ClassStatistics.of(*train.relabelled(new), len(classes), fixed=True)
        whole = own if whole is None else whole.join(own)
    assert whole is not None
    return whole


def bar(cache: Path) -> None:
    """Eight states of five classes against logistic regression on all photos at once."""
    train, test = load(cache, "birds40-224")
    chosen = max(
        LOGISTIC, key=lambda name: both(LOGISTIC[name], train, test, EACH, seeds_of(name))[0]
    )
    reference = LOGISTIC[chosen](train, test.X).argmax(1) == test.y
    rows = []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(train.classes)
        scores = solved(_in_states(train, order, 8), test.X)
        right = scores.argmax(1) == np.argsort(order)[test.y]
        rows.append([seed, 100 * right.mean(), 100 * reference.mean(), *interval(right, reference)])
    title = f"birds40, eight states of five classes against all at once ({chosen})"
    show(title, ["order", "lda", "logistic", "difference", "2.5 %", "97.5 %"], rows)


def interval(a: np.ndarray, b: np.ndarray, draws: int = 10_000) -> tuple[float, float, float]:
    """The difference in points and its paired bootstrap interval over photos."""
    gaps = 100.0 * (a.astype(int) - b)
    picks = np.random.default_rng(0).integers(len(gaps), size=(draws, len(gaps)))
    low, high = np.quantile(gaps[picks].mean(1), [0.025, 0.975])
    return float(gaps.mean()), float(low), float(high)


QUESTIONS: dict[str, Callable[[Path], None]] = {
    "shrinkage": shrinkage, "known": known, "mirror": mirror,
    "size": size, "states": states, "bar": bar, "heads": heads,
}  # fmt: skip


def ask(cache: Path, questions: Sequence[str]) -> None:
    """Print the tables of some questions, or of all."""
    for question in questions or QUESTIONS:
        QUESTIONS[question](cache)
