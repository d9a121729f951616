"""Head and calibration folded into one layer, and scores in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from memoryless.calibration import CALIBRATIONS
from memoryless.errors import choose
from memoryless.heads import HEADS, Layer
from memoryless.methods import Method
from memoryless.record import Record

CHUNK = 1024  # images scored at once: 4 MB of scores for 1,000 classes, which caches hold


def fold(W: Tensor, b: Tensor, factors: Tensor) -> Layer:
    """One layer that scores and calibrates at once."""
    return W * factors[:, None], b * factors


def method_layer(method: Method, record: Record, layer: Layer) -> Layer:
    """The one layer that a method amounts to, given the record and the current layer."""
    head = choose("head", method.head, HEADS)
    W, b = head(*layer) if method.head == "current" else head(record.W, record.b)
    factors = choose("calibration", method.calibration, CALIBRATIONS)
    return fold(W, b, factors(record.mu, record.class_state, len(record.mu) - 1))


@dataclass(frozen=True)
class Outcome:
    """What one method said of each image."""

    predictions: np.ndarray  # (n,)
    ranks: np.ndarray  # (n,) of the true class, 0 is best


@dataclass(frozen=True)
class Readout:
    """A layer over rows that others share: scores = gain * (rows f) + tilt * sum(f) + offset."""

    product: int
    """Which of the shared rows."""
    gain: Tensor  # (N,)
    tilt: Tensor  # (N,)
    offset: Tensor  # (N,)


def share_products(layers: Mapping[str, Layer]) -> tuple[list[Tensor], dict[str, Readout]]:
    """The few matrices that must be multiplied, and how to read every layer off their products.

    A layer needs no product of its own if its rows, centred, are multiples of centred rows already
    there: all of the paper's heads, with or without mc, are read off the initial rows.
    """
    products: list[Tensor] = []
    readouts = {}
    for name, (W, b) in layers.items():
        tilt = W.mean(1)
        centred = W - tilt[:, None]
        rounding = 1e-6 * W.abs().amax(1)
        gains = ((i, _multiple(centred, rows, rounding)) for i, rows in enumerate(products))
        i, gain = next(((i, gain) for i, gain in gains if gain is not None), (len(products), None))
        if gain is None:
            products.append(centred)
            gain = torch.ones_like(b)
        readouts[name] = Readout(i, gain, tilt, b)
    return products, readouts


def _multiple(W: Tensor, rows: Tensor, rounding: Tensor) -> Tensor | None:
    """The factor of each row with W = factor * rows up to rounding, if there are such."""
    factor = (W * rows).sum(1) / rows.square().sum(1).clamp(min=1e-30)
    residual = (W - factor[:, None] * rows).abs().amax(1)
    return factor if (residual <= rounding).all() else None


@torch.no_grad()
def score(features: Tensor, labels: Tensor, layers: Mapping[str, Layer]) -> dict[str, Outcome]:
    """Every method's outcome for every image, a chunk of images at a time."""
    products, readouts = share_products(layers)
    predictions, ranks = ({name: np.empty(len(labels), int) for name in layers} for _ in range(2))
    for start in range(0, len(labels), CHUNK):
        chunk = slice(start, start + CHUNK)
        rows, truth = features[chunk].float(), labels[chunk, None]
        sums = rows.sum(1)
        raw = [rows @ W.T for W in products]  # (chunk, N) each
        for name, r in readouts.items():
            scores = torch.addcmul(r.offset, raw[r.product], r.gain).addr_(sums, r.tilt)
            predictions[name][chunk] = scores.argmax(1)
            # metrics.ranks in place, several times faster than through a new table of bools
            below = scores.lt_(scores.gather(1, truth)).sum(1)
            ranks[name][chunk] = scores.shape[1] - 1 - below
    return {name: Outcome(predictions[name], ranks[name]) for name in layers}
