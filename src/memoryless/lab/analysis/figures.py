"""The paper's figures drawn from run folders; `measures` has their numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from memoryless.errors import WriteError
from memoryless.lab.analysis import measures
from memoryless.lab.analysis.compare import pareto_front
from memoryless.lab.analysis.summary import Row, summarise
from memoryless.lab.analysis.table import by_stream
from memoryless.lab.runs import RunFolder
from memoryless.methods import methods_of
from memoryless.names import choose

mpl.rcParams["svg.hashsalt"] = "memoryless"  # equal figures give equal files
METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}


def draw_magnitudes(runs: Sequence[RunFolder]) -> Figure:
    """Mean |w| of new and past classes by state, as trained and standardised (Fig. 2)."""
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
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def draw_similarity(runs: Sequence[RunFolder]) -> Figure:
    """Similarity of the first state's features to the last model's (Fig. 3)."""
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    panel = figure.subplots()
    for run in runs:
        values = measures.feature_similarity(run)
        panel.plot(range(len(values)), values, marker="o", label=_name(run))
    _label(
        panel, "features of the first state's test images", "state", "cosine with the last state"
    )
    panel.set_ylim(0, 1.05)
    panel.legend()
    return figure


def draw_rows(runs: Sequence[RunFolder]) -> Figure:
    """Values of single rows with the fitted normal and a test of normality (Fig. 4)."""
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
    """Accuracy by state, of the paper's methods (or their like) and the best."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    panel = figure.subplots()
    for run in runs:
        shown = {*methods_of(run.about["config"]["strategy"]), measures.best_method(run)}
        for method, values in measures.accuracy_lines(run).items():
            if method not in shown:
                continue
            panel.plot(range(len(values)), values, marker=".", label=method)
    _label(panel, "all classes seen so far", "state", "top-5 accuracy (%)")
    panel.set_ylim(0, 100)
    figure.legend(loc="outside right center", fontsize="small")
    return figure


def draw_confusion(runs: Sequence[RunFolder]) -> Figure:
    """True state by predicted state at the end, for the run's first and best methods."""
    run = runs[0]
    chosen = list(
        dict.fromkeys([next(iter(run.results()[-1]["methods"])), measures.best_method(run)])
    )
    figure = Figure(figsize=(4.5 * len(chosen), 4), layout="constrained")
    for panel, method in zip(
        figure.subplots(1, len(chosen), squeeze=False)[0], chosen, strict=True
    ):
        image = panel.imshow(measures.state_confusion(run, method), vmin=0, vmax=100, cmap="Blues")
        _label(panel, method, "predicted state", "true state")
    figure.colorbar(image, ax=panel, label="% of the state's test images")
    return figure


def draw_pareto(runs: Sequence[RunFolder]) -> Figure:
    """Accuracy against bytes kept, of the methods that the runs have scored."""
    return pareto_figure(summarise(runs))


def pareto_figure(rows: Sequence[Row], k: str = "top1") -> Figure:
    """Accuracy against bytes kept, with the front of each stream and strategy named."""
    figure = Figure(figsize=(9, 5), layout="constrained")
    panel = figure.subplots()
    for title, group in by_stream([row for row in rows if row.memoryless]).items():
        front = pareto_front(group, k)
        places, values = ([_at_least_one(r) for r in group], [getattr(r, k) for r in group])
        colour = panel.scatter(places, values, 14).get_facecolor()
        best = [(_at_least_one(row), getattr(row, k)) for row in front]
        panel.step(*zip(*best, strict=True), where="post", color=colour, label=title)
        for row, place in zip(front, best, strict=True):
            panel.annotate(row.method, place, (3, 3), textcoords="offset points", fontsize=7)
    panel.set_xscale("log")
    panel.margins(x=0.15)  # names stand to the right of their dots
    _label(
        panel, "methods that no other beats with as few bytes", "bytes kept", f"{k} accuracy (%)"
    )
    if panel.lines:
        panel.legend(loc="lower right", fontsize="small")
    return figure


def _at_least_one(row: Row) -> int:
    """Bytes on a logarithmic axis, which has no 0."""
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
    panel.set_title(title, fontsize="medium")
    panel.set_xlabel(x)
    panel.set_ylabel(y)


def _name(run: RunFolder) -> str:
    config = run.about["config"]
    memory = f" {config['memory']:.0%}" if config["strategy"] == "replay" else ""
    free = "" if run.about["memoryless"] else " (not memoryless)"
    return f"{config['strategy']}{memory}{free}, seed {run.about['seed']}"


def save_figures(
    runs: Sequence[RunFolder], folder: Path, names: Sequence[str], formats: Sequence[str]
) -> list[Path]:
    """Draw the figures named into files, one for each format."""
    paths = []
    for name in names:
        figure = FIGURES[name](runs)
        paths += [save_figure(figure, folder / f"{name}.{form}") for form in formats]
    return paths


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure in the format that the file's ending names."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata=choose("format", path.suffix[1:], METADATA))
    except OSError as error:
        raise WriteError(f"cannot write {path} ({error.strerror})") from error
    return path
