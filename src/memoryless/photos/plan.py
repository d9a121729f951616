"""The plan of what to learn: which model, which photos, at what cost; or an error that refuses it.

A plan counts files and reads headers. It times a made-up photo of a common size; the time decides
nothing.
"""

from __future__ import annotations

import copy
import difflib
import math
import os
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from memoryless.embed import OWN_PIXELS, PHOTO_SIDE
from memoryless.errors import ConfigError, DataError
from memoryless.images.files import Photo
from memoryless.images.find import find_photos
from memoryless.images.read import example_photo, read_pixels, sizes_of
from memoryless.model import Model
from memoryless.model.database import ENDING
from memoryless.model.description import State
from memoryless.model.fixed import features_graph_of
from memoryless.names import counted, first_ten
from memoryless.stats.class_statistics import spread_rows
from memoryless.stats.confidence import MARGINS, TEMPERATURES
from memoryless.strategies import filled
from memoryless.threads import ahead, cores

LEAST, LEAST_IN_ALL = 5, 20
"""Photos of a class and of a state below which averages reveal single photos: whether a photo of a
class was used can be found out with an AUROC of 94 at 5, 78 at 10, 66 at 20 photos."""
FEW = 20
TIMED = 2  # photos for each core: enough to keep all busy
HEADERS = 32  # that are read to see how large photos are
LARGE = 320
"""Side in pixels of what a new model's network sees where half of the first photos are large, if it
can see any size: more right answers for 2.6 times the time (docs/lab/archive.md)."""
TOGETHER, ADD = "put them together", "call it {other!r}, with `more=True`"
"""What to do with two names of the same class, and where photos can be added to a known one."""
COUNTS_TWICE = "photos learned twice are counted twice; this is not detected"
# The best of the laboratory for trained features, by its results (docs/lab/results.md), of those
# that keep one covariance for all classes. rda is better by seven points, but the covariance
# of a class with fewer photos than features spans just these photos.
TRAINED = "lwf_kd+lda+widened"
TRAINED_SETTINGS: dict[str, Any] = {"statistics": "tied", "square_roots": True}
HELD_OUT = 0.1
"""The share of photos that measure a model with trained features; they are not trained on."""


@dataclass(frozen=True)
class Plan:
    """Photos to learn, and everything to print about them first."""

    model: Model
    known: tuple[str, ...]
    """The classes that the model knew before."""
    layouts: dict[str, str]
    """How each place was read."""
    photos: list[Photo]
    counts: dict[str, int]
    """How many photos each class gets."""
    allow_few: bool
    """Whether photos may be so few that they can be traced back."""
    skipped: dict[str, str]
    notes: list[str]
    warnings: list[str]
    large: float | None
    """The share of large photos, where that chose what the network of a new model sees."""
    rate: float | None
    """Photos a second that are embedded; None with trained features, whose training takes the time.
    """
    bytes: int | None
    """What will be kept of all photos; None with trained features."""
    spread: int
    """How many of these bytes are each class's own scatter."""

    @property
    def new(self) -> dict[str, int]:
        """The new classes and how many photos they have."""
        known = set(self.known)
        return {name: n for name, n in self.counts.items() if name not in known}

    @property
    def more(self) -> dict[str, int]:
        """The known classes that get more photos, and how many."""
        known = set(self.known)
        return {name: n for name, n in self.counts.items() if name in known}

    @property
    def seconds(self) -> float | None:
        return None if self.rate is None else len(self.photos) / self.rate


def model_to_learn(before: State | None, given: Mapping[str, Any], train: bool = False) -> Model:
    """The model of a file, or a new one with these settings."""
    if before:
        return _known(before, given, train)
    if train and str(given.get("method")).partition("+")[0] == "fixed":
        raise ConfigError(
            f"`train=True` trains the backbone, which {given['method']} never does: leave one out"
        )
    if not train or "method" in given:
        model = Model(**given)
        return model if model.fixed else Model(**given, held_out=HELD_OUT)
    of_resnet = str(given.get("backbone", "resnet")).startswith("resnet")
    level = "middle" if of_resnet else "last"  # others have no middle that we know of
    return Model(TRAINED, held_out=HELD_OUT, level=level, **TRAINED_SETTINGS, **given)


