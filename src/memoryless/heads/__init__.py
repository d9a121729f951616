"""Heads by name: what scores features, from what is kept."""

from __future__ import annotations

from memoryless.heads.classes import CLASS_HEADS, SHRINKAGES
from memoryless.heads.fitted import FITTED_HEADS, fit_head
from memoryless.heads.projection import ProjectionSums, projected
from memoryless.heads.rows import ROW_HEADS

__all__ = [
    "CLASS_HEADS",
    "FITTED_HEADS",
    "HEADS",
    "MEANS_ONLY",
    "ROW_HEADS",
    "SHRINKAGES",
    "ProjectionSums",
    "fit_head",
    "projected",
]

MEANS_ONLY = ("ncm", "fetril")  # read no covariance
HEADS: dict[str, str] = {
    **dict.fromkeys(ROW_HEADS, "rows"),
    **dict.fromkeys(CLASS_HEADS, "class statistics"),
    **dict.fromkeys(FITTED_HEADS, "fitted at the end of a state"),
    "projection": "sums over random features, for a frozen backbone",
}
