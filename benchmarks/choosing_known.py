"""Which measure tells that no class fits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.choosing_maths import CLASSES, SETS, Discriminant, Part, few, held_out, show
from memoryless.stats.confidence import Check, softmax
from memoryless.stats.metrics import auroc
from memoryless.stats.scorers import unit


def measures(fit: Discriminant, X: np.ndarray, temperature: float = 1.0) -> dict[str, np.ndarray]:
    """Numbers (n,) that are larger where a class fits."""
    g = fit.shrunk("d / n")
    scores = fit.scores(X, g)
    own, floor = scores[:, :-1], scores[:, -1]
    best, above = own.argmax(1), own.max(1) - floor
    return {
        "relative Mahalanobis": above,
        "its share of the class's own": 2 * above / fit.lengths(g)[best],
        "Mahalanobis": own.max(1) - (fit.solve(X, g) * X).sum(1) / 2,
        "cosine to the nearest mean": (unit(X) @ unit(fit.mean).T).max(1),
        "largest probability": softmax(own / temperature).max(1),
    }


def known(cache: Path) -> None:
    """How well each measure tells photos of known classes from others."""
    for name in SETS:
        for share in (0.5, 0.125):
            found = list(_unknown(*few(cache, name), share))
            rows = [[m, *np.mean([one[m] for one in found], 0)] for m in found[0]]
            columns = ["measure", "AUROC held-out", "AUROC test", "known accepted, test",
                       "unknown accepted, test"]  # fmt: skip
            show(f"{name}, {share * CLASSES:.0f} of {CLASSES} classes known", columns, rows)


def _unknown(train: Part, test: Part, share: float) -> Iterable[dict[str, list[float]]]:
    for seed in range(5):
        new = np.full(CLASSES, -1)
        some = np.random.default_rng(seed).permutation(CLASSES)[: round(CLASSES * share)]
        new[some] = range(len(some))
        learned, measuring = held_out(train, seed)
        fit, final = (Discriminant(part.relabelled(new)) for part in (learned, train))
        T = temperature(fit, measuring.relabelled(new))
        before, after = measures(fit, measuring.X, T), measures(final, test.X, T)
        own, known = new[measuring.y] >= 0, new[test.y] >= 0
        yield {m: _told(before[m][own], before[m][~own], after[m][known], after[m][~known])
               for m in before}  # fmt: skip


def _told(*measured: np.ndarray) -> list[float]:
    """AUROC before and after, and the shares accepted by a threshold from before."""
    inside, outside, known, unknown = measured
    threshold = np.quantile(inside, 0.05)
    shares = (100 * float((part >= threshold).mean()) for part in (known, unknown))
    return [auroc(inside, outside), auroc(known, unknown), *shares]


def temperature(fit: Discriminant, part: Part) -> float:
    """The temperature under which the classes of these photos are likeliest."""
    scores = fit.scores(part.X, fit.shrunk("d / n"))[:, :-1]
    return Check.of(scores, scores.max(1), part.y).confidence().temperature
