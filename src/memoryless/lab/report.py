"""memoryless report: one HTML page about finished runs, which needs no other file."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from memoryless import pages
from memoryless.errors import ConfigError
from memoryless.lab.comparison import (
    Comparison,
    cell,
    comparisons,
    kept,
    main_comparisons,
    protocol,
)
from memoryless.lab.config import CONTROL
from memoryless.lab.frame import named_methods, without_repeats
from memoryless.lab.measures import class_accuracies
from memoryless.lab.runs import RunFolder, find_runs
from memoryless.lab.table import data_table, method_table, typology_tables
from memoryless.names import counted, size
from memoryless.output import say
from memoryless.progress import Display
from memoryless.strategies import own_values
from memoryless.tables import Table

Working = Callable[[str], None]


def report(
    *runs: Path,
    methods: tuple[str, ...] = (),
    output: Path = Path("report.html"),
    force: bool = False,
) -> None:
    """Write one HTML page about finished runs: accuracies, charts, classes, settings.

    The page needs no other file and no network.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    methods
        Methods of the accuracy tables, scored again without training, for example FT
        finetune+lda+bg_z+linear. By default, those that each run scored.
    output
        The page.
    force
        Write the page even if a file is there that is no page of memoryless.
    """
    pages.check_page(output, force, "output")
    found = [run for run in find_runs(runs) if run.finished]
    if not found:
        raise ConfigError("these runs have no finished state: start memoryless run again")
    with Display() as display:
        names = named_methods(found, methods)
        page = render(found, names, partial(display.reading, found), runs)
    pages.write(output, page, "output")
    say(f"the report is {output}")


def render(
    runs: Sequence[RunFolder],
    methods: Sequence[str] = (),
    working: Working = lambda what: None,
    places: Sequence[Path] = (),
) -> str:
    """Return the page; every number on it comes from the run folders.

    The runs are scored again with `methods`, if any are named. `working` is called with the name of
    each step; `places` are the folders that the user named.
    """
    from memoryless.lab.charts import BY_STREAM, OF_THE_PAPER, pictures, shown  # with matplotlib

    working("reading runs")
    runs = without_repeats(runs)
    found = comparisons(runs, methods, leave_out=True)
    if not found:
        raise ConfigError(
            "these runs can give none of these methods: train with `statistics=full`, or name "
            "others"
        )
    names = run_names(runs, found)
    by_state = [run for run in runs if run.finished > 1]
    folders = [str(place.resolve()) for place in places or [run.path for run in by_state]]
    working("drawing charts")
    later = [comparison for comparison in found if not comparison.one_state]
    charts = [(c.title, pictures(c, BY_STREAM, f"chart-{i}")) for i, c in enumerate(later)]
    working("drawing the paper's figures")
    drawn = shown(by_state) if by_state else None
    figures = pictures(drawn, OF_THE_PAPER, "paper") if drawn else []
    working("scoring classes")
    return pages.render(
        "report",
        title=f"memoryless: report of {counted(len(runs), 'run', 'runs')}",
        leads=[list(sentences(c)) for c in main_comparisons(found)],
        methods=[_method_tables(comparison) for comparison in found],
        states=states_tables(found),
        paper=paper_measures(found),
        charts=charts,
        classes=[class_table(comparison) for comparison in found],
        figures=figures,
        drawn=f"{drawn.title}, {drawn.reference.name}" if drawn else "",
        again=shlex.join(["memoryless", "figures", *folders]),
        typology=[
            replace(table, title=names[run.path])
            for run in by_state
            for table in typology_tables([run])
        ],
        runs=[_about(run, names[run.path]) for run in runs],
        data=data_table(runs),
    )


def run_names(runs: Sequence[RunFolder], found: Sequence[Comparison]) -> dict[Path, str]:
    """Return a distinct name for each run, by its path: data, states, training and seed."""
    return {run.path: str(run.path) for run in runs} | {
        run.path: f"{comparison.title}: {own[0].name}, seed {run.about.seed}"
        for comparison in found
        for training, own in comparison.by_training.items()
        for run in comparison.runs(training)
    }


def sentences(comparison: Comparison) -> Iterator[str]:
    """Yield sentences about the reference method: accuracy, forgetting, bytes, and the control."""
    reference, control = comparison.reference, comparison.control
    yield _reaches(comparison)
    if not comparison.one_state:
        yield _forgets(comparison)
    yield _keeps(reference)
    if control:
        yield _against_control(reference, control)
    elif reference.memoryless and not comparison.one_state and reference.strategy != CONTROL:
        yield "There is no untrained control to compare with: `memoryless run` adds one by default."


def _reaches(comparison: Comparison) -> str:
    entry = comparison.reference
    which = "The reference method, fixed in advance," if entry.memoryless else "The method"
    average = "" if comparison.one_state else " (top-1, average of states 1 and later)"
    return (
        f"{comparison.title}: {which} is {entry.label}. It gets {_percent(entry)} of the "
        f"{entry.images} images right{average}; chance is {entry.chance_top1:.1f} %."
    )


def _percent(entry: Any) -> str:
    return f"{cell(entry.top1, entry.top1_std)} %"


def _forgets(comparison: Comparison) -> str:
    entry, own = comparison.reference, comparison.before_and_after[0]
    text = f"It forgets {entry.forgetting:.1f} points of the accuracy that it had on a state"
    if own is entry or own.method != own.strategy:
        return f"{text}."
    return f"{text}; the trained layer alone ({own.label}) forgets {own.forgetting:.1f}."


def _keeps(entry: Any) -> str:
    images = size(entry.bytes_of_images)
    if not entry.memoryless:
        return f"It keeps images of the past, up to {images}."
    return f"It keeps {kept(entry)} of the past and no image; the images would take {images}."


def _against_control(entry: Any, control: Any) -> str:
    """Return the gain over an untrained network, if it exceeds the deviation over seeds."""
    gain = entry.top1 - control.top1
    deviations = [row.top1_std for row in (entry, control) if not math.isnan(row.top1_std)]
    outcome = f"training adds {gain:.1f} points" if gain > 0 else f"that is {-gain:.1f} points more"
    if abs(gain) <= max(deviations, default=0.05):
        outcome = "the difference is within the deviation over seeds" if deviations else "no more"
    seeds = "" if deviations else " (one seed)"
    return (
        f"The control, an untrained network with {control.label}, gets {_percent(control)}: "
        f"{outcome}{seeds}. It keeps {kept(control)}."
    )


def _method_tables(comparison: Comparison) -> list[Table]:
    """Return the main methods, and all of them; the page explains the columns."""
    caption = f"percent of the {comparison.row.images} images; {protocol(comparison.reference)}"
    tables = [method_table(comparison, every) for every in (False, True)]
    return [replace(table, title=comparison.title, caption=caption) for table in tables]


def states_tables(found: Sequence[Comparison]) -> list[list[Table]]:
    """Compare numbers of states, for each data set that has several: two tables, of the main
    methods and of all.
    """
    by_data: dict[str, list[Comparison]] = {}
    for comparison in sorted(found, key=lambda c: c.row.T):
        if not comparison.one_state and comparison.row.finished == comparison.row.T:
            by_data.setdefault(comparison.row.data_id, []).append(comparison)
    return [
        [
            _states_table(here, [c.shown for c in here]),
            _states_table(here, [c.entries for c in here]),
        ]
        for here in by_data.values()
        if len(here) > 1
    ]


def _states_table(found: Sequence[Comparison], shown: Sequence[Sequence[Any]]) -> Table:
    """Return top-1 of the methods that any comparison shows, the highest mean first."""
    import pandas as pd

    labels = {entry.label for entries in shown for entry in entries}
    columns = [
        pd.Series({e.label: (e.top1, e.top1_std) for e in c.entries if e.label in labels})
        for c in found
    ]
    for column, comparison in zip(columns, found, strict=True):
        column["chance"] = (comparison.row.chance_top1, np.nan)
    cells = pd.concat(columns, axis=1)
    means = cells.map(lambda pair: pair[0], na_action="ignore").astype(float).mean(axis=1)
    cells = cells.loc[means.sort_values(ascending=False, kind="stable").index]
    text = cells.map(lambda pair: cell(*pair), na_action="ignore").fillna("")
    return Table(
        f"{found[0].row.data}: methods by number of states T",
        "top-1 in percent, average over states 1 and later",
        ["method", *(f"T={c.states}{c.remarks}" for c in found)],
        [[str(label), *own] for label, own in zip(text.index, text.to_numpy(), strict=True)],
        kinds={"chance": "bound"},
    )


def class_table(comparison: Comparison) -> Table:
    """Return each class's top-1 accuracy at the end by the reference method, mean over seeds."""
    entry = comparison.reference
    runs = comparison.runs(entry.training)
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


