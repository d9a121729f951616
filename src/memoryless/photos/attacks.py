"""Attacks on a model: how well they find out which photos it learned."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from memoryless.errors import DataError
from memoryless.images.find import Found, find_photos, find_test
from memoryless.images.pixels import attempt
from memoryless.images.read import Photo, UnreadableError
from memoryless.model import Model
from memoryless.model.description import now
from memoryless.model.file import State
from memoryless.names import counted, first_ten
from memoryless.photos.embedding import CHUNK, Progress, features, silent
from memoryless.photos.kept import honest
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.membership import (
    Separation,
    by_distance,
    by_scatter,
    by_score,
    centred,
    separate,
)
from memoryless.stats.scorers import square_roots

LEAST = 2
"""Photos of each class on each side that are needed at all."""
FEW = 10
"""Photos on a side below which an interval says little."""
ADVICE = {
    "members": "add photos to `members` that the model learned, or take the class out of `others`",
    "others": "add photos to `others` that the model did not learn, or take the class out of "
    "`members`",
}
MORE = f"{LEAST} or more are needed on each side, and some 30 to say anything"
SWAPPED = (
    "the others look more used than the members: perhaps `members` and `others` are swapped, or "
    "the model did not learn these members"
)
OUTSIDE = 2
"""No photo lies so far from its class by a scatter that it is part of: 1 is the most, and the rest
is for rounding errors."""
SEED = 0  # of bootstrap draws: an audit that is repeated gives the same intervals
ALL = "all classes"


@dataclass(frozen=True)
class Exposure:
    """How well each attack separates members from others of a class."""

    name: str
    members: int
    others: int
    attacks: dict[str, Separation]

    def as_json(self) -> dict[str, Any]:
        attacks = {
            name: {"auroc": asdict(reached.auroc), "tpr": asdict(reached.tpr)}
            for name, reached in self.attacks.items()
        }
        return {"class": self.name, "members": self.members, "others": self.others} | attacks


@dataclass(frozen=True)
class Audit:
    """The result of an audit, with the model and the date that it is about."""

    model: dict[str, Any]
    """Which model it is, and what it keeps."""
    date: str
    versions: dict[str, str]
    places: dict[str, str]
    """Where the photos of each side came from."""
    honest: str
    smallest: dict[str, Any]
    """The class of the fewest photos, and how many."""
    whole: Exposure
    """All classes together, each centred."""
    classes: list[Exposure]
    """The most exposed first, by score."""
    left_out: list[str]
    """Classes of the model without photos in the audit."""
    warnings: list[str]
    doubtful: bool
    """Whether the model seems not to have learned the members, as the first warning says."""
    broken: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        rows = {"all": self.whole.as_json(), "classes": [row.as_json() for row in self.classes]}
        return {key: value for key, value in (vars(self) | rows).items() if key != "whole"}


class Side(NamedTuple):
    """The photos of a side that can be read, and what the model answers for them."""

    photos: list[Photo]
    labels: np.ndarray  # (n,)
    scores: np.ndarray  # (n, N)
    features: np.ndarray | None  # (n, d) where features are fixed
    broken: dict[str, str]


def find_both(members: Path, others: Path) -> tuple[Found, Found]:
    """Members as `learn` reads them, others as `evaluate` does: of train/ and test/, each half."""
    same = members.resolve() == others.resolve()
    found = find_photos(members), find_test(members if same else others)
    names = [{photo.name for photo in side.photos} for side in found]
    if same and names[0] & names[1]:
        raise DataError(
            f"`members` and `others` are the same photos, {members}: name photos for `others` that "
            "the model did not learn"
        )
    return found


def audit_photos(
    state: State,
    members: Sequence[Photo],
    others: Sequence[Photo],
    places: Sequence[str],
    progress: Progress = silent,
) -> Audit:
    """Attack a model with photos of both sides; `places` says where each side's photos are from."""
    model = Model.of(state)
    model.check_taught()
    assert model.least  # raises where the model takes no photos
    _check_classes(model.classes, members, others)
    _check_apart(members, others)
    inside = _classify(model, members, progress)
    outside = _classify(model, others, lambda done: progress(len(members) + done))
    _check_left("members", members, inside)
    _check_left("others", others, outside)
    attacks = [_attacks(state, seen) for seen in (inside, outside)]
    whole, *rows = _rows(model.classes, [inside.labels, outside.labels], attacks)
    doubts = list(_doubts(whole, attacks[0]))
    return Audit(
        model=_identity(state),
        date=now(),
        versions=_versions(),
        places=dict(zip(ADVICE, places, strict=True)),
        honest=honest(state),
        smallest=_smallest(state),
        whole=whole,
        classes=sorted(rows, key=lambda row: (-row.attacks["score"].auroc.value, row.name)),
        left_out=[name for name in model.classes if name not in {row.name for row in rows}],
        warnings=[*doubts, *_warnings(rows, state)],
        doubtful=bool(doubts),
        broken=inside.broken | outside.broken,
    )


