"""memoryless check: compare a model's file with its checksums."""

from __future__ import annotations

from pathlib import Path

from memoryless.errors import StoreError
from memoryless.model.file import check_file, kept_states
from memoryless.names import counted
from memoryless.output import say


def check(model: Path, /) -> None:
    """Read all of a model's file and compare it with its checksums.

    Parameters
    ----------
    model
        File of the model.
    """
    problems = list(check_file(model))
    if problems:
        for problem in problems[:-1]:
            say(problem)
        raise StoreError(problems[-1])
    states = counted(len(kept_states(model)[0]), "state", "states")
    say(f"{model} is intact: {states}, every byte as written.")
