"""What requests and answers hold, for the OpenAPI document."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Place = int
CLASS = Field(alias="class")


class Answer(BaseModel):
    """Whether and how a model knows a photo; `top` is filled also where it does not."""

    file: str
    answer: Literal["known", "unsure", "unknown", "broken"]
    top: list[Score]
    error: str | None = None


class Score(BaseModel):
    """A class and its probability, from 0 to 1."""

    label: str
    score: float


class Answers(BaseModel):
    """The answers for photos, in the order of the request."""

    results: list[Answer]


class Failure(BaseModel):
    """Why a request was refused, and what to do about it."""

    error: str


class Broken(BaseModel):
    """A photo that cannot be used."""

    place: Place
    why: str


class Opened(BaseModel):
    """A new lesson."""

    lesson: str
    photos_at_most: int
    expires_after: int
    """Seconds in which nobody uses it."""


class Added(BaseModel):
    """Photos that are in a lesson now: the place of each image of the request, in its order."""

    places: list[Place]
    broken: list[Broken]
    photos: int


class Removed(BaseModel):
    """Photos that were taken out of a lesson."""

    removed: int
    photos: int


class Correct(BaseModel):
    """How many photos of a class were right by leave-one-out."""

    name: str = CLASS
    correct: int
    checked: int


class Confused(BaseModel):
    """Two classes taken for each other: how many photos, of how many."""

    name: str = CLASS
    other: str
    times: int
    photos: int


class Suspect(BaseModel):
    """A photo that may have the wrong class."""

    place: Place
    name: str = CLASS
    looks_like: str
    probability: float


class Learned(BaseModel):
    """What came of a lesson; after a check `state` is null, because nothing was saved."""

    state: int | None
    can_undo: bool
    classes: int
    photos: int
    new: dict[str, int]
    more: dict[str, int]
    left_out: list[Broken]
    repeats: int
    checked: int
    correct: int
    by_class: list[Correct]
    confused: list[Confused]
    suspects: list[Suspect]
    notes: list[str]
    warnings: list[str]
    photo_bytes: int
    bytes_kept: int
    broken: list[Broken] = []


class Evaluated(BaseModel):
    """How good a model is on photos with their classes, in shares, and the answer for each."""

    model_config = ConfigDict(extra="allow")
    photos: int
    correct: int
    top1: float
    interval: tuple[float, float]
    classes: list[dict[str, Any]]
    confused: list[dict[str, Any]]
    states: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    broken: list[Broken]


class Changed(BaseModel):
    """The state that is current now."""

    model_config = ConfigDict(extra="allow")
    state: int


class Forgotten(BaseModel):
    """What was forgotten, or would be, and what remains of it."""

    photos: dict[str, int]
    left: int
    states: int
    remains: str


class Overview(BaseModel):
    """What `memoryless show --json` prints, and what is honest to say about privacy."""

    model_config = ConfigDict(extra="allow")
    name: str
    number: int
    classes: list[dict[str, Any]]
    kept: list[dict[str, Any]]
    bytes: int
    bytes_kept: int
    photo_bytes: int
    privacy: list[str]
    read_only: bool


class Healthy(BaseModel):
    """That the server works."""

    status: Literal["ok"]


def _multipart(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"multipart/form-data": {"schema": schema}}


FILE = {"type": "string", "format": "binary"}
IMAGES = {"images": {"type": "array", "items": FILE, "minItems": 1}}
CLASSES = {
    "class": {
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": 255},
        "minItems": 1,
        "description": "One class for all images, or one for each, in their order.",
    }
}
CHOICES = {
    name: {"type": "boolean", "default": False, "description": about}
    for name, about in {
        "more": "Add photos to classes that the model knows.",
        "few": "Allow fewer than 5 photos of a class or 20 in all. The model may then reveal which "
        "photos were used.",
    }.items()
}
RAW = {kind: {"schema": FILE} for kind in ("application/octet-stream", "image/jpeg", "image/png")}
LABELLED = _multipart(IMAGES | CLASSES, "images", "class")


def _json(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    return {"application/json": {"schema": schema}}


TEXT = {"type": "string", "minLength": 1, "maxLength": 255}
NUMBER = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
BODIES: dict[str, dict[str, Any]] = {
    "predict": _multipart(IMAGES, "images") | RAW,
    "learn": _multipart(IMAGES | CLASSES | CHOICES, "images", "class"),
    "photos": LABELLED,
    "remove": _json({"places": {"type": "array", "items": NUMBER}}, "places"),
    "learn_lesson": _json(CHOICES),
    "evaluate": LABELLED | _json({"lesson": {"type": "string"}}, "lesson"),
    "rename": _json({"class": TEXT, "name": TEXT}, "class", "name"),
    "forget": _json(
        {
            "classes": {"type": "array", "items": TEXT, "minItems": 1},
            "dry_run": {"type": "boolean", "default": False},
        },
        "classes",
    ),
    "undo": _json({"to": NUMBER}),
    "merge": _multipart(
        {"model": FILE, "same_class": {"type": "string", "enum": ["refuse", "join"]}}, "model"
    ),
}
"""The content of the body of each request that has one."""
