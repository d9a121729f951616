"""Named arrays as safetensors bytes, with facts as JSON in their header; no pickle.

Only `as_tensors` needs torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from safetensors.numpy import load, save

if TYPE_CHECKING:
    from torch import Tensor

T = TypeVar("T")


def to_bytes(tensors: Mapping[str, Any], facts: Mapping[str, Any] | None = None) -> bytes:
    """Return tensors of torch or NumPy as the content of a file; equal tensors give equal bytes."""
    arrays = {name: to_array(tensor) for name, tensor in tensors.items()}
    # One entry: safetensors writes several in no certain order.
    return save(arrays, metadata={"facts": json.dumps(facts)} if facts else None)


def from_bytes(content: bytes) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and the facts that `to_bytes` was given."""
    arrays = {name: array.copy() for name, array in sorted(load(content).items())}
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
    return arrays, json.loads(header.get("__metadata__", {}).get("facts", "{}"))


def as_tensors(arrays: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Return arrays as tensors of torch."""
    import torch

    # Copies in torch's own memory, because kernels round by address, and NumPy's memory is not as
    # well aligned: a resumed run would end with other bits.
    return {name: torch.from_numpy(array).clone() for name, array in arrays.items()}


def part(entries: Mapping[str, T], prefix: str) -> dict[str, T]:
    """Return the entries under a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in entries.items() if k.startswith(prefix)}


def prefixed(prefix: str, entries: Mapping[str, T]) -> dict[str, T]:
    """Return entries under a prefix, as `part` finds them."""
    return {f"{prefix}{name}": value for name, value in entries.items()}


def to_array(tensor: Any) -> np.ndarray:
    """Return a tensor as an array whose bytes stand in the order of its indices."""
    own = tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor
    return np.asarray(own, order="C")
