"""memoryless evaluate: how good a model is on test photos."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from PIL import Image

from memoryless import pages
from memoryless.errors import DataError
from memoryless.images.files import Photo
from memoryless.images.find import find_photos, find_test
from memoryless.images.read import load
from memoryless.model import Calibration, Model
from memoryless.names import counted, first_ten
from memoryless.output import command, report_broken, say, show
from memoryless.photos.embedding import Features, Progress, all_features, silent
from memoryless.photos.files import changing, check_file, load_to_classify, print_places
from memoryless.progress import Display
from memoryless.stats.confidence import Judgement
from memoryless.stats.metrics import accuracy_at, auroc, calibration_error, ranks
from memoryless.store import to_json
from memoryless.tables import Table

SIDE = 200  # pixels of a picture's longer side
PICTURES = 24
PAIRS = 10  # of classes, most confused, that are named
UNLABELLED = "without a class"


@dataclass(frozen=True)
class Mistake:
    """A photo that was put into a wrong class."""

    photo: Photo
    answer: str
    probability: float
    """Of the answer."""
    own: float
    """The probability of the photo's own class."""


@dataclass(frozen=True)
class Evaluation:
    """Numbers over the photos of known classes, in percent, and what is left of the others."""

    photos: int
    top1: float
    top5: float
    ece: float
    """Expected calibration error."""
    accepted: float
    """The share of these photos that the model says it knows."""
    states: list[dict[str, Any]]
    """The first state is 1."""
    classes: list[dict[str, Any]]
    """Worst first."""
    confused: list[dict[str, Any]]
    """Pairs of a class and what its photos were taken for, most often first."""
    unknown: dict[str, int]
    """Photos of each class that the model does not know."""
    auroc: float | None
    """Known against unknown classes, where there are photos of these."""
    rejected: float | None
    """The share of photos of unknown classes that the model says it does not know."""
    broken: dict[str, str]
    mistakes: list[Mistake]
    """Those of known classes, the surest first."""
    calibration: Calibration | None = None
    """What was fitted on these photos before they were classified."""

    def as_json(self) -> dict[str, Any]:
        found = {key: value for key, value in vars(self).items() if key != "mistakes"}
        return found | {"calibration": msgspec.to_builtins(self.calibration)}


def evaluate_photos(
    model: Model,
    photos: Sequence[Photo],
    progress: Progress = silent,
    unknown: Sequence[Photo] = (),
    calibrate: bool = False,
) -> Evaluation:
    """Classify photos, and compare the answers with their labels.

    `unknown` are photos without labels, of things that the model does not know. With `calibrate`
    the model is calibrated on all of them first.
    """
    here = {photo.label for photo in photos} & set(model.classes)
    if not here:
        theirs = first_ten(sorted({str(photo.label) for photo in photos}))
        raise DataError(
            f"the model knows none of the classes there ({theirs}): it knows "
            f"{first_ten(model.classes)}"
        )
    found = all_features(model, [*photos, *unknown], progress)
    if not any(photo.label in here for photo in found.photos):
        why = next(iter(found.broken.values()))
        raise DataError(f"no photo of a known class can be read: {why}")
    fitted = _calibrate(model, found, bool(unknown)) if calibrate else None
    done = evaluation_of(model, found.photos, model.judge(found.rows), found.broken)
    return replace(done, calibration=fitted)


def _calibrate(model: Model, found: Features, unknown: bool) -> Calibration:
    labels = [photo.label for photo in found.photos if photo.label is not None]
    labelled = np.array([photo.label is not None for photo in found.photos])
    strange = found.rows[~labelled] if unknown else None
    return model.calibrate(found.rows[labelled], labels, strange)


