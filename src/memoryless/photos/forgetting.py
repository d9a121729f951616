"""Classes forgotten for good, and what stays of them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memoryless.model import Model
from memoryless.model.card import privacy
from memoryless.model.file import State, kept_states, load_state
from memoryless.photos.place import teaching


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten, or would be, and what stays of it."""

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
    held_out: bool
    """Whether temperature and threshold rest on held-out photos, which may have been theirs."""
    told: bool
    """Whether the scatter, if their spread stays in it, still tells which photos were used."""
    left: int
    """How many classes the model still knows."""
    states: int
    """How many earlier states are deleted."""


def forget(path: Path, names: Sequence[str], dry_run: bool = False) -> Forgotten:
    """Forget classes for good, or only say what that would mean."""
    before = load_state(path)  # says where there is no model
    if dry_run:
        return _forget(before, Model.of(before), names)
    with teaching(path) as (writer, model):
        assert writer.before is not None
        done = _forget(writer.before, model, names)
        model.save_in(writer)
    return done


def _forget(before: State, model: Model, names: Sequence[str]) -> Forgotten:
    known = [n if n in model.classes else unicodedata.normalize("NFC", n) for n in names]
    counts = dict(zip(model.classes, model.counts, strict=True))
    told = len(privacy(before)) > 1
    weights = model.forget(*known)
    return Forgotten(
        photos={name: counts[name] for name in weights},
        all=sum(counts.values()),
        weights=weights,
        again=before.description.forgotten is not None,
        exact=model.forgettable or not model.classes,
        told=told,
        held_out=bool(model.classes) and bool(before.arrays("record")["held_out.count"]),
        left=len(model.classes),
        states=len(kept_states(before.path)[0]),
    )
