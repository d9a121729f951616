"""memoryless report: one HTML page about finished runs."""

from __future__ import annotations

from pathlib import Path


def report(*runs: Path, output: Path = Path("report.html")) -> None:
    """Write one self-contained page: what was run, accuracies, figures, errors, classes.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    output
        The page.
    """
    from memoryless.errors import ConfigError
    from memoryless.runs import find_runs

    try:
        from memoryless.report import write_report
    except ImportError as error:
        raise ConfigError(
            f"a report needs {error.name}: pip install 'memoryless[figures]'"
        ) from error
    if not runs:
        raise ConfigError("name at least one run folder: memoryless report RUN")
    found = [run for run in find_runs(list(runs)) if run.finished]
    if not found:
        raise ConfigError("the runs there have no finished state yet: let memoryless run go on")
    write_report(found, output)
    print(f"the report is {output}")
