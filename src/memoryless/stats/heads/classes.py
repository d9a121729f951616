"""Heads that read class statistics: nearest mean, shared and own covariances, ridge regression.

`lda` and `rda` read statistics as they are. `ncm` and `mahalanobis` compare directions: features
and means at length one, and covariances without their scale.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.heads.base import Head
from memoryless.stats.scorers import Linear, Quadratic, unit
from memoryless.threads import in_threads, one_thread


def ncm(statistics: ClassStatistics) -> Linear:
    """Nearest class mean by cosine, cos(f, m)."""
    rows = unit(statistics.mean)
    return Linear(rows, np.zeros(len(rows), rows.dtype), unit=True)


def lda(statistics: ClassStatistics, shrinkage: float) -> Linear:
    """m L f' - m L m' / 2, L the inverse of the shared covariance (Deep SLDA, CVPRW 2020)."""
    if statistics.fixed:
        layer = fixed_lda(statistics, shrinkage)
        return Linear(layer.W[:-1].astype(np.float32), layer.b[:-1].astype(np.float32))
    S = shrunk(statistics.pooled.astype(np.float64), shrinkage)
    W = _solved(S, statistics.mean)
    return Linear(W, -(W * statistics.mean).sum(1) / 2)


def fixed_lda(statistics: ClassStatistics, shrinkage: float) -> Linear:
    """The layer of lda over fixed features, in double precision.

    It has one row more than classes: the last is that of the mean of all images, and what a class
    scores above it says whether any class fits. Means are taken less that mean, which changes all
    scores of an image alike: otherwise features far from zero would leave no digits for the rest.
    """
    with one_thread():
        centre, photos = statistics.centre, statistics.count.sum()
        means = np.concatenate([statistics.mean - centre, np.zeros_like(centre)[None]])
        S = statistics.pooled.astype(np.float64)
        radius = 1.0 if statistics.alike else shrinkage * S.trace() / photos
        W = np.ascontiguousarray(np.linalg.solve(S + radius * np.eye(len(S)), means.T).T)
        return Linear(W, -(W * means).sum(1) / 2 - W @ centre)


def mahalanobis(statistics: ClassStatistics, shrinkage: float) -> Quadratic:
    """-(f - m) C^-1 (f - m)' of directions, C the shrunk covariance as a correlation (FeCAM).

    FeCAM is from NeurIPS 2023; AdaGauss (NeurIPS 2024) has it with transported covariances.
    """

    def correlation(S: np.ndarray) -> np.ndarray:
        rounder = shrunk(S, shrinkage)
        width = np.sqrt(rounder.diagonal())
        return rounder / (width[:, None] * width)

    return _distances(unit(statistics.mean), statistics.covariances, correlation, unit=True)


def rda(statistics: ClassStatistics, shrinkage: float) -> Quadratic:
    """-(f - m) C^-1 (f - m)', C half the class's and half the shared covariance.

    Regularised discriminant analysis (Friedman 1989) without its determinants, which say how widely
    a class was moved rather than how likely it is.
    """
    shared = shrunk(statistics.pooled, 2 * shrinkage)
    return _distances(statistics.mean, statistics.covariances, lambda S: (S + shared) / 2, False)


def _distances(
    mean: np.ndarray,
    covariances: np.ndarray,
    change: Callable[[np.ndarray], np.ndarray],
    unit: bool,
) -> Quadratic:
    """The scorer of Mahalanobis distances by changed covariances; few at a time are in work."""
    from scipy.linalg import lapack

    roots = np.empty(covariances.shape, np.float32)

    def invert(c: int) -> None:
        inverse, _ = lapack.strtri(cholesky(change(covariances[c]).astype(np.float32)), lower=1)
        roots[c] = np.tril(inverse).T

    for _ in in_threads(invert, range(len(roots))):
        pass
    return Quadratic(mean.astype(np.float32), roots, unit)


def ridge(statistics: ClassStatistics, shrinkage: float) -> Linear:
    """Ridge regression to one-hot classes, W = (Phi + g tr(Phi)/d I)^-1 [n m] (DPCR, ICML 2025).

    Phi = sum n (S + m'm) is the Gram matrix of all features. Rows are brought to length one.
    """
    n, m = statistics.count, statistics.mean
    gram = n.sum() * statistics.pooled + (m * n[:, None]).T @ m
    rows = unit(ridge_rows(gram, m * n[:, None], shrinkage))
    return Linear(rows, np.zeros(len(m), rows.dtype))


def ridge_rows(gram: np.ndarray, sums: np.ndarray, shrinkage: float) -> np.ndarray:
    """Rows (N, d) of the ridge regression with this Gram matrix and these sums of each class."""
    return _solved(shrunk(gram.astype(np.float64), shrinkage), sums)


def _solved(S: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows times the inverse of S, in single precision."""
    from scipy.linalg import cho_solve

    solved = cho_solve((cholesky(S), True), rows.T.astype(np.float64))
    return np.ascontiguousarray(solved.T, dtype=np.float32)


def shrunk(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    """S + g tr(S)/d I, or S + I where S is zero."""
    d = len(covariance)
    scale = covariance.trace() / d
    added = shrinkage * scale if scale > 0 else 1.0
    return covariance + np.asarray(added, covariance.dtype) * np.eye(d, dtype=covariance.dtype)


def cholesky(covariance: np.ndarray) -> np.ndarray:
    """The lower Cholesky root; a matrix without one, by its rank or by rounding, is shrunk until it
    has one.
    """
    for shrinkage in (0.0, 1e-6, 1e-4):
        try:
            return np.linalg.cholesky(shrunk(covariance, shrinkage))
        except np.linalg.LinAlgError:
            continue
    return np.linalg.cholesky(shrunk(covariance, 1e-2))


CLASS_HEADS = (
    Head("ncm", "nearest class mean by cosine", "means", ncm),
    Head(
        "lda",
        "linear discriminant with the shared covariance (Deep SLDA)",
        "covariances",
        lda,
        shrinkage=0.1,
        fixed_shrinkage=1.0,
        one_covariance=True,
    ),
    Head(
        "mahalanobis",
        "distance by each class's own covariance (FeCAM)",
        "covariances",
        mahalanobis,
        shrinkage=3.0,
    ),
    Head(
        "rda",
        "distance by half the class's and half the shared covariance",
        "covariances",
        rda,
        shrinkage=0.1,
    ),
    Head(
        "ridge",
        "ridge regression to one-hot classes (DPCR)",
        "covariances",
        ridge,
        shrinkage=0.01,
        one_covariance=True,
    ),
)