def _known(before: State, given: Mapping[str, Any], train: bool) -> Model:
    """The model of a file; of what it was made with only the device can change."""
    model, path = Model.of(before), before.path
    if given.get("forgettable") and not model.forgettable:
        raise ConfigError(
            f"{path} was made without `forgettable=True`, and the photos that this needs "
            "are gone: leave it out, or learn everything into another MODEL"
        )
    made = vars(model.settings) | {k: getattr(model, k) for k in ("method", "seed", "forgettable")}
    other = [name for name, value in given.items() if not _same(name, value, made, before)]
    if train and model.fixed and "method" not in other:
        other.append("method")
    if other:
        was = first_ten(_made(name, made[name]) for name in other)
        raise ConfigError(
            f"{path} was made {was}, and what it keeps fits nothing else: leave that "
            "setting out, or choose another MODEL"
        )
    if "device" in given:
        model.choose_device(given["device"])
    return model


def _made(name: str, value: Any) -> str:
    """How a model was made: with this value of a setting, or without it."""
    typed = " ".join(map(str, value)) if isinstance(value, tuple) else value
    return f"without `{name}`" if value is None else f"with `{name}={typed}`"


def _same(name: str, value: Any, made: Mapping[str, Any], before: State) -> bool:
    """Whether a model was made with this value of a setting; files are compared by their graph."""
    backbone = before.description.backbone
    file = name == "backbone_weights" or str(value).startswith("onnx:")
    if file and backbone and made["strategy"] == "fixed":
        settings = replace(Model.of(before).settings, **{name: value})
        return sha256(features_graph_of(settings)[0]).hexdigest() == backbone.sha256
    value = tuple(value) if isinstance(value, list) else value
    return name == "device" or bool(made[name] == value)


def make_plan(
    model: Model, places: Sequence[Path], allow_few: bool = False, more: bool = False
) -> Plan:
    """Find photos, refuse what cannot be learned, and time a few.

    With `more`, photos may be of classes that the model knows.
    """
    check_settings(model, more)
    if not places:
        raise ConfigError("name a folder of photos, with a folder for each class")
    for place in places:
        if place.suffix == ENDING and place.is_file():
            raise DataError(f"{place} is a model and no photos: name photos to learn")
    each = {str(place): find_photos(place) for place in places}
    photos, again = once([photo for found in each.values() for photo in found.photos])
    photos = spelled_as(model.classes, photos)
    counts = dict(sorted(Counter(str(photo.label) for photo in photos).items()))
    known = set(model.classes)
    past = [name for name in counts if name in known]
    if past and not more:
        way = (
            "add `more=True` to add these photos to what it knows, or give them another name"
            if model.fixed
            else "give these photos another name, or leave them out"
        )
        raise DataError(f"the model knows {first_ten(past)} already: {way}")
    traced = check_enough(counts, past, allow_few)
    large = share_of_large(model, photos)
    if large is not None and large >= 0.5:
        model = copy.copy(model)
        model.settings = replace(model.settings, image_size=LARGE)
    rate = time_embedding(model, photos) if model.fixed else None
    sizes = model.feature_groups
    before = dict(zip(model.classes, model.counts, strict=True))
    after = before | {name: before.get(name, 0) + n for name, n in counts.items()}
    spread = sum(spread_bytes(after, d) for d in sizes) if model.forgettable else 0
    return Plan(
        model=model,
        known=model.classes,
        layouts={place: found.layout for place, found in each.items()},
        photos=photos,
        counts=counts,
        allow_few=allow_few,
        skipped={name: why for found in each.values() for name, why in found.not_read.items()},
        notes=[
            *(sentence for found in each.values() for sentence in found.notes),
            *again,
            *([COUNTS_TWICE] if past else []),
        ],
        warnings=[
            *alike_names(counts, model.classes, ADD if model.fixed else TOGETHER),
            *(traced or small_classes(counts, past)),
            *(spanned_photos(counts, after, max(sizes)) if model.forgettable else []),
            *deeper(photos),
        ],
        large=large,
        rate=rate,
        bytes=bytes_kept(len(after), *sizes) + spread if model.fixed else None,
        spread=spread,
    )


