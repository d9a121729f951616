"""The arrays of a state: safetensors bytes and back, compared with what its description says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from memoryless.errors import StoreError, cause
from memoryless.model.classes import Classes
from memoryless.model.description import Description
from memoryless.stats.class_statistics import spread_rows
from memoryless.stats.confidence import MARGINS, TEMPERATURES
from memoryless.stats.scorers import misshapen, restore
from memoryless.store import RESTORE

LONGEST_HEADER = 2**20  # bytes; a network of a thousand tensors has a tenth of that


def to_bytes(arrays: Mapping[str, Any]) -> bytes:
    """Arrays of NumPy or torch as bytes; equal arrays give equal bytes."""
    return save({name: _array(arrays[name]) for name in sorted(arrays)})


def _array(array: Any) -> np.ndarray:
    """An array whose bytes stand in the order of its indices."""
    own = array.detach().cpu().numpy() if hasattr(array, "detach") else array
    return np.asarray(own, order="C")


def from_bytes(content: bytes, where: str) -> dict[str, np.ndarray]:
    """The arrays in bytes of someone else's making."""
    if int.from_bytes(content[:8], "little") > LONGEST_HEADER:
        raise StoreError(f"{where} is damaged (it lists too many arrays): {RESTORE}")
    try:
        return dict(sorted(load(content).items()))
    except (SafetensorError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(f"{where} is damaged ({cause(error)}): {RESTORE}") from error


def problems(
    about: Description, classes: Classes, part: str, arrays: Mapping[str, np.ndarray]
) -> Iterator[str]:
    """What is wrong with the arrays of a part."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            yield f"{name} is not all numbers"
    if part == "record":
        if about.record != {name: array.nbytes for name, array in arrays.items()}:
            yield "its arrays are not of the sizes in the description"
        elif about.train is None:
            yield from _sum_problems(about, classes, arrays)
    if part == "scorer":
        yield from _scorer_problems(about, classes, arrays)


def _sum_problems(
    about: Description, classes: Classes, sums: Mapping[str, np.ndarray]
) -> Iterator[str]:
    """What is wrong with sums over photos, the record of fixed features."""
    number = len(classes.names)
    mean, count = sums.get("mean", np.zeros(0)), sums.get("count", np.zeros(0))
    d = max(1, mean.shape[1]) if mean.ndim == 2 else 1
    shapes = {
        "count": (number,),
        "mean": (number, d),
        "scatter": (d * (d + 1) // 2,),
        "held_out.losses": TEMPERATURES.shape,
        "held_out.below": MARGINS.shape,
        "held_out.count": (),
    }
    if list(classes.counts) != count.tolist():
        yield "count is not as in the table of classes"
    elif about.forgettable:
        shapes["spread"] = (int(spread_rows(count, d).sum()), d)
    if names := set(sums) ^ set(shapes):
        yield f"{', '.join(sorted(names))} is missing, or too much"
    for name in set(sums) & set(shapes):
        if sums[name].shape != shapes[name] or sums[name].dtype != np.float64:
            yield f"{name} is not of the shape {shapes[name]} in float64"


def scorer_facts(about: Description) -> dict[str, Any]:
    """Which scorer a state has, and its single numbers."""
    if about.train:
        return about.train.scorer
    over = {"kind": "linear", "unit": False}
    return {"kind": "viewed", "over": over, "start": 0, "square_roots": about.square_roots}


def _scorer_problems(
    about: Description, classes: Classes, arrays: Mapping[str, np.ndarray]
) -> Iterator[str]:
    number = len(classes.names)
    try:
        scorer = restore(scorer_facts(about), arrays)
    except (StoreError, RecursionError) as error:
        yield str(error)
        return
    if about.train:
        yield from misshapen(scorer, {"N": number})
    else:
        d = about.record.get("mean", 0) // (8 * number)  # without a look into the record
        yield from misshapen(scorer, {"N": number + 1, "d": d})
