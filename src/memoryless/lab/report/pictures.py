"""Pictures of a report: charts of its comparisons, confusions, and the paper's figures."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from memoryless.lab.analysis.chart_style import MOST_NUMBERED, few_of
from memoryless.lab.analysis.comparison import Comparison, Entry
from memoryless.lab.analysis.figures import FIGURES, shown, write_figure
from memoryless.lab.analysis.measures import coarser, state_confusion
from memoryless.lab.analysis.tables import pareto_front
from memoryless.lab.report.charts import (
    Dot,
    Line,
    accuracy_chart,
    bytes_chart,
    in_each_format,
)
from memoryless.lab.runs import RunFolder

MOST_NAMED = 5  # methods of the front that have their name beside them
PAPER_FIGURES = {
    "magnitudes": "Mean |w| of new and past classes, as trained and standardised (Fig. 2).",
    "similarity": "First state's test images: cosine of features with the last model's (Fig. 3).",
    "rows": "Values of single rows, the fitted normal, and a test of normality (Fig. 4).",
}


@dataclass(frozen=True)
class Picture:
    """A picture has a caption, markup, and a note of what exactly is drawn."""

    caption: str
    drawing: Markup
    note: str = ""


@dataclass(frozen=True)
class Confusion:
    """Percent of each state's test images (row) given to each state (column) by a method."""

    method: str
    run: str
    states: Sequence[str]
    cells: Sequence[Sequence[int]]

    @property
    def is_coarse(self) -> bool:
        """Whether rows and columns are blocks of several states."""
        return "-" in self.states[0]


@dataclass(frozen=True)
class Charts:
    """What is drawn of one comparison."""

    title: str
    pictures: Sequence[Picture]
    confusions: Sequence[Confusion]


def charts(comparison: Comparison) -> Charts:
    """Accuracy by state, accuracy against bytes, and where images go, of one comparison."""
    free = [entry for entry in comparison.entries if entry.row.memoryless]
    pictures = [_accuracy(comparison), *([_bytes(comparison, free)] if free else [])]
    return Charts(comparison.title, pictures, confusions(comparison))


def _accuracy(comparison: Comparison) -> Picture:
    lines = [
        Line(e.label, e.training.by_state(e.row.method), e.training.deviations(e.row.method))
        for e in comparison.lines
    ]
    drawing = in_each_format(lambda form: accuracy_chart(lines, form))
    caption = "Top-1 accuracy over all classes seen so far, after each state."
    return Picture(caption, drawing, _spread("bands", any(line.deviations for line in lines)))


def _spread(what: str, is_drawn: bool) -> str:
    return f"{what}: ± standard deviation over seeds" if is_drawn else ""


def _bytes(comparison: Comparison, entries: Sequence[Entry]) -> Picture:
    front = pareto_front([entry.row for entry in entries])
    named = few_of(front, MOST_NAMED)
    dots = [
        Dot(
            entry.label, entry.row.bytes, entry.row.top1,
            np.nan_to_num(entry.row.top1_std),
            named=entry.row in named or entry is comparison.reference,
            on_front=entry.row in front,
        )
        for entry in sorted(entries, key=lambda entry: entry.row.bytes)
    ]  # fmt: skip
    drawing = in_each_format(lambda form: bytes_chart(dots, form))
    caption = "What each method keeps of the past and what it reaches."
    steps = "of those that keep something, none lies above the steps"
    bars = _spread("bars", any(dot.named and dot.deviation for dot in dots))
    return Picture(caption, drawing, "; ".join(filter(None, [steps, bars])))


def confusions(comparison: Comparison) -> list[Confusion]:
    """By the strategy itself and by what is recommended, of the first seed."""
    return [_confusion(entry, entry.training.runs[0]) for entry in comparison.before_and_after]


def _confusion(entry: Entry, run: RunFolder) -> Confusion:
    names, percent = coarser(state_confusion(run, entry.row.method), MOST_NUMBERED)
    cells = [[round(value) for value in row] for row in percent]
    return Confusion(entry.label, f"seed {run.about['seed']}", names, cells)


def paper_figures(runs: Sequence[RunFolder]) -> list[Picture]:
    """The paper's figures, small enough for a phone and in the colours of the page."""
    comparison = shown(runs)
    one = f"{comparison.title}: {comparison.main.row.strategy}, the first seed"
    each = f"{comparison.title}: the first seed of each line"
    return [
        Picture(caption, figure_markup(name, runs), each if name == "similarity" else one)
        for name, caption in PAPER_FIGURES.items()
    ]


def figure_markup(name: str, runs: Sequence[RunFolder]) -> Markup:
    """A figure is markup that stands in the page; its ids must not meet another figure's."""
    text = io.StringIO()
    write_figure(FIGURES[name](runs, 1), text, "svg")
    drawing = text.getvalue()[text.getvalue().index("<svg") :]
    return Markup(re.sub(r"<[^>]*>", lambda tag: _own(in_page_style(tag[0]), name), drawing))


def _own(tag: str, name: str) -> str:
    for sign in ('id="', 'href="#', "url(#"):
        tag = tag.replace(sign, f"{sign}{name}-")
    return tag


def in_page_style(drawing: str) -> str:
    """Black becomes the page's ink, white its paper, and the font the page's, whatever they are.

    >>> in_page_style('<path style="fill: #ffffff; stroke: #000000"/>')
    '<path style="fill: var(--paper); stroke: var(--ink)"/>'
    """
    drawing = re.sub(r"font-family: [^;\"]*", "font-family: inherit", drawing)
    drawing = re.sub(r"(?<=: )#ffffff\b", "var(--paper)", drawing)
    drawing = re.sub(r"(?<=: )#000000\b", "var(--ink)", drawing)
    return re.sub(r"<text(?![^>]*fill:)([^>]*style=\")", r"<text\1fill: var(--ink); ", drawing)
