"""memoryless audit: how well attacks find out which photos a model learned."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from memoryless import pages
from memoryless.errors import DataError
from memoryless.images.files import COLUMNS, Photo
from memoryless.images.find import find_photos, find_test
from memoryless.images.read import UnreadableError, attempt
from memoryless.model import Model
from memoryless.model.description import State, now
from memoryless.model.file import load_state
from memoryless.names import as_flags, counted, first_ten
from memoryless.output import paragraph, print_line, print_rows, report_broken, say
from memoryless.photos.embedding import Progress, all_features, silent
from memoryless.photos.files import check_file, print_places
from memoryless.photos.kept import honest, parts_kept
from memoryless.progress import Display
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.membership import (
    Estimate,
    Separation,
    by_distance,
    by_scatter,
    by_score,
    centred,
    separate,
)
from memoryless.stats.scorers import square_roots
from memoryless.store import to_json
from memoryless.tables import Table

LEAST = 2
"""Photos of each class on each side that are needed at all."""
FEW = 10
"""Photos on a side below which an interval says little."""
OUTSIDE = 2
"""No photo lies so far from its class by a scatter that it is part of: 1 is the most, and the rest
is for rounding errors."""
SEED = 0  # of bootstrap draws: an audit that is repeated gives the same intervals
LIBRARIES = ("memoryless", "numpy", "onnxruntime", "pillow")  # that an audit depends on
ALL = "all classes"
ADVICE = {
    "members": "add photos to `members` that the model learned, or take the class out of `others`",
    "others": "add photos to `others` that the model did not learn, or take the class out of "
    "`members`",
}
SWAPPED = (
    "attacks take the others for used photos: perhaps `members` and `others` are swapped, or "
    "the model did not learn these members"
)
ATTACKS = {
    "score": "uses answers: the score of a photo's own class less the best other score",
    "distance": "uses the file: the distance of a photo's feature to the stored mean of its class",
    "scatter": "uses the file: the same distance, weighted by the stored scatter, which spans "
    "exactly the learned photos if these are fewer than the features",
}
LEVELS = {
    90: "reveals which of these photos were used",
    60: "partly reveals which of these photos were used",
    0: "hardly reveals which of these photos were used: the attacks are close to guessing",
}
"""The meaning of an AUROC, by the smallest one for each sentence."""
GIVE = 90
"""From this AUROC on, the file should not be given to others."""
LIMITS = "Other attacks may reach more, and other photos may give other numbers."
MEASURES = {
    "auroc": (
        "AUROC",
        "in how many of 100 pairs of a used and an unused photo the attack picks the used one: 50 "
        "is guessing; in brackets a 95 % bootstrap interval",
    ),
    "tpr": (
        "True positive rate",
        "percent of used photos found at 1 % false positives, or at none where there are fewer "
        "than 100 others; in brackets a 95 % bootstrap interval",
    ),
}


@dataclass(frozen=True)
class Exposure:
    """How well each attack separates members from others of a class."""

    name: str
    members: int
    others: int
    attacks: dict[str, Separation]

    def as_json(self) -> dict[str, Any]:
        attacks = {
            name: {"auroc": _shares(reached.auroc), "tpr": _shares(reached.tpr)}
            for name, reached in self.attacks.items()
        }
        return {"class": self.name, "members": self.members, "others": self.others} | attacks


def _shares(of: Estimate) -> dict[str, float]:
    """Return an estimate in percent as shares from 0 to 1."""
    return {name: value / 100 for name, value in asdict(of).items()}


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
    """The photos of a side that can be read: their classes, and their numbers by each attack."""

    labels: np.ndarray  # (n,)
    attacks: dict[str, np.ndarray]  # (n,) each
    broken: dict[str, str]
    """Photos that cannot be read, and why."""


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
    assert model.min_side  # raises where the model takes no photos
    _check_classes(set(model.classes), members, others)
    _check_apart(members, others)
    inside = _attack(state, model, "members", members, progress)
    outside = _attack(state, model, "others", others, lambda done: progress(len(members) + done))
    whole, *rows = _exposures(model.classes, inside, outside)
    doubts = list(_doubts(whole, inside.attacks))
    photos, smallest = min(zip(state.classes.counts, state.classes.names, strict=True))
    audited = {row.name for row in rows}
    return Audit(
        model=_identity(state),
        date=now(),
        versions={"python": platform.python_version()}
        | {name: version(name) for name in LIBRARIES},
        places=dict(zip(ADVICE, places, strict=True)),
        honest=honest(state),
        smallest={"class": smallest, "photos": photos},
        whole=whole,
        classes=sorted(rows, key=lambda row: (-row.attacks["score"].auroc.value, row.name)),
        left_out=[name for name in model.classes if name not in audited],
        warnings=[*doubts, *_warnings(rows, state)],
        doubtful=bool(doubts),
        broken=inside.broken | outside.broken,
    )


def _check_classes(known: Set[str], *sides: Sequence[Photo]) -> None:
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
            raise DataError(
                f"there is only one photo among the {side} of {first_ten(few)}: {LEAST} or more "
                "are needed on each side, and some 30 to say anything"
            )


def _check_apart(members: Sequence[Photo], others: Sequence[Photo]) -> None:
    """Raise if a photo is on both sides, by the bytes of its file."""
    used = set(_digests(members))
    if both := [photo.name for digest, photo in _digests(others).items() if digest in used]:
        more = f" and {len(both) - 2} more" if len(both) > 2 else ""
        raise DataError(
            f"{counted(len(both), 'photo', 'photos')} of `others` "
            f"{'is' if len(both) == 1 else 'are'} among the members too: {', '.join(both[:2])}"
            f"{more}; a photo was used or not: remove these photos from one side"
        )


def _digests(photos: Sequence[Photo]) -> dict[bytes, Photo]:
    return {digest: photo for photo in photos if (digest := _digest(photo))}


def _digest(photo: Photo) -> bytes | None:
    """Return the digest of a photo's file, unless it cannot be read."""
    try:
        return sha256(attempt(photo.name, lambda exif: photo.content())).digest()
    except UnreadableError:
        return None


