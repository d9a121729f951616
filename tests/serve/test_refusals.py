"""Every error of ours has a status, and a sentence with fields instead of settings."""

from __future__ import annotations

import pytest

from memoryless import errors
from memoryless.serve.refusals import Refusal


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.BusyError, 409),
        (errors.WriteError, 500),
        (errors.StoreError, 500),
        (errors.DataError, 422),
        (errors.ConfigError, 422),
        (errors.MissingError, 501),
    ],
)
def test_status_of_errors(error, status):
    refusal = Refusal.of(error("no: add `few=True`"))
    assert (refusal.status, refusal.sentence) == (status, "no: add few=true")


def test_headers():
    response = Refusal(503, "busy", Retry_After="1").response()
    assert response.headers["retry-after"] == "1"
    assert response.body == b'{"error":"busy"}'
