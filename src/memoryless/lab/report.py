"""memoryless report: one self-contained HTML page about finished runs, without any network."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless import pages
from memoryless.errors import ConfigError
from memoryless.lab.comparison import (
    Comparison,
    cell,
    comparisons,
    main_comparisons,
    protocol,
    training_names,
)
from memoryless.lab.conclusion import sentences
from memoryless.lab.frame import without_repeats
from memoryless.lab.measures import class_accuracies
from memoryless.lab.paper_tables import paper_tables
from memoryless.lab.rescore import named_methods
from memoryless.lab.runs import Description, RunFolder, find_runs
from memoryless.lab.table import COLUMNS, bounds, columns_for, data_table, typology_tables
from memoryless.names import counted, size
from memoryless.output import say
from memoryless.progress import Display
from memoryless.tables import Table

if TYPE_CHECKING:
    import pandas as pd

Working = Callable[[str], None]


def report(
    *runs: Path,
    methods: tuple[str, ...] = (),
    output: Path = Path("report.html"),
    force: bool = False,
) -> None:
    """Write one self-contained page: which method to use, accuracies, charts, classes, runs.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    methods
        Methods of the accuracy tables, scored anew without training, such as FT
        finetune+lda+bg_z+linear; by default those each run has scored.
    output
        The page.
    force
        Write the page even if a file is there that is no page of memoryless.
    """
    pages.check_page(output, force, "output")
    found = [run for run in find_runs(runs) if run.finished]
    if not found:
        raise ConfigError("the runs there have no finished state yet: let memoryless run go on")
    with Display() as display:
        names = named_methods(found, methods)
        write_report(found, output, names, partial(display.reading, found), runs)
    say(f"the report is {output}")


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
    pages.write(path, render(runs, methods, working, places), "output")


def render(
    runs: Sequence[RunFolder],
    methods: Sequence[str] = (),
    working: Working = lambda what: None,
    places: Sequence[Path] = (),
) -> str:
    """The page; the runs are scored again with `methods`, if any are named."""
    from memoryless.lab.pictures import charts, paper_figures  # with matplotlib

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
    return pages.render(
        "report",
        title=f"memoryless: report of {counted(len(runs), 'run', 'runs')}",
        leads=[list(sentences(c)) for c in main_comparisons(found)],
        methods=[method_tables(comparison) for comparison in found],
        states=states_tables(found),
        paper=_against_full(found),
        charts=drawn,
        classes=classes,
        figures=figures,
        again=_figures_command(places or [run.path for run in by_state]),
        typology=[
            replace(table, title=names[str(run.path)])
            for run in by_state
            for table in typology_tables([run])
        ],
        runs=[_about(run, names[str(run.path)]) for run in runs],
        data=data_table(runs),
    )


def run_names(runs: Sequence[RunFolder], found: Sequence[Comparison]) -> dict[str, str]:
    """A distinct name for each run, by its path: data, states, training and seed."""
    names = {
        str(run.path): f"{comparison.title}: {name}, seed {run.about.seed}"
        for comparison in found
        for name, training in training_names(comparison.trainings).items()
        for run in training.runs
    }
    return {str(run.path): names.get(str(run.path), str(run.path)) for run in runs}


@dataclass(frozen=True)
class Folded:
    """A table of the few rows that are read first, and one of all, if there are more."""

    first: Table
    whole: Table | None


MORE: dict[str, Callable[[Any], str]] = {
    "multiplications": lambda row: f"{row.multiplications:,}",
    "seeds": lambda row: str(row.seeds),
}
KINDS = ("reference", "control", "strategy")
"""Marks that change how a page shows a row."""
BOUNDS = {"chance": "bound", "Full": "bound"}
AT_ONCE = {"Full": ["all classes at once", "not memoryless"]}


def marks_of(entry: Any, comparison: Comparison) -> list[str]:
    """What is said of a row beside its name."""
    found = {
        comparison.role(entry): True,
        "strategy": entry.method == entry.strategy and entry.training is not comparison.control,
        "not memoryless": not entry.memoryless,
    }
    return [mark for mark, holds in found.items() if mark and holds]


def method_tables(comparison: Comparison) -> Folded:
    """Methods of one data set and number of states, highest top-1 first, with chance and Full."""
    first, entries = comparison.shown, comparison.entries
    whole = None if len(first) == len(entries) else _methods(comparison, entries)
    return Folded(_methods(comparison, first), whole)


def _methods(comparison: Comparison, entries: Sequence[Any]) -> Table:
    columns = columns_for(comparison) | MORE
    rows = [[e.label, *(show(e) for show in columns.values())] for e in entries]
    marks = {entry.label: marks_of(entry, comparison) for entry in entries}
    return Table(
        comparison.title,
        f"percent of the {comparison.row.images} images; {protocol(comparison.main)}",
        ["method", *columns],
        [*rows, *bounds(comparison, columns)],
        marks=marks | AT_ONCE,
        kinds=_kinds(marks) | BOUNDS,
    )


def _kinds(marks: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """How each row is shown, by its name: as its first mark says, if that is a kind."""
    return {name: own[0] for name, own in marks.items() if own and own[0] in KINDS}


def states_tables(found: Sequence[Comparison]) -> list[Folded]:
    """Each data set that was cut into several numbers of states gets a table of methods by it."""
    leading = main_comparisons(found)
    by_data: dict[str, list[Comparison]] = {}
    for comparison in found:
        if not comparison.main.one_state and comparison.row.finished == comparison.row.T:
            by_data.setdefault(comparison.row.data_id, []).append(comparison)
    return [
        _by_states(here, next((c for c in here if c in leading), None))
        for here in by_data.values()
        if len(here) > 1
    ]


def _by_states(found: Sequence[Comparison], leading: Comparison | None) -> Folded:
    """Only the leading comparison's reference is marked: the page begins with it."""
    reference = leading.reference.label if leading and leading.main.row.memoryless else ""
    found = sorted(found, key=lambda c: c.row.T)
    first = dict.fromkeys(e.label for c in found for e in c.shown)
    every = dict.fromkeys(e.label for c in found for e in c.entries)
    whole = None if len(first) == len(every) else _states_table(found, every, reference)
    return Folded(_states_table(found, first, reference), whole)


