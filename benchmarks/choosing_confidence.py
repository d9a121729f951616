"""Which measure tells that no class fits, and how its threshold and the temperature are kept."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.choosing_maths import (
    Discriminant,
    Part,
    at_most,
    auroc,
    calibration_error,
    held_out,
    joined,
    load,
    show,
)
from memoryless.confidence import fit_temperature, softmax
from memoryless.scorers import unit

SEEDS = range(3)
SETS = ("birds40", "cifar100", "drawings")
CLASSES, EACH = 40, 30  # of every set, so that the sets compare


def threshold(margins: np.ndarray, method: str = "weibull") -> float:
    """What all but a twentieth reach; Weibull's quantile is unbiased for few photos too."""
    return float(np.quantile(margins, 0.05, method=method))  # type: ignore[call-overload]


def few(cache: Path, name: str) -> tuple[Part, Part]:
    """Forty classes of thirty photos each."""
    first = np.where(np.arange(100) < CLASSES, np.arange(100), -1)
    train, test = (part.relabelled(first) for part in load(cache, f"{name}-224"))
    return at_most(train, EACH, 0), at_most(test, EACH, 0)


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
        own = measuring.relabelled(new)
        T = fit_temperature(fit.scores(own.X, fit.shrunk("d / n"))[:, :-1], own.y)
        before, after = measures(fit, measuring.X, T), measures(final, test.X, T)
        is_own, is_known = new[measuring.y] >= 0, new[test.y] >= 0
        yield {
            m: [
                auroc(before[m][is_own], before[m][~is_own]),
                auroc(after[m][is_known], after[m][~is_known]),
                *(
                    100 * float((after[m][part] >= threshold(before[m][is_own])).mean())
                    for part in (is_known, ~is_known)
                ),
            ]
            for m in before
        }


def confidence(cache: Path) -> None:
    """Temperature and threshold after some states, by what they are fitted on."""
    for name in SETS:
        for states in (8, 2, 40):
            found = [_after_states(*few(cache, name), seed, states) for seed in SEEDS]
            rows = [
                [way, *np.mean([one[way] for one in found], 0),
                 float(np.std([one[way][-1] for one in found]))]
                for way in found[0]
            ]  # fmt: skip
            columns = ["fitted on", "temperature", "ECE test", "accepted, test", "its deviation"]
            show(f"{name}, after {states} states", columns, rows)


def _after_states(train: Part, test: Part, seed: int, states: int) -> dict[str, list[float]]:
    """Temperature, calibration error and share of accepted test photos for each way."""
    order = np.random.default_rng(seed).permutation(CLASSES)
    train, test = (part.relabelled(np.argsort(order)) for part in (train, test))
    measured = list(_states(train, seed, CLASSES // states))
    T, kept = np.transpose([_fit(*one) for one in measured])
    usual = np.array([_fit(*one, method="linear")[1] for one in measured])
    last, now = measured[-1]
    draws = last.draws(np.repeat(np.arange(CLASSES - CLASSES // states), EACH // 5), seed)
    later = np.arange(1, states + 1) / np.arange(1, states + 1).sum()
    final = Discriminant(train)
    ways = {
        "nothing (temperature 1, threshold 0)": (1.0, 0.0),
        "the last state": (T[-1], kept[-1]),
        "the mean of all states": (T.mean(), kept.mean()),
        "the same, geometric; the usual quantile": (np.exp(np.log(T).mean()), usual.mean()),
        "the mean, later states weigh more": (later @ T, later @ kept),
        "the last state and Gaussian draws": _fit(last, joined(now, draws)),
        "test photos (not allowed)": _fit(final, test),
    }
    return {way: _measured(final, test, *pair) for way, pair in ways.items()}


def _states(train: Part, seed: int, size: int) -> Iterable[tuple[Discriminant, Part]]:
    """For each state the model that its held-out photos measure, and those photos."""
    learned, measuring = held_out(train, seed)
    for first in range(0, CLASSES, size):
        own, now = (part.take((part.y >= first) & (part.y < first + size))
                    for part in (learned, measuring))  # fmt: skip
        yield Discriminant(joined(train.take(train.y < first), own)), now


def _fit(fit: Discriminant, part: Part, method: str = "weibull") -> tuple[float, float]:
    scores = fit.scores(part.X, fit.shrunk("d / n"))
    own = scores[:, :-1]
    return fit_temperature(own, part.y), threshold(own.max(1) - scores[:, -1], method)


def _measured(fit: Discriminant, test: Part, T: float, least: float) -> list[float]:
    scores = fit.scores(test.X, fit.shrunk("d / n"))
    own = scores[:, :-1]
    accepted = 100 * float((own.max(1) - scores[:, -1] >= least).mean())
    return [float(T), calibration_error(own, T, test.y), accepted]
