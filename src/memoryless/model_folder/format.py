"""What the description of a model, model.json, must hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.errors import StoreError
from memoryless.settings import restore as restore_settings
from memoryless.stats.class_statistics import spread_rows
from memoryless.stats.confidence import MARGINS, TEMPERATURES
from memoryless.stats.scorers import misshapen, restore
from memoryless.store import ANY, RESTORE, Within, check, read_json
from memoryless.train.settings import ModelSettings

FORMAT = 3
HISTORY = 5
"""How many states before it a state keeps, where nobody said so."""
SHA256 = re.compile(r"[0-9a-f]{64}")
PARTS = ("record", "scorer", "network")
"""Files of arrays; only trained features have a network."""
LABELS = ("str", "int", "float", "bool")
"""Of which type labels were before they became names of classes."""
STATE = {
    "date": str,
    "photos": Within(int, 0),
    "more": {str: Within(int, 1)},  # photos of classes that were known already
    "model": (None, str),  # the one that learned it, if it was merged into this one
}
ABOUT = {
    "format": Within(int, FORMAT, FORMAT),
    "memoryless": str,
    "date": str,
    "parent": (None, {"state": Within(int, 1), "sha256": str}),
    "history": Within(int, 0),
    "forgotten": (None, {"state": Within(int, 1), "date": str}),
    "method": str,
    "settings": {str: ANY},
    "seed": int,
    "classes": [str],
    "labels": str,
    "counts": [Within(int, 1)],
    "class_state": [Within(int, 0)],
    "states": [STATE],
    "preparation": ANY,
    "backbone": (None, {"name": str, "sha256": str}),
    "scorer": {str: ANY},
    "confidence": (None, {"temperature": float, "threshold": float, "averaged": bool}),
    "forgettable": bool,
    "ledger": {str: Within(int, 0)},
    "files": {str: str},
}
CHANNELS = {"size": Within(int, 1), "mean": [float], "std": [float]}
FIXED = CHANNELS | {"crop": Within(float, 0, 1)}
TRAINED = CHANNELS | {"augment": [str]}


def check_about(about: Mapping[str, Any], number: int, where: Any) -> None:
    """Raise an error that names the first leaf that is wrong in the description of a state."""
    check(about, ABOUT, where)
    shape: Any = TRAINED if "network" in about["files"] else FIXED if about["backbone"] else None
    check({"preparation": about["preparation"]}, {"preparation": shape}, where)
    for problem in _problems(about, number):
        raise StoreError(f"{where}: {problem}: {RESTORE}")


def described(file: Path, number: int) -> dict[str, Any]:
    """What model.json says of a state, checked."""
    about = read_json(file, bound=f"{number:04d}")
    _check_version(about, file)
    check_about(about, number, file)
    return about


def _check_version(about: Mapping[str, Any], where: Any) -> None:
    """Raise unless this version reads the format; of others only the seal is as today."""
    written, version = about.get("format"), about.get("memoryless")
    if isinstance(written, int) and written != FORMAT:
        newer = f"install memoryless {version} or newer"
        older = f"install memoryless {version} to use it, or teach a new model"
        raise StoreError(
            f"{where} was written by memoryless {version}, which this version cannot read: "
            f"{newer if written > FORMAT else older}"
        )


def ledger(record: Mapping[str, Any]) -> dict[str, int]:
    """Bytes of each part of a record."""
    return {name: part.nbytes for name, part in record.items()}


def array_problems(
    about: Mapping[str, Any], part: str, arrays: Mapping[str, np.ndarray]
) -> Iterator[str]:
    """What is wrong with the arrays of a part."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            yield f"{name} is not all numbers"
    if part == "record" and "network" not in about["files"]:
        yield from _sum_problems(about, arrays)
    if part == "record" and ledger(arrays) != about["ledger"]:
        yield "its arrays are not of the sizes in the ledger of model.json"
    if part == "scorer":
        yield from _scorer_problems(about, arrays)