def check_settings(model: Model, more: bool = False) -> None:
    """Raise if a model cannot learn with its settings, before a photo is read."""
    given = model.settings
    if more:
        model.check_sums("add photos to known classes")
    if model.classes and model.fixed:
        _ = model.min_side  # raises where the model takes no photos
    if not model.fixed:
        from memoryless.train.resolve import trained_settings  # imports torch

        trained_settings(model.method, given, given.image_size or PHOTO_SIDE)
    elif given.strategy != "fixed":  # nothing is filled in before the backbone is made
        if given.epochs is not None:
            raise ConfigError(
                f"`epochs={given.epochs}` is for training, and {model.method} never trains its "
                "backbone: leave it out, or add `train=True`"
            )
        filled(given)


def once(photos: Sequence[Photo]) -> tuple[list[Photo], list[str]]:
    """Each file of a class once, however many places lead to it, and a note of the others."""
    first: dict[tuple[str, str | None], Photo] = {}
    again = []
    for photo in photos:
        if first.setdefault((os.path.realpath(photo.name), photo.label), photo) is not photo:
            again.append(photo.name)
    many = counted(len(again), "photo was found again and counts once",
                   "photos were found again and count once")  # fmt: skip
    return list(first.values()), [f"{many}: {first_ten(again)}"] if again else []


def spelled_as(known: Sequence[str], photos: Sequence[Photo]) -> list[Photo]:
    """The photos, each with the name of a known class where Unicode takes the two for the same."""
    composed = {unicodedata.normalize("NFC", name): name for name in known}
    return [
        replace(photo, label=name) if (name := composed.get(str(photo.label))) else photo
        for photo in photos
    ]


def share_of_large(model: Model, photos: Sequence[Photo]) -> float | None:
    """The share of photos large enough for `LARGE`, by their headers; None if the size is fixed."""
    able = model.settings.backbone in (None, *OWN_PIXELS)
    if not (able and model.fixed and not model.classes and model.settings.image_size is None):
        return None
    needed = math.ceil(LARGE / model.settings.crop)
    sides = [min(size) for size in sizes_of(photos)]
    return sum(side >= needed for side in sides) / len(sides) if sides else 0.0


