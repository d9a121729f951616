"""Heads that read class statistics: nearest mean, shared and own covariances, ridge regression.

`lda` and `rda` read statistics as they are. `ncm` and `mahalanobis` compare directions: features
and means at length one, and covariances without their scale.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.heads.base import Head
from memoryless.scorers import Linear, Quadratic
from memoryless.statistics import Statistics


def ncm(statistics: Statistics) -> Linear:
    """Nearest class mean by cosine, cos(f, m)."""
    return Linear(F.normalize(statistics.mean), torch.zeros(len(statistics.mean)), unit=True)


def lda(statistics: Statistics, shrinkage: float = 0.1) -> Linear:
    """m L f' - m L m' / 2, L the inverse of the shared covariance (Deep SLDA, CVPRW 2020)."""
    W = ridge_rows(statistics.pooled, statistics.mean, shrinkage)
    return Linear(W, -(W * statistics.mean).sum(1) / 2)


def mahalanobis(statistics: Statistics, shrinkage: float = 3.0) -> Quadratic:
    """-(f - m) C^-1 (f - m)' of directions, C the shrunk covariance as a correlation (FeCAM).

    FeCAM is of NeurIPS 2023; AdaGauss (NeurIPS 2024) has it with transported covariances.
    """
    S = shrunk(statistics.covariances, shrinkage)
    width = S.diagonal(dim1=1, dim2=2).sqrt()
    correlation = S / (width[:, :, None] * width[:, None])
    return _distances(F.normalize(statistics.mean), correlation, unit=True)


def rda(statistics: Statistics, shrinkage: float = 0.1) -> Quadratic:
    """-(f - m) C^-1 (f - m)', C half the class's and half the shared covariance.

    Regularised discriminant analysis (Friedman 1989) without its determinants, which say how widely
    a class was moved rather than how likely it is.
    """
    shared = shrunk(statistics.pooled, 2 * shrinkage)
    return _distances(statistics.mean, (statistics.covariances + shared) / 2, unit=False)


def _distances(mean: Tensor, covariances: Tensor, unit: bool) -> Quadratic:
    lower = root(covariances)
    identity = torch.eye(lower.shape[-1]).expand_as(lower)
    inverse = torch.linalg.solve_triangular(lower, identity, upper=False).mT
    return Quadratic(mean, inverse, unit)


def ridge(statistics: Statistics, shrinkage: float = 0.01) -> Linear:
    """Ridge regression to one-hot classes, W = (Phi + g tr(Phi)/d I)^-1 [n m] (DPCR, ICML 2025).

    Phi = sum n (S + m'm) is the Gram matrix of all features. Rows are brought to length one.
    """
    n, m = statistics.count, statistics.mean
    gram = n.sum() * statistics.pooled + (m * n[:, None]).T @ m
    return Linear(F.normalize(ridge_rows(gram, m * n[:, None], shrinkage)), torch.zeros(len(m)))


def ridge_rows(gram: Tensor, sums: Tensor, shrinkage: float) -> Tensor:
    """Rows (N, d) of the ridge regression with this Gram matrix and these sums of each class."""
    lower = root(shrunk(gram.double(), shrinkage))
    return torch.cholesky_solve(sums.T.double(), lower).T.float()


def shrunk(covariance: Tensor, shrinkage: float) -> Tensor:
    """S + g tr(S)/d I, or the identity where S is zero."""
    d = covariance.shape[-1]
    scale = covariance.diagonal(dim1=-2, dim2=-1).mean(-1)
    added = torch.where(scale > 0, shrinkage * scale, torch.ones_like(scale))
    return covariance + added[..., None, None] * torch.eye(d, dtype=covariance.dtype)


def root(covariance: Tensor) -> Tensor:
    """The Cholesky root; what has none, by its rank or by rounding, is shrunk until it has one."""
    for shrinkage in (0.0, 1e-6, 1e-4, 1e-2):
        lower, failed = torch.linalg.cholesky_ex(shrunk(covariance, shrinkage))
        if not failed.any():
            break
    return lower


CLASS_HEADS = (
    Head("ncm", "nearest class mean by cosine", "means", ncm),
    Head(
        "lda",
        "linear discriminant with the shared covariance (Deep SLDA)",
        "covariances",
        lda,
        shrinks=True,
    ),
    Head(
        "mahalanobis",
        "distance by each class's own covariance (FeCAM)",
        "covariances",
        mahalanobis,
        shrinks=True,
    ),
    Head(
        "rda",
        "distance by half the class's and half the shared covariance",
        "covariances",
        rda,
        shrinks=True,
    ),
    Head(
        "ridge",
        "ridge regression to one-hot classes (DPCR)",
        "covariances",
        ridge,
        shrinks=True,
    ),
)
