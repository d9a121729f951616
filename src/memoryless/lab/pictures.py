"""Pictures of a report: figures as SVG that stands in the page and follows its colours."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from memoryless.lab.charts import COLOURS, FAINT, FIGURES, write_figure
from memoryless.lab.comparison import Comparison

CAPTIONS = {
    "accuracy": "Top-1 accuracy over all classes seen so far, after each state; bands: ± standard "
    "deviation over seeds.",
    "pareto": "What each method keeps of the past and what it reaches; of those that keep "
    "something, none lies above the steps. Bars: ± standard deviation over seeds.",
    "confusion": "Where the images of each state go after the last one, in percent, first seed.",
    "magnitudes": "Mean |w| of new and past classes, as trained and standardised (Fig. 2).",
    "similarity": "First state's test images: cosine of features with the last model's (Fig. 3).",
    "rows": "Values of single rows, the fitted normal, and a test of normality (Fig. 4).",
}
BY_STREAM = ("accuracy", "pareto", "confusion")
OF_THE_PAPER = ("magnitudes", "similarity", "rows")
# Ids of groups, which nothing refers to, and turns by no angle.
NEEDLESS = r'(?<=<g) id="[^"]*"| transform="rotate\(-0 [^"]*"'
PAGE_COLOURS = {
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
    FAINT: "var(--grey)",
    COLOURS[0]: "var(--accent)",
    COLOURS[5]: "var(--heat)",
}


@dataclass(frozen=True)
class Picture:
    """A drawing with its caption."""

    caption: str
    drawing: Markup


def pictures(comparison: Comparison, names: Sequence[str], prefix: str) -> list[Picture]:
    """Draw some figures of a comparison for a phone; ids in them begin with `prefix`."""
    any_memoryless = any(entry.memoryless for entry in comparison.entries)
    return [
        Picture(
            CAPTIONS[name],
            markup(FIGURES[name](comparison, 1), f"{prefix}-{name}", CAPTIONS[name]),
        )
        for name in names
        if name != "pareto" or any_memoryless
    ]


def markup(figure: Figure, name: str, caption: str) -> Markup:
    """Return a figure as SVG that stands in a page: its ids begin with `name`."""
    text = io.StringIO()
    write_figure(figure, text, "svg")
    _, start, drawing = text.getvalue().partition("<svg ")
    drawing = re.sub(NEEDLESS, "", drawing)
    drawing = re.sub(r"<[^>]*>", lambda tag: _adapted(tag[0], name), drawing)
    return Markup('{}role="img" aria-label="{}" {}').format(Markup(start), caption, Markup(drawing))


def _adapted(tag: str, name: str) -> str:
    """Give a tag ids of its own, and the page's colours where it has them, light or dark.

    >>> _adapted('<path id="a" style="fill: #ffffff; stroke: #000000"/>', "b")
    '<path id="b-a" style="fill: var(--paper); stroke: var(--ink)"/>'
    """
    for sign in (' id="', 'href="#', "url(#"):
        tag = tag.replace(sign, f"{sign}{name}-")
    for colour, variable in PAGE_COLOURS.items():
        tag = tag.replace(f": {colour}", f": {variable}")
    return tag
