"""Heads by name: each scores features from the record. The paper's are plain functions too."""

from __future__ import annotations

from memoryless.stats.heads.base import Head
from memoryless.stats.heads.classes import CLASS_HEADS
from memoryless.stats.heads.fitted import FITTED_HEADS
from memoryless.stats.heads.projection import PROJECTION_HEADS, ProjectionSums
from memoryless.stats.heads.rows import ROW_HEADS, current, initial, l2, mean, min_max, siw

__all__ = [
    "HEADS",
    "Head",
    "ProjectionSums",
    "current",
    "initial",
    "l2",
    "mean",
    "min_max",
    "siw",
]

HEADS: dict[str, Head] = {
    head.name: head for head in (*ROW_HEADS, *CLASS_HEADS, *FITTED_HEADS, *PROJECTION_HEADS)
}