def _check_classes(known: Sequence[str], *sides: Sequence[Photo]) -> None:
    """Raise unless the model knows all classes, and there are photos of each on both sides."""
    counts = [Counter(str(photo.label) for photo in side) for side in sides]
    here = sorted(counts[0] | counts[1])
    if strange := [name for name in here if name not in known]:
        raise DataError(
            f"the model does not know {first_ten(strange)}: take what it did not learn out of "
            "`members` and `others`, or name folders as its classes are named"
        )
    for side, count in zip(ADVICE, counts, strict=True):
        if lacking := [name for name in here if not count[name]]:
            raise DataError(f"there are no {side} of {first_ten(lacking)}: {ADVICE[side]}")
        if few := [name for name in here if count[name] < LEAST]:
            raise DataError(f"there is only one photo among the {side} of {first_ten(few)}: {MORE}")


def _check_apart(members: Sequence[Photo], others: Sequence[Photo]) -> None:
    """Raise if a photo is on both sides, by the bytes of its file."""
    used = set(_digests(members))
    if both := [photo.name for digest, photo in _digests(others).items() if digest in used]:
        more = f" and {len(both) - 2} more" if len(both) > 2 else ""
        raise DataError(
            f"{counted(len(both), 'photo', 'photos')} of `others` "
            f"{'is' if len(both) == 1 else 'are'} among the members too: {', '.join(both[:2])}"
            f"{more}; a photo was used or not, so take such photos out of one side"
        )


def _digests(photos: Sequence[Photo]) -> dict[bytes, Photo]:
    contents = ((_content_of(photo), photo) for photo in photos)
    return {sha256(content).digest(): photo for content, photo in contents if content is not None}


def _content_of(photo: Photo) -> bytes | None:
    """The bytes of a photo's file, unless it cannot be read."""
    found = attempt(lambda exif: photo.content())
    return None if isinstance(found, str) else found[0]


def _check_left(side: str, photos: Sequence[Photo], seen: Side) -> None:
    """Raise if too few photos of a class could be read."""
    left = Counter(photo.label for photo in seen.photos)
    for photo in photos:
        if photo.name in seen.broken and left[photo.label] < LEAST:
            why = seen.broken[photo.name]
            raise DataError(f"too few {side} of {photo.label} can be read: {why}")


def _classify(model: Model, photos: Sequence[Photo], progress: Progress) -> Side:
    """Classify photos once; where features are trained, only scores are kept."""
    index = {name: i for i, name in enumerate(model.classes)}
    sound: list[Photo] = []
    broken: dict[str, str] = {}
    scores, kept = [np.zeros((0, len(index)))], []
    pairs = zip(photos, features(model, photos, progress), strict=True)
    while chunk := list(islice(pairs, CHUNK)):
        broken |= {photo.name: str(x) for photo, x in chunk if isinstance(x, UnreadableError)}
        good = [(photo, x) for photo, x in chunk if not isinstance(x, UnreadableError)]
        if good:
            X = np.stack([x for _, x in good])
            sound += [photo for photo, _ in good]
            scores.append(model.judge(X).scores)
            kept += [X] if model.fixed else []
    labels = np.array([index[str(photo.label)] for photo in sound], dtype=int)
    whole = np.concatenate(kept) if kept else None
    return Side(sound, labels, np.concatenate(scores), whole, broken)


