"""An evaluation as one self-contained HTML page: no network, no scripts, every text escaped."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from memoryless.data.dataset import counted
from memoryless.data.glances import load
from memoryless.data.photos import Photo
from memoryless.errors import DataError, WriteError
from memoryless.model_folder.apart import check_apart
from memoryless.names import printable
from memoryless.photos.evaluation import Evaluation, Mistake

SIDE = 200  # pixels of a picture's longer side
PICTURES = 24
NAME = ' class="name"'
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #5b6470;
  --line: #d5d9e0; --bar: #3572b0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --paper: #14171b; --faint: #9aa3ad; --line: #343a42; --bar: #6ea8e0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); font-size: 1.2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .5rem; border-bottom: 1px solid var(--line); text-align: right; }
.name, th:first-child { text-align: left; }
thead th { color: var(--faint); font-weight: 500; vertical-align: bottom; overflow-wrap: normal; }
tbody th { font-weight: 400; }
.bar { display: block; height: .3rem; background: var(--bar); border-radius: 2px; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1rem; }
figure { margin: 0; }
figure img { width: 100%; height: 9rem; object-fit: contain; background: var(--line);
  border-radius: 4px; }
figcaption { font-size: .85rem; line-height: 1.35; }
figcaption span { display: block; }
.faint { color: var(--faint); }
"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def check_page(path: Path) -> None:
    """Raise unless a page, which holds photos, may be written to a file; leave none there."""
    check_apart(path)
    there = path.exists()
    with _writing(path), path.open("ab"):
        pass
    if not there:
        path.unlink()


def write_page(path: Path, model: str, place: str, evaluation: Evaluation) -> None:
    """Write the page to a file."""
    with _writing(path):
        path.write_text(render(model, place, evaluation), encoding="utf-8")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise WriteError(
            f"cannot write {path} ({error.strerror}): choose another `html`"
        ) from error


def render(model: str, place: str, evaluation: Evaluation) -> str:
    """The page about a model and the place of its test photos."""
    title = html.escape(printable(f"{model}, evaluated on {place}"))
    parts = [f"<p>{text(sentence)}</p>" for sentence in summary(evaluation)] + [
        *_mistakes(evaluation.mistakes),
        *_tables(evaluation),
    ]
    return PAGE.format(title=title, style=STYLE, body="\n".join(parts))


def text(value: Any) -> str:
    """Text that HTML shows and does not obey; names may be broken after an underscore."""
    return html.escape(printable(str(value))).replace("_", "_<wbr>")


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
    yield from _table("Most confused", ["class", "taken for", "photos"], confused, names=2)
    states = [[f"state {s['state']}", s["classes"], s["photos"], s["top1"]] for s in found.states]
    if len(states) > 1:
        yield from _table("States", ["", "classes", "photos", "top-1 (%)"], states)
    classes = [[c["class"], c["state"], c["photos"], c["top1"]] for c in found.classes]
    yield from _table("Classes, worst first", ["class", "state", "photos", "top-1 (%)"], classes)
    yield from _table("Classes that the model does not know", ["class", "photos"],
                      [[*pair] for pair in found.unknown.items()])  # fmt: skip


def _table(title: str, head: list[str], rows: list[list[Any]], names: int = 1) -> Iterator[str]:
    if not rows:
        return
    yield f"<h2>{text(title)}</h2>"
    yield "<table><thead><tr>"
    for i, cell in enumerate(head):
        yield f'<th scope="col"{NAME * (i < names)}>{text(cell)}</th>'
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = "".join(_cell(cell, i < names) for i, cell in enumerate(row[1:], 1))
        yield f'<tr><th scope="row">{text(row[0])}</th>{cells}</tr>'
    yield "</tbody></table>"


def _cell(value: Any, name: bool) -> str:
    if isinstance(value, float):
        bar = f'<span class="bar" style="width: {value:.0f}%"></span>'
        return f"<td>{value:.1f}{bar}</td>"
    return f"<td{NAME * name}>{text(value)}</td>"