def time_embedding(model: Model, photos: Sequence[Photo]) -> float:
    """Return how many made-up photos of a common size are decoded and embedded in a second."""
    model.open()
    some = sorted(sizes_of(photos[:: max(1, len(photos) // HEADERS)]), key=math.prod)
    common = some[len(some) // 2] if some else (PHOTO_SIDE, PHOTO_SIDE)

    def embed(content: bytes) -> np.ndarray:
        return model.learning_input(read_pixels(content, model.min_side))

    photo = example_photo(*common)
    embed(photo)  # warms up
    number = TIMED * cores()
    began = time.perf_counter()
    for _ in ahead(embed, [photo] * number):
        pass
    return number / (time.perf_counter() - began)


def bytes_kept(classes: int, *sizes: int) -> int:
    """Return the bytes of the sums over so many classes, in groups of so many features: counts,
    means, half of each symmetric scatter, and the sums of the check.

    >>> bytes_kept(40, 1280)
    6970720
    """
    check = 2 * len(TEMPERATURES) + len(MARGINS) + 1
    groups = sum(classes * d + d * (d + 1) // 2 for d in sizes)
    return 8 * (classes + groups + check)


def spread_bytes(counts: Mapping[str, int], dimensions: int) -> int:
    """Bytes of the own scatters of classes with so many photos.

    >>> spread_bytes({"cat": 31, "dog": 2000}, 1280)
    13414400
    """
    rows = spread_rows(np.array(list(counts.values()), dtype=np.float64), dimensions)
    return 8 * dimensions * int(rows.sum())


def check_enough(counts: Mapping[str, int], known: Sequence[str], allow_few: bool) -> list[str]:
    """Raise if so few different photos would reveal single ones; with `allow_few`, warn instead.

    Photos that known classes had before do not count: two kept states differ by those that a state
    brings.
    """
    past = set(known)
    small = [
        f"{label} gets {n} in this state" if label in past else f"{label} has {n}"
        for label, n in counts.items()
        if n < LEAST
    ]
    photos = sum(counts.values())
    if small:
        problem = f"a class needs at least {LEAST} different photos, and {first_ten(small)}"
    elif photos < LEAST_IN_ALL:
        problem = f"a state needs at least {LEAST_IN_ALL} different photos, and there are {photos}"
    else:
        return []
    if not allow_few:
        raise DataError(
            f"{problem}: add photos, or add `allow_few=True` if anyone with the model may find out "
            "which photos were used"
        )
    return [
        f"{problem}; averages over so few can be traced back: anyone with the model may find "
        "out which photos were used, or even what they show"
    ]


def small_classes(counts: Mapping[str, int], past: Sequence[str]) -> Iterator[str]:
    """New classes of few photos, and known ones that get few."""
    small = {name: f"{name} {n}" for name, n in counts.items() if n < FEW}
    added = [small.pop(name) for name in past if name in small]
    if small:
        yield (
            f"fewer than {FEW} photos: {first_ten(small.values())}; more would be more accurate, "
            "and hide better which photos were used"
        )
    if added:
        yield (
            f"fewer than {FEW} photos more: {first_ten(added)}; the difference to the previous "
            "state reveals these few photos; add more"
        )


def spanned_photos(
    counts: Mapping[str, int], after: Mapping[str, int], dimensions: int
) -> Iterator[str]:
    """Classes whose own scatter reveals which photos they had."""
    spanned = [f"{name} {after[name]}" for name in counts if after[name] <= dimensions]
    if spanned:
        yield (
            "each class's own scatter is kept, and that of a class with no more photos than "
            f"features ({dimensions:,}) spans exactly these photos, so that anyone with the model "
            f"can find out which were used: {first_ten(spanned)}"
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


def alike_names(classes: Iterable[str], known: Sequence[str], way: str = TOGETHER) -> Iterator[str]:
    """New names that people would take for another, such as "Cat" and "cat "; `way` says what to do
    if that one is known already.

    >>> list(alike_names(["Cat", "cat ", "dog"], []))
    ["'cat ' and 'Cat' are almost the same name: if they are the same class, put them together"]
    """
    seen: dict[str, str] = {_plain(name): name for name in known}
    there = set(known)
    for name in classes:
        other = seen.setdefault(_plain(name), name)
        if name != other and name not in there:
            fix = way if other in there else TOGETHER
            yield (
                f"{name!r} and {other!r} are almost the same name: if they are the same class, "
                f"{fix.format(other=other)}"
            )


def none_known(classes: Iterable[str], known: Sequence[str]) -> Iterator[str]:
    """That no class is known, although photos were to be added; perhaps names are misspelled.

    >>> list(none_known(["Lazuli_Buntin"], ["Lazuli_Bunting"]))
    ['the model knows none of these classes, so all are new; did you mean Lazuli_Bunting?']
    """
    close = [difflib.get_close_matches(name, known, 1, 0.8) for name in classes]
    meant = first_ten(name for names in close for name in names)
    hint = f"; did you mean {meant}?" if meant else ""
    yield f"the model knows none of these classes, so all are new{hint}"


def _plain(name: str) -> str:
    """A name without case, accents, spaces and signs; one of signs alone stays as it is."""
    apart = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[\W_]|[\u0300-\u036f]", "", apart) or name