def evaluation_of(
    model: Model, photos: Sequence[Photo], found: Judgement, broken: dict[str, str]
) -> Evaluation:
    """Compare what a model says of photos with their labels, one of which at least it knows."""
    index: dict[str | None, int] = {name: i for i, name in enumerate(model.classes)}
    own = np.array([index.get(photo.label, -1) for photo in photos])
    inside = own >= 0
    labels, scores = own[inside], found.scores[inside]
    rank, some = ranks(scores, labels), not inside.all()
    strange = Counter(photo.label or UNLABELLED for photo in photos if photo.label not in index)
    return Evaluation(
        photos=len(labels),
        top1=accuracy_at(rank, 1),
        top5=accuracy_at(rank, min(5, len(index))),
        ece=calibration_error(found.probabilities[inside], labels),
        accepted=100 * float(found.known[inside].mean()),
        states=_by_state(labels, rank, np.array(model.class_state)),
        classes=_by_class(labels, rank, model.classes, model.class_state),
        confused=_confused(labels, scores.argmax(1), model.classes),
        unknown=dict(sorted(strange.items())),
        auroc=auroc(found.margin[inside], found.margin[~inside]) if some else None,
        rejected=100 * float((~found.known[~inside]).mean()) if some else None,
        broken=broken,
        mistakes=_mistakes(photos, own, found, model.classes),
    )


def _by_state(
    labels: np.ndarray, rank: np.ndarray, class_state: np.ndarray
) -> list[dict[str, Any]]:
    """Accuracies over the photos of each state's classes, among all classes."""
    state = class_state[labels]
    return [
        {
            "state": int(s) + 1,
            "classes": len(np.unique(labels[state == s])),
            **_accuracy(rank[state == s]),
        }
        for s in np.unique(state)
    ]


def _by_class(
    labels: np.ndarray, rank: np.ndarray, names: Sequence[str], class_state: Sequence[int]
) -> list[dict[str, Any]]:
    rows = [
        {"class": names[c], "state": int(class_state[c]) + 1, **_accuracy(rank[labels == c])}
        for c in np.unique(labels)
    ]
    return sorted(rows, key=lambda row: (row["top1"], row["class"]))


def _accuracy(rank: np.ndarray) -> dict[str, Any]:
    return {"photos": len(rank), "top1": accuracy_at(rank, 1)}


def _confused(labels: np.ndarray, answer: np.ndarray, names: Sequence[str]) -> list[dict[str, Any]]:
    wrong = labels != answer
    pairs = Counter(zip(labels[wrong].tolist(), answer[wrong].tolist(), strict=True))
    ordered = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))[:PAIRS]
    photos = np.bincount(labels, minlength=len(names))
    return [
        {"class": names[a], "taken_for": names[b], "times": n, "photos": int(photos[a])}
        for (a, b), n in ordered
    ]


def _mistakes(
    photos: Sequence[Photo], own: np.ndarray, found: Judgement, names: Sequence[str]
) -> list[Mistake]:
    """The photos of known classes that got another answer; `own` is -1 where the class is none."""
    answer = found.scores.argmax(1)
    wrong = [
        Mistake(
            photos[i],
            names[answer[i]],
            probability=float(found.probabilities[i, answer[i]]),
            own=float(found.probabilities[i, own[i]]),
        )
        for i in np.flatnonzero((own >= 0) & (answer != own)).tolist()
    ]
    return sorted(wrong, key=lambda mistake: -mistake.probability)


def evaluate(
    model: Path,
    test: Path,
    /,
    *,
    unknown: Path | None = None,
    calibrate: bool = False,
    json: bool = False,
    html: Path | None = None,
    force: bool = False,
) -> int:
    """Measure a model on test photos of its classes.

    Photos of unknown classes measure how often the model rejects them. The model stays as it is,
    unless it is to be calibrated.

    Parameters
    ----------
    model
        File of the model.
    test
        Test photos in the same layouts as for memoryless learn; of train/ and test/, test/ is read.
    unknown
        Photos of things that the model does not know, in folders of any kind.
    calibrate
        Fit the temperature of probabilities and the threshold of `known` on these photos, 20 or
        more that were not learned, and save both as a state of the model. The threshold lets 95 %
        of photos of known classes pass; with --unknown it is the one that tells the two best apart.
    json
        Print every number as JSON, and nothing else.
    html
        File for one self-contained page, with the worst mistakes as pictures.
    force
        Write the page even if a file is there that is no page of memoryless.
    """
    loaded, found = load_to_classify(model), find_test(test)
    places = [found, find_photos(unknown, labelled=False)] if unknown else [found]
    strange = places[1].photos if unknown else []
    if html:
        check_file(html, "html", pages.MARK, pages.KIND, force)
    with Display("reading photos", len(found.photos) + len(strange)) as bar:
        if calibrate:
            with changing(model) as (_, writable):
                writable.check_taught()
                done = evaluate_photos(writable, found.photos, bar, strange, calibrate=True)
        else:
            done = evaluate_photos(loaded, found.photos, bar, strange)
    if html:
        pages.write(html, render(str(model), str(test), done), "html")
    if json:
        print(to_json(done.as_json()), end="")
        return report_broken(done.broken.values())
    print_places(places)
    for line in summary(done):
        say(line)
    for table in tables(done):
        show(table)
    if html:
        say(f"the page is {html}")
    if calibrate:
        say(f"calibrated: {command('undo', model)} takes it back")
    return report_broken(done.broken.values())


