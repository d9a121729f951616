"""Bodies are read in memory; fields have types."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from memoryless.serve.refusals import Refusal
from memoryless.serve.uploads import Form, Upload, read_json


def request(body: bytes) -> Request:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request({"type": "http", "headers": [], "method": "POST"}, receive)


def read(body: bytes, fields: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(read_json(request(body), fields))


def test_fields_have_types_and_defaults():
    fields = {"name": (str,), "few": (bool, False), "to": (int, None), "places": (list[int], [])}
    assert read(b'{"name": "owl", "to": 3}', fields) == {
        "name": "owl", "few": False, "to": 3, "places": []
    }  # fmt: skip
    for wrong in ('"few": 1', '"to": true', '"to": -1', '"places": ["1"]', '"places": [true]'):
        with pytest.raises(Refusal, match="must be"):
            read(f'{{"name": "owl", {wrong}}}'.encode(), fields)


def test_no_body_is_an_empty_object():
    assert read(b"", {}) == {}


def test_a_deep_body_is_no_json():
    with pytest.raises(Refusal, match="is no JSON"):
        read(b"[" * 100_000, {})


def test_one_class_for_all_or_one_for_each():
    files = (Upload("a", b""), Upload("b", b""))
    assert Form(files, {"class": ["owl"]}).labels() == ["owl", "owl"]
    assert Form(files, {"class": ["owl", "elk"]}).labels() == ["owl", "elk"]
    for names in ([], ["a", "b", "c"]):
        with pytest.raises(Refusal, match="give one class for all, or one for each image"):
            Form(files, {"class": names}).labels()
