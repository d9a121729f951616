"""The plan of a call of learn: the model, the photos, their classes, and the time it takes.

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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from memoryless.embed import OWN_PIXELS
from memoryless.embed.preparation import PHOTO_SIDE
from memoryless.errors import ConfigError, DataError
from memoryless.images.files import COLUMNS, Columns, Photo
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
"""Photos of a class and of a state below which averages reveal single photos. An attack on the
averages finds out whether a photo was used with an AUROC of 94 at 5, 78 at 10, 66 at 20 photos."""
FEW = 20
TIMED = 2  # photos for each core: enough to keep all busy
HEADERS = 32  # that are read to see how large photos are
LARGE = 320
"""Image size of a new model where half of the first photos are large enough, if its network takes
any size: more accurate than 224, in 2.6 times the time (docs/lab/archive.md)."""
TOGETHER, ADD = "put them together", "call it {other!r}, with `more=True`"
"""How to join two names of the same class, where photos can or cannot be added to a known one."""
# The best of the laboratory for trained features, by its results (docs/lab/results.md), of
# those that keep one covariance for all classes. rda is better by seven points, but the covariance
# of a class with fewer photos than features spans just these photos.
TRAINED = "lwf_kd+lda+widened"
TRAINED_SETTINGS: dict[str, Any] = {"statistics": "tied", "square_roots": True}
HELD_OUT = 0.1
"""The share of photos that measure a model with trained features; they are not trained on."""


@dataclass(frozen=True)
class Plan:
    """Photos to learn, and what there is to say about them before they are read."""

    model: Model
    known: tuple[str, ...]
    """The classes that the model knew before."""
    layouts: dict[str, str]
    """How each place was read."""
    photos: list[Photo]
    counts: dict[str, int]
    """How many photos each class gets."""
    allow_few: bool
    """Whether classes may have so few photos that these can be identified."""
    left_out: dict[str, int]
    """Classes with too few photos, and how many different ones each has."""
    skipped: dict[str, str]
    """Files that are no photos, and why they are not read."""
    notes: list[str]
    warnings: list[str] = field(default_factory=list)
    large: float | None = None
    """The share of large photos, where that chose the image size of a new model."""
    rate: float | None = None
    """Photos a second that are embedded; None with trained features, whose training takes the time.
    """
    bytes: int | None = None
    """Bytes of model data after learning; None with trained features."""
    spread: int = 0
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

    def without(self, classes: Mapping[str, int]) -> Plan:
        """Return the plan without classes that have so few photos; raise if none is left."""
        photos = [photo for photo in self.photos if photo.label not in classes]
        counts = {name: n for name, n in self.counts.items() if name not in classes}
        if not counts:
            raise too_few(f"a class needs at least {LEAST} different photos", classes)
        left_out = self.left_out | dict(classes)
        return replace(self, photos=photos, counts=counts, left_out=left_out)

    @property
    def seconds(self) -> float | None:
        return None if self.rate is None else len(self.photos) / self.rate


def model_to_learn(before: State | None, given: Mapping[str, Any], train: bool = False) -> Model:
    """Return the model of a file, or a new one with these settings."""
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
    """Return the model of a file; of its settings only the device can change."""
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
            f"{path} was made {was}, and this cannot change: leave the setting out, or choose "
            "another MODEL"
        )
    if "device" in given:
        model.choose_device(given["device"])
    return model


def _made(name: str, value: Any) -> str:
    """Say how a model was made: with this value of a setting, or without it."""
    typed = " ".join(map(str, value)) if isinstance(value, tuple) else value
    return f"without `{name}`" if value is None else f"with `{name}={typed}`"


def _same(name: str, value: Any, made: Mapping[str, Any], before: State) -> bool:
    """Return whether a model was made with this value of a setting, files compared by content."""
    backbone = before.description.backbone
    file = name == "backbone_weights" or str(value).startswith("onnx:")
    if file and backbone and made["strategy"] == "fixed":
        settings = replace(Model.of(before).settings, **{name: value})
        return sha256(features_graph_of(settings)[0]).hexdigest() == backbone.sha256
    value = tuple(value) if isinstance(value, list) else value
    return name == "device" or bool(made[name] == value)


def make_plan(
    model: Model,
    places: Sequence[Path],
    allow_few: bool = False,
    more: bool = False,
    columns: Columns = COLUMNS,
) -> Plan:
    """Find photos, leave out classes with too few, refuse what cannot be learned, and time a few.

    With `more`, photos may be of classes that the model knows.
    """
    check_settings(model, more)
    if not places:
        raise ConfigError("name a folder of photos, with a folder for each class")
    for place in places:
        if place.suffix == ENDING and place.is_file():
            raise DataError(f"{place} is a model and no photos: name photos to learn")
    each = {str(place): find_photos(place, columns=columns) for place in places}
    photos, again = once([photo for found in each.values() for photo in found.photos])
    photos = spelled_as(model.classes, photos)
    counts = dict(sorted(Counter(str(photo.label) for photo in photos).items()))
    _check_new(model, counts, more)
    plan = Plan(
        model=model,
        known=model.classes,
        layouts={place: found.layout for place, found in each.items()},
        photos=photos,
        counts=counts,
        allow_few=allow_few,
        left_out={},
        skipped={name: why for found in each.values() for name, why in found.not_read.items()},
        notes=[*(sentence for found in each.values() for sentence in found.notes), *again],
    )
    plan = plan.without(few_photos(counts, allow_few))
    plan.warnings.extend(alike_names(plan.counts, model.classes, ADD if model.fixed else TOGETHER))
    few = check_enough(plan.counts, allow_few)
    plan.warnings.extend(few or small_classes(plan.counts, plan.more))
    plan.warnings.extend(deeper(plan.photos))
    return plan if not model.fixed else _costed(plan)


def _check_new(model: Model, counts: Mapping[str, int], more: bool) -> None:
    """Raise if photos belong to known classes without `more`."""
    known = set(model.classes)
    past = [name for name in counts if name in known]
    if past and not more:
        way = (
            "add `more=True` to add these photos to what it knows, or give them another name"
            if model.fixed
            else "give these photos another name, or leave them out"
        )
        raise DataError(f"the model knows {first_ten(past)} already: {way}", classes=past)


def _costed(plan: Plan) -> Plan:
    """Return the plan of a model over fixed features with image size, speed and bytes."""
    model, large = plan.model, share_of_large(plan.model, plan.photos)
    if large is not None and large >= 0.5:
        model = copy.copy(model)
        model.settings = replace(model.settings, image_size=LARGE)
    rate, sizes = time_embedding(model, plan.photos), model.feature_groups
    before = dict(zip(model.classes, model.counts, strict=True))
    after = before | {name: before.get(name, 0) + n for name, n in plan.counts.items()}
    spread = sum(spread_bytes(after, d) for d in sizes) if model.forgettable else 0
    if model.forgettable:
        plan.warnings.extend(spanned_photos(plan.counts, after, max(sizes)))
    return replace(
        plan,
        model=model,
        large=large,
        rate=rate,
        bytes=bytes_kept(len(after), *sizes) + spread,
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
    """Return each file of a class once, however many places lead to it, and note the others."""
    first: dict[tuple[str, str | None], Photo] = {}
    again = []
    for photo in photos:
        if first.setdefault((os.path.realpath(photo.name), photo.label), photo) is not photo:
            again.append(photo.name)
    many = counted(len(again), "photo was found again and counts once",
                   "photos were found again and count once")  # fmt: skip
    return list(first.values()), [f"{many}: {first_ten(again)}"] if again else []


def spelled_as(known: Sequence[str], photos: Sequence[Photo]) -> list[Photo]:
    """Return photos with the name of a known class where Unicode takes the two for the same."""
    composed = {unicodedata.normalize("NFC", name): name for name in known}
    return [
        replace(photo, label=name) if (name := composed.get(str(photo.label))) else photo
        for photo in photos
    ]


def share_of_large(model: Model, photos: Sequence[Photo]) -> float | None:
    """Return the share of photos large enough for `LARGE`; None if the image size is fixed."""
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
    """Return the bytes of the own scatters of classes with so many photos.

    >>> spread_bytes({"cat": 31, "dog": 2000}, 1280)
    13414400
    """
    rows = spread_rows(np.array(list(counts.values()), dtype=np.float64), dimensions)
    return 8 * dimensions * int(rows.sum())


def few_photos(counts: Mapping[str, int], allow_few: bool) -> dict[str, int]:
    """Return the classes with too few photos to learn, and how many they have.

    >>> few_photos({"cat": 4, "dog": 5, "owl": 0}, False), few_photos({"cat": 4, "owl": 0}, True)
    ({'cat': 4, 'owl': 0}, {'owl': 0})
    """
    return {name: n for name, n in counts.items() if n < (1 if allow_few else LEAST)}


def too_few(problem: str, classes: Mapping[str, int]) -> DataError:
    """Return an error about classes of too few photos, or too few photos in all."""
    has = first_ten(f"{name} has {n}" for name, n in classes.items())
    return DataError(
        f"{problem} ({has}): add photos, or pass `allow_few=True` and accept that the model may "
        "reveal which photos were used",
        classes=dict(classes),
    )


def check_enough(counts: Mapping[str, int], allow_few: bool) -> list[str]:
    """Raise if so few different photos would reveal single ones; if allowed, return a warning.

    Photos that known classes had before do not count: two kept states differ by those that a state
    brings.
    """
    if sum(counts.values()) < LEAST_IN_ALL and not allow_few:
        raise too_few(f"a state needs at least {LEAST_IN_ALL} different photos", counts)
    if few_photos(counts, False) or sum(counts.values()) < LEAST_IN_ALL:
        return ["photos are so few that anyone with the model may find out which ones were used"]
    return []


def small_classes(counts: Mapping[str, int], known: Collection[str]) -> Iterator[str]:
    """Yield new classes of few photos, and known ones that get few."""
    small = {name: f"{name} {n}" for name, n in counts.items() if n < FEW}
    added = [small.pop(name) for name in sorted(known) if name in small]
    if small:
        yield (
            f"fewer than {FEW} photos: {first_ten(small.values())}; more would raise accuracy and "
            "privacy"
        )
    if added:
        yield (
            f"fewer than {FEW} photos added: {first_ten(added)}; comparing two saved states can "
            "reveal so few"
        )


def spanned_photos(
    counts: Mapping[str, int], after: Mapping[str, int], dimensions: int
) -> Iterator[str]:
    """Yield classes whose own scatter reveals which photos they had."""
    spanned = [f"{name} {after[name]}" for name in counts if after[name] <= dimensions]
    if spanned:
        yield (
            "the scatter of a class with no more photos than features "
            f"({dimensions:,}) reveals which photos were used: {first_ten(spanned)}"
        )


def deeper(photos: Sequence[Photo]) -> Iterator[str]:
    """Yield classes whose photos lie in several folders within theirs, perhaps the real classes."""
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
    """Yield new names that people would confuse, such as "Cat" and "cat ".

    `way` says what to do if the other name is known already.

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
    """Yield that no class is known, although photos were to be added: perhaps a misspelled name.

    >>> list(none_known(["Lazuli_Buntin"], ["Lazuli_Bunting"]))
    ['the model knows none of these classes, so all are new; did you mean Lazuli_Bunting?']
    """
    close = [difflib.get_close_matches(name, known, 1, 0.8) for name in classes]
    meant = first_ten(name for names in close for name in names)
    hint = f"; did you mean {meant}?" if meant else ""
    yield f"the model knows none of these classes, so all are new{hint}"


def _plain(name: str) -> str:
    """Return a name without case, accents, spaces and signs, unless it has signs alone."""
    apart = unicodedata.normalize("NFKD", name.casefold())
    return re.sub(r"[\W_]|[\u0300-\u036f]", "", apart) or name