def _attack(
    state: State, model: Model, side: str, photos: Sequence[Photo], progress: Progress
) -> Side:
    """Return the number of each photo of a side by each attack.

    Models with trained features store no means of photos, so scores alone attack these.
    """
    found = all_features(model, photos, progress)
    left = Counter(photo.label for photo in found.photos)
    for photo in photos:
        if photo.name in found.broken and left[photo.label] < LEAST:
            why = found.broken[photo.name]
            raise DataError(f"too few {side} of {photo.label} can be read: {why}")
    index = {name: i for i, name in enumerate(model.classes)}
    labels = np.array([index[str(photo.label)] for photo in found.photos])
    attacks = {"score": by_score(model.classify(found.rows).scores, labels)}
    if model.fixed:
        sums = ClassStatistics.restore(state.arrays["record"], fixed=True)
        roots = square_roots(found.rows.astype(np.float64))
        attacks["distance"] = by_distance(roots, labels, sums)
        attacks["scatter"] = by_scatter(roots, labels, sums)
    return Side(labels, attacks, found.broken)


def _exposures(names: Sequence[str], inside: Side, outside: Side) -> Iterator[Exposure]:
    """Yield the exposure of all classes together, then of each."""
    known = np.unique(inside.labels)
    members, others = (
        {attack: [of[side.labels == c] for c in known] for attack, of in side.attacks.items()}
        for side in (inside, outside)
    )
    together = {attack: centred(members[attack], others[attack]) for attack in members}
    yield _exposure(ALL, together)
    for i, c in enumerate(known.tolist()):
        yield _exposure(names[c], {a: (members[a][i], others[a][i]) for a in members})