def paper_measures(found: Sequence[Comparison]) -> list[Table]:
    """Make the paper's tables, with G_IL, of each data set that was also learned at once, from
    methods that keep no image and trainings that have ended.
    """
    import pandas as pd

    from memoryless.lab.paper_tables import paper_tables

    tables = []
    full = {c.row.data_id: c.full for c in found if c.full}
    for data_id, joint in full.items():
        rows = [
            {**entry._asdict(), "label": f"{entry.label}{c.remarks}"}
            for c in found
            if c.row.data_id == data_id and c.row.finished == c.row.T and not c.one_state
            for entry in c.entries
            if entry.memoryless
        ]
        rows += [entry._asdict() for entry in joint[:1]]
        tables += paper_tables(pd.DataFrame(rows), joint[0].data)
    return tables


def _about(run: RunFolder, name: str) -> dict[str, Any]:
    """Return the facts, settings and command of a run."""
    about, config, results = run.about, run.about.config, run.results()
    kept = size(sum(results[-1].bytes.record.values()))
    images = size(results[-1].bytes.images_not_kept)
    seconds = timedelta(seconds=round(sum(state.seconds.training for state in results)))
    facts = {
        "folder": run.path,
        "strategy": config.strategy + ("" if about.memoryless else " (not memoryless)"),
        "data": f"{about.dataset}, {len(about.classes)} classes, order {config.order}",
        "states": f"{run.finished} finished, of {', '.join(map(str, about.sizes))} classes",
        "seed": about.seed,
        "kept": f"{kept} for all methods together; the tables have the bytes of each. The training "
        f"images would take {images}",
        "training": f"{seconds} on {about.machine.system}, {about.machine.cores} cores",
        "versions": ", ".join(f"{name} {number}" for name, number in about.versions.items()),
        "commit": about.commit or "not from a checkout",
    }
    command = shlex.join(about.command)
    settings = own_values(config).items()
    return {"name": name, "command": command, "facts": facts.items(), "settings": settings}
