"""memoryless check: whether a model's folder is whole."""

from __future__ import annotations

from pathlib import Path


def check(model: Path, /) -> None:
    """Read every file of a model and compare it with its checksum.

    Parameters
    ----------
    model
        Folder of the model, or a packed .memoryless file.
    """
    from memoryless.cli.output import say
    from memoryless.errors import StoreError
    from memoryless.images.dataset import counted
    from memoryless.model_folder import check_folder, kept_states

    found = check_folder(model)
    notes = [problem for problem in found if problem.startswith("note: ")]
    problems = [problem for problem in found if problem not in notes]
    for note in notes:
        say(note)
    if problems:
        for problem in problems[:-1]:
            say(problem)
        raise StoreError(problems[-1])
    states = counted(len(kept_states(model)), "state", "states")
    say(f"{model} is whole: every file of {states} is as it was written")
