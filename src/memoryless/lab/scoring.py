"""Runs many scorers over the same features, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from memoryless.scorers import Calibrated, Linear, Scorer

CHUNK = 1024  # images scored at once: 4 MB of scores for 1,000 classes, which caches hold


@dataclass(frozen=True)
class Outcome:
    """What one method said of each image."""

    predictions: np.ndarray  # (n,)
    ranks: np.ndarray  # (n,) of the true class, 0 is best


@dataclass(frozen=True)
class SharedLayer:
    """A layer over rows that others share: scores = gain * (rows f) + tilt * sum(f) + offset."""

    product: int
    """Which of the shared rows."""
    gain: Tensor  # (N,)
    tilt: Tensor  # (N,)
    offset: Tensor  # (N,)


def share_products(layers: Mapping[str, Linear]) -> tuple[list[Tensor], dict[str, SharedLayer]]:
    """The few matrices that must be multiplied, and how to read every layer off their products.

    A layer needs no product of its own if its rows, centred, are multiples of centred rows already
    there: all of the paper's heads, with or without mc, are read off the initial rows. For a row w
    with mean m, w f = (w - m) f + m sum(f), and those heads only shift and scale rows.
    """
    products: list[Tensor] = []
    shared_layers = {}
    for name, layer in layers.items():
        W, b = layer.W, layer.b
        tilt = W.mean(1)
        centred = W - tilt[:, None]
        rounding = 1e-6 * W.abs().amax(1)
        gains = ((i, _multiple(centred, rows, rounding)) for i, rows in enumerate(products))
        i, gain = next(((i, gain) for i, gain in gains if gain is not None), (len(products), None))
        if gain is None:
            products.append(centred)
            gain = torch.ones_like(b)
        shared_layers[name] = SharedLayer(i, gain, tilt, b)
    return products, shared_layers


def _multiple(W: Tensor, rows: Tensor, rounding: Tensor) -> Tensor | None:
    """The factor of each row with W = factor * rows up to rounding, if there are such."""
    factor = (W * rows).sum(1) / rows.square().sum(1).clamp(min=1e-30)
    residual = (W - factor[:, None] * rows).abs().amax(1)
    return factor if (residual <= rounding).all() else None


@torch.no_grad()
def score(
    features: Tensor,
    labels: Tensor,
    scorers: Mapping[str, Scorer],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, Outcome]:
    """Every method's outcome for every image, a chunk of images at a time.

    `progress` is told how many images are done, of how many.
    """
    linear = {name: scorer for name, scorer in scorers.items() if isinstance(scorer, Linear)}
    products, shared_layers = share_products(linear)
    read = products[0].shape[1] if products else 0
    predictions, ranks = ({name: np.empty(len(labels), int) for name in scorers} for _ in range(2))
    for start in range(0, len(labels), CHUNK):
        chunk = slice(start, start + CHUNK)
        whole, truth = features[chunk].float(), labels[chunk, None]
        rows = whole[:, :read]
        sums, length = rows.sum(1), rows.norm(dim=1, keepdim=True).clamp(min=1e-12)
        raw = [rows @ W.T for W in products]  # (chunk, N) each
        shared: dict[int, Tensor] = {}
        for name, scorer in scorers.items():
            if name in shared_layers:
                r = shared_layers[name]
                if linear[name].unit:
                    scores = (
                        (raw[r.product] * r.gain).addr_(sums, r.tilt).div_(length).add_(r.offset)
                    )
                else:
                    scores = torch.addcmul(r.offset, raw[r.product], r.gain).addr_(sums, r.tilt)
            else:
                scores = _sharing(scorer, whole, shared)
            predictions[name][chunk] = scores.argmax(1)
            # metrics.ranks in place, several times faster than through a new table of bools
            below = scores.lt_(scores.gather(1, truth)).sum(1)
            ranks[name][chunk] = scores.shape[1] - 1 - below
        progress(min(start + CHUNK, len(labels)), len(labels))
    return {name: Outcome(predictions[name], ranks[name]) for name in scorers}


def _sharing(scorer: Scorer, features: Tensor, shared: dict[int, Tensor]) -> Tensor:
    """Scores that the caller may overwrite; what calibrations start from is computed once."""
    base = scorer.over if isinstance(scorer, Calibrated) else scorer
    if id(base) not in shared:
        shared[id(base)] = base(features)
    scores = shared[id(base)]
    return scorer.calibrate(scores) if isinstance(scorer, Calibrated) else scores.clone()
