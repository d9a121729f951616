"""What the files of a run folder must hold; whatever does not is refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.errors import StoreError
from memoryless.lab.config import Config
from memoryless.settings import restore
from memoryless.store import ANY, Within, check

FORMAT = 2
MEND = "delete the run's folder and run the same command again"
# Files that only the next state needs, so that only the last finished state keeps them.
TO_GO_ON = ("network.safetensors", "record.safetensors")


COUNT, SOME, SECONDS = Within(int, 0), Within(int, 1), Within(float, 0)
PERCENT = Within(float, 0, 100)
ABOUT = {
    "format": Within(int, FORMAT, FORMAT),
    "config": {str: ANY},
    "seed": int,
    "dataset": str,
    "classes": [str],
    "sizes": [SOME],
    "train_images": [SOME],
    "test_images": [SOME],
    "preparation": {"size": SOME, "mean": [float], "std": [float], "augment": [str]},
    "memoryless": bool,
    "backbone_class": str,
    "versions": {str: str},
    "commit": (None, str),
    "command": [str],
    "machine": {"system": str, "cores": (None, SOME)},
    "started": str,
}
METHOD = {"top1": PERCENT, "top5": PERCENT, "by_state": [PERCENT], "bytes": COUNT, "cost": COUNT}
RESULTS = {
    "train_images": SOME,
    "test_images": SOME,
    "history": {"loss": [float], "watched": [float], "seconds": [SECONDS], "images": [SOME]},
    "seconds": {"training": SECONDS, "test_features": SECONDS, "scoring": SECONDS},
    "bytes": {"record": {str: COUNT}, "images_not_kept": COUNT},
    "files": {str: SOME},
}


def check_about(about: dict[str, Any], where: Path) -> None:
    """Raise unless this is what a run writes about itself into run.json."""
    check(about, ABOUT, where, MEND)
    _refuse(_about_problems(about), where)
    try:
        restore(Config, about["config"])
    except ValueError as error:
        _refuse(iter([f"config: {error}"]), where)


def _about_problems(about: dict[str, Any]) -> Iterator[str]:
    classes, sizes = about["classes"], about["sizes"]
    yield from (f"classes has '{name}' twice" for name in classes if classes.count(name) > 1)
    if sum(sizes) != len(classes):
        yield f"sizes add up to {sum(sizes)}, not to {len(classes)} classes"
    for key in ("train_images", "test_images"):
        yield from _of_length(about[key], len(classes), key)


def _of_length(values: list[Any], length: int, name: str) -> Iterator[str]:
    if len(values) != length:
        yield f"{name} has {len(values)} entries, not {length}"


def _refuse(problems: Iterator[str], where: Path) -> None:
    for problem in problems:
        raise StoreError(f"{where}: {problem}: {MEND}")


def check_results(results: dict[str, Any], about: dict[str, Any], t: int, where: Path) -> None:
    """Raise unless these are results of state t of the run, and its files are there."""
    seen = sum(about["sizes"][: t + 1])
    numbers = {"state": t, "new_classes": about["sizes"][t], "classes_seen": seen}
    past = PERCENT if t else None  # no image is of a past class in the first state
    typology = dict.fromkeys(("c_p", "e_pp", "e_pn"), past)
    typology |= dict.fromkeys(("c_n", "e_nn", "e_np"), PERCENT)
    shape: dict[str, Any] = {key: Within(int, value, value) for key, value in numbers.items()}
    shape |= RESULTS | {"methods": {str: METHOD | {"typology": typology}}}
    check(results, shape, where, MEND)
    _refuse(_results_problems(results, t), where)
    _check_files(where.parent, results["files"])


def _results_problems(results: dict[str, Any], t: int) -> Iterator[str]:
    if not results["methods"]:
        yield "methods has no method"
    for name, method in results["methods"].items():
        yield from _of_length(method["by_state"], t + 1, f"methods.{name}.by_state")
    for name, values in results["history"].items():
        yield from _of_length(values, len(results["history"]["loss"]), f"history.{name}")
    for name in ("rows", "layer", "test"):
        if f"{name}.safetensors" not in results["files"]:
            yield f"files lacks '{name}.safetensors'"


def _check_files(folder: Path, files: Mapping[str, int]) -> None:
    """Raise unless just these tensor files are there, each as long as when it was written."""
    there = {path.name: path.stat().st_size for path in folder.glob("*.safetensors")}
    for name in there.keys() - files.keys():
        raise StoreError(f"the file {folder / name} does not belong there: {MEND}")
    for name in sorted(files.keys() - set(TO_GO_ON)):
        if name not in there:
            raise StoreError(f"the file {folder / name} is missing: {MEND}")
        if there[name] != files[name]:
            short = f"it has {there[name]} of {files[name]} bytes"
            raise StoreError(f"the file {folder / name} is damaged ({short}): {MEND}")


STATISTICS = {
    "count": "N",
    "mean": "N e",
    "own": "N e e",
    "scatter": "triangle",
    "factors": "N K e",
    "rest": "N",
}
ROWS = {"W": "N d", "b": "N"}
RECORD = ROWS | {"class_state": "N", "mu": "states"}
# By file, the shape of each tensor, None for any; * stands for part of a name, or for any size.
TENSORS: dict[str, Mapping[str, str | None]] = {
    "rows": RECORD,
    "layer": ROWS,
    "test": {"features": "tests D", "labels": "tests"},
    "held_out": {"features": "held D", "labels": "held"},
    "birth": {f"birth.{name}": s.replace("N", "new") for name, s in STATISTICS.items()}
    | {"drift.forward": "e e", "drift.residual": "e e"}
    | {"drift.sdc": "past e", "drift.*": None},
    "record": {f"*.{name}": shape for name, shape in STATISTICS.items()}
    | {"projection.gram": "P P", "projection.sums": "N P"}
    | RECORD,
    "fitted": {"*.W": "N *", "*.b": "N", "*": None},
}
NEEDED = {"fitted": (), "birth": ("birth.count", "birth.mean"), "record": tuple(RECORD)}
WHOLE_NUMBERS = ("labels", "class_state")


def check_arrays(
    file: str, arrays: Mapping[str, np.ndarray], sizes: dict[str, int], class_state: np.ndarray
) -> Iterator[str]:
    """What is wrong with the arrays in a state's file.

    `sizes` has the length of each dimension by name; those of features, which run.json does not
    tell, are taken into it from the first file that has them.
    """
    shapes = TENSORS.get(file, {})
    yield from (f"it lacks {name}" for name in NEEDED.get(file, shapes) if name not in arrays)
    for name, array in arrays.items() if shapes else ():
        first, _, last = name.rpartition(".")
        keys = (name, f"*.{last}", f"{first}.*", "*")
        key = next((key for key in keys if key in shapes), None)
        if key is None:
            yield f"it has {name}, which does not belong there"
            continue
        if array.dtype.kind != ("i" if key in WHOLE_NUMBERS else "f"):
            yield f"{name} is {array.dtype}, not {'whole ' * (key in WHOLE_NUMBERS)}numbers"
        if shape := shapes[key]:
            yield from _shape_problems(name, array.shape, shape.split(), sizes)
        if file in ("rows", "record") and not np.isfinite(array).all():
            yield f"{name} has entries that are no numbers"
        if name == "labels" and len(array) and not 0 <= array.min() <= array.max() < sizes["N"]:
            yield f"labels has classes beyond the {sizes['N']} seen so far"
        if name == "class_state" and array.tolist() != class_state.tolist():
            yield "class_state is not that of the run's sizes"
    sizes.pop("held", None)  # differs from state to state


def _shape_problems(
    name: str, shape: tuple[int, ...], wanted: list[str], sizes: dict[str, int]
) -> Iterator[str]:
    if len(shape) == len(wanted):
        for dimension, length in zip(wanted, shape, strict=True):
            sizes.setdefault(dimension, length)
    told = [n if d == "*" else sizes.get(d) for d, n in zip(wanted, shape, strict=False)]
    if len(shape) != len(wanted) or list(shape) != told:
        expected = " x ".join(str(sizes.get(d, d)) for d in wanted)
        yield f"{name} is {' x '.join(map(str, shape))}, not {expected}"
