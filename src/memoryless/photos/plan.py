"""What learning a folder of photos will mean, told before it is done; what cannot be is refused."""

from __future__ import annotations

import copy
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np

from memoryless.confidence import MARGINS, TEMPERATURES
from memoryless.data.dataset import counted
from memoryless.data.glances import Glance, glances, near_identical, usable
from memoryless.data.photos import Found, Photo, find_photos
from memoryless.errors import ConfigError, DataError
from memoryless.names import first_ten
from memoryless.photos.seeing import Progress, see, silent
from memoryless.trained import PHOTO_SIDE

if TYPE_CHECKING:
    from memoryless.model import Model

LEAST, LEAST_IN_ALL = 5, 20
"""Photos of a class and of a state below which averages give single photos away: of a class's
photos, whether one was used can be told with an AUROC of 94 at 5, 78 at 10, 66 at 20."""
FEW = 20
TRIAL = 8  # photos that are timed: enough to keep a few threads busy
LARGE = 320
"""Side in pixels of what a network sees of large photos, where it can see any size: more right
answers for 2.6 times the time (docs/choosing.md)."""
SEES_LARGE = (
    f"the photos are large, so the network sees {LARGE} pixels of them; with `image_size=224` it "
    "would take less than half the time"
)
PATIENCE = 600  # seconds that this may take


@dataclass(frozen=True)
class Plan:
    """Photos that will be learned, and all that is to be said of them first."""

    model: Model
    layouts: dict[str, str]
    """How each place was read."""
    photos: list[Photo]
    looks: list[Glance]
    """A glance at each photo."""
    few: bool
    """Whether photos may be so few that they can be traced back."""
    groups: np.ndarray
    """The number of each photo's group of near-identical ones."""
    broken: dict[str, str]
    skipped: dict[str, str]
    notes: list[str]
    warnings: list[str]
    rate: float | None
    """Photos a second, measured; None with trained features, whose training takes the time."""
    bytes: int | None
    """What will be kept of all photos; None with trained features."""

    @property
    def counts(self) -> dict[str, int]:
        """The new classes and how many photos they have."""
        return dict(sorted(Counter(str(photo.label) for photo in self.photos).items()))

    @property
    def size(self) -> int:
        """Bytes of all photo files."""
        return sum(look.size for look in self.looks)

    @property
    def near(self) -> int:
        """Photos that are nearly the same as another one."""
        return int((np.bincount(self.groups)[self.groups] > 1).sum())

    @property
    def seconds(self) -> float | None:
        return None if self.rate is None else len(self.photos) / self.rate


def make_plan(
    model: Model,
    places: Sequence[Path],
    few: bool = False,
    progress: Progress = silent,
    more: bool = False,
) -> Plan:
    """Look at every photo, refuse what cannot be learned, and time a few.

    With `more`, photos may be of classes that the model knows.
    """
    check_settings(model)
    layouts, found = find_in(places)
    if not more:
        _check_new(found.classes, model.classes)
    looks = glances(found.photos, progress)
    broken = {
        p.name: look for p, look in zip(found.photos, looks, strict=True) if isinstance(look, str)
    }
    photos, seen = usable(found, looks)
    groups = near_identical(np.array([look.hash for look in seen], dtype=np.uint64))
    traced = list(_check_enough(too_few(photos, seen), few))
    model, asked = _sized(model, photos, seen), model
    rate, dimensions = time_a_few(model, photos) if model.fixed else (None, 0)
    classes = len(model.classes) + len(found.classes)
    return Plan(
        model=model,
        layouts=layouts,
        photos=photos,
        looks=seen,
        few=few,
        groups=groups,
        broken=broken,
        skipped={name: why for name, why in found.skipped.items() if name not in broken},
        notes=[
            *found.notes,
            *_across(photos, groups),
            *([SEES_LARGE] if model is not asked else []),
        ],
        warnings=[
            *alike_names(found.classes, model.classes),
            *(traced or _small(photos)),
            *deeper(photos),
        ],
        rate=rate,
        bytes=bytes_kept(classes, dimensions) if model.fixed else None,
    )


def check_settings(model: Model) -> None:
    """Raise if a model cannot be taught with its settings, before a photo is read."""
    given = model.settings
    if not model.fixed:
        from memoryless.methods import trained_settings  # imports torch

        trained_settings(model.method, given, given.image_size or PHOTO_SIDE)
    elif given.strategy != "fixed":  # nothing is filled in before the backbone is made
        if given.epochs is not None:
            raise ConfigError(
                f"`epochs={given.epochs}` is for training, and {model.method} never trains its "
                "backbone: leave it out, or add `train=True`"
            )
        given.filled()


def find_in(places: Sequence[Path]) -> tuple[dict[str, str], Found]:
    """The photos of all places together."""
    if not places:
        raise ConfigError("name a folder of photos, with a folder for each class")
    each = {place: find_photos(place) for place in places}
    layouts = {str(place): found.layout for place, found in each.items()}
    photos, notes = once([photo for found in each.values() for photo in found.photos])
    skipped = {name: why for found in each.values() for name, why in found.skipped.items()}
    notes = [*(note for found in each.values() for note in found.notes), *notes]
    return layouts, Found("", photos, skipped, notes)


def once(photos: Sequence[Photo]) -> tuple[list[Photo], list[str]]:
    """Each file of a class once, however many places lead to it, and a note of the others."""
    first: dict[tuple[Path, str | None], Photo] = {}
    again = []
    for photo in photos:
        if first.setdefault((Path(photo.name).resolve(), photo.label), photo) is not photo:
            again.append(photo.name)
    many = counted(len(again), "photo was found again and counts once",
                   "photos were found again and count once")  # fmt: skip
    return list(first.values()), [f"{many}: {first_ten(again)}"] if again else []


