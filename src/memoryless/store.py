"""Files that are whole, checked and in their place; no pickle.

A file's checksum is also over `bound`, a text that says where the file belongs: a file from another
place fails as one with a flipped bit does. Only `as_tensors` needs torch.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from memoryless.errors import StoreError, WriteError, cause

if TYPE_CHECKING:
    from torch import Tensor

RESTORE = "restore it from a copy"
ROOM = "make room, then run the same command again"
OUTPUT = "`output`"  # what an error tells people to choose another of, where nothing else is said
FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
# What file systems say of syncing a folder where they cannot.
UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
EXACT = 2**53  # up to here floats hold every whole number
T = TypeVar("T")
ANY = object()  # a shape for `check` that everything has


def write_tensors(
    path: Path,
    tensors: Mapping[str, Any],
    facts: Mapping[str, Any] | None = None,
    *,
    bound: str = "",
) -> None:
    """Write tensors of torch or NumPy as one safetensors file, with `facts` as JSON in its header.

    Equal content gives equal bytes.
    """
    arrays = {name: _array(tensor) for name, tensor in tensors.items()}
    text = json.dumps(facts or {}, allow_nan=False)
    # One entry: safetensors writes several in no certain order.
    header = {"facts": text, "sha256": _digest(arrays, text, bound)}
    write_bytes(path, save(arrays, metadata={"memoryless": json.dumps(header)}))


def read_arrays(
    path: Path, *, bound: str = "", fix: str = RESTORE
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `write_tensors` wrote, or an error that ends with `fix` if a byte of it has changed."""
    with reading(path, fix):
        content = path.read_bytes()  # by safetensors itself, only a path in UTF-8 can be opened
        arrays = {name: array.copy() for name, array in sorted(load(content).items())}
        told = _parse(content[8 : 8 + int.from_bytes(content[:8], "little")].decode())
        header = _parse(told.get("__metadata__", {}).get("memoryless", "{}"))
        text = header.get("facts", "")
        if header.get("sha256") == _digest(arrays, text, bound):
            return arrays, _parse(text)
    raise _displaced(path, fix)


