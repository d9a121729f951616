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
    """A layer over rows that others share: scores = gain * (W f) + tilt * sum(f) + offset."""

    product: int
    """Which of the shared W."""
    gain: Tensor  # (N,)
    tilt: Tensor  # (N,)
    offset: Tensor  # (N,)


def share_products(layers: Mapping[str, Layer]) -> tuple[list[Tensor], dict[str, Readout]]:
    """The few matrices that must be multiplied, and how to read every layer off their products.

    A layer whose rows are an affine function of rows already there needs no product of its own: all
    of the paper's heads, with or without mc, are read off the initial rows.
    """
    products: list[Tensor] = []
    readouts = {}
    for name, (W, b) in layers.items():
        fits = ((i, _affine(W, base)) for i, base in enumerate(products))
        i, fit = next(((i, fit) for i, fit in fits if fit), (len(products), None))
        if fit is None:
            products.append(W)
            fit = torch.ones_like(b), torch.zeros_like(b)
        readouts[name] = Readout(i, *fit, b)
    return products, readouts


def _affine(W: Tensor, base: Tensor) -> tuple[Tensor, Tensor] | None:
    """Gain and tilt of each row with W = gain * base + tilt, if there are such."""
    W_mean, base_mean = W.mean(1, keepdim=True), base.mean(1, keepdim=True)
    centred = base - base_mean
    spread = centred.square().sum(1, keepdim=True)
    gain = ((W - W_mean) * centred).sum(1, keepdim=True) / spread.clamp(min=1e-30)
    tilt = W_mean - gain * base_mean
    residual = (W - gain * base - tilt).abs().amax(1)
    exact = (residual <= 1e-5 * W.abs().amax(1)).all()
    return (gain[:, 0], tilt[:, 0]) if exact else None


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
            ranks[name][chunk] = scores.ge_(scores.gather(1, truth)).sum(1) - 1
    return {name: Outcome(predictions[name], ranks[name]) for name in layers}
