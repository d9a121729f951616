"""What learning a folder of photos will mean, told before it is done; what cannot be is refused."""

from __future__ import annotations

import copy
import time
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memoryless.data.dataset import counted
from memoryless.data.glances import Glance, glances, near_identical, usable
from memoryless.data.photos import Found, Photo, find_photos
from memoryless.embed import PHOTO_SIDE
from memoryless.errors import ConfigError, DataError
from memoryless.names import first_ten
from memoryless.photos.cautions import (
    ADD,
    TOGETHER,
    across_classes,
    alike_names,
    check_enough,
    count,
    deeper,
    none_known,
    small_classes,
    spanned_photos,
    too_few,
)
from memoryless.photos.seeing import Progress, see, silent
from memoryless.stats.class_statistics import spread_rows
from memoryless.stats.confidence import MARGINS, TEMPERATURES

if TYPE_CHECKING:
    from memoryless.model import Model

TRIAL = 8  # photos that are timed: enough to keep a few threads busy
LARGE = 320
"""Side in pixels of what a network sees of large photos, where it can see any size: more right
answers for 2.6 times the time (docs/choosing.md)."""
SEES_LARGE = (
    f"the photos are large, so the network sees {LARGE} pixels of them; with `image_size=224` it "
    "would take less than half the time"
)
PATIENCE = 600  # seconds that this may take
COUNTS_TWICE = (
    "it is not noticed if photos of known classes were learned before: these would count twice"
)


@dataclass(frozen=True)
class Plan:
    """Photos that will be learned, and all that is to be said of them first."""

    model: Model
    known: tuple[str, ...]
    """The classes that the model knew before."""
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
    spread: int
    """How many of these bytes are each class's own scatter."""

    @property
    def new(self) -> dict[str, int]:
        """The new classes and how many photos they have."""
        return {name: n for name, n in count(self.photos).items() if name not in self.known}

    @property
    def more(self) -> dict[str, int]:
        """The known classes that get more photos, and how many."""
        return {name: n for name, n in count(self.photos).items() if name in self.known}

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
    check_settings(model, more)
    layouts, found = find_in(places)
    found = replace(found, photos=spelled_as(model.classes, found.photos))
    past = [name for name in found.classes if name in model.classes]
    if not more:
        _check_new(past, model)
    looks = glances(found.photos, progress)
    broken = {
        p.name: look for p, look in zip(found.photos, looks, strict=True) if isinstance(look, str)
    }
    photos, seen = usable(found, looks)
    groups = near_identical(np.array([look.hash for look in seen], dtype=np.uint64))
    traced = list(check_enough(too_few(photos, seen, past), few))
    model, asked = _sized(model, photos, seen), model
    rate, dimensions = time_a_few(model, photos) if model.fixed else (None, 0)
    after = counts_after(model, photos)
    spread = spread_bytes(after, dimensions) if model.forgettable else 0
    return Plan(
        model=model,
        known=model.classes,
        layouts=layouts,
        photos=photos,
        looks=seen,
        few=few,
        groups=groups,
        broken=broken,
        skipped={name: why for name, why in found.skipped.items() if name not in broken},
        notes=[
            *found.notes,
            *([COUNTS_TWICE] if past else []),
            *across_classes(photos, groups),
            *([SEES_LARGE] if model is not asked else []),
        ],
        warnings=[
            *(none_known(found.classes, model.classes) if more and not past else []),
            *alike_names(found.classes, model.classes, ADD if model.fixed else TOGETHER),
            *(traced or small_classes(photos, past)),
            *(spanned_photos(photos, after, dimensions) if model.forgettable else []),
            *deeper(photos),
        ],
        rate=rate,
        bytes=bytes_kept(len(after), dimensions) + spread if model.fixed else None,
        spread=spread,
    )


def counts_after(model: Model, photos: Sequence[Photo]) -> dict[str, int]:
    """How many photos each class will have had once these are learned."""
    past = dict(zip(model.classes, model.counts, strict=True))
    return past | {name: past.get(name, 0) + n for name, n in count(photos).items()}


def check_settings(model: Model, more: bool = False) -> None:
    """Raise if a model cannot be taught with its settings, before a photo is read."""
    given = model.settings
    if more:
        model.check_sums("add photos to known classes")
    if model.classes and model.fixed:
        _ = model.least  # raises where the model takes no photos
    if not model.fixed:
        from memoryless.strategies import trained_settings  # imports torch

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
    for place in places:
        if place.suffix == ".memoryless" and place.is_file():
            raise DataError(f"{place} is a model and no photos: name photos to learn")
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


def spelled_as(known: Sequence[str], photos: Sequence[Photo]) -> list[Photo]:
    """The photos, each with the name of a known class where Unicode takes the two for the same."""
    composed = {unicodedata.normalize("NFC", name): name for name in known}
    return [replace(photo, label=composed.get(str(photo.label), photo.label)) for photo in photos]


def _check_new(past: Sequence[str], model: Model) -> None:
    if past:
        way = (
            "add `more=True` to add these photos to what it knows, or give them another name"
            if model.fixed
            else "give these photos another name, or leave them out"
        )
        raise DataError(f"the model knows {first_ten(past)} already: {way}")


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


def spread_bytes(counts: Mapping[str, int], dimensions: int) -> int:
    """Bytes of the own scatters of classes with so many photos.

    >>> spread_bytes({"cat": 31, "dog": 2000}, 1280)
    13414400
    """
    rows = spread_rows(np.array(list(counts.values()), dtype=np.float64), dimensions)
    return 8 * dimensions * int(rows.sum())
