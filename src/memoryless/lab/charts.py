"""Charts of finished runs, for papers and for the report; `measures` has their numbers.

Each is as wide as one column of a page or as both, with text of 8 points at that size. A report
contains them as SVG in the colours of the page.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.rcsetup import cycler
from matplotlib.ticker import EngFormatter, MaxNLocator, NullLocator
from scipy.stats import norm

from memoryless.errors import WriteError
from memoryless.lab import measures
from memoryless.lab.comparison import MOST_LINES, Comparison, comparisons, pareto_front
from memoryless.lab.runs import RunFolder
from memoryless.names import choose, printable

# Okabe and Ito's colours, which colour-blind people can distinguish. Black and yellow are left out:
# one of them is always too near to the page, light or dark.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("-", *((0, dashes) for dashes in ((6, 2), (2, 2), (8, 2, 2, 2), (4, 4), (1, 3))))
MARKERS = ("o", "s", "^", "D", "v", "P")
FAINT = "#b3b3b3"  # of dots in the background
SHADES = ListedColormap([COLOURS[5]])  # one colour, of which cells have more or less
INCHES = {1: 3.3, 2: 6.9}  # width of one column of a page, and of both
INCHES_HIGH = 2.4
POINTS = 8
# Text stays text, to be searched and edited, and `$` begins no maths; equal figures give equal
# files.
STYLE: Any = {
    "font.size": POINTS, "axes.titlesize": POINTS, "axes.labelsize": POINTS,
    "xtick.labelsize": POINTS, "ytick.labelsize": POINTS, "legend.fontsize": POINTS,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=COLOURS, linestyle=DASHES, marker=MARKERS),
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "lines.linewidth": 1.2,
    "lines.markersize": 3.5, "legend.frameon": False, "savefig.dpi": 300,
    "text.parse_math": False,
    "pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "memoryless",
}  # fmt: skip
METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None},
    "png": {},
}

CAPTIONS = {
    "accuracy": "Top-1 accuracy over all classes seen so far, after each state; bands: ± standard "
    "deviation over seeds.",
    "pareto": "Top-1 accuracy of each method against the bytes that it keeps. The steps are the "
    "Pareto front. Bars: ± standard deviation over seeds.",
    "confusion": "True and predicted state of the test images at the end, in percent, first seed.",
    "magnitudes": "Mean |w| of new and past classes, as trained and standardised (Fig. 2).",
    "similarity": "First state's test images: cosine of features with the last model's (Fig. 3).",
    "rows": "Values of single rows, the fitted normal, and a test of normality (Fig. 4).",
}
BY_STREAM = ("accuracy", "pareto", "confusion")
OF_THE_PAPER = ("magnitudes", "similarity", "rows")
# Ids of groups, which nothing refers to, and turns by no angle.
NEEDLESS = r'(?<=<g) id="[^"]*"| transform="rotate\(-0 [^"]*"'
# Colours of figures, and the variables of the page's style in their place.
PAGE_COLOURS = {
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
    FAINT: "var(--grey)",
    COLOURS[0]: "var(--accent)",
    COLOURS[5]: "var(--heat)",
}


@mpl.rc_context(STYLE)
def draw_magnitudes(comparison: Comparison, columns: int = 1) -> Figure:
    """Draw mean |w| of new and past classes by state, as trained and standardised (Fig. 2)."""
    figure, panels = _panels(columns, 3.6 if columns == 1 else 2.2, 2)
    numbers = measures.weight_magnitudes(comparison.runs(comparison.reference.training)[0])
    states = np.arange(1, len(numbers["new"]) + 1)
    titles = {"": "rows as trained", "siw_": "rows standardised"}
    for panel, (prefix, title) in zip(panels, titles.items(), strict=True):
        for kind, side, colour in (("new", -0.2, COLOURS[0]), ("past", 0.2, COLOURS[4])):
            label = f"{kind} classes"
            panel.bar(states + side, numbers[f"{prefix}{kind}"], 0.4, label=label, color=colour)
        _label(panel, title, "state", "mean |w|")
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


@mpl.rc_context(STYLE)
def draw_similarity(comparison: Comparison, columns: int = 1) -> Figure:
    """Draw how similar the first state's features stay to the last model's (Fig. 3)."""
    own = [entries[0] for entries in comparison.by_training.values()]
    own = [e for e in own if e.method == e.strategy]  # statistics change no features
    lines = {
        entry.label: measures.feature_similarity(comparison.runs(entry.training)[0])
        for entry in own[:MOST_LINES]
    }
    figure = _lines(lines, columns, "cosine with the last state")
    figure.axes[0].set_ylim(0, 1.05)
    return figure


@mpl.rc_context(STYLE)
def draw_rows(comparison: Comparison, columns: int = 1) -> Figure:
    """Draw histograms of single rows, the fitted normal and a test of normality (Fig. 4)."""
    figure, panels = _panels(columns, 4.6 if columns == 1 else 3.2, 6, 2 if columns == 1 else 3)
    rows = measures.row_distributions(comparison.runs(comparison.reference.training)[0])
    for panel, row in zip(panels, rows, strict=False):
        panel.hist(row.values, bins=20, density=True, alpha=0.5, color=COLOURS[5])
        x = np.linspace(row.values.min(), row.values.max(), 200)
        normal = norm.pdf(x, row.values.mean(), row.values.std() or 1.0)
        panel.plot(x, normal, color=COLOURS[1], marker="")
        name, most = printable(row.label), 16 if columns == 1 else 24
        name = name if len(name) <= most else f"{name[: most - 1].rstrip()}…"
        p = "p < 0.001" if row.p_value < 0.001 else f"p = {row.p_value:.2g}"
        _label(panel, f"{name}\n{p}", "w", "density")
    return figure


@mpl.rc_context(STYLE)
def draw_accuracy(comparison: Comparison, columns: int = 1) -> Figure:
    """Draw top-1 accuracy by state, of the reference method and a few others.

    Bands show the standard deviation over seeds, to both sides.
    """
    each = {entry.label: comparison.by_state(entry) for entry in comparison.lines}
    lines = {label: list(by_state["mean"]) for label, by_state in each.items()}
    figure = _lines(lines, columns, "top-1 accuracy (%)")
    panel = figure.axes[0]
    for by_state, colour in zip(each.values(), COLOURS, strict=False):
        if by_state["std"].notna().all():  # of several seeds
            low = (by_state["mean"] - by_state["std"]).clip(0, 100)
            high = (by_state["mean"] + by_state["std"]).clip(0, 100)
            panel.fill_between(by_state.index, low, high, color=colour, alpha=0.15, linewidth=0)
    _from_0(panel)
    return figure


@mpl.rc_context(STYLE)
def draw_confusion(comparison: Comparison, columns: int = 1) -> Figure:
    """Draw true by predicted state at the end, for the strategy and the reference method."""
    chosen = comparison.before_and_after
    cells = [
        measures.coarser(measures.state_confusion(comparison.runs(entry.training)[0], entry.method))
        for entry in chosen
    ]
    height = min(INCHES[1], 0.9 + 0.24 * len(cells[0][0]))  # the cells are square
    figure, panels = _panels(columns, height * (len(chosen) if columns == 1 else 1), len(chosen))
    for panel, entry, (names, percent) in zip(panels, chosen, cells, strict=True):
        panel.pcolormesh(percent, cmap=SHADES, alpha=0.8 * percent / 100)
        panel.set_aspect("equal")
        panel.invert_yaxis()
        for (row, column), value in np.ndenumerate(percent):
            panel.text(column + 0.5, row + 0.55, f"{value:.0f}", ha="center", va="center")
        _label(panel, _in_lines(entry.label, 36), "predicted state", "true state")
        middles = np.arange(len(names)) + 0.5
        panel.set_xticks(middles, names, rotation=90 if "-" in names[0] else 0)
        panel.set_yticks(middles, names)
    return figure


def draw_pareto(comparison: Comparison, columns: int = 1) -> Figure:
    """Draw top-1 accuracy against bytes kept, of the methods that the runs have scored."""
    reference = comparison.reference.label
    return pareto_figure({"": comparison.entries}, columns=columns, named=reference)


@mpl.rc_context(STYLE)
def pareto_figure(
    streams: Mapping[str, Sequence[Any]], k: str = "top1", columns: int = 1, named: str = ""
) -> Figure:
    """Draw accuracy against bytes kept, a panel for each stream, of rows with labels.

    The legend names some methods that no other beats with as few bytes, and the one in `named`.
    Bars at these show the standard deviation over seeds.
    """
    figure = Figure(layout="constrained")
    parts = figure.subfigures(len(streams), 1, squeeze=False)[:, 0]
    height = 0.0
    for part, (title, rows) in zip(parts, streams.items(), strict=True):
        panel = part.subplots()
        if free := [row for row in rows if row.memoryless]:
            _draw_front(panel, free, k, named)
            height += _legend_below(panel, columns)
        name = printable(title) if len(streams) > 1 else ""
        measured = f"{k.replace('top', 'top-')} accuracy (%)"
        _label(panel, name, "bytes kept of the past", measured)
    figure.set_size_inches(INCHES[columns], INCHES_HIGH * len(streams) + height)
    return figure


def _draw_front(panel: Axes, rows: Sequence[Any], k: str, named: str) -> None:
    front = pareto_front(rows, k)
    spaced = np.linspace(0, len(front) - 1, min(len(front), MOST_LINES - 1)).round().astype(int)
    few = [front[i] for i in spaced]
    few += [row for row in rows if row.label == named and row not in few]
    _scale_bytes(panel, [row.bytes for row in rows])
    panel.scatter([row.bytes for row in rows], [getattr(row, k) for row in rows], s=9, color=FAINT)
    steps = [row.bytes for row in front], [getattr(row, k) for row in front]
    panel.step(*steps, where="post", color=FAINT, linestyle="-", marker="", zorder=1)
    for row, colour, marker in zip(few, COLOURS, MARKERS, strict=False):
        panel.errorbar(
            row.bytes, getattr(row, k), getattr(row, f"{k}_std"), label=_in_lines(row.label),
            color=colour, marker=marker, linestyle="",
        )  # fmt: skip
    _from_0(panel)


def _from_0(panel: Axes) -> None:
    """Let percentages begin at 0, with round ticks."""
    panel.set_ylim(bottom=0)
    panel.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))


def _scale_bytes(panel: Axes, sizes: Sequence[int]) -> None:
    """Label the axis of bytes with powers of ten, and with 0 for what keeps nothing."""
    kept = [size for size in sizes if size] or [1000]
    low, high = int(np.log10(min(kept))), int(np.ceil(np.log10(max(kept))))
    nothing = [0] if min(sizes) == 0 else []
    powers = range(low, high + 1, max(1, math.ceil((high - low) / 3)))  # labels that stay apart
    panel.set_xscale("symlog", linthresh=10.0**low, linscale=max(0.7, (high - low) / 5))
    panel.set_xticks([*nothing, *(10.0**power for power in powers)])
    panel.xaxis.set_major_formatter(EngFormatter("B"))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.set_xlim((-0.4 if nothing else 0.7) * 10.0**low, 1.5 * 10.0**high)


FIGURES: dict[str, Callable[[Comparison, int], Figure]] = {
    "magnitudes": draw_magnitudes,
    "similarity": draw_similarity,
    "rows": draw_rows,
    "accuracy": draw_accuracy,
    "confusion": draw_confusion,
    "pareto": draw_pareto,
}


def _panels(
    columns: int, height: float, number: int = 1, across: int = 0
) -> tuple[Figure, list[Any]]:
    """Return a figure as wide as some columns of a page, and its panels."""
    figure = Figure(figsize=(INCHES[columns], height), layout="constrained")
    across = across or (1 if columns == 1 else number)
    grid = figure.subplots(-(-number // across), across, squeeze=False)
    return figure, list(grid.ravel())


def _lines(lines: dict[str, list[float]], columns: int, name: str) -> Figure:
    """Return a panel of lines by state."""
    figure, (panel,) = _panels(columns, INCHES_HIGH)
    for label, values in lines.items():
        panel.plot(values, label=_in_lines(label), markevery=max(1, len(values) // 10))
    _label(panel, "", "state", name)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.set_figheight(INCHES_HIGH + _legend_below(panel, columns))
    return figure


def _in_lines(label: str, most: int = 40) -> str:
    """Return a label in lines of at most so many characters."""
    return "\n".join(textwrap.wrap(printable(label), most, break_on_hyphens=False))


def _legend_below(panel: Axes, columns: int) -> float:
    """Draw a legend below a panel; return its height in inches."""
    handles, names = panel.get_legend_handles_labels()
    if not names:
        return 0.0
    across = columns if max(map(len, names)) > 16 else columns + 1
    panel.figure.legend(handles, names, loc="outside lower center", ncols=across)
    lines = sum(name.count("\n") + 1 for name in names) / across
    return float(1.5 * POINTS / 72 * (lines + 1))


def _label(panel: Axes, title: str, x: str, y: str) -> None:
    panel.set_title(title)
    panel.set_xlabel(x)
    panel.set_ylabel(y)


def shown(runs: Sequence[RunFolder]) -> Comparison:
    """Return the comparison with the most trainings."""
    return max(comparisons(runs), key=lambda comparison: len(comparison.by_training))


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
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a box is drawn for a sign that the font lacks
        figure.savefig(target, format=form, metadata=METADATA[form])


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
    """Return a figure as SVG for a page: its ids begin with `name`."""
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
