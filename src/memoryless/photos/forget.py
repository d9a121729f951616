"""memoryless forget: classes forgotten for good, and what remains of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memoryless.model import Model
from memoryless.model.description import State
from memoryless.model.file import kept_states, load_state
from memoryless.names import counted, first_ten
from memoryless.output import command, print_line
from memoryless.photos.files import changing
from memoryless.photos.kept import privacy


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten, or would be, and what remains of it."""

    photos: dict[str, int]
    """How many photos each class had."""
    left: int
    """How many classes the model still knows."""
    states: int
    """How many earlier states are deleted."""
    remains: list[str]
    """What forgetting cannot take out."""


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
    return Forgotten(
        photos={name: counts[name] for name in weights},
        left=len(model.classes),
        states=len(kept_states(before.path)[0]),
        remains=list(_remains(before, model, weights, counts)),
    )


def _remains(
    before: State, model: Model, weights: Mapping[str, float], counts: Mapping[str, int]
) -> Iterator[str]:
    """What stays of classes with these weights in the covariance that all classes share."""
    if model.classes and model.forgettable:
        yield "nothing in the covariance: each class's own scatter was kept, and subtracted exactly"
    elif model.classes:
        weight = "a weight of at most" if before.description.forgotten else "weight"
        photos = sum(counts.values())
        yield "their spread, in the covariance that all classes share: " + first_ten(
            f"{name} with {weight} {100 * share:.3g} % ({counts[name]:,} of {photos:,} photos)"
            for name, share in weights.items()
        )
        if len(privacy(before)) > 1:
            yield (
                "anyone with this file can still determine almost for certain which photos of "
                "these classes were used; only a model made with learn --forgettable forgets that "
                "too"
            )
    if model.classes and before.arrays["record"]["check.count"]:
        yield "the sums behind temperature and threshold still include their photos"
    yield "what was made before: exports, copies, backups and merged models"


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
    for sentence in done.remains:
        print_line("remains", sentence)
    if done.left == 0:
        print_line("note", "the model knows no class now, and keeps nothing of those it knew")
    if done.left == 1:
        print_line("warning", "a model of one class gives every photo to it: learn another")
    if dry_run:
        print_line("dry run", "nothing was changed; without --dry-run this cannot be undone")
    else:
        print_line("next", command("show", model))
