"""Accuracies and what the paper derives from them: pure functions over NumPy arrays, in percent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def ranks(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return how many classes do not score below the true one, itself left out.

    A tie counts against the true class, and so does nan.
    """
    true = scores[np.arange(len(labels)), labels]
    return scores.shape[1] - 1 - (scores < true[:, None]).sum(1)


def top_k_accuracy(scores: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Return the share of images whose true class is among the `k` best, or all if there are fewer.

    >>> top_k_accuracy(np.array([[3, 1, 2], [1, 3, 2]]), np.array([2, 1]), k=1)
    50.0
    """
    return accuracy_at(ranks(scores, labels), min(k, scores.shape[1]))


def accuracy_at(ranks: np.ndarray, k: int) -> float:
    """Return the top-k accuracy from ranks that are there already."""
    return 100 * float((ranks < k).sum()) / len(ranks)


def average_incremental_accuracy(per_state: Sequence[float], include_first: bool = False) -> float:
    """Return the mean over states; the first is left out, as in the paper, unless asked for.

    >>> average_incremental_accuracy([90.0, 60.0, 40.0])
    50.0
    """
    counted = per_state if include_first else per_state[1:]
    return float(np.mean(counted)) if len(counted) else float("nan")


def g_il(accuracies: Sequence[float], full: Sequence[float]) -> float:
    """Return the mean gap to joint training, each relative to what is left above it."""
    acc, top = np.asarray(accuracies), np.asarray(full)
    return float(np.mean((acc - top) / (100 - top)))


def error_typology(predictions: np.ndarray, labels: np.ndarray, past: int) -> dict[str, float]:
    """Count where images of past and of new classes go; the first `past` classes are past.

    `c_p`, `e_pp`, `e_pn` are percent of past images, `c_n`, `e_nn`, `e_np` of new ones; each three
    sum to 100, or are nan where there is no such image.
    """
    predictions, labels = np.asarray(predictions), np.asarray(labels)
    right, to_new, is_new = predictions == labels, predictions >= past, labels >= past
    cases = {
        "c_p": (~is_new, right),
        "e_pp": (~is_new, ~right & ~to_new),
        "e_pn": (~is_new, to_new),
        "c_n": (is_new, right),
        "e_nn": (is_new, ~right & to_new),
        "e_np": (is_new, ~to_new),
    }
    return {name: _share(hit, among) for name, (among, hit) in cases.items()}


def _share(hit: np.ndarray, among: np.ndarray) -> float:
    return 100 * float(hit[among].mean()) if among.any() else float("nan")


def accuracy_by_state(
    predictions: np.ndarray, labels: np.ndarray, class_state: np.ndarray
) -> list[float]:
    """Return the top-1 accuracy over the images of each state's classes."""
    right = np.asarray(predictions) == np.asarray(labels)
    image_state = np.asarray(class_state)[np.asarray(labels)]
    return [_share(right, image_state == j) for j in range(int(image_state.max()) + 1)]


def forgetting(by_state: Sequence[Sequence[float]]) -> float:
    """Return the mean over past states of their best earlier accuracy less the last one.

    `by_state[t][j]` is the accuracy after state t on the classes of state j <= t.

    >>> forgetting([[90.0], [60.0, 80.0], [50.0, 30.0, 70.0]])
    45.0
    """
    last = len(by_state) - 1
    if last < 1:
        return 0.0
    best = [max(by_state[t][j] for t in range(j, last)) for j in range(last)]
    return float(np.mean([b - now for b, now in zip(best, by_state[last], strict=False)]))


def chance_level(sizes: Sequence[int], k: int, include_first: bool = False) -> float:
    """Return the average incremental top-k accuracy of guessing, for states of these sizes.

    >>> round(chance_level([10] * 10, k=5), 1)
    10.7
    """
    seen = np.cumsum(sizes)
    return average_incremental_accuracy(list(100 * np.minimum(k, seen) / seen), include_first)


def calibration_error(probabilities: np.ndarray, labels: np.ndarray, bins: int = 15) -> float:
    """Return how far being sure is from being right: the ECE (Guo et al. 2017).

    Images are put into bins of equal width by the probability of their likeliest class; the gap of
    each bin counts by the number of its images.

    >>> calibration_error(np.array([[0.8, 0.2], [0.8, 0.2]]), np.array([0, 1]))
    30.0
    """
    sure = np.asarray(probabilities).max(1)
    right = np.asarray(probabilities).argmax(1) == np.asarray(labels)
    # A bin holds its upper edge: ten equal classes stand in one bin however 0.1 is rounded.
    which = np.clip(np.ceil(sure * bins).astype(int) - 1, 0, bins - 1)
    gaps = np.bincount(which, weights=sure - right, minlength=bins)
    return float(round(100 * np.abs(gaps).sum() / len(right), 10))


def auroc(inside: ArrayLike, outside: ArrayLike) -> float:
    """Return how often a number from `inside` is above one from `outside`; a tie counts half.

    >>> auroc([3, 2], [1, 2])
    87.5
    """
    ordered = np.sort(outside)
    below, up_to = (np.searchsorted(ordered, inside, side) for side in ("left", "right"))
    return float(50 * (below + up_to).mean() / len(ordered))
