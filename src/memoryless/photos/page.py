"""An evaluation as one self-contained HTML page, with the worst mistakes as pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image

from memoryless.errors import DataError
from memoryless.images.dataset import counted
from memoryless.images.read import Photo, load
from memoryless.photos.evaluation import Evaluation, Mistake
from memoryless.photos.frame import framed, name_of, table, text, write_text

SIDE = 200  # pixels of a picture's longer side
PICTURES = 24


def write_page(path: Path, model: str, place: str, evaluation: Evaluation) -> None:
    """Write the page to a file."""
    write_text(path, render(model, place, evaluation))


def render(model: str, place: str, evaluation: Evaluation) -> str:
    """The page about a model and its test photos, without the folders that these lie in."""
    parts = [f"<p>{text(sentence)}</p>" for sentence in summary(evaluation)] + [
        *_mistakes(evaluation.mistakes),
        *_tables(evaluation),
    ]
    return framed(f"{name_of(model)}, evaluated on {name_of(place)}", parts)


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


def _mistakes(mistakes: Sequence[Mistake]) -> Iterator[str]:
    figures = [figure for mistake in mistakes[:PICTURES] for figure in _figure(mistake)]
    if figures:
        yield "<h2>Worst mistakes</h2>"
        yield (
            f'<p class="faint">The {len(figures)} wrong answers that the model was surest of, out '
            f"of {len(mistakes):,}. The pictures are part of this page: mind who gets it.</p>"
        )
        yield '<div class="pictures">' + "\n".join(figures) + "</div>"


def _figure(mistake: Mistake) -> Iterator[str]:
    try:
        picture = thumbnail(mistake.photo)
    except DataError:  # it has vanished meanwhile
        return
    label = text(mistake.photo.label)
    yield (
        f'<figure><img src="{picture}" alt="">'
        f"<figcaption><span><b>{label}</b></span>"
        f"<span>taken for {text(mistake.answer)}</span>"
        f'<span class="faint">{mistake.probability:.0%} sure; {mistake.own:.0%} for its own</span>'
        "</figcaption></figure>"
    )


def thumbnail(photo: Photo) -> str:
    """A small JPEG of a photo, as an address that holds it."""
    image = Image.fromarray(load(photo, SIDE))
    image.thumbnail((SIDE, SIDE))
    content = io.BytesIO()
    image.save(content, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(content.getvalue()).decode()


def _tables(found: Evaluation) -> Iterator[str]:
    confused = [
        [row["class"], row["taken_for"], f"{row['times']} of {row['photos']}"]
        for row in found.confused
    ]
    yield from table("Most confused", ["class", "taken for", "photos"], confused, names=2)
    states = [[f"state {s['state']}", s["classes"], s["photos"], s["top1"]] for s in found.states]
    if len(states) > 1:
        yield from table("States", ["", "classes", "photos", "top-1 (%)"], states)
    classes = [[c["class"], c["state"], c["photos"], c["top1"]] for c in found.classes]
    yield from table("Classes, worst first", ["class", "state", "photos", "top-1 (%)"], classes)
    yield from table("Classes that the model does not know", ["class", "photos"],
                      [[*pair] for pair in found.unknown.items()])  # fmt: skip
