"""Charts of finished runs, for papers and for the report; `measures` has their numbers.

Each is as wide as one column of a page or as both, with text of 8 points at that size.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, NullLocator

from memoryless.errors import WriteError
from memoryless.lab import measures
from memoryless.lab.chart_style import (
    COLOURS,
    FAINT,
    INCHES,
    INCHES_HIGH,
    POINTS,
    STYLE,
    few_of,
    spread,
    wrapped,
)
from memoryless.lab.comparison import (
    MOST_LINES,
    Comparison,
    comparisons,
    pareto_front,
    training_names,
)
from memoryless.lab.runs import RunFolder
from memoryless.names import choose, printable

METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None},
    "png": {},
}
SHADES = ListedColormap([COLOURS[5]])  # one colour, of which cells have more or less


@mpl.rc_context(STYLE)
def draw_magnitudes(comparison: Comparison, columns: int = 1) -> Figure:
    """Bars show mean |w| of new and past classes by state, as trained and standardised (Fig. 2)."""
    figure, panels = _panels(columns, 3.6 if columns == 1 else 2.2, 2)
    numbers = measures.weight_magnitudes(comparison.main.runs[0])
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
    """Lines show how similar the first state's features stay to the last model's (Fig. 3)."""
    trainings = training_names([t for t in comparison.trainings if not t.one_state])
    few = dict(list(trainings.items())[:MOST_LINES])
    lines = {name: measures.feature_similarity(t.runs[0]) for name, t in few.items()}
    figure = _lines(lines, columns, "cosine with the last state")
    figure.axes[0].set_ylim(0, 1.05)
    _legend_below(figure, columns)  # all lines end at 1, where no name finds its own
    return figure


@mpl.rc_context(STYLE)
def draw_rows(comparison: Comparison, columns: int = 1) -> Figure:
    """Histograms show single rows with the fitted normal and a test of normality (Fig. 4)."""
    figure, panels = _panels(columns, 4.6 if columns == 1 else 3.2, 6, 2 if columns == 1 else 3)
    rows = measures.row_distributions(comparison.main.runs[0])
    for panel, row in zip(panels, rows, strict=False):
        panel.hist(row.values, bins=20, density=True, alpha=0.5, color=COLOURS[5])
        x = np.linspace(row.values.min(), row.values.max(), 200)
        std = row.std or 1.0
        normal = np.exp(-(((x - row.mean) / std) ** 2) / 2) / (std * np.sqrt(2 * np.pi))
        panel.plot(x, normal, color=COLOURS[1], marker="")
        title = f"{_shortened(row.label, 16 if columns == 1 else 24)}\n{_p_value(row.p_value)}"
        _label(panel, title, "w", "density")
    return figure


def _shortened(name: str, most: int) -> str:
    name = printable(name)
    return name if len(name) <= most else f"{name[: most - 1].rstrip()}…"


def _p_value(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


@mpl.rc_context(STYLE)
def draw_accuracy(comparison: Comparison, columns: int = 1) -> Figure:
    """Lines show top-1 accuracy by state, of the reference method and a few others.

    Bands show the standard deviation over seeds, to both sides.
    """
    each = {entry.label: entry.training.by_state(entry.method) for entry in comparison.lines}
    lines = {label: list(by_state["mean"]) for label, by_state in each.items()}
    figure = _lines(lines, columns, "top-1 accuracy (%)")
    panel = figure.axes[0]
    for by_state, colour in zip(each.values(), COLOURS, strict=False):
        if by_state["std"].notna().all():  # of several seeds
            low = (by_state["mean"] - by_state["std"]).clip(0, 100)
            high = (by_state["mean"] + by_state["std"]).clip(0, 100)
            panel.fill_between(by_state.index, low, high, color=colour, alpha=0.15, linewidth=0)
    _from_0(panel)
    ends = {name: (len(values) - 1, values[-1]) for name, values in lines.items()}
    _name_at_end(panel, ends, columns, COLOURS)
    return figure


@mpl.rc_context(STYLE)
def draw_confusion(comparison: Comparison, columns: int = 1) -> Figure:
    """Cells show true by predicted state at the end, for the strategy and the reference method."""
    chosen = comparison.before_and_after
    cells = [
        measures.coarser(measures.state_confusion(entry.training.runs[0], entry.method))
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
        _label(panel, wrapped(printable(entry.label), 36), "predicted state", "true state")
        middles = np.arange(len(names)) + 0.5
        panel.set_xticks(middles, names, rotation=90 if "-" in names[0] else 0)
        panel.set_yticks(middles, names)
    return figure


def draw_pareto(comparison: Comparison, columns: int = 1) -> Figure:
    """Dots show top-1 accuracy against bytes kept, of the methods that the runs have scored."""
    reference = comparison.reference.label
    return pareto_figure({"": comparison.entries}, columns=columns, named=reference)


@mpl.rc_context(STYLE)
def pareto_figure(
    streams: Mapping[str, Sequence[Any]], k: str = "top1", columns: int = 1, named: str = ""
) -> Figure:
    """Dots show accuracy against bytes kept, a panel for each stream, of rows with labels.

    Methods that no other beats with as few bytes have their label beside them, and so has the one
    in `named`. Bars at these show the standard deviation over seeds.
    """
    figure, panels = _panels(columns, INCHES_HIGH * len(streams), len(streams), across=1)
    for panel, (title, rows) in zip(panels, streams.items(), strict=True):
        if free := [row for row in rows if row.memoryless]:
            _draw_front(panel, free, k, columns, named)
        measured = f"{k.replace('top', 'top-')} accuracy (%)"
        name = printable(title) if len(streams) > 1 else ""
        _label(panel, name, "bytes kept of the past", measured)
    return figure


def _draw_front(panel: Axes, rows: Sequence[Any], k: str, columns: int, named: str) -> None:
    front = pareto_front(rows, k)
    few = few_of(front, MOST_LINES - 1)
    shown = [row for row in rows if row in few or row.label == named]
    over = [row for row in rows if row in front or row in shown]
    _scale_bytes(panel, [row.bytes for row in rows])
    panel.scatter(*_places(rows, k), s=9, color=FAINT)
    panel.step(*_places(front, k), where="post", color=COLOURS[0], marker="")
    panel.scatter(*_places(over, k), s=9, color=COLOURS[0], zorder=3)
    deviations = [getattr(row, f"{k}_std") for row in shown]
    panel.errorbar(*_places(shown, k), deviations, fmt="none", ecolor=COLOURS[0])
    _from_0(panel)
    _name_at_end(panel, {row.label: (row.bytes, getattr(row, k)) for row in shown}, columns)


def _places(rows: Sequence[Any], k: str) -> tuple[list[int], list[float]]:
    """Bytes and accuracies of rows."""
    return [row.bytes for row in rows], [getattr(row, k) for row in rows]


def _from_0(panel: Axes) -> None:
    """Percentages begin at 0, and their ticks are round."""
    panel.set_ylim(bottom=0)
    panel.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))


def _scale_bytes(panel: Axes, sizes: Sequence[int]) -> None:
    """Powers of ten on the axis of bytes, and a place at the left for what keeps nothing."""
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


def _panels(columns: int, height: float, number: int = 1, across: int = 0) -> tuple[Any, list[Any]]:
    """A figure as wide as some columns of a page, and its panels, side by side if there is room."""
    figure = Figure(figsize=(INCHES[columns], height), layout="constrained")
    across = across or (1 if columns == 1 else number)
    grid = figure.subplots(-(-number // across), across, squeeze=False)
    return figure, list(grid.ravel())


def _lines(lines: dict[str, list[float]], columns: int, name: str) -> Figure:
    """A panel of lines by state."""
    figure, (panel,) = _panels(columns, INCHES_HIGH)
    for label, values in lines.items():
        panel.plot(values, label=printable(label), markevery=max(1, len(values) // 10))
    _label(panel, "", "state", name)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _legend_below(figure: Figure, columns: int) -> None:
    """Names stand below a panel, which keeps its height."""
    handles, names = figure.axes[0].get_legend_handles_labels()
    texts = [wrapped(name, 40) for name in names]
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
    if not ends:
        return
    texts = {name: wrapped(printable(name), 16 if columns == 1 else 28) for name in ends}
    low, high = panel.get_ylim()
    line = 1.25 * POINTS / 72 / (INCHES_HIGH - 0.5)  # of a panel's height
    places = spread(
        [(y - low) / (high - low) for _, y in ends.values()],
        [line * (text.count("\n") + 1.3) for text in texts.values()],
    )
    for i, ((name, end), place) in enumerate(zip(ends.items(), places, strict=True)):
        style = {"color": colours[i % len(colours)]} if colours else {"color": FAINT, "ls": ":"}
        panel.annotate(
            texts[name], end, (1.06, place), xycoords="data",
            textcoords=panel.transAxes, va="center", annotation_clip=False,
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "relpos": (0, 0.5), **style},
        )  # fmt: skip


def _label(panel: Axes, title: str, x: str, y: str) -> None:
    panel.set_title(title)
    panel.set_xlabel(x)
    panel.set_ylabel(y)


def shown(runs: Sequence[RunFolder]) -> Comparison:
    """What is drawn of some runs: the data set and number of states of most trainings."""
    return max(comparisons(runs), key=lambda comparison: len(comparison.trainings))


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
        warnings.filterwarnings("ignore", "Glyph")  # what the font lacks stands as a box
        figure.savefig(target, format=form, metadata=METADATA[form])
