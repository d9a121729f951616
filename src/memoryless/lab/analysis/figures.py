"""Figures for papers are drawn from run folders; `measures` has their numbers.

Each is as wide as one column of a page or as both, with text of 8 points at that size.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from memoryless.errors import WriteError
from memoryless.lab.analysis import measures
from memoryless.lab.analysis.chart_style import (
    COLOURS,
    DASHES,
    MARKERS,
    MOST_MARKED,
    MOST_NUMBERED,
    apart,
    around,
    byte_ticks,
    few_of,
    percent_ticks,
    spread,
    state_ticks,
    wrapped,
)
from memoryless.lab.analysis.comparison import (
    MOST_LINES,
    Comparison,
    Entry,
    comparisons,
    training_names,
)
from memoryless.lab.analysis.tables import pareto_front
from memoryless.lab.runs import RunFolder
from memoryless.names import choose, printable

METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}
INCHES = {1: 3.3, 2: 6.9}  # width of one column of a page, and of both
INCHES_HIGH = 2.4
POINTS = 8
NOTHING = "nothing\nkept"  # the tick of methods that keep nothing
# Text stays text, to be searched and edited; equal figures give equal files.
STYLE: Any = {
    "font.size": POINTS, "axes.titlesize": POINTS, "axes.labelsize": POINTS,
    "xtick.labelsize": POINTS, "ytick.labelsize": POINTS, "legend.fontsize": POINTS,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "lines.linewidth": 1.2,
    "lines.markersize": 3.5, "legend.frameon": False, "savefig.dpi": 300,
    "pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "memoryless",
}  # fmt: skip


def plain(text: str) -> str:
    r"""A figure shows the text: `$` begins no maths, and half a character stands as a sign for it.

    >>> plain("$5 \udcff\n")
    '\\$5 �\\n'
    """
    text = printable(re.sub("[\ud800-\udfff]", "\ufffd", text)).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text  # such a label is left out of legends


@mpl.rc_context(STYLE)
def draw_magnitudes(runs: Sequence[RunFolder], columns: int = 1) -> Figure:
    """Bars show mean |w| of new and past classes by state, as trained and standardised (Fig. 2)."""
    figure, panels = _panels(columns, 3.6 if columns == 1 else 2.2, 2)
    numbers = measures.weight_magnitudes(shown(runs).main.runs[0])
    states = np.arange(1, len(numbers["new"]) + 1)
    for panel, prefix, title in zip(
        panels, ("", "siw_"), ("as trained", "standardised"), strict=True
    ):
        for kind, side, colour in (("new", -0.2, COLOURS[0]), ("past", 0.2, COLOURS[4])):
            label = f"{kind} classes"
            panel.bar(states + side, numbers[f"{prefix}{kind}"], 0.4, label=label, color=colour)
        _label(panel, f"rows {title}", "state", "mean |w|")
        panel.set_xticks([t for t in state_ticks(len(states) + 1) if t])
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


@mpl.rc_context(STYLE)
def draw_similarity(runs: Sequence[RunFolder], columns: int = 1) -> Figure:
    """Lines show how similar the first state's features stay to the last model's (Fig. 3)."""
    trainings = [t for t in shown(runs).trainings if not t.one_state]
    few = dict(list(training_names(trainings).items())[:MOST_LINES])
    lines = {name: measures.feature_similarity(t.runs[0]) for name, t in few.items()}
    figure = _lines(lines, columns, "cosine with the last state")
    figure.axes[0].set_ylim(0, 1.05)
    _legend_below(figure, columns)  # all lines end at 1, where no name finds its own
    return figure


@mpl.rc_context(STYLE)
def draw_rows(runs: Sequence[RunFolder], columns: int = 1) -> Figure:
    """Histograms show single rows with the fitted normal and a test of normality (Fig. 4)."""
    figure, panels = _panels(columns, 4.6 if columns == 1 else 3.2, 6, 2 if columns == 1 else 3)
    for panel, row in zip(
        panels, measures.row_distributions(shown(runs).main.runs[0]), strict=False
    ):
        panel.hist(row.values, bins=20, density=True, alpha=0.5, color=COLOURS[5])
        x = np.linspace(row.values.min(), row.values.max(), 200)
        spread_of = row.std or 1.0
        normal = np.exp(-(((x - row.mean) / spread_of) ** 2) / 2) / (spread_of * np.sqrt(2 * np.pi))
        panel.plot(x, normal, color=COLOURS[1])
        _label(panel, _shortened(row.label, 16 if columns == 1 else 24), "w", "density")
        panel.set_title(f"{panel.get_title()}\n{_p_value(row.p_value)}")
    return figure


def _shortened(name: str, most: int) -> str:
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"


def _p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


@mpl.rc_context(STYLE)
def draw_accuracy(runs: Sequence[RunFolder], columns: int = 1) -> Figure:
    """Lines show top-1 accuracy by state, of what is recommended and a few others.

    Bands show the standard deviation over seeds, to both sides.
    """
    entries = shown(runs).lines
    lines = {entry.label: entry.training.by_state(entry.row.method) for entry in entries}
    figure = _lines(lines, columns, "top-1 accuracy (%)")
    panel = figure.axes[0]
    highest = max(max(values) for values in lines.values())
    for entry, colour in zip(entries, COLOURS, strict=False):
        highest = max(highest, _band(panel, entry, colour))
    ticks = percent_ticks(highest)
    panel.set_yticks(ticks)
    panel.set_ylim(0, ticks[-1])
    ends = {name: (len(v) - 1, v[-1]) for name, v in lines.items()}
    _name_at_end(panel, ends, columns, COLOURS)
    return figure


def _band(panel: Axes, entry: Entry, colour: str) -> float:
    """Draw the deviation over seeds around an entry's line; how high it reaches is returned."""
    method = entry.row.method
    deviations = entry.training.deviations(method)
    if not deviations:
        return 0
    pairs = zip(entry.training.by_state(method), deviations, strict=True)
    low, high = zip(*(around(*pair) for pair in pairs), strict=True)
    panel.fill_between(range(len(low)), low, high, color=colour, alpha=0.15, linewidth=0)
    return max(high)


