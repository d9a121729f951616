"""Methods in pairs: differences on the same trained networks, with intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from memoryless.lab.analysis.comparison import Comparison, Training, comparisons
from memoryless.lab.analysis.rescore import image_shares
from memoryless.lab.analysis.tables import protocol
from memoryless.lab.runs import RunFolder
from memoryless.tables import Table

QUANTILE = 1.96  # of the normal distribution, for an interval of 95 %


def paired_tables(
    runs: Sequence[RunFolder],
    methods: Sequence[str] = (),
    k: int = 1,
    every: bool = False,
) -> list[Table]:
    """Each training gets a table: what other methods reach more than its first method."""
    return [
        _paired(comparison, training, every, k)
        for comparison in comparisons(runs, methods)
        for training in comparison.trainings
        if len(training.methods) > 1
    ]


def _paired(comparison: Comparison, training: Training, every: bool, k: int) -> Table:
    first, *others = training.methods["method"] if every else training.headline
    shares = [image_shares(run, [first, *others], k) for run in training.runs]
    figures = pd.DataFrame(
        {"method": other, "against": first, **_difference(training, first, other, shares, k)}
        for other in others
    )
    rows = [
        [row.method, _signed(row.difference), f"{_signed(row.low)} to {_signed(row.high)}",
         f"{row.better}/{row.pairs}"]
        for row in figures.itertuples()
    ]  # fmt: skip
    caption = (
        f"{protocol(training)}. Points of the average accuracy; 95 % interval over test images "
        "and seeds; better: in how many states after the first."
    )
    title = f"{comparison.title}: top-{k} against {first}"
    return Table(title, caption, ["method", "difference", "95 % interval", "better"], rows, figures)


def _signed(points: float) -> str:
    return f"{round(points, 1) + 0.0:+.1f}"  # which is never -0.0


def _difference(
    training: Training, first: str, other: str, shares: Sequence[dict[str, np.ndarray]], k: int
) -> dict[str, float]:
    low, high = interval(np.array([run[other] - run[first] for run in shares]))
    by_state = training.results.pivot_table(f"top{k}", ["run", "state"], "method").query("state>0")
    gains = by_state[other] - by_state[first]
    return {
        "difference": (low + high) / 2,
        "low": low,
        "high": high,
        "better": int((gains > 0).sum()),
        "pairs": len(gains),
    }


def interval(differences: np.ndarray) -> tuple[float, float]:
    """The 95 % interval of a sum over images, from what each adds to it in each run (S, n).

    Images and seeds are drawn: their variances add up, that of seeds only where there are several.

    >>> interval(np.array([[1.0, 1.0], [1.0, 1.0]]))
    (2.0, 2.0)
    """
    runs, images = differences.shape
    of_images = images * differences.mean(0).var(ddof=1)
    of_seeds = differences.sum(1).var(ddof=1) / runs if runs > 1 else 0.0
    mean, width = differences.sum(1).mean(), QUANTILE * np.sqrt(of_images + of_seeds)
    return float(mean - width), float(mean + width)
