"""A state in progress, on the disk after each epoch; no torch is needed to read one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from memoryless.errors import StoreError
from memoryless.store import read_bytes, write_bytes
from memoryless.tensors import from_bytes, to_bytes


@dataclass(frozen=True)
class Checkpoint:
    """The file that holds a state in progress, and the id of its run."""

    path: Path
    run: str = ""

    def write(self, tensors: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Write tensors and facts, with a checksum of both."""
        whole = {"run": self.run, **facts}
        digest = sha256(to_bytes(tensors, whole)).hexdigest()
        write_bytes(self.path, to_bytes(tensors, whole | {"sha256": digest}))

    def read(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return what was written; nothing if the file is absent, damaged or of another run."""
        try:
            arrays, facts = from_bytes(read_bytes(self.path))
        except (StoreError, SafetensorError, ValueError, RecursionError):
            return {}, {}
        digest = facts.pop("sha256", None)
        sound = digest == sha256(to_bytes(arrays, facts)).hexdigest()
        return (arrays, facts) if sound and facts.pop("run", None) == self.run else ({}, {})
