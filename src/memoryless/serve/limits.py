"""How much a server takes: of one request, of all requests at once, and of lessons."""

from __future__ import annotations

from dataclasses import dataclass, fields

from memoryless.errors import ConfigError


@dataclass(frozen=True)
class Limits:
    """Settings that bound what clients can make a server do."""

    bytes: int = 64_000_000
    """Of the body of one request."""
    pixels: int = 89_478_485
    """Of one photo; Pillow refuses more by itself."""
    files: int = 1000
    """Photos in one request."""
    classes: int = 1000
    """Classes that one request or lesson names."""
    seconds: int = 120
    """Until a request is answered; learning what was read already is not interrupted."""
    requests: int = 64
    """Under way at once; others are asked to come back."""
    memory: int = 512_000_000
    """Bytes of all bodies that are being read or embedded."""
    model_bytes: int = 1_000_000_000
    """Of a model that is uploaded to be merged."""
    lessons: int = 8
    """Open at once."""
    lesson_photos: int = 20_000
    """Photos in one lesson."""
    lesson_seconds: int = 3600
    """After which a lesson that nobody uses is dropped."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value < 1:
                raise ConfigError(f"the limit {field.name} is {value}: choose 1 or more")
