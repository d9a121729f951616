"""Transports: what stored statistics and rows would be through today's backbone.

All are fitted on features of the current training images under the old and the new backbone, row
by row the same images.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from memoryless.statistics import AS_ROWS, Reading, Statistics

TRANSPORTS = {
    "none": "as it was when its state ended",
    "linear": "moved by the linear map from old to new features",
    "widened": "moved as by linear, covariances widened by what the map does not explain",
    "sdc": "means moved by the drift of nearby current images",
    "backward": "rows moved by the linear map from new to old features",
}
SHRINK = 1e-3  # of the mean square of a feature, as in DPCR (ICML 2025)
SDC_WIDTH = 0.5  # of the median distance between a mean and the current images


def linear_map(X: Tensor, Y: Tensor, shrink: float = SHRINK) -> Tensor:
    """The A that takes X to Y, argmin |X A - Y|^2 + e |A - I|^2 with e = shrink tr(X'X)/d.

    It is near the identity where a state has few images (LDC, ECCV 2024; DPCR, ICML 2025).
    """
    X, Y = X.double(), Y.double()
    gram, identity = X.T @ X, torch.eye(X.shape[1], dtype=torch.float64)
    e = (shrink * gram.trace() / len(gram)).clamp(min=1e-12)
    root = torch.linalg.cholesky(gram + e * identity)
    return torch.cholesky_solve(X.T @ Y + e * identity, root).float()


def semantic_drift(means: Tensor, old: Tensor, new: Tensor, width: float = SDC_WIDTH) -> Tensor:
    """Means moved by the mean drift of current images, near ones counting more (SDC, CVPR 2020)."""
    distance = torch.cdist(means, old)  # (N, n)
    sigma = width * distance.median(1, keepdim=True).values.clamp(min=1e-12)
    weights = (-distance.square() / (2 * sigma**2)).softmax(1)
    return means + weights @ (new - old)


@dataclass(frozen=True)
class Drift:
    """How features moved in a state: nothing in it grows with the number of images."""

    linear: Tensor  # (d, d) old to new
    backward: Tensor  # (d, d) new to old
    residual: Tensor | None = None  # (d, d) covariance of what the linear map leaves over
    sdc: Tensor | None = None  # (N, d) the past means where the drift took them, if asked for

    @classmethod
    def measure(
        cls,
        old: Tensor,
        new: Tensor,
        sdc_means: Tensor | None = None,
        reading: Reading = AS_ROWS,
    ) -> Drift:
        """From features of the same images: the backward map is of what rows read."""
        backward = linear_map(reading.rows(new), reading.rows(old))
        old, new = reading(old), reading(new)
        forward = linear_map(old, new)
        left = new - old @ forward
        left -= left.mean(0)
        residual = left.T @ left / len(left)
        moved = None if sdc_means is None else semantic_drift(sdc_means, old, new)
        return cls(forward, backward, residual, moved)

    def move(self, transport: str, past: Statistics) -> Statistics:
        """Past statistics after the state.

        Features move as f A + r: a map alone, the best guess of each, gives too narrow covariances.
        """
        if transport == "linear":
            return past.move(self.linear)
        if transport == "widened":
            assert self.residual is not None, "composed only where it was kept"
            return past.move(self.linear).widen(self.residual)
        if transport == "sdc" and self.sdc is not None:
            return replace(past, mean=self.sdc)
        return past

    def move_rows(self, W: Tensor) -> Tensor:
        """Past rows that read from new features what they read from old ones: f_new B ~ f_old."""
        return W @ self.backward.T
