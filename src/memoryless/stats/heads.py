"""Heads by name: each scores features from what the record holds.

Heads over rows turn stored rows into the linear layer (W, b) that scores features: W is (N, d), b
is (N,). Heads over statistics compare features with class means and covariances. Fitted heads are
made at the end of a state, while the features of its images are there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from memoryless.images.dataset import place_within_class
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.discriminant import SHRINKAGE, Discriminant
from memoryless.stats.projection import ProjectionSums, random_directions
from memoryless.stats.scorers import Linear, Projected, Quadratic, unit
from memoryless.threads import in_threads, one_thread

Layer = tuple[np.ndarray, np.ndarray]
"""Rows (N, d) and biases (N,) of a linear layer."""


@dataclass(frozen=True)
class Head:
    """A head says how features are scored, and what of the past it reads for that."""

    name: str
    about: str
    reads: str
    """What it reads: layer (as trained), rows (initial ones), means, covariances or projection."""
    make: Callable[..., Any]
    """Its function. Over layer or rows it takes (W, b) and gives (W, b). Over statistics it gives a
    scorer, and takes a shrinkage too if it has one. A fitted one takes (source, features, labels,
    random) and gives a scorer."""
    fitted: bool = False
    """Whether it is made while the state's images are there, from their features too."""
    shrinkage: float | None = None
    """How round covariances S become, S + shrinkage tr(S) / d I, if they do."""
    fixed_shrinkage: float | None = None
    """lda over fixed features: S + fixed_shrinkage tr(S) / n I, n images in all, so that the fewer
    the images, the rounder S becomes. docs/lab/archive.md compares rules."""
    one_covariance: bool = False
    """Whether it reads one covariance for all classes, whatever the record holds."""

    @property
    def gives_logits(self) -> bool:
        return self.reads in ("layer", "rows")

    @property
    def reads_statistics(self) -> bool:
        return self.reads in ("means", "covariances")

    def over(self, statistics: ClassStatistics, shrinkage: float | None = None) -> Any:
        """Return the scorer over class statistics, with its own shrinkage or another one."""
        if self.shrinkage is None:
            return self.make(statistics)
        own = self.shrinkage
        if statistics.fixed and self.fixed_shrinkage is not None:
            own = self.fixed_shrinkage
        return self.make(statistics, own if shrinkage is None else shrinkage)


def current(W: np.ndarray, b: np.ndarray) -> Layer:
    """Return the classification layer as trained in the current state (Eq. 1)."""
    return W, b


def initial(W: np.ndarray, b: np.ndarray) -> Layer:
    """Return initial rows and biases as they are (Eq. 2)."""
    return W, b


def l2(W: np.ndarray, b: np.ndarray) -> Layer:
    """Bring each row, and the vector of all biases, to length one."""
    return _divide(W, np.linalg.norm(W, axis=1, keepdims=True)), _divide(b, np.linalg.norm(b))


def mean(W: np.ndarray, b: np.ndarray) -> Layer:
    """Centre rows and divide them by their range (supplement, section 4)."""
    return _divide(_centred(W), _range(W)), b


def min_max(W: np.ndarray, b: np.ndarray) -> Layer:
    """Move and scale rows to 0..1 (supplement, section 4)."""
    return _divide(W - W.min(1, keepdims=True), _range(W)), b


def siw(W: np.ndarray, b: np.ndarray) -> Layer:
    """Standardise rows, s = (w - mean(w)) / std(w) (Eq. 4), and leave the bias.

    A row becomes sqrt(d) times its centred unit vector, so that (bias aside) classes are ranked by
    the Pearson correlation of row and feature.
    """
    centred = _centred(W)
    return _divide(centred, np.sqrt(np.square(centred).mean(1, keepdims=True))), b


def _centred(W: np.ndarray) -> np.ndarray:
    # Rows whose values are all equal must centre to exactly 0, which their rounded mean may miss.
    return (W - W.mean(1, keepdims=True)) * (_range(W) > 0)


def _range(W: np.ndarray) -> np.ndarray:
    return W.max(1, keepdims=True) - W.min(1, keepdims=True)


def _divide(values: np.ndarray, by: Any) -> np.ndarray:
    return values / np.where(by > 0, by, np.ones_like(by))


def ncm(statistics: ClassStatistics) -> Linear:
    """Score by the cosine to the class mean, cos(f, m)."""
    rows = unit(statistics.mean)
    return Linear(rows, np.zeros(len(rows), rows.dtype), unit=True)