def _states_table(found: Sequence[Comparison], labels: Iterable[str], reference: str) -> Table:
    """Top-1 by method and number of states, the highest mean first."""
    chance = [c.row.chance_top1 for c in found]
    rows = [(float(np.mean(chance)), ["chance", *map(cell, chance)])]
    by_label = [{entry.label: entry for entry in c.entries} for c in found]
    for label in labels:
        here = [entries.get(label) for entries in by_label]
        mean = float(np.mean([entry.top1 for entry in here if entry]))
        rows.append((mean, [label, *(COLUMNS["top-1"](e) if e else "" for e in here)]))
    marks = {
        entry.label: [mark for mark in marks_of(entry, c) if mark != "reference"]
        for c in reversed(found)
        for entry in c.entries
    }
    if reference in marks:
        marks[reference] = ["reference", *marks[reference]]
    return Table(
        f"{found[0].row.data}: methods by number of states T",
        "top-1 in percent, average over states 1 and later",
        ["method", *(f"T={c.states}{c.number}" for c in found)],
        [row for _, row in sorted(rows, key=lambda pair: -pair[0])],
        marks=marks,
        kinds=_kinds(marks) | BOUNDS,
    )


def class_table(comparison: Comparison) -> Table:
    """Each class's top-1 accuracy at the end by the reference method, mean over seeds."""
    entry = comparison.reference
    runs = entry.training.runs
    accuracy = np.mean([class_accuracies(run, entry.method) for run in runs], 0)
    about = runs[0].about
    states = np.repeat(np.arange(len(about.sizes)), about.sizes)
    return Table(
        f"{comparison.title}: classes by {entry.label}",
        "top-1 in percent after the last state, worst first; a heading sorts by its column",
        ["class", "state", "top-1"],
        [
            [about.classes[c], str(states[c]), f"{accuracy[c]:.1f}"]
            for c in np.argsort(accuracy, kind="stable")
        ],
        sortable=True,
    )


def _against_full(found: Sequence[Comparison]) -> list[Table]:
    """Each data set that was also learned at once gets the paper's tables, with G_IL."""
    import pandas as pd

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
    import pandas as pd

    return pd.DataFrame(
        {**entry._asdict(), "label": f"{entry.label}{c.number}"}
        for c in found
        if c.row.data_id == data_id and c.row.finished == c.row.T and not c.main.one_state
        for entry in c.entries
        if entry.memoryless
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
