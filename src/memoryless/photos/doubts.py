"""Reasons to undo a call of learn: a class under two names, or photos of another class."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from memoryless.model import LearningReport, Model

# Measured on 40 kinds of birds, half of them known by 15 photos each (`benchmarks/more.py`): where
# 15 other photos of a known kind came as a new class, both numbers together found 85 % of these
# classes, and 8 % of truly new kinds (RIGHT 0.6: 60 and 4 %, 0.8: 89 and 16 %). Of known kinds that
# got as many photos again, the first number and `LearningReport.unlike` together found 98 of 100
# whose photos were of another kind, 75 of 100 where that was the most similar one, and 4 of 800
# whose new photos were right.
TAKEN, RIGHT = 0.6, 0.7
"""A new class may be a known one if so many of its photos are taken for that one before it is
learned, and by leave-one-out fewer than so many are right afterwards; more photos of a known class
may be of another one if so many are taken for that."""
Answers = defaultdict[str, Counter[int]]
"""For each class of photos the known classes that they are taken for, and how many are."""


def count_answers(
    model: Model, features: np.ndarray, labels: Sequence[str], answers: Answers
) -> None:
    """Add a model's answers for photos of some classes."""
    found = model.classify(features)
    best = np.where(found.known, found.scores.argmax(1), -1)
    for label, answer in zip(labels, best.tolist(), strict=True):
        answers[label][answer] += 1


def taken_for(known: Sequence[str], answers: Answers) -> dict[str, tuple[str, int, int]]:
    """Return for each class the known one that most of its photos are taken for: its name, how
    many, of how many.
    """
    taken = {}
    for name, counts in sorted(answers.items()):
        ((best, times),), photos = counts.most_common(1), counts.total()
        if best >= 0 and times >= TAKEN * photos:
            taken[name] = (known[best], times, photos)
    return taken


def maybe_known(taken: Mapping[str, tuple[str, int, int]], report: LearningReport) -> Iterator[str]:
    """Yield new classes that the model still takes for another, now that it has learned them."""
    for name, (known, times, count) in taken.items():
        right, checked = report.correct_by_class[name]
        if right < RIGHT * checked:
            yield (
                f"{name} may be {known} under another name: {times} of its {count} photos were "
                f"classified as that before, and {right} of {checked} are correct now"
            )


def maybe_mislabelled(
    taken: Mapping[str, tuple[str, int, int]], known: Sequence[str], report: LearningReport
) -> Iterator[str]:
    """Yield known classes whose new photos resemble another class, or differ from those before."""
    other = {name: of for name, of in taken.items() if name in known and of[0] != name}
    for name, (instead, times, count) in other.items():
        yield (
            f"{times} of the {count} new photos of {name} were classified as {instead} before: if "
            f"they show {instead}, or something that needs its own name, go back"
        )
    for name, errors in report.unlike.items():
        if name not in other:
            yield (
                f"the new photos of {name} differ from those before: the two means are "
                f"{errors:.1f} standard errors apart, where chance gives about 1. If they show "
                "something that needs its own name, go back"
            )