def lda(statistics: ClassStatistics, shrinkage: float) -> Linear:
    """Score m L f' - m L m' / 2, L the inverse of the shared covariance (Deep SLDA, CVPRW 2020)."""
    if statistics.fixed:
        scatter = statistics.pooled * statistics.photos  # which other forms do not hold
        W, b = Discriminant.of(statistics.with_parts(scatter=scatter), (shrinkage,)).layer
        return Linear(W[:-1].astype(np.float32), b[:-1].astype(np.float32))
    S = shrunk(statistics.pooled.astype(np.float64), shrinkage)
    W = _solved(S, statistics.mean)
    return Linear(W, -(W * statistics.mean).sum(1) / 2)


def mahalanobis(statistics: ClassStatistics, shrinkage: float) -> Quadratic:
    """Score -(f - m) C^-1 (f - m)' of unit features, C the shrunk correlations (FeCAM).

    FeCAM is from NeurIPS 2023; AdaGauss (NeurIPS 2024) has it with transported covariances.
    """

    def correlation(S: np.ndarray) -> np.ndarray:
        rounder = shrunk(S, shrinkage)
        width = np.sqrt(rounder.diagonal())
        return rounder / (width[:, None] * width)

    return _distances(unit(statistics.mean), statistics.covariances, correlation, unit=True)