def _rows(
    names: Sequence[str], labels: Sequence[np.ndarray], attacks: Sequence[dict[str, np.ndarray]]
) -> list[Exposure]:
    """A row for all classes together, then one for each; labels and attacks are of both sides."""
    here = sorted(set(labels[0].tolist()))
    sides = list(zip(labels, attacks, strict=True))
    parts = {
        attack: [[found[attack][own == c] for c in here] for own, found in sides]
        for attack in attacks[0]
    }
    rows = [_exposure(ALL, {attack: centred(*both) for attack, both in parts.items()})]
    for i, c in enumerate(here):
        numbers = {attack: (both[0][i], both[1][i]) for attack, both in parts.items()}
        rows.append(_exposure(names[c], numbers))
    return rows


def _exposure(name: str, numbers: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Exposure:
    reached = {attack: separate(*both, SEED, name) for attack, both in numbers.items()}
    return Exposure(name, reached["score"].members, reached["score"].others, reached)


def _attacks(state: State, seen: Side) -> dict[str, np.ndarray]:
    """The number of each photo by each attack; what is stored of trained features is no mean of
    photos, so scores alone attack these.
    """
    found = {"score": by_score(seen.scores, seen.labels)}
    if seen.features is not None:
        sums = ClassStatistics.restore(state.arrays("record"), fixed=True)
        roots = square_roots(seen.features.astype(np.float64))
        found["distance"] = by_distance(roots, seen.labels, sums)
        found["scatter"] = by_scatter(roots, seen.labels, sums)
    return found


def _identity(state: State) -> dict[str, Any]:
    about = state.description
    return {
        "file": str(state.path),
        "state": state.number,
        "digest": state.digest,
        "date": state.date,
        "memoryless": about.memoryless,
        "method": about.method,
        "backbone": msgspec.to_builtins(about.backbone),
        "record": about.record,
        "classes": len(state.classes.names),
        "states": len(state.classes.learned),
    }


def _versions() -> dict[str, str]:
    libraries = {name: version(name) for name in ("memoryless", "numpy", "onnxruntime", "pillow")}
    return {"python": platform.python_version()} | libraries


def _smallest(state: State) -> dict[str, Any]:
    photos, name = min(zip(state.classes.counts, state.classes.names, strict=True))
    return {"class": name, "photos": photos}


def _doubts(whole: Exposure, members: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Why the members may not be photos that the model learned."""
    areas = [reached.auroc for reached in whole.attacks.values()]
    far = int((members.get("scatter", np.zeros(1)) < -OUTSIDE).sum())
    if min(area.high for area in areas) < 50 and max(area.low for area in areas) <= 50:
        yield SWAPPED
    elif 2 * far > whole.members:
        yield (
            f"{far:,} of {whole.members:,} members cannot be among the photos that the model "
            "learned: check `members`"
        )


def _warnings(rows: Sequence[Exposure], state: State) -> Iterator[str]:
    learned = dict(zip(state.classes.names, state.classes.counts, strict=True))
    if few := [row.name for row in rows if min(row.members, row.others) < FEW]:
        yield (
            f"there are fewer than {FEW} photos on a side of {first_ten(few)}: intervals of so few "
            "say nothing"
        )
    if more := [row.name for row in rows if row.members > learned[row.name]]:
        yield (
            f"of {first_ten(more)} there are more members than photos that the model "
            "learned: some were not used, so it is easier to tell than these numbers say"
        )
