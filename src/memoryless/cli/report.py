"""memoryless report writes one HTML page about finished runs."""

from __future__ import annotations

from pathlib import Path


def report(*runs: Path, methods: tuple[str, ...] = (), output: Path = Path("report.html")) -> None:
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
    """
    from memoryless.cli.output import say
    from memoryless.cli.reading import ReadingPrinter
    from memoryless.errors import ConfigError
    from memoryless.lab.analysis.rescore import named_methods
    from memoryless.lab.report import write_report
    from memoryless.lab.runs import find_runs

    found = [run for run in find_runs(runs) if run.finished]
    if not found:
        raise ConfigError("the runs there have no finished state yet: let memoryless run go on")
    with ReadingPrinter(found) as printer:
        write_report(found, output, named_methods(found, methods), printer.doing, runs)
    say(f"the report is {output}")