def rda(statistics: ClassStatistics, shrinkage: float) -> Quadratic:
    """Score -(f - m) C^-1 (f - m)', C half the class's and half the shared covariance.

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
    """Score Mahalanobis distances by changed covariances; few at a time are in work."""
    from scipy.linalg import lapack

    roots = np.empty(covariances.shape, np.float32)

    def invert(c: int) -> None:
        inverse, _ = lapack.strtri(cholesky(change(covariances[c]).astype(np.float32)), lower=1)
        roots[c] = np.tril(inverse).T

    for _ in in_threads(invert, range(len(roots))):
        pass
    return Quadratic(mean.astype(np.float32), roots, unit)


def ridge(statistics: ClassStatistics, shrinkage: float) -> Linear:
    """Regress on one-hot classes, W = (Phi + g tr(Phi)/d I)^-1 [n m] (DPCR, ICML 2025).

    Phi = sum n (S + m'm) is the Gram matrix of all features. Rows are brought to length one.
    """
    n, m = statistics.count, statistics.mean
    gram = n.sum() * statistics.pooled + (m * n[:, None]).T @ m
    rows = unit(ridge_rows(gram, m * n[:, None], shrinkage))
    return Linear(rows, np.zeros(len(m), rows.dtype))


def ridge_rows(gram: np.ndarray, sums: np.ndarray, shrinkage: float) -> np.ndarray:
    """Return rows (N, d) of ridge regression, from a Gram matrix and the sums of each class."""
    return _solved(shrunk(gram.astype(np.float64), shrinkage), sums)


def _solved(S: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return rows times the inverse of S, in single precision."""
    from scipy.linalg import cho_solve

    solved = cho_solve((cholesky(S), True), rows.T.astype(np.float64))
    return np.ascontiguousarray(solved.T, dtype=np.float32)


def shrunk(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    """Return S + g tr(S)/d I, or S + I where S is zero."""
    d = len(covariance)
    scale = covariance.trace() / d
    added = shrinkage * scale if scale > 0 else 1.0
    return covariance + np.asarray(added, covariance.dtype) * np.eye(d, dtype=covariance.dtype)


def cholesky(covariance: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky root.

    A matrix without one, by its rank or by rounding, is shrunk until it has one.
    """
    for shrinkage in (0.0, 1e-6, 1e-4):
        try:
            return np.linalg.cholesky(shrunk(covariance, shrinkage))
        except np.linalg.LinAlgError:
            continue
    return np.linalg.cholesky(shrunk(covariance, 1e-2))


FITTED = 8000  # features of all classes together that are fitted
FEWEST = 40  # of one class, however many classes there are
SCALE = 10.0  # features are fitted at this length, at which logits can tell classes apart
# Of 1e-4 to 1e-2 the best on held-out drawings: 3e-4 at middle stages, 1e-3 at the last.
DECAY = 5e-4
ITERATIONS = 40
Labelled = tuple[np.ndarray, np.ndarray]
PastFeatures = Callable[[ClassStatistics, np.ndarray, np.ndarray, np.random.Generator], Labelled]


def fetril(
    statistics: ClassStatistics,
    features: np.ndarray,
    labels: np.ndarray,
    random: np.random.Generator,
) -> Labelled:
    """Move features of the nearest new class to the past class's mean (FeTrIL, WACV 2023)."""
    past, m = int(labels.min()), statistics.mean.astype(features.dtype)
    nearest = past + (unit(m[:past]) @ unit(m[past:]).T).argmax(1)  # (past,)
    owner, donor = np.nonzero(nearest[:, None] == labels)
    centres = _class_means(features, labels, len(m))  # of the features at hand
    return features[donor] + (m[:past] - centres[nearest])[owner], owner


def _class_means(features: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    own = (labels == np.arange(classes)[:, None]).astype(features.dtype)  # (classes, n)
    return own @ features / own.sum(1).clip(min=1)[:, None]


def gaussian_replay(
    statistics: ClassStatistics,
    features: np.ndarray,
    labels: np.ndarray,
    random: np.random.Generator,
) -> Labelled:
    """Draw from each past class's normal distribution, as often as new classes have (EFC++)."""
    past, d = int(labels.min()), features.shape[1]
    number = max(1, round(len(labels) / (statistics.classes - past)))
    drawn = random.standard_normal((past, number, d), dtype=np.float32)
    covariances = statistics.covariances

    def spread(c: int) -> None:
        drawn[c] = drawn[c] @ cholesky(covariances[c]).T + statistics.mean[c]

    for _ in in_threads(spread, range(past)):
        pass
    return drawn.reshape(-1, d), np.arange(past).repeat(number)


def fit_head(
    past_features: PastFeatures,
    statistics: ClassStatistics,
    features: np.ndarray,
    labels: np.ndarray,
    random: np.random.Generator,
) -> Linear:
    """Fit a layer on the current classes' features and made-up ones of past classes."""
    classes = statistics.classes
    few = place_within_class(labels) < max(FEWEST, FITTED // classes)
    features, labels = features[few], labels[few]
    past, past_labels = past_features(statistics, features, labels, random)
    return fit_logistic(
        np.concatenate([past, features]), np.concatenate([past_labels, labels]), classes
    )


def fit_logistic(features: np.ndarray, labels: np.ndarray, classes: int) -> Linear:
    """Fit multinomial logistic regression on unit features, every class weighing the same."""
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    X = (unit(features) * SCALE).astype(np.float32)
    centre = X.mean(0)  # features share a large mean, which would take most of the iterations
    X = np.concatenate([X - centre, np.ones((len(X), 1), np.float32)], axis=1)
    number = np.bincount(labels, minlength=classes).clip(min=1)
    weight = (1 / (number[labels] * classes)).astype(np.float32)[:, None]
    own = np.arange(len(labels)), labels

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient (weight (p - hot))' X + DECAY W, p = softmax(X W')."""
        W = flat.reshape(classes, -1)
        log_p = log_softmax(X @ W.T.astype(np.float32), axis=1)
        error = np.exp(log_p)
        error[own] -= 1
        gradient = (error * weight).T @ X + DECAY * W
        value = -(log_p[own] * weight[:, 0]).sum(dtype=np.float64) + DECAY / 2 * np.square(W).sum()
        return float(value), gradient.ravel().astype(np.float64)

    with one_thread():
        found = minimize(
            loss,
            np.zeros(classes * X.shape[1]),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": ITERATIONS, "gtol": 1e-7, "ftol": 1e-10, "maxcor": 20},
        )
    W = found.x.reshape(classes, -1).astype(np.float32)
    rows, bias = W[:, :-1], W[:, -1]
    return Linear(rows * SCALE, bias - rows @ centre, unit=True)


def projection(
    sums: ProjectionSums,
    features: np.ndarray,
    labels: np.ndarray | None = None,
    random: np.random.Generator | None = None,
    shrinkage: float = 0.003,  # of 0.001 to 0.03 the best on held-out drawings
) -> Projected:
    """Regress on one-hot classes over random features (RanPAC); features give only their size d."""
    rows = ridge_rows(sums.gram, sums.sums, shrinkage)  # (N, P)
    directions = random_directions(features.shape[1], rows.shape[1])
    return Projected(directions, Linear(rows, np.zeros(len(rows), np.float32)))


HEADS: dict[str, Head] = {
    head.name: head
    for head in (
        Head("current", "the layer as trained in the current state (Eq. 1)", "layer", current),
        Head("initial", "initial rows as they are (Eq. 2)", "rows", initial),
        Head("l2", "initial rows at length one", "rows", l2),
        Head("mean", "initial rows centred and divided by their range", "rows", mean),
        Head("min_max", "initial rows scaled to 0..1", "rows", min_max),
        Head("siw", "initial rows standardised (Eq. 4)", "rows", siw),
        Head("ncm", "nearest class mean by cosine", "means", ncm),
        Head(
            "lda",
            "linear discriminant with the shared covariance (Deep SLDA)",
            "covariances",
            lda,
            shrinkage=0.1,
            fixed_shrinkage=SHRINKAGE,
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
        Head(
            "fetril",
            "logistic regression over new features moved to past means (FeTrIL)",
            "means",
            partial(fit_head, fetril),
            fitted=True,
        ),
        Head(
            "gaussian_replay",
            "logistic regression over draws from past classes (EFC++)",
            "covariances",
            partial(fit_head, gaussian_replay),
            fitted=True,
        ),
        Head(
            "projection",
            "ridge regression over random features, for a backbone that stays (RanPAC)",
            "projection",
            projection,
            fitted=True,
        ),
    )
}
