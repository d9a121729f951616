"""memoryless merge: one model from several, without a photo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from memoryless.errors import ConfigError
from memoryless.model import Model
from memoryless.model.database import model_file
from memoryless.model.description import State
from memoryless.model.file import check_unwritten, load_state, writing
from memoryless.names import counted, first_ten
from memoryless.output import paragraph, print_line, print_lines, print_next, print_rows
from memoryless.photos.kept import print_privacy
from memoryless.photos.plan import alike_names

RENAME = "rename one by memoryless rename and merge again with `same_class=join`"


def merge_models(
    out: Path, paths: Sequence[Path], same_class: Literal["refuse", "join"] = "refuse"
) -> tuple[dict[str, State], State]:
    """Merge models into a new one; classes of the same name are refused, or joined into one.

    Return the states that were merged, by their paths, and the one that they became.
    """
    _check_places(out, paths)
    with writing(out) as writer:
        if writer.before:
            raise _not_new(out)
        parts = {str(path): _read(path) for path in paths}
        models = {path: Model.of(part) for path, part in parts.items()}
        return parts, Model.merge(models, same_class=same_class).save_in(writer)


def merge_into(
    path: Path, other: State, same_class: Literal["refuse", "join"] = "refuse"
) -> tuple[State, State]:
    """Merge the state of another model into a model, as its next state.

    Return the state before and the one that it became.
    """
    with writing(path) as writer:
        before = writer.before
        if before is None:
            raise ConfigError(f"there is no model {path} to merge into: let it learn some first")
        models = {path.name: Model.of(before), str(other.path): Model.of(other)}
        merged = Model.merge(models, same_class=same_class)
        merged.follow(before, other)
        return before, merged.save_in(writer, before.description.history)


def _check_places(out: Path, paths: Sequence[Path]) -> None:
    """Raise unless the file to be made is new, and each model is named once."""
    where: dict[Path, Path] = {}
    for path in paths:
        file = model_file(path).resolve()
        if file in where:
            raise ConfigError(f"{path} is named twice, or leads to the same model: name it once")
        where[file] = path
    if model_file(out).resolve() in where:
        raise ConfigError(
            f"{out} is one of the models to merge, and would be overwritten: name a new file "
            "first, then the models"
        )
    if model_file(out).exists():
        raise _not_new(out)


def _not_new(out: Path) -> ConfigError:
    return ConfigError(
        f"{out} holds a model already: name a new file first, then the models to merge"
    )


def _read(path: Path) -> State:
    """Return the current state, unless another is being written."""
    check_unwritten(path)
    return load_state(path)


def _joined(parts: Mapping[str, State]) -> dict[str, list[int]]:
    """Return the classes of several models, and how many photos each had."""
    found: dict[str, list[int]] = {}
    for part in parts.values():
        for name, count in zip(part.classes.names, part.classes.counts, strict=True):
            found.setdefault(name, []).append(count)
    return {name: counts for name, counts in found.items() if len(counts) > 1}


def notes(out: Path, parts: Mapping[str, State]) -> Iterator[str]:
    """Yield abilities that the merged model lacks and some of the models have."""
    without = [path for path, part in parts.items() if not part.description.forgettable]
    if 0 < len(without) < len(parts):
        yield (
            f"{out} cannot forget exactly: {first_ten(without)} does not store each class's own "
            "scatter"
        )
    found = [path for path, part in parts.items() if part.description.calibrated]
    if found:
        yield f"{first_ten(found)} was calibrated, and {out} is not: calibrate it too"


def _alike(parts: Mapping[str, State]) -> Iterator[str]:
    """Yield names of different models that people would confuse."""
    known: list[str] = []
    for part in parts.values():
        names = part.classes.names
        own = set(alike_names(names, []))
        found = alike_names(names, known, RENAME)
        yield from (warning for warning in found if warning not in own)
        known += names


def merge(out: Path, /, *models: Path, same_class: Literal["refuse", "join"] = "refuse") -> None:
    """Merge models into a new one, equal to a model that learned all their photos.

    No photo is needed, and the models stay as they are. They must use the same network and prepare
    photos in the same way.

    Parameters
    ----------
    out
        File of the new model.
    models
        Files of two models or more.
    same_class
        What to do with a class that several models know: refuse to merge, or join its photos.
    """
    parts, saved = merge_models(out, models, same_class)
    paragraph(f"Merged {len(parts)} models into {out}: {_classes(saved)}.")
    print_rows([(path, _classes(part)) for path, part in parts.items()])
    joined = [f"{name} ({' and '.join(map(str, n))} photos)" for name, n in _joined(parts).items()]
    if joined:
        print_line("joined", first_ten(joined))
    print_lines("note", notes(out, parts))
    print_lines("warning", _alike(parts))
    print_privacy(saved)
    print_next("evaluate", out, "TEST_PHOTOS", "--calibrate")


def _classes(state: State) -> str:
    classes = counted(len(state.classes.names), "class", "classes")
    return f"{classes}, {counted(sum(state.classes.counts), 'photo', 'photos')}"
