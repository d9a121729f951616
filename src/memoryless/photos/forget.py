"""memoryless forget: classes forgotten for good, and what remains of them."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memoryless.model import Model
from memoryless.model.description import State
from memoryless.model.file import kept_states, load_state, writing
from memoryless.names import counted, first_ten
from memoryless.output import print_line
from memoryless.photos.kept import privacy


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten, or would be, and what remains of it."""

    photos: dict[str, int]
    """How many photos each class had."""
    all: int
    """How many all classes had."""
    weights: dict[str, float]
    """The weight of each class in the covariance that classes share."""
    again: bool
    """Whether classes were forgotten before, so that weights are at most these."""
    exact: bool
    """Whether their own scatter was kept, so that nothing of them stays in that covariance."""
    checked: bool
    """Whether temperature and threshold rest on photos that may have been theirs."""
    traceable: bool
    """Whether the scatter, if their spread stays in it, still shows which photos were used."""
    left: int
    """How many classes the model still knows."""
    states: int
    """How many earlier states are deleted."""


def forget_classes(path: Path, names: Sequence[str], dry_run: bool = False) -> Forgotten:
    """Forget classes for good, or with `dry_run` only report what that would mean."""
    if dry_run:
        before = load_state(path)
        return _forget(before, Model.of(before), names)
    load_state(path, names=())  # raises where there is no model
    with writing(path) as writer:
        assert writer.before
        model = Model.of(writer.before)
        done = _forget(writer.before, model, names)
        model.save_in(writer)
    return done


def _forget(before: State, model: Model, names: Sequence[str]) -> Forgotten:
    counts = dict(zip(model.classes, model.counts, strict=True))
    known = [n if n in counts else unicodedata.normalize("NFC", n) for n in names]
    weights = model.forget(*known)
    return Forgotten(
        photos={name: counts[name] for name in weights},
        all=sum(counts.values()),
        weights=weights,
        again=before.description.forgotten is not None,
        exact=model.forgettable or not model.classes,
        checked=bool(model.classes) and bool(before.arrays["record"]["check.count"]),
        traceable=len(privacy(before)) > 1,
        left=len(model.classes),
        states=len(kept_states(before.path)[0]),
    )


def forget(model: Path, name: str, /, *names: str, dry_run: bool = False) -> None:
    """Forget classes for good: this cannot be undone.

    Deletes name, count, mean and row of each class, and every earlier state of the model. Prints
    what remains.

    Parameters
    ----------
    model
        File of the model.
    name
        A class, as memoryless show names it; after -- it may begin with a dash.
    names
        More classes.
    dry_run
        Print what would go and what would remain, and change nothing.
    """
    done = forget_classes(model, [name, *names], dry_run)
    gone = first_ten(f"{name} ({counted(n, 'photo', 'photos')})" for name, n in done.photos.items())
    left, states = counted(done.left, "class", "classes"), counted(done.states, "state", "states")
    knows = "would know" if dry_run else "knows"
    print_line("forgets" if dry_run else "forgot", f"{gone}; {model} {knows} {left} now")
    deletes = "deletes" if dry_run else "deleted"
    print_line(deletes, f"{states}: memoryless undo cannot go back there")
    for sentence in _remains(done):
        print_line("remains", sentence)
    if done.left == 0:
        print_line("note", "the model knows no class now, and keeps nothing of those it knew")
    if done.left == 1:
        print_line("warning", "a model of one class gives every photo to it: learn another")
    if dry_run:
        print_line("dry run", "nothing was changed; without --dry-run this cannot be undone")
    else:
        print_line("next", f"memoryless show {shlex.quote(str(model))}")


def _remains(done: Forgotten) -> Iterator[str]:
    """What forgetting cannot take out."""
    if done.left and done.exact:
        yield "nothing in the covariance: each class's own scatter was kept, and subtracted exactly"
    elif done.left:
        weight = "a weight of at most" if done.again else "weight"
        yield "their spread, in the covariance that all classes share: " + first_ten(
            f"{name} with {weight} {100 * share:.3g} % ({done.photos[name]:,} of {done.all:,} "
            "photos)"
            for name, share in done.weights.items()
        )
        if done.traceable:
            yield (
                "anyone with this file can still determine almost for certain which photos of "
                "these classes were used; only a model made with learn --forgettable forgets that "
                "too"
            )
    if done.checked:
        yield "the sums behind temperature and threshold still include their photos"
    yield "what was made before: exports, copies, backups and merged models"
