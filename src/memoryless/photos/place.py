"""The folder of a model while it is taught: held from before photos are looked at until the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from memoryless.errors import ConfigError
from memoryless.model import Model
from memoryless.model_folder import Place, Saved, writing
from memoryless.names import first_ten

# The best of the laboratory for trained features, by its results on drawings (docs/results.md), of
# those that keep one covariance for all classes. rda is better by seven points, but the covariance
# of a class with fewer photos than features spans just these photos.
TRAINED = "lwf_kd+lda+widened"
TRAINED_SETTINGS: dict[str, Any] = {"statistics": "tied", "square_roots": True}
HELD_OUT = 0.1
"""The share of photos that measure a model with trained features; they are not trained on."""


@contextmanager
def teaching(
    folder: Path, given: Mapping[str, Any], train: bool = False
) -> Iterator[tuple[Place, Model]]:
    """Hold the folder of a model, and give the model in it, or a new one of these settings."""
    with holding(folder) as place:
        yield place, _known(place.before, given, train) if place.before else _new(given, train)


@contextmanager
def holding(folder: Path) -> Iterator[Place]:
    """Hold the folder of a model; where nothing is saved in the end, a new one is removed."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    with writing(folder) as place:
        try:
            yield place
        finally:
            if missing and place.before is None:
                _remove(folder, missing)  # while it is still held: nobody else writes there


def _remove(folder: Path, made: list[Path]) -> None:
    """Delete folders that were made for nothing; one that holds something stays."""
    with suppress(OSError):
        (folder / ".lock").unlink(missing_ok=True)
        for place in made:
            place.rmdir()


def _new(given: Mapping[str, Any], train: bool) -> Model:
    if train and str(given.get("method")).partition("+")[0] == "fixed":
        raise ConfigError(
            f"`train=True` trains the backbone, which {given['method']} never does: leave one out"
        )
    if not train or "method" in given:
        model = Model(**given)
        return model if model.fixed else Model(**given, held_out=HELD_OUT)
    of_resnet = str(given.get("backbone", "resnet")).startswith("resnet")
    level = "middle" if of_resnet else "last"  # others have no middle that we know of
    return Model(TRAINED, held_out=HELD_OUT, level=level, **TRAINED_SETTINGS, **given)


def _known(saved: Saved, given: Mapping[str, Any], train: bool) -> Model:
    """A model that is there; what it was made with cannot be changed, but for the device."""
    about = saved.about
    made = {**about["settings"], **{key: about[key] for key in ("method", "seed", "forgettable")}}
    if about["preparation"]:  # says what settings that were left open became
        made |= {"image_size": about["preparation"]["size"]}
    if given.get("forgettable") and not about["forgettable"]:
        raise ConfigError(
            f"{saved.folder} was made without `forgettable=True`, and the photos that this needs "
            "are gone: leave it out, or learn everything into another MODEL"
        )
    other = [name for name, value in given.items() if not _same(name, value, made, saved)]
    if train and made["strategy"] == "fixed" and "method" not in other:
        other.append("method")
    if other:
        was = first_ten(_told(name, made[name]) for name in other)
        raise ConfigError(
            f"{saved.folder} was made {was}, and what it keeps fits nothing else: leave that "
            "setting out, or choose another MODEL"
        )
    settings = about["settings"] | {k: given[k] for k in ("device",) if k in given}
    return Model.of(replace(saved, about=about | {"settings": settings}))


def _told(name: str, value: Any) -> str:
    """How a model was made: with this value of a setting, or without it."""
    typed = " ".join(map(str, value)) if isinstance(value, list) else value
    return f"without `{name}`" if value is None else f"with `{name}={typed}`"


def _same(name: str, value: Any, made: Mapping[str, Any], saved: Saved) -> bool:
    if name == "backbone" and str(value).startswith("onnx:") and saved.about["backbone"]:
        from memoryless.fixed import features_graph_of

        settings = replace(Model.of(saved).settings, backbone=value)
        return (
            sha256(features_graph_of(settings)[0]).hexdigest() == saved.about["backbone"]["sha256"]
        )
    value = str(value) if isinstance(value, Path) else value
    value = list(value) if isinstance(value, tuple) else value
    return name == "device" or bool(made[name] == value)
