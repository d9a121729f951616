"""Pictures of a report: figures as SVG that stands in the page and follows its colours."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup
from matplotlib.figure import Figure

from memoryless.lab.chart_style import COLOURS, FAINT
from memoryless.lab.charts import (
    FIGURES,
    draw_accuracy,
    draw_confusion,
    draw_pareto,
    shown,
    write_figure,
)
from memoryless.lab.comparison import Comparison
from memoryless.lab.runs import RunFolder

PAPER_FIGURES = {
    "magnitudes": "Mean |w| of new and past classes, as trained and standardised (Fig. 2).",
    "similarity": "First state's test images: cosine of features with the last model's (Fig. 3).",
    "rows": "Values of single rows, the fitted normal, and a test of normality (Fig. 4).",
}
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
    """A picture has a caption, markup, and a note of what exactly is drawn."""

    caption: str
    drawing: Markup
    note: str = ""


@dataclass(frozen=True)
class Charts:
    """What is drawn of one comparison."""

    title: str
    pictures: Sequence[Picture]


def charts(comparison: Comparison, name: str) -> Charts:
    """Accuracy by state, accuracy against bytes, and where images go, of one comparison."""
    draws = [_accuracy, _pareto, _confusion]
    if not any(entry.memoryless for entry in comparison.entries):
        draws.remove(_pareto)
    return Charts(comparison.title, [draw(comparison, name) for draw in draws])


def _accuracy(comparison: Comparison, name: str) -> Picture:
    caption = "Top-1 accuracy over all classes seen so far, after each state."
    several = any(len(entry.training.runs) > 1 for entry in comparison.lines)
    note = "bands: ± standard deviation over seeds" if several else ""
    return Picture(caption, markup(draw_accuracy(comparison), f"{name}-accuracy", caption), note)


def _pareto(comparison: Comparison, name: str) -> Picture:
    caption = "What each method keeps of the past and what it reaches."
    steps = "of those that keep something, none lies above the steps"
    bars = "; bars: ± standard deviation over seeds"
    several = any(entry.seeds > 1 for entry in comparison.entries)
    drawing = markup(draw_pareto(comparison), f"{name}-pareto", caption)
    return Picture(caption, drawing, steps + bars if several else steps)


def _confusion(comparison: Comparison, name: str) -> Picture:
    caption = "Where the images of each state go after the last one, in percent."
    drawing = markup(draw_confusion(comparison), f"{name}-confusion", caption)
    return Picture(caption, drawing, f"seed {comparison.main.runs[0].about.seed}")


def paper_figures(runs: Sequence[RunFolder]) -> list[Picture]:
    """The paper's figures, small enough for a phone and in the colours of the page."""
    comparison = shown(runs)
    one = f"{comparison.title}: {comparison.main.row.strategy}, the first seed"
    each = f"{comparison.title}: the first seed of each line"
    return [
        Picture(
            caption,
            markup(FIGURES[name](comparison, 1), name, caption),
            each if name == "similarity" else one,
        )
        for name, caption in PAPER_FIGURES.items()
    ]


def markup(figure: Figure, name: str, caption: str) -> Markup:
    """A figure as SVG that stands in a page: its ids begin with `name`."""
    text = io.StringIO()
    write_figure(figure, text, "svg")
    _, start, drawing = text.getvalue().partition("<svg ")
    drawing = re.sub(NEEDLESS, "", drawing)
    drawing = re.sub(r"<[^>]*>", lambda tag: _own_ids(in_page_colours(tag[0]), name), drawing)
    return Markup('{}role="img" aria-label="{}" {}').format(Markup(start), caption, Markup(drawing))


def _own_ids(tag: str, name: str) -> str:
    for sign in (' id="', 'href="#', "url(#"):
        tag = tag.replace(sign, f"{sign}{name}-")
    return tag


def in_page_colours(tag: str) -> str:
    """Colours that a page has its own of, light or dark, become the page's.

    >>> in_page_colours('<path style="fill: #ffffff; stroke: #000000"/>')
    '<path style="fill: var(--paper); stroke: var(--ink)"/>'
    """
    for colour, variable in PAGE_COLOURS.items():
        tag = tag.replace(f": {colour}", f": {variable}")
    return tag
