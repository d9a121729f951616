"""Several models become one, as if it had been taught all their photos; no photo is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memoryless.errors import ConfigError, StoreError, WriteError
from memoryless.locks import writer_in
from memoryless.model import Model
from memoryless.model_folder import Saved, load_state
from memoryless.model_folder.apart import check_apart
from memoryless.names import first_ten
from memoryless.photos.cautions import alike_names
from memoryless.photos.place import holding

RENAME = "rename one by memoryless rename and merge again with `same_class=join`"


@dataclass(frozen=True)
class Merged:
    """What came of a merge."""

    parts: dict[str, Saved]
    """The states that were merged, by their paths."""
    saved: Saved
    """The state that they became."""
    joined: dict[str, list[int]]
    """Classes that several models knew, and how many photos of them each."""
    notes: list[str]
    warnings: list[str]


def merge(
    out: Path, paths: Sequence[Path], same_class: Literal["refuse", "join"] = "refuse"
) -> Merged:
    """Merge models into a new one; classes of the same name are refused, or joined into one."""
    _check_places(out, paths)
    with holding(out) as place:
        if place.before:
            raise _not_new(out)
        parts = {str(path): _read(path) for path in paths}
        models = {path: Model.of(part) for path, part in parts.items()}
        whole = Model.merge(models, same_class)
        saved = whole.save_in(place)
    about = {path: part.about for path, part in parts.items()}
    notes, warnings = list(_not_forgettable(out, about)), list(_alike(about))
    return Merged(parts, saved, _joined(about), notes, warnings)


def _check_places(out: Path, paths: Sequence[Path]) -> None:
    """Raise unless the folder to be made is a new one, and the others are several."""
    where: dict[Path, Path] = {}
    for path in paths:
        if path.resolve() in where:
            raise ConfigError(f"{path} is named twice, or leads to the same model: name it once")
        where[path.resolve()] = path
    if out.resolve() in where:
        raise ConfigError(
            f"{out} is one of the models to merge, and would be written over: name a new folder "
            "first, then the models"
        )
    if (out / "CURRENT").exists():
        raise _not_new(out)
    check_apart(out)


def _not_new(out: Path) -> StoreError:
    return StoreError(
        f"{out} holds a model already: name a new folder first, then the models to merge"
    )


def _read(path: Path) -> Saved:
    """The state that counts, unless another is just being written."""
    if who := writer_in(path):
        raise WriteError(f"{who} is writing in {path}: wait for it, or its work would be missing")
    return load_state(path, parts=("record", "scorer"))


def _joined(about: Mapping[str, Mapping[str, Any]]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for told in about.values():
        for name, count in zip(told["classes"], told["counts"], strict=True):
            found.setdefault(name, []).append(count)
    return {name: counts for name, counts in found.items() if len(counts) > 1}


def _not_forgettable(out: Path, about: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Classes can be forgotten exactly if all models kept what that needs."""
    without = [path for path, told in about.items() if not told["forgettable"]]
    if 0 < len(without) < len(about):
        yield (
            f"{out} cannot forget a class exactly, because {first_ten(without)} did not keep each "
            "class's own scatter"
        )


def _alike(about: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Names of different models that people would take for the same."""
    known: list[str] = []
    for told in about.values():
        own = set(alike_names(told["classes"], []))
        found = alike_names(told["classes"], known, RENAME)
        yield from (warning for warning in found if warning not in own)
        known += told["classes"]
