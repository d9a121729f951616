"""The numbers behind the paper's figures, from run folders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import normaltest

from memoryless.lab.evaluate import score
from memoryless.lab.runs import RunFolder, last_state, read_layer, read_rows, read_test
from memoryless.randomness import numpy_generator
from memoryless.stats.heads import siw
from memoryless.stats.methods import parse_method
from memoryless.stats.scorers import unit


def weight_magnitudes(run: RunFolder) -> dict[str, list[float]]:
    """Return mean |w| of new and past classes in every later state (Fig. 2).

    `new` and `past` measure the layer as trained, `siw_new` and `siw_past` the standardised initial
    rows.
    """
    magnitudes: dict[str, list[float]] = {"new": [], "past": [], "siw_new": [], "siw_past": []}
    for t in range(1, run.finished):
        record = read_rows(run, t)
        trained, _ = read_layer(run, t)
        is_new = record.class_state == t
        for prefix, W in (("", trained), ("siw_", siw(record.W, record.b)[0])):
            magnitudes[f"{prefix}new"].append(float(np.abs(W[is_new]).mean()))
            magnitudes[f"{prefix}past"].append(float(np.abs(W[~is_new]).mean()))
    return magnitudes


def feature_similarity(run: RunFolder) -> list[float]:
    """Return how similar the first state's test features are to the last model's (Fig. 3): the
    mean cosine, for each model.
    """
    first = run.about.sizes[0]
    row = read_rows(run, 0).W.shape[1]
    features = []
    for t in range(run.finished):
        f, labels = read_test(run, t)
        features.append(unit(f[labels < first, :row].astype(np.float32)))
    return [float((f * features[-1]).sum(1).mean()) for f in features]


@dataclass(frozen=True)
class RowDistribution:
    """The values of one classifier's row, with a test of normality."""

    label: str
    values: np.ndarray
    p_value: float
    """Of D'Agostino and Pearson's test; small means not normal."""


def row_distributions(run: RunFolder, number: int = 6, seed: int = 0) -> list[RowDistribution]:
    """Return rows of the last state's layer, chosen by a seed (Fig. 4)."""
    rows, _ = read_layer(run, run.finished - 1)
    W = rows.astype(np.float64)
    chosen = numpy_generator(seed, "rows").permutation(len(W))[:number]
    names = run.about.classes
    return [RowDistribution(names[c], W[c], float(normaltest(W[c]).pvalue)) for c in sorted(chosen)]


def final_answers(run: RunFolder, method: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return true and given class of the last state's test images, and each class's state."""
    end = last_state(run)
    features, labels = read_test(run, run.finished - 1)
    given = score(features, labels, {method: parse_method(method)}, end)[method].predictions
    return labels, given, end.record.class_state


def state_confusion(run: RunFolder, method: str) -> np.ndarray:
    """Return the percent of each state's test images (row) given to each state, at the end."""
    truth, given, class_state = final_answers(run, method)
    counts = np.zeros((run.finished, run.finished))
    np.add.at(counts, (class_state[truth], class_state[given]), 1)
    percent: np.ndarray = 100 * counts / counts.sum(1, keepdims=True)
    return percent


def coarser(percent: np.ndarray, most: int = 12) -> tuple[list[str], np.ndarray]:
    """Return a confusion between at most so many blocks of neighbouring states, and their names.

    >>> coarser(np.array([[60.0, 40, 0], [20, 80, 0], [0, 0, 100]]), 2)
    (['0-1', '2'], array([[100.,   0.],
           [  0., 100.]]))
    """
    states = len(percent)
    width = -(-states // most)
    starts = np.arange(0, states, width)
    ends = np.minimum(starts + width, states)
    names = [f"{a}-{b - 1}" if b - a > 1 else str(a) for a, b in zip(starts, ends, strict=True)]
    sums = np.add.reduceat(np.add.reduceat(percent, starts, 0), starts, 1)
    return names, sums / (ends - starts)[:, None]


def class_accuracies(run: RunFolder, method: str) -> np.ndarray:
    """Return top-1 accuracy of each class at the end, in percent."""
    truth, given, class_state = final_answers(run, method)
    right = np.bincount(truth[truth == given], minlength=len(class_state))
    return 100 * right / np.bincount(truth, minlength=len(class_state))