@mpl.rc_context(STYLE)
def draw_confusion(runs: Sequence[RunFolder], columns: int = 1) -> Figure:
    """Cells show true by predicted state at the end, for the strategy and what is recommended."""
    comparison = shown(runs)
    chosen = comparison.before_and_after
    cells = [
        measures.coarser(
            measures.state_confusion(entry.training.runs[0], entry.row.method), MOST_NUMBERED
        )
        for entry in chosen
    ]
    height = min(INCHES[1], 0.9 + 0.24 * len(cells[0][0]))  # the cells are square
    figure, panels = _panels(columns, height * (len(chosen) if columns == 1 else 1), len(chosen))
    for panel, entry, (names, percent) in zip(panels, chosen, cells, strict=True):
        panel.imshow(percent, vmin=0, vmax=150, cmap="Blues")  # pale enough for black numbers
        for (row, column), value in np.ndenumerate(percent):
            panel.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=7)
        _label(panel, "", "predicted state", "true state")
        panel.set_title("\n".join(wrapped(plain(entry.label), 36)))
        panel.set_xticks(range(len(names)), names, rotation=90 if "-" in names[0] else 0)
        panel.set_yticks(range(len(names)), names)
    return figure


@mpl.rc_context(STYLE)
def draw_pareto(runs: Sequence[RunFolder], columns: int = 1) -> Figure:
    """Dots show top-1 accuracy against bytes kept, of the methods that the runs have scored."""
    comparison = shown(runs)
    rows = {entry.label: entry.row for entry in comparison.entries}
    return pareto_figure({"": rows}, columns=columns, named=[comparison.reference.label])


