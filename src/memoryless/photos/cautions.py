"""Warnings and refusals before photos are learned: few photos, and doubtful names."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

import numpy as np

from memoryless.errors import DataError
from memoryless.images.read import Photo
from memoryless.names import first_ten

LEAST, LEAST_IN_ALL = 5, 20
"""Photos of a class and of a state below which averages reveal single photos: whether a photo of a
class was used can be found out with an AUROC of 94 at 5, 78 at 10, 66 at 20 photos."""
FEW = 20
TOGETHER, ADD = "put them together", "call it {other!r}, with `more=True`"
"""What to do with two names of the same class, and where photos can be added to a known one."""


def count(photos: Sequence[Photo]) -> dict[str, int]:
    """How many photos each class has, by name."""
    return dict(sorted(Counter(str(photo.label) for photo in photos).items()))


def too_few(counts: Mapping[str, int], known: Sequence[str]) -> str:
    """Why so few different photos of a class would reveal single ones; empty if they are enough.

    Photos that known classes had before do not count: two kept states differ by those that a state
    brings.
    """
    small = [
        f"{label} gets {n} in this state" if label in known else f"{label} has {n}"
        for label, n in sorted(counts.items())
        if n < LEAST
    ]
    if small:
        return f"a class needs at least {LEAST} different photos, and {first_ten(small)}"
    photos = sum(counts.values())
    if photos < LEAST_IN_ALL:
        return f"a state needs at least {LEAST_IN_ALL} different photos, and there are {photos}"
    return ""


def check_enough(problem: str, few: bool) -> Iterator[str]:
    """Raise if photos are too few, or, if `few` allows it, yield what that means."""
    if problem and not few:
        raise DataError(
            f"{problem}: add photos, or add `few=True` if anyone with the model may find out "
            "which photos were used"
        )
    if problem:
        yield (
            f"{problem}; averages over so few can be traced back: anyone with the model may find "
            "out which photos were used, or even what they show"
        )


def small_classes(photos: Sequence[Photo], past: Sequence[str]) -> Iterator[str]:
    """New classes of few photos, and known ones that get few."""
    small = {name: f"{name} {n}" for name, n in count(photos).items() if n < FEW}
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
    photos: Sequence[Photo], after: Mapping[str, int], dimensions: int
) -> Iterator[str]:
    """Classes whose own scatter reveals which photos they had."""
    spanned = [f"{name} {after[name]}" for name in count(photos) if after[name] <= dimensions]
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


def across_classes(photos: Sequence[Photo], groups: np.ndarray) -> Iterator[str]:
    """Nearly the same photos in different classes: perhaps a mistake in the labels."""
    labels: dict[int, dict[str, str]] = {}
    for photo, group in zip(photos, groups.tolist(), strict=True):
        labels.setdefault(group, {}).setdefault(str(photo.label), photo.name)
    several = [" and ".join(names.values()) for names in labels.values() if len(names) > 1]
    if several:
        yield f"nearly the same photo in different classes: {first_ten(several)}"


def alike_names(classes: Sequence[str], known: Sequence[str], way: str = TOGETHER) -> Iterator[str]:
    """New names that people would take for another, such as "Cat" and "cat "; `way` says what to do
    if that one is known already.

    >>> list(alike_names(["Cat", "cat ", "dog"], []))
    ["'cat ' and 'Cat' are almost the same name: if they are the same class, put them together"]
    """
    seen: dict[str, str] = {_plain(name): name for name in known}
    for name in classes:
        other = seen.setdefault(_plain(name), name)
        if name not in (other, *known):
            fix = way if other in known else TOGETHER
            yield (
                f"{name!r} and {other!r} are almost the same name: if they are the same class, "
                f"{fix.format(other=other)}"
            )


def none_known(classes: Sequence[str], known: Sequence[str]) -> Iterator[str]:
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