def tables(found: Evaluation) -> Iterator[Table]:
    """The tables of classes and states, in percent."""
    head = ["photos", "top-1"]
    states = [[str(s["state"]), s["classes"], s["photos"], s["top1"]] for s in found.states]
    caption = "top-1 in percent, among all classes"
    yield Table("by state", caption, ["state", "classes", *head], states)
    classes = [[c["class"], c["state"], c["photos"], c["top1"]] for c in found.classes]
    yield Table("by class", "worst first", ["class", "state", *head], classes)
    pairs = [[c["class"], c["taken_for"], f"{c['times']} of {c['photos']}"] for c in found.confused]
    if pairs:
        caption = "how many photos of a class were taken for another"
        yield Table("most confused", caption, ["class", "taken for", "photos"], pairs)
    if found.unknown:
        title, caption = "classes that the model does not know", "left out of the tables above"
        yield Table(title, caption, ["class", "photos"], list(found.unknown.items()))


def render(model: str, place: str, evaluation: Evaluation) -> str:
    """The page about a model and its test photos, without the folders that these lie in."""
    return pages.render(
        "mistakes",
        title=f"{pages.name_of(model)}, evaluated on {pages.name_of(place)}",
        summary=summary(evaluation),
        mistakes=len(evaluation.mistakes),
        pictures=list(pictures(evaluation.mistakes)),
        tables=list(tables(evaluation)),
    )


def summary(found: Evaluation) -> Iterator[str]:
    """The numbers in sentences."""
    yield (
        f"Of {found.photos:,} photos of {counted(len(found.classes), 'class', 'classes')}, "
        f"{found.top1:.1f} % were put into their class (top-1), and for {found.top5:.1f} % it was "
        "among the five likeliest (top-5)."
    )
    yield (
        f"Probabilities are off by {found.ece:.1f} points on average (ECE). The model says of "
        f"{found.accepted:.1f} % of these photos that it knows their class."
    )
    if found.auroc is not None:
        named = UNLABELLED not in found.unknown
        what = counted(len(found.unknown), "class", "classes") if named else "things"
        yield (
            f"{sum(found.unknown.values()):,} more show {what} that the model does not know: it "
            f"says so of {found.rejected:.1f} %. Known against unknown: AUROC {found.auroc:.1f}. "
            "They are left out of all other numbers."
        )
    if fitted := found.calibration:
        unknown = f" and {fitted.unknown:,} of unknown things" if fitted.unknown else ""
        before, after = fitted.before, fitted.after
        yield (
            f"These photos were used to calibrate, {fitted.photos:,} of known classes{unknown}: "
            f"temperature {after.temperature:.3g} (before {before.temperature:.3g}), threshold "
            f"{after.threshold:.3g} (before {before.threshold:.3g}). So ECE and the shares that "
            "are known or not are no measure for new photos. Top-1 and top-5 are, since "
            "calibrating changes no answer."
        )
    if found.broken:
        yield f"{counted(len(found.broken), 'photo', 'photos')} could not be read."


def pictures(mistakes: Sequence[Mistake]) -> Iterator[tuple[Mistake, str]]:
    """The worst mistakes whose photos can still be read, with addresses that hold them."""
    for mistake in mistakes[:PICTURES]:
        with suppress(DataError):
            yield mistake, thumbnail(mistake.photo)


def thumbnail(photo: Photo) -> str:
    """A small JPEG of a photo, as an address that holds it."""
    image = Image.fromarray(load(photo, SIDE))
    image.thumbnail((SIDE, SIDE))
    content = io.BytesIO()
    image.save(content, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(content.getvalue()).decode()
