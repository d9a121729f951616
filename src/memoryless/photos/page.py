"""An evaluation as one self-contained HTML page, with the worst mistakes as pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from PIL import Image

from memoryless import pages
from memoryless.errors import DataError, WriteError
from memoryless.images.dataset import counted
from memoryless.images.read import Photo, load
from memoryless.model.database import ENDING
from memoryless.pages import Table, table
from memoryless.photos.evaluation import Evaluation, Mistake

SIDE = 200  # pixels of a picture's longer side
PICTURES = 24


def check_page(path: Path, force: bool = False) -> None:
    """Raise unless a page may be written to a file; leave none there."""
    if path.suffix == ENDING:  # even to open one would free the locks on it
        raise WriteError(f"{path} is a model: choose another `html`")
    pages.check_replaceable(path, force, "html")
    with pages.writing(path, "html"):
        there = path.exists()
        path.open("ab").close()
    if not there:
        path.unlink()


def write_page(path: Path, model: str, place: str, evaluation: Evaluation) -> None:
    """Write the page to a file."""
    pages.write(path, render(model, place, evaluation), "html")


def render(model: str, place: str, evaluation: Evaluation) -> str:
    """The page about a model and its test photos, without the folders that these lie in."""
    return pages.render(
        "mistakes",
        title=f"{pages.name_of(model)}, evaluated on {pages.name_of(place)}",
        summary=summary(evaluation),
        mistakes=len(evaluation.mistakes),
        pictures=list(pictures(evaluation.mistakes)),
        tables=tables(evaluation),
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
        yield (
            f"{sum(found.unknown.values()):,} more are of "
            f"{counted(len(found.unknown), 'class', 'classes')} that the model does not know: it "
            f"says so of {found.rejected:.1f} %. Known against unknown: AUROC {found.auroc:.1f}. "
            "They are left out of all other numbers."
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


def tables(found: Evaluation) -> Iterator[Table]:
    """What is confused most, then every state, class and unknown class."""
    confused = [
        [f"{pair['class']}, taken for {pair['taken_for']}", f"{pair['times']} of {pair['photos']}"]
        for pair in found.confused
    ]
    yield table("Most confused", ["", "photos"], confused)
    head = ["classes", "photos", "top-1 (%)"]
    states = [[f"state {s['state']}", s["classes"], s["photos"], s["top1"]] for s in found.states]
    if len(states) > 1:
        yield table("States", ["", *head], states)
    classes = [[c["class"], c["state"], c["photos"], c["top1"]] for c in found.classes]
    yield table("Classes, worst first", ["class", "state", *head[1:]], classes)
    unknown = [[*pair] for pair in found.unknown.items()]
    yield table("Classes that the model does not know", ["class", "photos"], unknown)