def read_tensors(
    path: Path, *, bound: str = "", fix: str = RESTORE
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `read_arrays` gives, as tensors of torch."""
    arrays, facts = read_arrays(path, bound=bound, fix=fix)
    return as_tensors(arrays), facts


def as_tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Arrays as tensors of torch."""
    import torch

    # Copies in torch's own memory, because kernels round by address, and NumPy's memory is not as
    # well aligned: a resumed run would end with other bits.
    return {name: torch.from_numpy(array).clone() for name, array in arrays.items()}


def part(entries: Mapping[str, T], prefix: str) -> dict[str, T]:
    """The entries under a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in entries.items() if k.startswith(prefix)}


def _array(tensor: Any) -> np.ndarray:
    """A tensor as an array whose bytes stand in the order of its indices."""
    own = tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor
    return np.asarray(own, order="C")


def _digest(arrays: Mapping[str, np.ndarray], text: str, bound: str) -> str:
    ordered = sorted(arrays.items())
    parts = [[name, array.dtype.name, array.shape] for name, array in ordered]
    digest = hashlib.sha256(json.dumps([bound, text, parts]).encode())
    for _, array in ordered:
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def to_json(content: Any) -> str:
    """Strict JSON: what is not a number becomes null."""
    return json.dumps(_without_nan(content), indent=1, allow_nan=False) + "\n"


def _without_nan(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def write_json(path: Path, content: Mapping[str, Any], *, bound: str = "") -> None:
    """Write an object as JSON, with one more key `sha256` over all others and `bound`."""
    plain = json.loads(to_json(content))  # as it will be read: lists, and keys that are text
    write_bytes(path, to_json(plain | {"sha256": _json_digest(plain, bound)}).encode())


def read_json(path: Path, *, bound: str = "", fix: str = RESTORE) -> dict[str, Any]:
    """What `write_json` wrote, without the checksum, or an error if any of it has changed."""
    content = parse_json(path, fix=fix)
    with reading(path, fix):
        if content.pop("sha256", None) == _json_digest(content, bound):
            return content
    raise _displaced(path, fix)


def read_bytes(path: Path, *, fix: str = RESTORE) -> bytes:
    """The content of a file."""
    with reading(path, fix):
        return path.read_bytes()


def parse_json(path: Path, *, fix: str = RESTORE) -> dict[str, Any]:
    """The object in a JSON file, its checksum not looked at."""
    with reading(path, fix):
        return _parse(path.read_bytes().decode())


def _json_digest(content: dict[str, Any], bound: str) -> str:
    return hashlib.sha256(json.dumps([bound, content], allow_nan=False).encode()).hexdigest()


def _parse(text: str) -> dict[str, Any]:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(made := dict(pairs)) < len(pairs):
            raise ValueError("a key stands twice")
        return made

    content = json.loads(text, object_pairs_hook=unique)
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    return content


@contextmanager
def reading(path: Path, fix: str) -> Iterator[None]:
    """Turn whatever reading a file can raise into one sentence."""
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise ValueError("it is not a file")
        yield
    except FileNotFoundError as error:
        raise StoreError(f"the file {path} is missing: {fix}") from error
    except PermissionError as error:
        raise StoreError(f"the file {path} may not be read: change its permissions") from error
    except RecursionError as error:
        raise StoreError(f"the file {path} is damaged (its JSON is too deep): {fix}") from error
    except UnicodeError as error:
        raise StoreError(f"the file {path} is damaged (it is not UTF-8): {fix}") from error
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        long = str(error).startswith("Exceeds the limit")  # of digits that Python turns to numbers
        reason = "it has a number of too many digits" if long else cause(error)
        raise StoreError(f"the file {path} is damaged ({reason}): {fix}") from error


def _displaced(path: Path, fix: str) -> StoreError:
    return StoreError(
        f"the file {path} is damaged, or from another place (its checksum differs): {fix}"
    )


@dataclass(frozen=True)
class Within:
    """A shape for `check`: a number, whole if `kind` is int, from `low` to `high`."""

    kind: type
    low: float = -EXACT
    high: float = EXACT

    def __contains__(self, value: Any) -> bool:
        if type(value) is int and abs(value) > EXACT:
            return False
        return type(value) in (int, self.kind) and self.low <= value <= self.high

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.low)
        low = "" if self.low <= -EXACT else f" from {self.low}"
        high = "" if self.high >= EXACT else f" to {self.high}"
        return ("a whole number" if self.kind is int else "a number") + low + high


FLOATS = Within(float, -sys.float_info.max, sys.float_info.max)
TOLD: dict[Any, Any] = {
    int: Within(int),
    float: FLOATS,
    str: "a text",
    bool: "true or false",
    None: "null",
}


def check(value: Any, shape: Any, where: Any, fix: str = RESTORE) -> None:
    """Raise an error that names the first leaf at which a JSON value has not this shape.

    A shape is int, float, str, bool, None, ANY or `Within`; a tuple of alternatives; [shape] for a
    list; {str: shape} for an object with any keys, {"key": shape} for one with just these.

    >>> check({"sizes": [5, -1]}, {"sizes": [Within(int, 1)]}, "run.json", "mend it")
    Traceback (most recent call last):
        ...
    memoryless.errors.StoreError: run.json: sizes[1] is -1, not a whole number from 1: mend it
    """
    for problem in _problems(value, shape, ""):
        raise StoreError(f"{where}: {problem}: {fix}")


def _problems(value: Any, shape: Any, leaf: str) -> Iterator[str]:
    name, choices = leaf or "it", shape if isinstance(shape, tuple) else (shape,)
    for one in choices:
        if isinstance(one, dict) and isinstance(value, dict):
            free = one.get(str)
            yield from (f"{name} lacks '{key}'" for key in one if key not in (str, *value))
            for key, item in value.items():
                if free is None and key not in one:
                    yield f"{name} has '{key}', which does not belong there"
                else:
                    yield from _problems(item, one.get(key, free), f"{leaf}.{key}".lstrip("."))
            return
        if isinstance(one, list) and isinstance(value, list):
            for i, item in enumerate(value):
                yield from _problems(item, one[0], f"{leaf}[{i}]")
            return
    if not any(_fits(value, one) for one in choices):
        yield f"{name} is {_shown(value)}, not {' or '.join(map(_told, choices))}"


def _fits(value: Any, shape: Any) -> bool:
    if shape is ANY:
        return True
    if shape in (int, float) or isinstance(shape, Within):
        return value in TOLD.get(shape, shape)
    return value is None if shape is None else type(value) is shape


def _told(shape: Any) -> str:
    if isinstance(shape, list | dict):
        return "a list" if isinstance(shape, list) else "an object"
    return str(TOLD.get(shape, shape))


def _shown(value: Any) -> str:
    text = _told(value) if isinstance(value, list | dict) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def commit_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make `folder` appear with everything that `fill` writes, or not at all."""
    draft = folder.with_name(folder.name + ".draft")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        make_folder(draft)
        fill(draft)
        for path in [*draft.rglob("*"), draft]:
            sync(path)
        draft.rename(folder)
        sync(folder.parent)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_bytes(path: Path, content: bytes, place: str = OUTPUT) -> None:
    """Write a file whole or not at all, and wait until it is on the disk."""
    draft = path.with_name(path.name + ".draft")
    try:
        make_folder(path.parent)
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error, place) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing; each is on the disk before the next."""
    if folder.is_dir():
        return
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError:
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk; Windows has no way to
    wait for the latter.
    """
    if os.name == "nt" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def cannot_write(path: Path, error: OSError, place: str = OUTPUT) -> WriteError:
    """An error with the reason that the system gives, and the fix; `place` is what to change."""
    fix = f"choose another {place}"
    if error.errno in FULL:
        fix = f"{ROOM}; finished states are kept" if place == OUTPUT else ROOM
    if error.errno in FORBIDDEN:
        fix = f"change its permissions or {fix}"
    return WriteError(f"cannot write {path} ({error.strerror}): {fix}")
