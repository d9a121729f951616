"""A report is one self-contained HTML page about finished runs: no network, no scripts."""

from __future__ import annotations

import io
import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup

from memoryless.errors import ConfigError, WriteError
from memoryless.lab.analysis.compare import compare_grids
from memoryless.lab.analysis.figures import FIGURES, write_figure
from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.measures import best_method, class_accuracies
from memoryless.lab.analysis.paper_table import paper_tables
from memoryless.lab.analysis.summary import Summary, summarise
from memoryless.lab.analysis.table import count_states, grids
from memoryless.lab.analysis.typology import data_grid, typology_grids
from memoryless.lab.runs import RunFolder

CAPTIONS = {
    "magnitudes": "Mean |w| of new and past classes, as trained and standardised (Fig. 2).",
    "similarity": "First state's test images: cosine of features with the last model's (Fig. 3).",
    "rows": "Values of single rows, the fitted normal, and a test of normality (Fig. 4).",
    "accuracy": "Top-5 accuracy over all classes seen so far: the paper's methods, and the one "
    "that is best at the end on these test images.",
    "pareto": "Accuracy against bytes kept: what no other method beats with as few.",
    "confusion": "True state by predicted state at the end: the first method, and the one that is "
    "best at the end on these test images.",
}


def write_report(runs: Sequence[RunFolder], path: Path, methods: Sequence[str] = ()) -> None:
    """Write the page to a file; every number on it comes from the run folders."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(runs, methods), encoding="utf-8", errors="replace")
    except OSError as error:
        raise WriteError(
            f"cannot write {path} ({error.strerror}): choose another `output`"
        ) from error


def render(runs: Sequence[RunFolder], methods: Sequence[str] = ()) -> str:
    """The page, with `methods` scored anew in place of those that the runs scored."""
    by_state = [run for run in runs if run.finished > 1]
    rows = summarise(runs, methods=methods, leave_out=True)
    if not rows:
        raise ConfigError(
            "the runs there can give none of these methods: train with `statistics=full`, or name "
            "others"
        )
    return fill(
        summary=_summary(rows),
        accuracy=grids(rows),
        paper=_against_full(rows),
        fronts=_fronts(rows),
        runs=[_facts(run) for run in runs],
        figures=[(n, CAPTIONS[n], _svg(n, by_state)) for n in FIGURES if by_state],
        again=shlex.join(["memoryless", "figures", *(str(run.path) for run in by_state)]),
        typology=typology_grids(by_state),
        data=data_grid(runs),
        classes=[_classes(run) for run in runs],
    )


def fill(**parts: Any) -> str:
    """The template escapes every part that it shows, but for the figures, which are markup."""
    template = (files("memoryless.lab.report") / "page.html.j2").read_text()
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return page.from_string(template).render(**parts).lstrip()


def _summary(rows: Sequence[Summary]) -> str:
    """One sentence tells which method is best in each data set and number of states."""
    streams: dict[tuple[str, str], list[Summary]] = {}
    for row in rows:
        streams.setdefault((row.data, row.states), []).append(row)
    clauses = [_best(group) for group in streams.values()]
    return f"On the test images of {'; of '.join(clauses)}."


def _best(rows: Sequence[Summary]) -> str:
    """The clause is of the memoryless rows, where there are any."""
    among = [row for row in rows if row.memoryless] or rows
    k, mean = ("last_top1", "") if math.isnan(among[0].top1) else ("top1", " on average")
    best = max(among, key=lambda row: float(getattr(row, k)))
    known = f" (chance {best.chance_top1:.1f})" if mean else ""
    kept = f"with {best.bytes_kept:,} bytes and no image kept of the past"
    chosen = f"best of {len(among)} methods{mean}" if len(among) > 1 else "only method"
    return (
        f"{best.data} in {count_states(best)}, the {chosen} is {best.method}: top-1 "
        f"{getattr(best, k):.1f} %{known}, {kept if best.memoryless else 'not memoryless'}"
    )


def _against_full(rows: Sequence[Summary]) -> list[Grid]:
    """Each data set that was also learned at once gets the paper's tables, with G_IL."""
    rows = [row for row in rows if "/" not in row.states]  # that one has not ended
    sets = dict.fromkeys(row.data for row in rows if row.method == "Full")
    return [
        grid
        for data in sets
        for grid in paper_tables(
            [r for r in rows if r.data == data and (r.memoryless or r.method == "Full")], data
        )
    ]


def _fronts(rows: Sequence[Summary]) -> list[Grid]:
    """The tables hold the methods that no other of their runs beats with as few bytes."""
    later = [row for row in rows if row.memoryless and not math.isnan(row.top1)]
    return [
        replace(grid, rows=[line for line in grid.rows if line[-1]])
        for grid in compare_grids(sorted(later, key=lambda row: -row.top1))
    ]


def _facts(run: RunFolder) -> dict[str, Any]:
    """The facts tell what was run, what it kept, and how to run it again."""
    about, results = run.about, run.results()
    return {
        "path": str(run.path),
        "about": about,
        "command": shlex.join(about["command"]),
        "kept": sum(results[-1]["bytes"]["record"].values()),
        "images": results[-1]["bytes"]["images_not_kept"],
        "trained": str(timedelta(seconds=round(sum(r["seconds"]["training"] for r in results)))),
        "finished": f"{run.finished} of {len(about['sizes'])}",
    }


def _svg(name: str, runs: Sequence[RunFolder]) -> Markup:
    """A figure is markup that stands in the page; its ids must not meet another figure's."""
    text = io.StringIO()
    write_figure(FIGURES[name](runs), text, "svg")
    drawing = text.getvalue()[text.getvalue().index("<svg") :]
    for sign in ('id="', 'href="#', "url(#"):
        drawing = drawing.replace(sign, f"{sign}{name}-")
    return Markup(drawing)


def _classes(run: RunFolder) -> Grid:
    """The table shows each class's top-1 accuracy at the end by the run's best method."""
    method = best_method(run)
    accuracy = class_accuracies(run, method)
    names, sizes = run.about["classes"], run.about["sizes"]
    states = np.repeat(np.arange(len(sizes)), sizes)
    order = np.argsort(accuracy, kind="stable")
    rows = [[names[c], str(states[c]), f"{accuracy[c]:.1f}"] for c in order]
    entries = [{"class": names[c], "state": int(states[c]), "top1": accuracy[c]} for c in order]
    caption = f"by {method}, best at the end on these test images; worst first"
    return Grid(f"{run.path}: classes", caption, ["class", "state", "top-1"], rows, entries)