def _exposure(name: str, numbers: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> Exposure:
    reached = {attack: separate(*both, SEED, name) for attack, both in numbers.items()}
    return Exposure(name, reached["score"].members, reached["score"].others, reached)


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


def _doubts(whole: Exposure, members: Mapping[str, np.ndarray]) -> Iterator[str]:
    """Yield why the members may not be photos that the model learned."""
    areas = [reached.auroc for reached in whole.attacks.values()]
    far = int((members.get("scatter", np.zeros(1)) < -OUTSIDE).sum())
    if min(area.high for area in areas) < 50 and max(area.low for area in areas) <= 50:
        yield SWAPPED
    elif 2 * far > whole.members:
        yield (
            f"{far:,} of {whole.members:,} members cannot be among the photos that the model "
            "learned: check `members`"
        )


def _warnings(rows: Iterable[Exposure], state: State) -> Iterator[str]:
    learned = dict(zip(state.classes.names, state.classes.counts, strict=True))
    if few := [row.name for row in rows if min(row.members, row.others) < FEW]:
        yield (
            f"there are fewer than {FEW} photos on a side of {first_ten(few)}: intervals of so few "
            "say nothing"
        )
    if more := [row.name for row in rows if row.members > learned[row.name]]:
        yield (
            f"there are more members of {first_ten(more)} than the model learned: some were not "
            "used, so attacks succeed more often than these numbers say"
        )


def audit(
    model: Path,
    /,
    *,
    members: Path,
    others: Path,
    details: bool = False,
    json: bool = False,
    html: Path | None = None,
    path_column: str = COLUMNS[0],
    label_column: str = COLUMNS[1],
    force: bool = False,
) -> int:
    """Measure how well attacks find out which photos a model learned.

    The exit code does not depend on the attacks' success.

    Parameters
    ----------
    model
        File of the model.
    members
        Photos that the model learned, in the same layouts as for memoryless learn; of train/ and
        test/, train/ is read.
    others
        Photos of the same classes that it did not learn; of train/ and test/, test/ is read.
    details
        Print the numbers of each class and attack.
    json
        Print every number as JSON, shares from 0 to 1, and nothing else.
    html
        File for one self-contained page, without photos, for a data-protection file.
    path_column
        Column of a table that holds the paths of photos.
    label_column
        Column of a table that holds their classes.
    force
        Replace a file that is there already and is no page of memoryless.
    """
    columns = path_column, label_column
    saved, used = load_state(model), find_photos(members, columns=columns)
    unused = find_test(others, columns)
    if html:
        check_file(html, "html", pages.MARK, pages.KIND, force)
    both = ((members, used), (others, unused))
    places = [f"{pages.name_of(place)}: {side.layout}" for place, side in both]
    with Display("auditing photos", len(used.photos) + len(unused.photos)) as bar:
        done = audit_photos(saved, used.photos, unused.photos, places, bar)
    if html:
        pages.write(html, render(done), "html")
    if json:
        print(to_json(done.as_json()), end="")
        return report_broken(done.broken.values())
    print_places((used, unused))
    for line in summary(done):
        paragraph(as_flags(line))
    if details:
        _print_details(done)
    if html:
        say(f"written: {html}")
    else:
        paragraph("More: --details for each class, --html FILE for a data-protection file.")
    return report_broken(done.broken.values())


def _print_details(found: Audit) -> None:
    for measure, (title, caption) in MEASURES.items():
        say("")
        paragraph(f"{title}: {caption}")
        head, rows = table_of(found, measure)
        print_rows([head, *rows])
    if found.left_out:
        print_line("left out", f"no photos of {first_ten(found.left_out)}")


def summary(found: Audit) -> Iterator[str]:
    """Yield the verdict, how well attacks do, and warnings, which come first if they spoil it."""
    warnings = [f"Warning: {warning}." for warning in found.warnings]
    if found.doubtful:
        yield from warnings
        yield "So none of these numbers shows that the model is safe."
    else:
        yield _verdict(found)
    reached = (
        f"Attack on the {'answers' if name == 'score' else 'file'}, by {name}: {estimate(area)}."
        for name, area in _reached(found.whole).items()
    )
    yield " ".join(reached)
    yield (
        "The number says in how many of 100 pairs of a used and an unused photo the attack picks "
        "the used one (AUROC, with a 95 % interval). Guessing gives 50."
    )
    smallest = found.smallest
    yield (
        f"Smallest class: {smallest['class']}, {counted(smallest['photos'], 'photo', 'photos')}."
    )
    if not found.doubtful:
        yield from warnings
    if found.broken:
        yield f"{counted(len(found.broken), 'photo', 'photos')} could not be read."
    yield LIMITS


def _reached(whole: Exposure) -> dict[str, Estimate]:
    """Return the AUROC of the best attack on the file, if it was attacked, and on the answers."""
    areas = {name: reached.auroc for name, reached in whole.attacks.items()}
    stored = {name: area for name, area in areas.items() if name != "score"}
    best = sorted(stored, key=lambda name: -stored[name].value)[:1]
    return {name: areas[name] for name in [*best, "score"]}


def _verdict(found: Audit) -> str:
    name, area = next(iter(_reached(found.whole).items()))
    level = next(words for least, words in LEVELS.items() if area.value >= least)
    if name == "score":
        return f"Knowing the answers {level}. Of trained features no attack reads the file."
    give = " Send others the ONNX file that memoryless export writes, which gives only answers."
    return f"This file {level}.{give * (area.value >= GIVE)}"


def estimate(of: Estimate) -> str:
    """Return a number with its interval.

    >>> estimate(Estimate(79.61, 77.2, 81.9))
    '79.6 (77-82)'
    """
    return f"{of.value:.1f} ({of.low:.0f}-{of.high:.0f})"


def table_of(found: Audit, measure: str) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table of a measure: all classes, then each."""
    attacks = [*reversed(found.whole.attacks)]  # those on the file first
    head = ["class", *(f"by {name}" for name in attacks), "members", "others"]
    rows = [
        [row.name]
        + [estimate(getattr(row.attacks[name], measure)) for name in attacks]
        + [f"{row.members:,}", f"{row.others:,}"]
        for row in (found.whole, *found.classes)
    ]
    return head, rows


def render(found: Audit) -> str:
    """Return the page of an audit."""
    kept = [[name, f"{size:,}"] for name, size in parts_kept(found.model["record"]).items()]
    left_out = [[name] for name in found.left_out]
    return pages.render(
        "audit",
        title=f"Audit of {pages.name_of(found.model['file'])}",
        model=pages.name_of(found.model["file"]),
        summary=list(summary(found)),
        limits=[found.honest],
        measures=[
            _unbroken(
                Table(title, f"{caption[0].upper()}{caption[1:]}.", *table_of(found, measure))
            )
            for measure, (title, caption) in MEASURES.items()
        ],
        attacks=ATTACKS,
        left_out=Table("Classes that were not audited", "", ["class"], left_out),
        kept=Table("Data stored about photos", "", ["part", "bytes"], kept),
        audit=found,
    )


def _unbroken(table: Table) -> Table:
    """Return a table whose intervals no browser breaks at their hyphens."""
    rows = [[name, *(cell.replace("-", "\u2011") for cell in cells)] for name, *cells in table.rows]
    return replace(table, rows=rows)
