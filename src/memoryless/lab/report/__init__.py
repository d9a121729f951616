"""A report is one self-contained HTML page about finished runs, without any network."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, Template
from markupsafe import Markup, escape

from memoryless.errors import ConfigError, WriteError
from memoryless.lab.analysis.comparison import Comparison, comparisons, main_comparisons
from memoryless.lab.analysis.conclusion import sentences
from memoryless.lab.analysis.frame import without_repeats
from memoryless.lab.analysis.paper_table import paper_tables
from memoryless.lab.analysis.tables import data_table, run_names, typology_tables
from memoryless.lab.report.pictures import charts, paper_figures
from memoryless.lab.report.tables import (
    PageRow,
    PageTable,
    class_table,
    method_tables,
    states_tables,
)
from memoryless.lab.runs import RunFolder
from memoryless.names import size
from memoryless.tables import Table

Told = Callable[[str], None]


def write_report(
    runs: Sequence[RunFolder],
    path: Path,
    methods: Sequence[str] = (),
    working: Told = lambda what: None,
    places: Sequence[Path] = (),
) -> None:
    """Write the page to a file; every number on it comes from the run folders.

    `working` is told what is being done; `places` are the folders where the runs were found.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(runs, methods, working, places), encoding="utf-8", errors="replace")
    except OSError as error:
        raise WriteError(
            f"cannot write {path} ({error.strerror}): choose another `output`"
        ) from error


def render(
    runs: Sequence[RunFolder],
    methods: Sequence[str] = (),
    working: Told = lambda what: None,
    places: Sequence[Path] = (),
) -> str:
    """The page, with `methods` scored anew in place of those that the runs scored."""
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
    later = [comparison for comparison in found if not comparison.main.one_state]
    working("drawing charts")
    drawn = [charts(comparison) for comparison in later]
    working("drawing the paper's figures")
    figures = paper_figures(by_state) if by_state else []
    working("scoring classes")
    classes = [class_table(comparison) for comparison in found]
    return fill(
        lead=[[code(text) for text in sentences(c)] for c in main_comparisons(found)],
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
        runs=[_facts(run) | {"name": names[str(run.path)]} for run in runs],
        data=as_table(data_table(runs)),
    )


def fill(**parts: Any) -> str:
    """The template escapes every part that it shows, but for drawings, which are markup."""
    return _template().render(**parts).lstrip()


@cache
def _template() -> Template:
    """The page without its parts: its style and script stand in it."""
    folder = files("memoryless.lab.report")
    style, script = (Markup((folder / name).read_text()) for name in ("page.css", "sort.js"))
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    page.filters["breakable"] = breakable
    return page.from_string(
        (folder / "page.html.j2").read_text(), {"style": style, "script": script}
    )


def breakable(name: str) -> Markup:
    """A method's name, which may be broken after a plus."""
    return escape(name).replace("+", Markup("+<wbr>"))


def code(text: str) -> Markup:
    """Text with what stands between its first and last backtick as code.

    Elsewhere neither a number and its unit nor top-1 are torn apart at the end of a line.

    >>> code("type `a < b`")
    Markup('type <code>a &lt; b</code>')
    """
    plain, *rest = text.split("`", 1)
    if not rest or "`" not in rest[0]:
        return escape(re.sub(r"(?<=\d) ", "\u00a0", text).replace("top-", "top\u2011"))
    inside, _, after = rest[0].rpartition("`")
    return Markup("{}<code>{}</code>{}").format(code(plain), inside, after)


def as_table(table: Table) -> PageTable:
    """A table of the laboratory as a table of the page."""
    rows = [PageRow(name, cells) for name, *cells in table.rows]
    return PageTable(table.title, table.caption, table.columns[1:], rows, head=table.columns[0])


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


def _facts(run: RunFolder) -> dict[str, Any]:
    """The facts tell what was run, what it kept, and how to run it again."""
    about, results = run.about, run.results()
    return {
        "path": str(run.path),
        "about": about,
        "command": shlex.join(about["command"]),
        "kept": size(sum(results[-1]["bytes"]["record"].values())),
        "images": size(results[-1]["bytes"]["images_not_kept"]),
        "trained": str(timedelta(seconds=round(sum(r["seconds"]["training"] for r in results)))),
        "finished": run.finished,
    }
