"""A report is one self-contained HTML page about finished runs, without any network."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pandas as pd

from memoryless.errors import ConfigError
from memoryless.lab.analysis.comparison import Comparison, comparisons, main_comparisons
from memoryless.lab.analysis.conclusion import sentences
from memoryless.lab.analysis.frame import without_repeats
from memoryless.lab.analysis.paper_table import paper_tables
from memoryless.lab.analysis.tables import data_table, run_names, typology_tables
from memoryless.lab.report.pictures import charts, paper_figures
from memoryless.lab.report.tables import class_table, method_tables, states_tables
from memoryless.lab.runs import Description, RunFolder
from memoryless.names import counted, size
from memoryless.pages import Table as PageTable
from memoryless.pages import render as render_page
from memoryless.pages import table as page_table
from memoryless.pages import write
from memoryless.tables import Table

Working = Callable[[str], None]


def write_report(
    runs: Sequence[RunFolder],
    path: Path,
    methods: Sequence[str] = (),
    working: Working = lambda what: None,
    places: Sequence[Path] = (),
) -> None:
    """Write the page to a file; every number on it comes from the run folders.

    `working` is called with what is being done; `places` are the folders where the runs were found.
    """
    write(path, render(runs, methods, working, places), "output")


def render(
    runs: Sequence[RunFolder],
    methods: Sequence[str] = (),
    working: Working = lambda what: None,
    places: Sequence[Path] = (),
) -> str:
    """The page; the runs are scored again with `methods`, if any are named."""
    working("reading runs")
    runs = without_repeats(runs)
    found = comparisons(runs, methods, leave_out=True)
    if not found:
        raise ConfigError(
            "the runs there can give none of these methods: train with `statistics=full`, or name "
            "others"
        )
    names = run_names(runs, found)
    by_state = [run for run in runs if run.finished > 1]
    working("drawing charts")
    later = [comparison for comparison in found if not comparison.main.one_state]
    drawn = [charts(comparison, f"chart-{i}") for i, comparison in enumerate(later)]
    working("drawing the paper's figures")
    figures = paper_figures(by_state) if by_state else []
    working("scoring classes")
    classes = [class_table(comparison) for comparison in found]
    return render_page(
        "report",
        title=f"memoryless: report of {counted(len(runs), 'run', 'runs')}",
        leads=[list(sentences(c)) for c in main_comparisons(found)],
        methods=[method_tables(comparison) for comparison in found],
        states=states_tables(found),
        paper=[as_table(table) for table in _against_full(found)],
        charts=drawn,
        classes=classes,
        figures=figures,
        again=_figures_command(places or [run.path for run in by_state]),
        typology=[
            replace(as_table(table), title=names[str(run.path)])
            for run in by_state
            for table in typology_tables([run])
        ],
        runs=[_about(run, names[str(run.path)]) for run in runs],
        data=as_table(data_table(runs)),
    )


def as_table(table: Table) -> PageTable:
    """A table of the laboratory as a table of the page."""
    return page_table(table.title, table.columns, table.rows, table.caption)


def _against_full(found: Sequence[Comparison]) -> list[Table]:
    """Each data set that was also learned at once gets the paper's tables, with G_IL."""
    full = {c.row.data_id: c.full for c in found if c.full}
    return [
        table
        for data_id, training in full.items()
        for table in paper_tables(
            pd.concat([_memoryless(found, data_id), training.methods]), training.row.data
        )
    ]


def _memoryless(found: Sequence[Comparison], data_id: str) -> pd.DataFrame:
    """A data set's rows that keep no image, of trainings that have ended, under their labels."""
    return pd.DataFrame(
        {**entry.row._asdict(), "label": f"{entry.label}{c.number}"}
        for c in found
        if c.row.data_id == data_id and c.row.finished == c.row.T and not c.main.one_state
        for entry in c.entries
        if entry.row.memoryless
    )


def _figures_command(places: Sequence[Path]) -> str:
    """The command that draws all figures; it is typed in any folder."""
    return shlex.join(["memoryless", "figures", *(str(place.resolve()) for place in places)])


def _about(run: RunFolder, name: str) -> dict[str, Any]:
    """What was run, what it kept, and how to run it again."""
    about = run.about
    return {
        "name": name,
        "command": shlex.join(about.command),
        "facts": _facts(run, about),
        "settings": about.config.own().items(),
    }


def _facts(run: RunFolder, about: Description) -> list[tuple[str, Any]]:
    config, results = about.config, run.results()
    kept = size(sum(results[-1].bytes.record.values()))
    images = size(results[-1].bytes.images_not_kept)
    seconds = round(sum(state.seconds.training for state in results))
    return [
        ("folder", run.path),
        ("strategy", config.strategy + ("" if about.memoryless else " (not memoryless)")),
        ("data", f"{about.dataset}, {len(about.classes)} classes, order {config.order}"),
        ("states", f"{run.finished} finished, of {', '.join(map(str, about.sizes))} classes"),
        ("seed", about.seed),
        (
            "kept of the past",
            f"{kept} for all methods together, of which each needs only what the tables say; its "
            f"training images would have taken {images}",
        ),
        (
            "training",
            f"{timedelta(seconds=seconds)} on {about.machine.system}, {about.machine.cores} cores",
        ),
        ("versions", ", ".join(f"{name} {number}" for name, number in about.versions.items())),
        ("commit", about.commit or "not from a checkout"),
    ]
