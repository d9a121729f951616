"""The laboratory: streams, runs, tables, figures and reports, for people with papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def results(*runs: Path | str) -> pd.DataFrame:
    """Read the results of finished states: a row for each run, state and method.

    Accuracies are shares from 0 to 1. Each of `runs` is a run folder, or a folder that holds some.
    """
    from memoryless.errors import extras
    from memoryless.lab.runs import find_runs

    with extras():
        from memoryless.lab.frame import in_shares, results_frame

        return in_shares(results_frame(find_runs([Path(run) for run in runs])))