def _sum_problems(about: Mapping[str, Any], sums: Mapping[str, np.ndarray]) -> Iterator[str]:
    """What is wrong with sums over photos, the record of fixed features."""
    classes = len(about["classes"])
    mean, count = sums.get("mean", np.zeros(0)), sums.get("count", np.zeros(0))
    d = max(1, mean.shape[1]) if mean.ndim == 2 else 1
    shapes = {
        "count": (classes,),
        "mean": (classes, d),
        "scatter": (d * (d + 1) // 2,),
        "held_out.losses": TEMPERATURES.shape,
        "held_out.below": MARGINS.shape,
        "held_out.count": (),
    }
    if "count" in sums and (count < 1).any():
        yield "count is below 1 for a class"
    elif about["forgettable"]:
        shapes["spread"] = (int(spread_rows(count, d).sum()), d)
    for name, shape in shapes.items():
        if name not in sums or sums[name].shape != shape or sums[name].dtype != np.float64:
            yield f"{name} is not of the shape {shape} in float64"
    if about["counts"] != count.tolist():
        yield "count is not as in model.json"


def _scorer_problems(about: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Iterator[str]:
    try:
        scorer = restore(about["scorer"], arrays)
    except (StoreError, RecursionError) as error:
        yield str(error)
        return
    classes = len(about["classes"])
    if "network" in about["files"]:
        yield from misshapen(scorer, {"N": classes})
    elif scorer.kind != "viewed" or scorer.over.kind != "linear":
        yield "the scorer of fixed features must be of the kind viewed, over one of the kind linear"
    else:
        d = about["ledger"].get("mean", 0) // (8 * classes)  # without a look into the record
        yield from misshapen(scorer, {"N": classes + 1, "d": d})


def _problems(about: Mapping[str, Any], number: int) -> Iterator[str]:
    """What is wrong with a description beyond its shape."""
    yield from _settings_problems(about["settings"])
    yield from _class_problems(about)
    for key in ("backbone", "parent"):
        if about[key] and not SHA256.fullmatch(about[key]["sha256"]):
            yield f"{key}.sha256 is no SHA-256 checksum"
    if about["parent"] and about["parent"]["state"] >= number:
        yield f"parent.state must be below {number}"
    if not {"record", "scorer"} <= set(about["files"]) <= set(PARTS):
        yield f"files must be {', '.join(PARTS)}, the last only for trained features"
    fixed = about["method"].partition("+")[0] == "fixed"
    if fixed == ("network" in about["files"]):
        yield f"the method {about['method']!r} and the files {', '.join(about['files'])} do not fit"
    if fixed and about["confidence"] is None:
        yield "confidence is null, which it can only be where features are trained"
    yield from _channel_problems(about["preparation"] or {"mean": [0.0], "std": [1.0]})
    if about["confidence"] and about["confidence"]["temperature"] <= 0:
        yield "confidence.temperature must be above 0"
    if fixed and about["forgettable"] != ("spread" in about["ledger"]):
        yield "forgettable and ledger do not fit: what can be forgotten has a spread"
    if about["labels"] not in LABELS:
        yield f"labels must be one of {', '.join(LABELS)}"
    yield from _more_problems(about)
    if about["forgotten"] and about["forgotten"]["state"] > number:
        yield f"forgotten.state must not be above {number}"
    forgot = [about["forgotten"]["date"]] if about["forgotten"] else []
    for date in (about["date"], *forgot, *(state["date"] for state in about["states"])):
        if not _is_date(date):
            yield f"{date!r} is no date"


def _settings_problems(stored: Mapping[str, Any]) -> Iterator[str]:
    try:
        restore_settings(ModelSettings, stored)
    except ValueError as error:
        yield f"settings: {error}"


def _channel_problems(preparation: Mapping[str, Any]) -> Iterator[str]:
    channels = len(preparation["mean"])
    if channels not in (1, 2, 3) or len(preparation["std"]) != channels:
        yield "preparation.mean and preparation.std must have as many numbers as channels, 1 to 3"
    if "crop" in preparation and (channels != 3 or preparation["crop"] == 0):
        yield "preparation.mean must have three numbers, and preparation.crop be above 0"
    if min(preparation["std"], default=1.0) <= 0:
        yield "preparation.std must be above 0"


def _class_problems(about: Mapping[str, Any]) -> Iterator[str]:
    classes = about["classes"]
    if len(set(classes)) < len(classes) or not all(classes) or not classes:
        yield "classes must be named, each once"
    for key in ("counts", "class_state"):
        if len(about[key]) != len(classes):
            yield f"{key} must have {len(classes)} entries, one a class"
    if "network" not in about["files"] and about["ledger"].get("mean", 0) < 8 * len(classes):
        yield "ledger has no mean of each class"
    if max(about["class_state"], default=0) >= len(about["states"]):
        yield "class_state names a state that states does not have"


def _more_problems(about: Mapping[str, Any]) -> Iterator[str]:
    """Photos that came to known classes are of classes that are there, and part of their count."""
    counts = dict(zip(about["classes"], about["counts"], strict=False))
    added: Counter[str] = Counter()
    for state in about["states"]:
        added.update(state["more"])
    for name, number in added.items():
        if counts.get(name, 0) <= number:
            yield f"states tell of {number} more photos of {name!r}, and counts do not"


def now() -> str:
    """The time as it is written: UTC, whole seconds.

    >>> _is_date(now()), _is_date("yesterday"), _is_date("2026-02-31T00:00:00Z")
    (True, False, False)
    """
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_date(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%dT%H:%M:%SZ") == text
    except ValueError:
        return False
