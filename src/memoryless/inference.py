"""Methods as scorers, and the scores of many in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

from memoryless.calibration import CALIBRATIONS, Calibrated, StateNumbers
from memoryless.heads import CLASS_HEADS, ROW_HEADS, SHRINKAGES
from memoryless.heads.fitted import gaussian_replay
from memoryless.methods import Method
from memoryless.names import choose
from memoryless.network import Layer
from memoryless.randomness import torch_generator
from memoryless.record import Record
from memoryless.scorers import Linear, Read, Scorer
from memoryless.statistics import AS_ROWS, Reading, Statistics
from memoryless.strategies import STRATEGIES

CHUNK = 1024  # images scored at once: 4 MB of scores for 1,000 classes, which caches hold


@dataclass(frozen=True)
class Kept:
    """What methods are made of at the end of a state."""

    record: Record
    layer: Layer
    """The classification layer as trained."""
    fitted: Mapping[str, Scorer] = field(default_factory=dict)
    """Heads that were fitted while the state's images were there, as head+transport."""
    held_out: tuple[Tensor, Tensor] | None = None
    """Features and labels of the state's images that were held out (laboratory only)."""
    reading: Reading = AS_ROWS
    """What of the features everything beside rows is of."""

    @property
    def numbers(self) -> StateNumbers:
        return StateNumbers(self.record.mu, self.record.class_state, self.held_out)


def method_scorers(methods: Mapping[str, Method], kept: Kept) -> dict[str, Scorer]:
    """What methods amount to: one layer, where head and calibration are linear.

    A head is made once for all its calibrations.
    """
    head = cache(lambda method: _head_scorer(method, kept))
    return {
        name: choose("calibration", method.calibration, CALIBRATIONS)(
            head(replace(method, calibration="none")), kept.numbers
        )
        for name, method in methods.items()
    }


def _head_scorer(method: Method, kept: Kept) -> Scorer:
    head, record = method.head, kept.record
    if head == "current":
        return Linear(*kept.layer, unit=STRATEGIES[method.strategy].unit_features)
    if head in ROW_HEADS:
        W = record.moved if method.transport == "backward" else record.W
        assert W is not None
        return Linear(*ROW_HEADS[head](W, record.b))
    if head in CLASS_HEADS:
        statistics = record.statistics[method.transport]
        shrinkage = [float(method.shrinkage)] if method.shrinkage not in ("", "auto") else []
        if method.shrinkage == "auto":
            features, labels = kept.numbers.background()
            shrinkage = [choose_shrinkage(head, statistics, kept.reading(features), labels)]
        scorer = CLASS_HEADS[head](statistics, *shrinkage)
    else:
        scorer = kept.fitted[fitted_name(head, method.transport)]
    return scorer if kept.reading == AS_ROWS else Read(kept.reading, scorer)


def fitted_name(head: str, transport: str) -> str:
    return f"{head}+{transport}"


def choose_shrinkage(head: str, statistics: Statistics, features: Tensor, labels: Tensor) -> float:
    """The shrinkage that is right most often: of new classes on images that were held out, of past
    classes on draws from their statistics. No past image and no test image has a part in it.
    """
    draws, past = gaussian_replay(statistics, features, labels, torch_generator(0, "shrinkage"))
    X, y = torch.cat([draws, features]), torch.cat([past, labels])

    def right(shrinkage: float) -> int:
        return int((CLASS_HEADS[head](statistics, shrinkage)(X).argmax(1) == y).sum())

    return max(SHRINKAGES[head], key=right)


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


def share_products(layers: Mapping[str, Linear]) -> tuple[list[Tensor], dict[str, Readout]]:
    """The few matrices that must be multiplied, and how to read every layer off their products.

    A layer needs no product of its own if its rows, centred, are multiples of centred rows already
    there: all of the paper's heads, with or without mc, are read off the initial rows.
    """
    products: list[Tensor] = []
    readouts = {}
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
        readouts[name] = Readout(i, gain, tilt, b)
    return products, readouts


def _multiple(W: Tensor, rows: Tensor, rounding: Tensor) -> Tensor | None:
    """The factor of each row with W = factor * rows up to rounding, if there are such."""
    factor = (W * rows).sum(1) / rows.square().sum(1).clamp(min=1e-30)
    residual = (W - factor[:, None] * rows).abs().amax(1)
    return factor if (residual <= rounding).all() else None


@torch.no_grad()
def score(features: Tensor, labels: Tensor, scorers: Mapping[str, Scorer]) -> dict[str, Outcome]:
    """Every method's outcome for every image, a chunk of images at a time."""
    linear = {name: scorer for name, scorer in scorers.items() if isinstance(scorer, Linear)}
    products, readouts = share_products(linear)
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
            if name in readouts:
                r = readouts[name]
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
    return {name: Outcome(predictions[name], ranks[name]) for name in scorers}


def _sharing(scorer: Scorer, features: Tensor, shared: dict[int, Tensor]) -> Tensor:
    """Scores that the caller may overwrite; what calibrations start from is computed once."""
    base = scorer.scorer if isinstance(scorer, Calibrated) else scorer
    if id(base) not in shared:
        shared[id(base)] = base(features)
    scores = shared[id(base)]
    return scorer.calibrate(scores) if isinstance(scorer, Calibrated) else scores.clone()
