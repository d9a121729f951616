"""memoryless forget: classes forgotten for good, and the traces that remain."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memoryless.model import Model
from memoryless.model.description import State
from memoryless.model.file import kept_states, load_state
from memoryless.names import counted, first_ten
from memoryless.output import paragraph, print_line, print_next
from memoryless.photos.files import changing
from memoryless.photos.kept import privacy


@dataclass(frozen=True)
class Forgotten:
    """Classes that were forgotten, or would be, and the traces that remain."""

    photos: dict[str, int]
    """How many photos each class had."""
    left: int
    """How many classes the model still knows."""
    states: int
    """How many earlier states are deleted."""
    weight: float
    """The share of the shared covariance that still comes from these classes; 0 if none does."""
    at_most: bool
    """Whether the weight is an upper bound, because classes were forgotten before."""
    exposed: bool
    """Whether the file still shows almost for certain which photos of these classes were used."""
    calibration: bool
    """Whether temperature and threshold still count photos of these classes."""

    @property
    def complete(self) -> bool:
        """Whether no average includes photos of these classes any more."""
        return self.weight == 0


def forget_classes(path: Path, names: Sequence[str], dry_run: bool = False) -> Forgotten:
    """Forget classes for good, or with `dry_run` only report what that would mean."""
    if dry_run:
        before = load_state(path)
        return _forget(before, Model.of(before), names)
    with changing(path) as (before, model):
        return _forget(before, model, names)


def _forget(before: State, model: Model, names: Sequence[str]) -> Forgotten:
    counts = dict(zip(model.classes, model.counts, strict=True))
    known = [n if n in counts else unicodedata.normalize("NFC", n) for n in names]
    weights = model.forget(*known)
    traces = bool(model.classes) and not model.forgettable
    return Forgotten(
        photos={name: counts[name] for name in weights},
        left=len(model.classes),
        states=len(kept_states(before.path)[0]),
        weight=sum(weights.values()) if traces else 0.0,
        at_most=before.description.forgotten is not None,
        exposed=traces and len(privacy(before)) > 1,
        calibration=bool(model.classes and before.arrays["record"]["check.count"]),
    )


def forget(model: Path, name: str, /, *names: str, dry_run: bool = False) -> None:
    """Forget classes for good: this cannot be undone.

    Deletes name, count, mean and weights of each class, and every earlier state of the model.
    Prints which traces remain.

    Parameters
    ----------
    model
        File of the model.
    name
        A class, as memoryless show names it; after -- it may begin with a dash.
    names
        More classes.
    dry_run
        Print which classes would go and which traces would remain, and change nothing.
    """
    done = forget_classes(model, [name, *names], dry_run)
    gone = first_ten(f"{name} ({counted(n, 'photo', 'photos')})" for name, n in done.photos.items())
    left, states = counted(done.left, "class", "classes"), counted(done.states, "state", "states")
    if dry_run:
        paragraph(f"Would forget {gone}; {model} would know {left}. Nothing was changed.")
    else:
        paragraph(f"Forgot {gone}. {model} knows {left}.")
    print_line("deleted", f"{states} stored before; undo cannot go back there")
    print_line("elsewhere", "exports, copies, backups and merged models are unchanged")
    if done.left == 1:
        print_line("warning", "a model of one class gives every photo to it: learn another")
    paragraph(f"Verdict: {verdict(done)}")
    if not dry_run:
        print_next("show", model)


def verdict(done: Forgotten) -> str:
    """Say in one sentence whether the classes are gone completely."""
    one = len(done.photos) == 1
    whose = "its" if one else "their"
    if not done.left:
        return "gone completely. The model is empty."
    if done.complete:
        rest = (
            f"; only the counts behind temperature and threshold include {'it' if one else 'them'}"
        )
        return f"gone completely: no average includes {whose} photos{rest * done.calibration}."
    most = "at most " if done.at_most else ""
    share = f"{most}{100 * done.weight:.3g} % of the shared covariance"
    gone = "the class is gone" if one else "the classes are gone"
    reveals = f", which can reveal which of {whose} photos were used" * done.exposed
    return f"{gone}, but traces remain: {share}{reveals}."
