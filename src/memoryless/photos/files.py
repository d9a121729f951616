"""Files that people name to commands: models, places of photos, and files to write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memoryless.errors import WriteError
from memoryless.images.find import Found
from memoryless.model import Model
from memoryless.model.database import ENDING
from memoryless.model.description import State
from memoryless.model.file import load_state, writing
from memoryless.output import paragraph, reasons
from memoryless.store import check_replaceable, making


def load_to_classify(path: Path) -> Model:
    """Return the model in a file, without the parts that only learning needs."""
    model = Model.of(load_state(path, names=("features", "scorer")))
    model.check_taught()
    return model


def print_places(places: Iterable[Found]) -> None:
    """Print notes about places of photos, and the files that were skipped."""
    for place in places:
        skipped = [f"Skipped {reasons(place.not_read)}."] if place.not_read else []
        for line in [*place.notes, *skipped]:
            paragraph(line)


@contextmanager
def changing(path: Path) -> Iterator[tuple[State, Model]]:
    """Give the state and the model in a file; the model is saved as the next state afterwards."""
    load_state(path, names=())  # raises where there is no model
    with writing(path) as writer:
        assert writer.before
        model = Model.of(writer.before)
        yield writer.before, model
        model.save_in(writer)


def check_file(path: Path, setting: str, mark: str, kind: str, force: bool = False) -> None:
    """Raise unless a file may be written; leave none there.

    `setting` is the one that named the file. Files of this `kind` hold the mark near their
    beginning and may be replaced; others only by force.
    """
    if path.suffix == ENDING:  # even to open one would free the locks on it
        raise WriteError(f"{path} is a model: choose another `{setting}`")
    check_replaceable(path, setting, mark, kind, force)
    with making(path, setting):
        there = path.exists()
        path.open("ab").close()
    if not there:
        path.unlink()
