"""Bodies of requests: photos and fields, never on the disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from starlette.datastructures import FormData
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from memoryless.serve.limits import Limits
from memoryless.serve.refusals import Refusal

MULTIPART, JSON, RAW = "multipart/form-data", "application/json", "application/octet-stream"
TRUTHS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class Upload:
    """A file that came with a request."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Form:
    """The files and fields of a request."""

    files: tuple[Upload, ...]
    fields: dict[str, list[str]]

    def labels(self) -> list[str]:
        """Return the class of each file: one for all, or as many as there are files."""
        names = self.fields.get("class", [])
        if len(names) == 1:
            return names * len(self.files)
        if len(names) != len(self.files):
            raise Refusal(
                422,
                f"there are {len(self.files)} images and {len(names)} classes: give one class for "
                "all, or one for each image, in their order",
            )
        return names

    def truth(self, name: str) -> bool:
        """Return a field that is true or false; one that was not sent is false."""
        given = self.fields.get(name, ["false"])[-1].lower()
        if given not in TRUTHS:
            raise Refusal(422, f"{name} is {given[:40]!r}: send true or false")
        return TRUTHS[given]


async def read_form(request: Request, limits: Limits, file: str = "images") -> Form:
    """Return the files of a field, one or more, and the other fields of a multipart request."""
    if not _type_of(request) == MULTIPART:
        raise Refusal(415, f"send {MULTIPART} with {file}, such as curl -F {file}=@FILE")
    parts = await _parse(request, limits)
    files: list[Upload] = []
    fields: dict[str, list[str]] = {}
    try:
        for name, value in parts.multi_items():
            if isinstance(value, str):
                fields.setdefault(name, []).append(value)
            elif name != file:
                raise Refusal(422, f"the file in {name[:40]!r} is not expected: send it as {file}")
            else:
                files.append(Upload(value.filename or file, value.file.read()))
    finally:
        await parts.close()
    if not files:
        raise Refusal(422, f"there is no file: send one or more as {file}")
    _check_number(fields.get("class", []), limits)
    return Form(tuple(files), fields)


async def read_photos(request: Request, limits: Limits) -> Form:
    """Return photos, from a multipart request or from one that is the bytes of one photo."""
    kind = _type_of(request)
    if kind == MULTIPART:
        return await read_form(request, limits)
    if kind != RAW and not kind.startswith("image/"):
        raise Refusal(415, f"send {MULTIPART} with images, or the bytes of one photo as image/jpeg")
    content = await request.body()
    if not content:
        raise Refusal(422, "the body is empty: send the bytes of a photo")
    return Form((Upload("image", content),), {})


async def read_json(request: Request, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the object in a body; `fields` gives types, and defaults of what may lack."""
    try:
        given = json.loads(await request.body() or b"{}")
    except (ValueError, RecursionError):
        raise Refusal(400, "the body is no JSON: send an object, such as {}") from None
    if not isinstance(given, dict):
        raise Refusal(422, "the body is no JSON object: send one, such as {}")
    for name in given.keys() - fields.keys():
        known = ", ".join(fields) or "none"
        raise Refusal(422, f"unknown field {name[:40]!r}: choose from {known}")
    found = {}
    for name, (kind, *default) in fields.items():
        if name not in given and not default:
            raise Refusal(422, f"the field {name} is missing: add it")
        value = given.get(name, default[0] if default else None)
        if name in given and not _fits(value, kind):
            raise Refusal(422, f"the field {name} must be {WORDS[kind]}: correct it")
        found[name] = value
    return found


WORDS = {
    str: "a text",
    bool: "true or false",
    int: "a whole number from 0",
    list[int]: "a list of whole numbers from 0",
    list[str]: "a list of texts",
}


def _fits(value: Any, kind: Any) -> bool:
    if kind in (list[int], list[str]):
        (of,) = get_args(kind)
        return isinstance(value, list) and all(_fits(one, of) for one in value)
    if kind is int:
        return type(value) is int and 0 <= value < 2**53
    return isinstance(value, kind)


def _type_of(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _check_number(names: Sequence[str], limits: Limits) -> None:
    if len({*names}) > limits.classes:
        raise Refusal(
            413, f"the request names more than {limits.classes:,} classes: send fewer at once"
        )


async def _parse(request: Request, limits: Limits) -> FormData:
    """Return the parts of a body, all in memory: no file is as large as what is spooled there."""
    parser = MultiPartParser(
        request.headers,
        request.stream(),
        max_files=limits.files,
        max_fields=limits.files + 16,
    )
    parser.spool_max_size = max(limits.bytes, limits.model_bytes) + 1
    try:
        return await parser.parse()
    except MultiPartException as error:
        if "Too many" in error.message:
            raise Refusal(
                413, f"the request has more than {limits.files:,} images: send fewer at once"
            ) from None
        raise Refusal(
            400, f"the body is no {MULTIPART} ({error.message.rstrip('.')}): send it again"
        ) from None