@mpl.rc_context(STYLE)
def pareto_figure(
    streams: Mapping[str, Mapping[str, Any]],
    k: str = "top1",
    columns: int = 1,
    named: Sequence[str] = (),
) -> Figure:
    """Dots show accuracy against bytes kept, a panel for each stream, of rows by their names.

    Those that no other beats with as few bytes have their name beside them, and those in `named`;
    what keeps nothing stands apart.
    """
    figure, panels = _panels(columns, INCHES_HIGH * len(streams), len(streams), across=1)
    for panel, (title, rows) in zip(panels, streams.items(), strict=True):
        free = {name: row for name, row in rows.items() if row.memoryless}
        _draw_front(panel, free, k, columns, named)
        measured = f"{k.replace('top', 'top-')} accuracy (%)"
        _label(panel, title if len(streams) > 1 else "", "bytes kept of the past", measured)
    _thin_byte_ticks(figure)
    return figure


def _draw_front(
    panel: Axes, rows: Mapping[str, Any], k: str, columns: int, named: Sequence[str]
) -> None:
    front = pareto_front(list(rows.values()), k)
    kept = [row.bytes for row in rows.values() if row.bytes] or [1000]
    low, high = min(kept) / 2, max(kept) * 2
    strip = low / 10 if any(not row.bytes for row in rows.values()) else low
    places = {name: (row.bytes or strip, getattr(row, k)) for name, row in rows.items()}
    few = few_of(front, MOST_LINES - 1)
    told = {name: places[name] for name, row in rows.items() if row in few or name in named}
    for name, row in rows.items():
        stands_out = row in front or name in told
        panel.plot(
            *places[name], "o", color=COLOURS[0] if stands_out else "0.7", markersize=3,
            zorder=3 if stands_out else 2,  # no grey dot lies over it
        )  # fmt: skip
    steps = [(row.bytes, getattr(row, k)) for row in front]
    if steps:
        panel.step(*zip(*steps, strict=True), where="post", color=COLOURS[0])
    _scale_bytes(panel, low, high, strip)
    ticks = percent_ticks(max((y for _, y in places.values()), default=0))
    panel.set_yticks(ticks)
    panel.set_ylim(0, ticks[-1] * 1.05)
    _name_at_end(panel, told, columns)


def _scale_bytes(panel: Axes, low: float, high: float, strip: float) -> None:
    ticks = {float(n): text for n, text in byte_ticks(int(low) or 1, int(high)).items()}
    if strip < low:
        panel.axvline(low / 2, color="0.7", linewidth=0.6, linestyle=":")
        ticks = {strip: NOTHING} | ticks
    panel.set_xscale("log")
    panel.set_xlim(strip / 2, high)
    panel.set_xticks(list(ticks), list(ticks.values()))
    panel.xaxis.set_minor_locator(NullLocator())


def _thin_byte_ticks(figure: Figure) -> None:
    """Leave out ticks whose texts would touch, which shows once all else has its place."""
    with _missing_glyphs():
        figure.draw_without_rendering()
    for panel in figure.axes:
        places, texts = panel.get_xticks(), panel.get_xticklabels()
        spans = [text.get_window_extent().intervalx for text in texts]
        first = [i for i, text in enumerate(texts) if text.get_text() == NOTHING]
        gap = POINTS / 2 * figure.dpi / 72
        few = first + apart(spans, max((spans[i][1] + gap for i in first), default=-np.inf), gap)
        panel.set_xticks([places[i] for i in few], [texts[i].get_text() for i in few])


FIGURES: dict[str, Callable[[Sequence[RunFolder], int], Figure]] = {
    "magnitudes": draw_magnitudes,
    "similarity": draw_similarity,
    "rows": draw_rows,
    "accuracy": draw_accuracy,
    "confusion": draw_confusion,
    "pareto": draw_pareto,
}


