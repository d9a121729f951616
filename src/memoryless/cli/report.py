"""memoryless report writes one HTML page about finished runs."""

from __future__ import annotations

from functools import partial
from pathlib import Path


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
    from memoryless.errors import ConfigError
    from memoryless.lab.analysis.rescore import named_methods
    from memoryless.lab.report import write_report
    from memoryless.lab.runs import find_runs
    from memoryless.output import say
    from memoryless.pages import check_replaceable
    from memoryless.progress import Display

    check_replaceable(output, force, "output")
    found = [run for run in find_runs(runs) if run.finished]
    if not found:
        raise ConfigError("the runs there have no finished state yet: let memoryless run go on")
    with Display() as shown:
        names = named_methods(found, methods)
        write_report(found, output, names, partial(shown.reading, found), runs)
    say(f"the report is {output}")
