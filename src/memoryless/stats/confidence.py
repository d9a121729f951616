"""How sure a model is: scores as probabilities, and whether any class fits at all.

Both follow from photos that the model scored without knowing them. Sums over these photos are kept,
so that the photos of all states count, however few a state brings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Self

import numpy as np
from msgspec import Meta, Struct, structs

ACCEPTED = 0.95  # the share of photos of known classes that the threshold lets pass
UNSURE = 0.2  # the share of these whose margins are so low that the answer is called unsure
# Both are counted in units, the median spread of the scores of a call.
TEMPERATURES = 2.0 ** (np.arange(-16, 17) / 2)  # 1/256 to 256; the best one lies between two
# From -4,095 to 4,095, finer towards 0, where thresholds lie: steps of a tenth of the margin.
MARGINS = np.sign(np.arange(-96, 97)) * (2.0 ** (np.abs(np.arange(-96, 97)) / 8) - 1)
LEAST = 4  # photos of a call that are summed up: sums over fewer would describe one photo
LEAST_TO_CALIBRATE = 20  # photos; so many those count at most that were scored before


class Confidence(Struct, frozen=True, forbid_unknown_fields=True):
    """A temperature for probabilities, and a threshold for `known`.

    A model's description holds it; bounds are checked when it is read from there.
    """

    temperature: Annotated[float, Meta(gt=0, le=1e30)] = 1.0
    threshold: Annotated[float, Meta(ge=-1e30, le=1e30)] = -1e30
    """The smallest margin of a photo whose class is known; at first every photo has it."""
    sure: Annotated[float, Meta(ge=-1e30, le=1e30)] = -1e30
    """The smallest margin of a photo whose class is known and not unsure."""

    def scaled(self, unit: float) -> Confidence:
        """Return these numbers for scores of another unit."""
        sure = max(self.sure * unit, -1e30)  # models of before version 0.6 have none
        return Confidence(self.temperature * unit, self.threshold * unit, sure)


@dataclass(frozen=True)
class Check:
    """Sums over photos that a model scored without knowing them."""

    losses: np.ndarray  # (temperatures,) of -log of the true class's probability
    any_label: np.ndarray  # (temperatures,) of the mean over all classes of -log p
    below: np.ndarray  # (margins,) how many photos have a smaller margin
    count: np.ndarray  # () how many photos there are

    @classmethod
    def none(cls) -> Self:
        """Return the sums over no photo."""
        zeros = np.zeros(len(TEMPERATURES))
        return cls(zeros, zeros, np.zeros(len(MARGINS)), np.array(0.0))

    @classmethod
    def of(cls, scores: np.ndarray, margins: np.ndarray, labels: np.ndarray) -> Self:
        """Return the sums over photos with these scores (n, N), margins (n,) and classes (n,)."""
        scores = scores - scores.max(1, keepdims=True)
        own, mean = scores[np.arange(len(labels)), labels].sum(), scores.mean(1).sum()
        logs = _log_sums(scores)
        below = np.searchsorted(np.sort(margins), MARGINS).astype(np.float64)
        count = np.array(float(len(labels)))
        return cls(logs - own / TEMPERATURES, logs - mean / TEMPERATURES, below, count)

    def join(self, other: Self) -> Self:
        """Return the sums over both."""
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return type(self)(*(mine + theirs for mine, theirs in pairs))

    def times(self, share: float) -> Self:
        """Return the sums over a share of the photos, all alike."""
        return type(self)(*(share * mine for mine in vars(self).values()))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the sums as they are stored."""
        return {f"check.{name}": array for name, array in vars(self).items()}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Return the sums that `arrays` gave."""
        return cls(*(arrays[f"check.{field.name}"] for field in fields(cls)))

    def confidence(self, unit: float = 1.0, of_any_label: float = 1.0) -> Confidence:
        """Return the temperature under which the classes of the photos are likeliest (Guo et al.
        2017), and the margin that all but a twentieth of them reach, for scores of this unit.

        One photo more, `of_any_label`, is added to the losses: where every photo is right, the
        temperature would otherwise be as low as it can be.
        """
        if not self.count:
            return Confidence()
        temperature = _temperature(self.losses + of_any_label * self.any_label / self.count)
        wanted = max(1.0, (1 - ACCEPTED) * (float(self.count) + 1)) - 1  # photos below it
        threshold = float(np.interp(wanted, self.below, MARGINS))
        return Confidence(temperature, threshold, self.sure(threshold)).scaled(unit)

    def sure(self, threshold: float) -> float:
        """Return the margin that all but a fifth of the photos above a threshold reach."""
        missed = float(np.interp(threshold, MARGINS, self.below))
        wanted = missed + UNSURE * (float(self.count) - missed)
        return max(threshold, float(np.interp(wanted, self.below, MARGINS)))


def calibrate(
    scores: np.ndarray, margins: np.ndarray, labels: np.ndarray, unknown: np.ndarray, past: Check
) -> Confidence:
    """Return the temperature and the threshold that fit photos of known classes best.

    They have scores (n, N), margins (n,) and classes (n,). Sums over past photos count as
    `LEAST_TO_CALIBRATE` photos at most: of few photos alone both numbers would be off by more than
    those that the sums give. Where there are margins (m,) of photos of unknown things, the
    threshold tells the two best apart; else a twentieth of the photos miss it.
    """
    share = LEAST_TO_CALIBRATE / max(float(past.count), LEAST_TO_CALIBRATE)
    whole = Check.of(scores, margins, labels).join(past.times(share))
    found = whole.confidence(of_any_label=share)
    if not len(unknown):
        return found
    threshold = best_threshold(margins, unknown)
    return structs.replace(found, threshold=threshold, sure=whole.sure(threshold))


def best_threshold(known: np.ndarray, unknown: np.ndarray) -> float:
    """Return the threshold of the best balanced accuracy: the mean of the share of known photos
    that reach it and the share of unknown ones that do not.

    It is the middle of the best ones on a grid, never the margin of a photo.
    """
    missed, rejected = (np.searchsorted(np.sort(each), MARGINS) for each in (known, unknown))
    gain = rejected * len(known) - missed * len(unknown)  # whole numbers: equal ones are the same
    first = int(gain.argmax())
    worse = np.flatnonzero(gain[first:] < gain[first])
    after = first + int(worse[0]) if len(worse) else len(MARGINS)
    return float(MARGINS[first:after].mean())


def _log_sums(scores: np.ndarray) -> np.ndarray:
    """Return the sum over rows of log sum exp(row / T) for each temperature T, of scores whose best
    is 0.

    Every second temperature is half of the one before: its exponentials are squares.
    """
    found = np.zeros(len(TEMPERATURES))
    for last in (len(found) - 1, len(found) - 2):
        powers = np.exp(scores / TEMPERATURES[last])
        for i in range(last, -1, -2):
            found[i] = np.log(powers.sum(1)).sum()
            np.square(powers, out=powers)
    return found


def _temperature(losses: np.ndarray) -> float:
    """Return where a parabola through the smallest loss and its neighbours is smallest."""
    best = int(np.clip(losses.argmin(), 1, len(losses) - 2))
    left, middle, right = losses[best - 1 : best + 2]
    bend = left - 2 * middle + right
    shift = np.clip((left - right) / (2 * bend), -1, 1) if bend > 0 else 0.0
    return float(np.exp(np.interp(best + shift, range(len(losses)), np.log(TEMPERATURES))))


@dataclass(frozen=True)
class Prediction:
    """Scores, probabilities and margins that a model gives to n photos."""

    scores: np.ndarray  # (n, N)
    probabilities: np.ndarray  # (n, N)
    margin: np.ndarray  # (n,) how far above the threshold of `known`
    sure: float = 0.0
    """The margin below which known classes are unsure."""

    @property
    def known(self) -> np.ndarray:
        """Whether any class fits, (n,)."""
        return self.margin >= 0

    @property
    def answers(self) -> np.ndarray:
        """Return known, unsure or unknown for each photo, (n,)."""
        return np.where(self.known, np.where(self.margin < self.sure, "unsure", "known"), "unknown")


def classify(scores: np.ndarray, margin: np.ndarray, confidence: Confidence) -> Prediction:
    """Apply a temperature to scores (n, N), and a threshold to margins (n,)."""
    probabilities = softmax(scores / confidence.temperature)
    sure = confidence.sure - confidence.threshold
    return Prediction(scores, probabilities, margin - confidence.threshold, sure)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return probabilities (n, N) of scores.

    >>> softmax(np.log([[1.0, 3.0]])).round(2).tolist()
    [[0.25, 0.75]]
    """
    shifted = np.exp(scores - scores.max(1, keepdims=True))
    return shifted / shifted.sum(1, keepdims=True)