def _panels(columns: int, height: float, number: int = 1, across: int = 0) -> tuple[Any, list[Any]]:
    """A figure as wide as some columns of a page, and its panels, side by side if there is room."""
    figure = Figure(figsize=(INCHES[columns], height), layout="constrained")
    across = across or (1 if columns == 1 else number)
    grid = figure.subplots(-(-number // across), across, squeeze=False)
    return figure, list(grid.ravel())


def _lines(lines: dict[str, list[float]], columns: int, name: str) -> Figure:
    """A panel of lines by state, each with its label at its end."""
    figure, (panel,) = _panels(columns, INCHES_HIGH)
    for i, (label, values) in enumerate(lines.items()):
        panel.plot(
            range(len(values)), values, label=plain(label), color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)], dashes=DASHES[i % len(DASHES)],
            markevery=few_of(range(len(values)), MOST_MARKED),
        )  # fmt: skip
    _label(panel, "", "state", name)
    panel.set_xticks(state_ticks(max(map(len, lines.values())), 6 if columns == 1 else 11))
    return figure


def _legend_below(figure: Figure, columns: int) -> None:
    """Names stand below a panel, which keeps its height."""
    handles, names = figure.axes[0].get_legend_handles_labels()
    texts = ["\n".join(wrapped(name, 40)) for name in names]
    across = columns if max(map(len, names)) > 16 else columns + 1
    lines = sum(text.count("\n") + 1 for text in texts) / across
    figure.set_figheight(INCHES_HIGH + 1.5 * POINTS / 72 * (lines + 1))
    figure.legend(handles, texts, loc="outside lower center", ncols=across)


def _name_at_end(
    panel: Axes,
    ends: Mapping[str, tuple[float, float]],
    columns: int,
    colours: Sequence[str] = (),
) -> None:
    """Names stand at the right of a panel, apart from each other, each led to by a thin line.

    Without colours the lines are dotted and faint: they cross the panel, and are no data.
    """
    texts = {name: wrapped(plain(name), 16 if columns == 1 else 28) for name in ends}
    low, high = panel.get_ylim()
    line = 1.25 * POINTS / 72 / (INCHES_HIGH - 0.5)  # of a panel's height
    places = spread(
        [(y - low) / (high - low) for _, y in ends.values()],
        [line * (len(text) + 0.3) for text in texts.values()], 0, 1,
    )  # fmt: skip
    for i, ((name, end), place) in enumerate(zip(ends.items(), places, strict=True)):
        style = {"color": colours[i % len(colours)]} if colours else {"color": "0.6", "ls": ":"}
        panel.annotate(
            "\n".join(texts[name]), end, (1.06, place), xycoords="data",
            textcoords=panel.transAxes, va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "relpos": (0, 0.5), **style},
        )  # fmt: skip


def _label(panel: Axes, title: str, x: str, y: str) -> None:
    panel.set_title(plain(title))
    panel.set_xlabel(x)
    panel.set_ylabel(y)


def shown(runs: Sequence[RunFolder]) -> Comparison:
    """What is drawn of some runs: the data set and number of states of most trainings."""
    return max(comparisons(runs), key=lambda comparison: len(comparison.trainings))


def save_figures(
    runs: Sequence[RunFolder],
    folder: Path,
    names: Sequence[str],
    formats: Sequence[str],
    columns: int = 1,
    working: Callable[[str], None] = lambda name: None,
) -> list[Path]:
    """Each figure named is drawn into files, one for each format; `working` is told which."""
    paths = []
    for name in names:
        working(name)
        figure = FIGURES[name](runs, columns)
        paths += [save_figure(figure, folder / f"{name}.{form}") for form in formats]
    return paths


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure to a file, in the format that its ending names."""
    choose("format", path.suffix[1:], METADATA)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_figure(figure, path, path.suffix[1:])
    except OSError as error:
        raise WriteError(f"cannot write {path} ({error.strerror}): choose another place") from error
    return path


def write_figure(figure: Figure, target: Path | IO[str], form: str) -> None:
    """Write a figure to a target; equal figures give equal files."""
    with mpl.rc_context(STYLE), _missing_glyphs():
        figure.savefig(target, format=form, metadata=METADATA[form])


@contextmanager
def _missing_glyphs() -> Iterator[None]:
    """What the font lacks stands as a box, and gives no warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        yield
