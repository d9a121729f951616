"""The paper's figures are drawn from run folders; `measures` has their numbers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from memoryless.errors import WriteError
from memoryless.lab.analysis import measures
from memoryless.lab.analysis.compare import pareto_front
from memoryless.lab.analysis.summary import Summary, summarise
from memoryless.lab.analysis.table import by_stream, stream_name
from memoryless.lab.runs import RunFolder
from memoryless.methods import methods_of
from memoryless.names import choose, printable

METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}
MOST_NUMBERED = 10  # states whose cells still have room for a number


def plain(text: str) -> str:
    r"""A figure shows the text: `$` begins no maths, and half a character stands as a sign for it.

    >>> plain("$5 \udcff\n")
    '\\$5 �\\n'
    """
    text = printable(re.sub("[\ud800-\udfff]", "\ufffd", text)).replace("$", r"\$")
    return f" {text}" if text.startswith("_") else text  # such a label is left out of legends


def draw_magnitudes(runs: Sequence[RunFolder]) -> Figure:
    """Bars show mean |w| of new and past classes by state, as trained and standardised (Fig. 2)."""
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    panels = figure.subplots(1, 2)
    numbers = measures.weight_magnitudes(runs[0])
    states = np.arange(1, len(numbers["new"]) + 1)
    for panel, prefix, title in zip(
        panels, ("", "siw_"), ("as trained", "standardised"), strict=True
    ):
        panel.bar(states - 0.2, numbers[f"{prefix}new"], 0.4, label="new classes")
        panel.bar(states + 0.2, numbers[f"{prefix}past"], 0.4, label="past classes")
        _label(panel, f"rows {title}", "state", "mean |w|")
        _count_states(panel.xaxis)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def draw_similarity(runs: Sequence[RunFolder]) -> Figure:
    """Lines show how similar the first state's features stay to the last model's (Fig. 3)."""
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    panel = figure.subplots()
    for run in runs:
        values = measures.feature_similarity(run)
        panel.plot(range(len(values)), values, marker="o", label=plain(_name(run)))
    _label(
        panel, "features of the first state's test images", "state", "cosine with the last state"
    )
    _count_states(panel.xaxis)
    panel.set_ylim(0, 1.05)
    panel.legend()
    return figure


def draw_rows(runs: Sequence[RunFolder]) -> Figure:
    """Histograms show single rows with the fitted normal and a test of normality (Fig. 4)."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    panels = figure.subplots(2, 3, squeeze=False).ravel()
    for panel, row in zip(panels, measures.row_distributions(runs[0]), strict=False):
        panel.hist(row.values, bins=20, density=True, alpha=0.6)
        x = np.linspace(row.values.min(), row.values.max(), 200)
        spread = row.std or 1.0
        normal = np.exp(-(((x - row.mean) / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi))
        panel.plot(x, normal)
        _label(panel, f"{row.label} (p = {row.p_value:.2g})", "w", "density")
    return figure


def draw_accuracy(runs: Sequence[RunFolder]) -> Figure:
    """Lines show accuracy by state, of the paper's methods (or their like) and the best.

    The legend lists them from the highest end to the lowest; runs of one method share a colour.
    """
    figure = Figure(figsize=(9, 5), layout="constrained")
    panel = figure.subplots()
    panel.set_prop_cycle(color=map(tuple, mpl.colormaps["tab20"](range(20))))
    lines = []
    for run in runs:
        shown = {*methods_of(run.about["config"]["strategy"]), measures.best_method(run)}
        lines += [line for line in measures.accuracy_lines(run).items() if line[0] in shown]
    colours: dict[str, Any] = {}
    for method, values in sorted(lines, key=lambda line: -line[1][-1]):
        label = None if method in colours else plain(method)
        (line,) = panel.plot(
            range(len(values)), values, marker=".", color=colours.get(method), label=label
        )
        colours[method] = line.get_color()
    _label(panel, "all classes seen so far", "state", "top-5 accuracy (%)")
    _count_states(panel.xaxis)
    panel.set_ylim(0)
    figure.legend(loc="outside right center", fontsize="small")
    return figure


def draw_confusion(runs: Sequence[RunFolder]) -> Figure:
    """Cells show true by predicted state at the end, for the run's first and best methods."""
    run = runs[0]
    chosen = list(
        dict.fromkeys([next(iter(run.results()[-1]["methods"])), measures.best_method(run)])
    )
    figure = Figure(figsize=(4.5 * len(chosen), 4), layout="constrained")
    for panel, method in zip(
        figure.subplots(1, len(chosen), squeeze=False)[0], chosen, strict=True
    ):
        percent = measures.state_confusion(run, method)
        image = panel.imshow(percent, vmin=0, vmax=100, cmap="Blues")
        if run.finished <= MOST_NUMBERED:
            _write_numbers(panel, percent)
        _label(panel, method, "predicted state", "true state")
        _count_states(panel.xaxis, panel.yaxis)
    figure.colorbar(image, ax=panel, label="% of the state's test images")
    return figure


def _write_numbers(panel: Axes, percent: np.ndarray) -> None:
    for (row, column), value in np.ndenumerate(percent):
        ink = "white" if value > 50 else "black"
        panel.text(column, row, f"{value:.0f}", color=ink, ha="center", va="center")


def draw_pareto(runs: Sequence[RunFolder]) -> Figure:
    """Dots show accuracy against bytes kept, of the methods that the runs have scored."""
    return pareto_figure(summarise(runs))


def pareto_figure(rows: Sequence[Summary], k: str = "top1") -> Figure:
    """Dots show accuracy against bytes kept; the front of each stream and strategy is named."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    panel = figure.subplots()
    streams = by_stream([row for row in rows if row.memoryless])
    names = [stream_name(group[0]) for group in streams.values()]
    for title, group in streams.items():
        front = pareto_front(group, k)
        places, values = ([_at_least_one(r) for r in group], [getattr(r, k) for r in group])
        colour = panel.scatter(places, values, 14).get_facecolor()
        best = [(_at_least_one(row), getattr(row, k)) for row in front]
        name = stream_name(group[0])
        label = plain(title if names.count(name) > 1 else name)
        panel.step(*zip(*best, strict=True), where="post", color=colour, label=label)
        for row, place in zip(front, best, strict=True):
            # Above and to the left of a dot on the front there is no other.
            panel.annotate(
                plain(row.method), place, (-4, 3), textcoords="offset points", ha="right",
                fontsize="small",
            )  # fmt: skip
    panel.set_xscale("log")
    panel.margins(x=0.2, y=0.1)  # room for names
    title = "methods that no other beats with as few bytes are named"
    _label(panel, title, "bytes kept (none stand as one)", f"{k} accuracy (%)")
    if panel.lines:
        panel.legend(loc="lower right", fontsize="small")
    return figure


def _at_least_one(row: Summary) -> int:
    """A logarithmic axis has no 0, so no bytes stand as one."""
    return max(row.bytes_kept, 1)


FIGURES: dict[str, Callable[[Sequence[RunFolder]], Figure]] = {
    "magnitudes": draw_magnitudes,
    "similarity": draw_similarity,
    "rows": draw_rows,
    "accuracy": draw_accuracy,
    "confusion": draw_confusion,
    "pareto": draw_pareto,
}


def _label(panel: Axes, title: str, x: str, y: str) -> None:
    panel.set_title(plain(title), fontsize="medium")
    panel.set_xlabel(x)
    panel.set_ylabel(y)


def _count_states(*axes: Axis) -> None:
    for axis in axes:
        axis.set_major_locator(MaxNLocator(integer=True))


def _name(run: RunFolder) -> str:
    config = run.about["config"]
    memory = f" {config['memory']:.0%}" if config["strategy"] == "replay" else ""
    free = "" if run.about["memoryless"] else " (not memoryless)"
    return f"{config['strategy']}{memory}{free}, seed {run.about['seed']}"


def save_figures(
    runs: Sequence[RunFolder], folder: Path, names: Sequence[str], formats: Sequence[str]
) -> list[Path]:
    """Each figure named is drawn into files, one for each format."""
    paths = []
    for name in names:
        figure = FIGURES[name](runs)
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
    with mpl.rc_context({"svg.hashsalt": "memoryless"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # what the font lacks stands as a box
        figure.savefig(target, format=form, metadata=METADATA[form])
