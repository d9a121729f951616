"""A model while it is taught: its file is held from before photos are read until the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from memoryless.errors import ConfigError
from memoryless.model import Model
from memoryless.model.database import model_file
from memoryless.model.file import State, Writer, load_state, writing
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
    path: Path, given: Mapping[str, Any] | None = None, train: bool = False
) -> Iterator[tuple[Writer, Model]]:
    """Hold a model's file, and give the model in it, or a new one of these settings."""
    with writing(path) as writer:
        yield writer, _model(writer.before, given or {}, train)


def model_to_teach(path: Path, given: Mapping[str, Any], train: bool = False) -> Model:
    """The same model, without holding its file: it cannot be saved there."""
    there = model_file(path).exists()
    return _model(load_state(path) if there else None, given, train)


def _model(before: State | None, given: Mapping[str, Any], train: bool) -> Model:
    return _known(before, given, train) if before else _new(given, train)


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


def _known(before: State, given: Mapping[str, Any], train: bool) -> Model:
    """A model that is there; what it was made with cannot be changed, but for the device."""
    model, path = Model.of(before), before.path
    if given.get("forgettable") and not model.forgettable:
        raise ConfigError(
            f"{path} was made without `forgettable=True`, and the photos that this needs "
            "are gone: leave it out, or learn everything into another MODEL"
        )
    made = vars(model.settings) | {k: getattr(model, k) for k in ("method", "seed", "forgettable")}
    other = [name for name, value in given.items() if not _same(name, value, made, before)]
    if train and model.fixed and "method" not in other:
        other.append("method")
    if other:
        was = first_ten(_told(name, made[name]) for name in other)
        raise ConfigError(
            f"{path} was made {was}, and what it keeps fits nothing else: leave that "
            "setting out, or choose another MODEL"
        )
    if "device" in given:
        model.choose_device(given["device"])
    return model


def _told(name: str, value: Any) -> str:
    """How a model was made: with this value of a setting, or without it."""
    typed = " ".join(map(str, value)) if isinstance(value, tuple) else value
    return f"without `{name}`" if value is None else f"with `{name}={typed}`"


def _same(name: str, value: Any, made: Mapping[str, Any], before: State) -> bool:
    """Whether a model was made with this value of a setting; files are compared by what is made of
    them.
    """
    backbone = before.description.backbone
    file = name == "backbone_weights" or str(value).startswith("onnx:")
    if file and backbone and made["strategy"] == "fixed":
        from memoryless.model.fixed import features_graph_of

        settings = replace(Model.of(before).settings, **{name: value})
        return sha256(features_graph_of(settings)[0]).hexdigest() == backbone.sha256
    value = tuple(value) if isinstance(value, list) else value
    return name == "device" or bool(made[name] == value)
