"""Errors over HTTP: one JSON object with one sentence that says the fix."""

from __future__ import annotations

import re

from starlette.responses import JSONResponse

from memoryless.errors import BusyError, MemorylessError, MissingError, StoreError, WriteError
from memoryless.names import printable

STATUS: dict[type[MemorylessError], int] = {
    BusyError: 409,
    StoreError: 500,
    WriteError: 500,
    MissingError: 501,
    MemorylessError: 422,
}
"""The status of each kind of error; of several that fit, the first."""


FIELDS = {"allow_few": "few"}
"""Fields of requests that have another name than the setting."""


class Refusal(Exception):  # noqa: N818 - a request that was refused is no error of ours
    """A request that is not answered, with the status and the sentence that it gets."""

    def __init__(self, status: int, sentence: str, **headers: str):
        super().__init__(sentence)
        self.status, self.sentence = status, printable(sentence)
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @classmethod
    def of(cls, error: MemorylessError) -> Refusal:
        """Return the refusal that says what an error says."""
        status = next(status for kind, status in STATUS.items() if isinstance(error, kind))
        return cls(status, as_fields(str(error)))

    def response(self) -> JSONResponse:
        """Return what is sent."""
        return JSONResponse({"error": self.sentence}, self.status, self.headers)


def as_fields(text: str) -> str:
    """Return a sentence in which settings, written `name=value`, are fields of a request.

    >>> as_fields("add photos, or add `allow_few=True`; check `names`")
    'add photos, or add few=true; check names'
    """
    text = re.sub(
        r"`(\w+)=(\w+)`",
        lambda found: f"{FIELDS.get(found[1], found[1])}={found[2].lower()}",
        text,
    )
    return text.replace("`", "")
