"""Features in batches, head and calibration folded into one layer, scores in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from memoryless.calibration import CALIBRATIONS
from memoryless.data import Split
from memoryless.data.augment import Preparation
from memoryless.data.batches import batches
from memoryless.errors import choose
from memoryless.heads import HEADS, Layer
from memoryless.methods import Method
from memoryless.metrics import ranks
from memoryless.record import Record

CHUNK = 1024  # images scored at once: 4 MB of scores for 1,000 classes, which caches hold


@torch.no_grad()
def extract_features(
    backbone: nn.Module, split: Split, preparation: Preparation, batch_size: int = 256
) -> Tensor:
    """Features (n, d) of a split's images, without augmentation, on the CPU."""
    backbone.eval()
    device = next(backbone.parameters()).device
    return torch.cat(
        [
            backbone(preparation.test(images.to(device))).float().cpu()
            for images, _ in batches(split, batch_size)
        ]
    )


def fold(W: Tensor, b: Tensor, factors: Tensor) -> Layer:
    """One layer that scores and calibrates at once."""
    return W * factors[:, None], b * factors


def method_layer(method: Method, record: Record, layer: Layer) -> Layer:
    """The layer a method scores with, given the record and the current layer."""
    head = choose("head", method.head, HEADS)
    W, b = head(*layer) if method.head == "current" else head(record.W, record.b)
    factors = choose("calibration", method.calibration, CALIBRATIONS)
    return fold(W, b, factors(record.mu, record.class_state, len(record.mu) - 1))


@dataclass(frozen=True)
class Outcome:
    """What one method said of each image."""

    predictions: np.ndarray  # (n,)
    ranks: np.ndarray  # (n,) of the true class, 0 is best


@torch.no_grad()
def score(features: Tensor, labels: Tensor, layers: Mapping[str, Layer]) -> dict[str, Outcome]:
    """Every method's outcome for every image, a chunk of images at a time."""
    size = len(labels)
    predictions = {name: torch.empty(size, dtype=torch.int64) for name in layers}
    places = {name: torch.empty(size, dtype=torch.int64) for name in layers}
    for start in range(0, size, CHUNK):
        chunk = slice(start, start + CHUNK)
        rows, truth = features[chunk].float(), labels[chunk]
        for name, (W, b) in layers.items():
            scores = torch.addmm(b, rows, W.T)  # (chunk, N)
            predictions[name][chunk] = scores.argmax(1)
            places[name][chunk] = ranks(scores, truth)
    return {name: Outcome(predictions[name].numpy(), places[name].numpy()) for name in layers}
