"""Which measure tells that no class fits, and how its threshold and the temperature are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.choosing_maths import (
    CLASSES,
    EACH,
    SEEDS,
    SETS,
    Discriminant,
    Part,
    few,
    held_out,
    joined,
    show,
)
from memoryless.stats.confidence import Confidence, HeldOut, softmax
from memoryless.stats.metrics import auroc, calibration_error
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
        T = sums(fit, measuring.relabelled(new)).confidence.temperature
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


def confidence(cache: Path) -> None:
    """Temperature and threshold after some states, judged on a fifth of the training photos that
    is never learned, and then on test photos.
    """
    columns = ["fitted on", "temperature", "ECE", "accepted", "its deviation"]
    for name in SETS:
        train, test = few(cache, name)
        for judged in ("held-out", "test"):
            for states in (8, 2, 40):
                found = []
                for seed in SEEDS:
                    parts = held_out(train, seed + 100) if judged == "held-out" else (train, test)
                    found.append(_after_states(*parts, seed, states))
                rows = [
                    [way, *np.mean([one[way] for one in found], 0),
                     float(np.std([one[way][-1] for one in found]))]
                    for way in found[0]
                ]  # fmt: skip
                show(f"{name}, after {states} states, {judged} photos", columns, rows)


def _after_states(train: Part, test: Part, seed: int, states: int) -> dict[str, list[float]]:
    """Temperature, calibration error and share of accepted test photos for each way."""
    order = np.random.default_rng(seed).permutation(CLASSES)
    train, test = (part.relabelled(np.argsort(order)) for part in (train, test))
    measured = list(_states(train, seed, CLASSES // states))
    each = [sums(*one) for one in measured]
    last, now = measured[-1]
    draws = last.draws(np.repeat(np.arange(CLASSES - CLASSES // states), EACH // 5), seed)
    later = np.arange(1, states + 1)
    final = Discriminant(train)
    ways = {
        "nothing": Confidence(),
        "the last state": each[-1].confidence,
        "the mean of the states' numbers": _mean(each, np.ones(states)),
        "the mean, later states weigh more": _mean(each, later),
        "all states' photos": weighted(each, np.ones(states)).confidence,
        "all states' photos, later ones weigh more": weighted(each, later).confidence,
        "the last state and Gaussian draws": sums(last, joined(now, draws)).confidence,
        "the photos that judge (not allowed)": sums(final, test).confidence,
    }
    return {way: _measured(final, test, one) for way, one in ways.items()}


def _states(train: Part, seed: int, size: int) -> Iterable[tuple[Discriminant, Part]]:
    """For each state the model that its held-out photos measure, and those photos."""
    learned, measuring = held_out(train, seed)
    for first in range(0, CLASSES, size):
        own, now = (part.take((part.y >= first) & (part.y < first + size))
                    for part in (learned, measuring))  # fmt: skip
        yield Discriminant(joined(train.take(train.y < first), own)), now


def sums(fit: Discriminant, part: Part) -> HeldOut:
    """What the product keeps of held-out photos."""
    scores = fit.scores(part.X, fit.shrunk("d / n"))
    own = scores[:, :-1]
    return HeldOut.of(own, own.max(1) - scores[:, -1], part.y)


def weighted(each: Sequence[HeldOut], weights: np.ndarray) -> HeldOut:
    pairs = list(zip(weights, each, strict=True))
    return HeldOut(sum(w * one.losses for w, one in pairs),
                   sum(w * one.below for w, one in pairs),
                   sum(w * one.count for w, one in pairs))  # fmt: skip


def _mean(each: Sequence[HeldOut], weights: np.ndarray) -> Confidence:
    numbers = [(one.confidence.temperature, one.confidence.threshold) for one in each]
    return Confidence(*np.average(numbers, axis=0, weights=weights).tolist())


def _measured(fit: Discriminant, test: Part, sure: Confidence) -> list[float]:
    scores = fit.scores(test.X, fit.shrunk("d / n"))
    own, T = scores[:, :-1], sure.temperature
    accepted = 100 * float((own.max(1) - scores[:, -1] >= sure.threshold).mean())
    return [T, calibration_error(softmax(own / T), test.y), accepted]
