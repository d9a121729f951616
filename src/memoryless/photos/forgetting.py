"""Classes that a model is to forget, and the proof that they are gone."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from memoryless.card import privacy
from memoryless.errors import StoreError
from memoryless.model import Model
from memoryless.model_folder import Saved, kept_states, load_state
from memoryless.names import first_ten
from memoryless.photos.place import teaching
from memoryless.photos.traces import Scan, Sought, scan
from memoryless.sums import Sums


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
    scan: Scan | None = None
    """What was looked through afterwards; None where nothing was changed."""


def forget(folder: Path, names: Sequence[str], dry_run: bool = False) -> Forgotten:
    """Forget classes for good, and look for traces of them; or only tell what that would mean."""
    before = load_state(folder)  # says where there is no model, before a folder is made for one
    if dry_run:
        return _forget(before, Model.of(before), names)
    with teaching(folder, {}) as (place, model):
        assert place.before is not None
        before = place.before
        done = _forget(before, model, names)
        sought, rest = _rows(before, done.photos)
        looked = scan(model.save_in(place), sought, rest)
    if looked.found:
        raise StoreError(
            f"the model has forgotten {first_ten(done.photos)}, but {first_ten(looked.found)}: "
            "delete or mend such files, unless they are the model's own; then teach a new model"
        )
    return replace(done, scan=looked)


def _forget(before: Saved, model: Model, names: Sequence[str]) -> Forgotten:
    known = [n if n in model.classes else unicodedata.normalize("NFC", n) for n in names]
    counts = dict(zip(model.classes, model.counts, strict=True))
    weights = model.forget(*known)
    return Forgotten(
        photos={name: counts[name] or 0 for name in weights},
        all=sum(filter(None, counts.values())),
        weights=weights,
        again=before.about["forgotten"] is not None,
        exact=model.forgettable,
        told=len(privacy(before.about)) > 1,
        held_out=bool(before.arrays("record")["held_out.count"]),
        left=len(model.classes),
        states=len(kept_states(before.folder)),
    )


def _rows(before: Saved, gone: Mapping[str, int]) -> tuple[list[Sought], np.ndarray]:
    """What is to be looked for of classes, and the rows that the others have."""
    classes = before.about["classes"]
    sums, layer = Sums.restore(before.arrays("record")), before.arrays("scorer")["over.W"]
    none = [np.zeros((0, sums.mean.shape[1]))] * sums.classes
    mask = np.array([name in gone for name in classes])
    after = sums.without(mask)
    spreads = none if sums.spread is None else sums.spreads()
    sought = [
        Sought(name, {"mean": sums.mean[[i]], "row": layer[[i]], "spread": spreads[i]})
        for i, name in enumerate(classes)
        if name in gone
    ]
    rest = [after.mean, after.discriminant().W]
    rest += [spread for spread, is_gone in zip(spreads, mask, strict=True) if not is_gone]
    return sought, np.concatenate(rest)
