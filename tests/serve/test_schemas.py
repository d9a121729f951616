"""The OpenAPI document: what it says of answers is so, for requests that are drawn from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memoryless.serve.schemas import BODIES
from servers import WRITES, address

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
OPERATIONS = [
    ("/predict", "POST"),
    ("/learn", "POST"),
    ("/lessons", "POST"),
    ("/lessons/{lesson}", "DELETE"),
    ("/lessons/{lesson}/photos", "POST"),
    ("/lessons/{lesson}/photos", "DELETE"),
    ("/lessons/{lesson}/samples", "POST"),
    ("/lessons/{lesson}/check", "POST"),
    ("/lessons/{lesson}/learn", "POST"),
    ("/evaluate", "POST"),
    ("/rename", "POST"),
    ("/forget", "POST"),
    ("/undo", "POST"),
    ("/merge", "POST"),
    ("/model", "GET"),
    ("/model.memoryless", "GET"),
    ("/model.onnx", "GET"),
    ("/health/live", "GET"),
    ("/health/ready", "GET"),
]


@pytest.fixture(scope="module")
def document(tmp_path_factory, taught) -> Iterator[schemathesis.BaseSchema]:
    path = tmp_path_factory.mktemp("drawn") / "m.memoryless"
    path.write_bytes(taught)
    with address(path) as base:
        yield schemathesis.openapi.from_url(f"{base}/openapi.json")


def test_every_address_is_in_the_document(document):
    found = [result.ok() for result in document.get_all_operations()]
    assert {(one.path, one.method.upper()) for one in found} == {*OPERATIONS}
    assert len(BODIES) == 10


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_answers_are_as_described(path, method, document):
    operation = document[path][method]

    @settings(max_examples=6, database=None, deadline=None, suppress_health_check=[*HealthCheck])
    @given(case=operation.as_strategy())
    def check(case: Case) -> None:
        answer = case.call(headers=WRITES, timeout=20)
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400:
            (sentence,) = answer.json().values()
            assert len(sentence.splitlines()) == 1

    check()
