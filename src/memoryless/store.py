"""Files that are whole or absent: atomic writes, checksummed tensors, no pickle."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from memoryless.errors import StoreError, WriteError

Tensors = Mapping[str, Tensor]
MEND = "delete the run's folder (seed-N) and run the same command again"


def write_tensors(path: Path, tensors: Tensors, facts: Mapping[str, Any] | None = None) -> None:
    """One safetensors file with `facts` as JSON in its header and a checksum over both."""
    # safetensors refuses tensors that share memory, such as one part under two names
    plain = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    text = json.dumps(facts or {})
    # One entry: safetensors writes several in no certain order, and equal files should be equal.
    header = {"memoryless": json.dumps({"facts": text, "sha256": _digest(plain, text)})}
    _write(path, save(plain, metadata=header))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What `write_tensors` wrote, or an error if a byte of it has changed."""
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("memoryless", "{}"))
            # Copies, because what is mapped from a file may lie at any address, and kernels round
            # by address: a resumed run would end with other bits.
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        raise StoreError(f"the file {path} is missing: {MEND}") from error
    except PermissionError as error:
        raise StoreError(f"the file {path} may not be read: change its permissions") from error
    except (SafetensorError, OSError, ValueError) as error:
        raise StoreError(f"the file {path} is damaged ({error}): {MEND}") from error
    if header.get("sha256") != _digest(tensors, header.get("facts", "")):
        raise StoreError(f"the file {path} is damaged (its checksum differs): {MEND}")
    return tensors, json.loads(header["facts"])


def _digest(tensors: Tensors, text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.contiguous().view(-1).view(torch.uint8).numpy().data)
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


def write_json(path: Path, content: Any) -> None:
    _write(path, to_json(content).encode())


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError as error:
        raise StoreError(f"the file {path} is missing: {MEND}") from error
    except PermissionError as error:
        raise StoreError(f"the file {path} may not be read: change its permissions") from error
    except (ValueError, OSError) as error:
        raise StoreError(f"the file {path} is damaged ({error}): {MEND}") from error


def commit_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make `folder` appear with everything that `fill` writes, or not at all."""
    draft = folder.with_name(folder.name + ".draft")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        fill(draft)
        draft.rename(folder)
    except OSError as error:
        raise _cannot_write(folder, error) from error


def _write(path: Path, content: bytes) -> None:
    draft = path.with_name(path.name + ".draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):
            draft.unlink()
        raise _cannot_write(path, error) from error


def _cannot_write(path: Path, error: OSError) -> WriteError:
    return WriteError(
        f"cannot write {path} ({error.strerror}): make room or choose another --output, then run "
        "the same command again; finished states are kept"
    )