def _check_new(new: Sequence[str], known: Sequence[str]) -> None:
    past = [name for name in new if name in known]
    if past:
        raise DataError(
            f"the model knows {first_ten(past)} already: give these photos another name, or leave "
            "them out"
        )


def too_few(photos: Sequence[Photo], looks: Sequence[Glance]) -> str:
    """Why photos are so few that what is kept would give single ones away; nothing if they are not.

    A file that stands there several times counts once.
    """
    distinct = {(str(photo.label), look.sha256) for photo, look in zip(photos, looks, strict=True)}
    counts = Counter(label for label, _ in distinct)
    small = [f"{label} has {n}" for label, n in sorted(counts.items()) if n < LEAST]
    if small:
        return f"a class needs at least {LEAST} different photos, and {first_ten(small)}"
    if len(distinct) < LEAST_IN_ALL:
        return (
            f"a state needs at least {LEAST_IN_ALL} different photos, and there are {len(distinct)}"
        )
    return ""


def _check_enough(problem: str, few: bool) -> Iterator[str]:
    if problem and not few:
        raise DataError(
            f"{problem}: add photos, or add `few=True` if whoever gets the model may find out "
            "which photos were used"
        )
    if problem:
        yield (
            f"{problem}; averages over so few can be traced back: whoever gets the model may find "
            "out which photos were used, or even what they show"
        )


def _small(photos: Sequence[Photo]) -> Iterator[str]:
    counts = Counter(str(photo.label) for photo in photos)
    small = [f"{label} {n}" for label, n in sorted(counts.items()) if n < FEW]
    if small:
        yield (
            f"fewer than {FEW} photos: {first_ten(small)}; more would be more accurate, and hide "
            "better which photos were used"
        )


def deeper(photos: Sequence[Photo]) -> Iterator[str]:
    """Classes whose photos all lie in several folders within theirs, which may be the classes."""
    within: dict[str, set[str]] = {}
    for photo in photos:
        folders, label = PurePath(photo.name).parts[:-1], str(photo.label)
        place = folders.index(label) + 1 if label in folders else len(folders)
        within.setdefault(label, set()).add(folders[place] if place < len(folders) else "")
    for label, inner in sorted(within.items()):
        if len(inner) > 1 and "" not in inner:
            names = first_ten(sorted(inner))
            yield (
                f"the photos of {label} lie in {len(inner)} folders ({names}): if these are the "
                f"classes, name the folder {label} itself"
            )


def _across(photos: Sequence[Photo], groups: np.ndarray) -> Iterator[str]:
    """What is nearly the same and stands in different classes: a mistake in the labels, perhaps."""
    labels: dict[int, dict[str, str]] = {}
    for photo, group in zip(photos, groups.tolist(), strict=True):
        labels.setdefault(group, {}).setdefault(str(photo.label), photo.name)
    several = [" and ".join(names.values()) for names in labels.values() if len(names) > 1]
    if several:
        yield f"nearly the same photo in different classes: {first_ten(several)}"


def alike_names(new: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    """Names that people would take for the same, such as "Cat" and "cat ".

    >>> list(alike_names(["cat ", "dog"], ["Cat"]))
    ["'cat ' and 'Cat' are almost the same name: if they are the same class, put them together"]
    """
    seen: dict[str, str] = {_plain(name): name for name in known}
    for name in new:
        other = seen.setdefault(_plain(name), name)
        if other != name:
            yield (
                f"{name!r} and {other!r} are almost the same name: if they are the same class, put "
                "them together"
            )


def _plain(name: str) -> str:
    """A name without case, accents, spaces and signs; one of signs alone stays as it is."""
    apart = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[\W_]|[\u0300-\u036f]", "", apart) or name


def _sized(model: Model, photos: Sequence[Photo], looks: Sequence[Glance]) -> Model:
    """The model, or, if it is new and photos are large, one like it that sees more of them."""
    if not sees_large(model, looks):
        return model
    large = copy.copy(model)
    large.settings = replace(model.settings, image_size=LARGE)
    rate, _ = time_a_few(large, photos)
    return large if len(photos) / rate <= PATIENCE else model


def sees_large(model: Model, looks: Sequence[Glance]) -> bool:
    """Whether a new model's network can see large images, and half of the photos are that large."""
    able = model.settings.backbone in (None, "efficientnet-lite0")
    free = model.fixed and not model.classes and model.settings.image_size is None and able
    shorter = [min(look.width, look.height) for look in looks]
    return free and bool(np.median(shorter) >= LARGE / model.settings.crop)


def time_a_few(model: Model, photos: Sequence[Photo]) -> tuple[float, int]:
    """Photos a second, and the number of their features, from a few out of all classes."""
    some = photos[:: max(1, len(photos) // TRIAL)][:TRIAL]
    looks = [look for look in see(model, some[:1]) if not isinstance(look, str)]  # warms up
    began = time.perf_counter()
    looks += [look for look in see(model, some) if not isinstance(look, str)]
    if not looks:
        raise DataError(f"the photo {some[0].name} has vanished: run the same command again")
    return len(some) / (time.perf_counter() - began), len(looks[0])


def bytes_kept(classes: int, dimensions: int) -> int:
    """Bytes of the sums over so many classes: counts, means, half of a symmetric scatter, and what
    held-out photos told.

    >>> bytes_kept(40, 1280)
    6969672
    """
    held_out = len(TEMPERATURES) + len(MARGINS) + 1
    return 8 * (classes + classes * dimensions + dimensions * (dimensions + 1) // 2 + held_out)
