"""Folders whose checksums are right and whose content is not: refused in one sentence, at once."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from folders import FACTS, GRAPHS, save_toy, save_toys
from memoryless.errors import StoreError
from memoryless.model_folder import check_folder, load_state
from memoryless.store import write_json, write_tensors

TESTS = Path(__file__).parent


def reseal(folder: Path, change: Callable[[dict], object]) -> None:
    """Change what the last state's model.json says, with every checksum made right again."""
    state = load_state(folder).path
    about = json.loads((state / "model.json").read_text())
    del about["sha256"]
    for part in about["files"]:
        about["files"][part] = hashlib.sha256(
            (state / f"{part}.safetensors").read_bytes()
        ).hexdigest()
    change(about)
    write_json(state / "model.json", about, bound=state.name)
    digest = hashlib.sha256((state / "model.json").read_bytes()).hexdigest()
    (folder / "CURRENT").write_text(f"{state.name} {digest}\n")


def put_arrays(name: str, **arrays: np.ndarray | None) -> Callable[[Path], object]:
    """Other arrays in a part, or some of them gone, sealed as if they were ours."""

    def put_in(folder: Path) -> None:
        state = load_state(folder)
        put = {n: a for n, a in (state.arrays(name) | arrays).items() if a is not None}
        write_tensors(state.path / f"{name}.safetensors", put, bound=name)
        reseal(folder, lambda about: None)

    return put_in


def put_part(raw: bytes) -> Callable[[Path], object]:
    def put(folder: Path) -> None:
        (load_state(folder).path / "scorer.safetensors").write_bytes(raw)
        reseal(folder, lambda about: None)

    return put


def with_header(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def put_raw(name: str, raw: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(raw)


def put_about(**change: object) -> Callable[[Path], object]:
    return lambda folder: reseal(folder, lambda about: about.update(change))


def replace_by(make: Callable[[Path], object], name: str) -> Callable[[Path], object]:
    def replace(folder: Path) -> None:
        file = folder / name
        shutil.rmtree(file) if file.is_dir() else file.unlink()
        make(file)

    return replace


OVERLAP = {
    name: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} for name in ("over.W", "over.b")
}
NAN_ROW = np.full((5, 3), np.nan, np.float32)
ROWS = np.ones((5, 3), np.float32)
HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a header of 2^63 bytes": (put_part((2**63 - 1).to_bytes(8, "little")), "damaged (Error"),
    "a header beyond the cap": (put_part((10**9).to_bytes(8, "little") + bytes(99)), "damaged ("),
    "overlapping offsets": (put_part(with_header(OVERLAP, bytes(8))), "damaged ("),
    "deep header": (put_part(with_header(b"[" * 100_000)), "damaged ("),
    "no checksum": (put_part(save({"over.W": NAN_ROW})), "its checksum differs"),
    "rows that are not numbers": (
        put_arrays("scorer", **{"over.W": NAN_ROW}), "over.W is not all numbers",
    ),
    "sums that are not numbers": (
        put_arrays("record", mean=np.full((4, 3), np.inf)), "mean is not all numbers",
    ),
    "sums of other classes": (
        put_arrays("record", count=np.ones(9)), "count is not of the shape (4,) in float64",
    ),
    "sums of another size": (
        put_arrays("record", scatter=np.ones(9)), "scatter is not of the shape (6,) in float64",
    ),
    "a mean without classes": (
        put_arrays("record", mean=np.array(1.0)), "mean is not of the shape (4, 1) in float64",
    ),
    "a class of no photo": (
        put_arrays("record", count=np.array([20.0, 0, 20, 20])), "count is below 1 for a class",
    ),
    "no mean": (
        put_about(ledger={"count": 32, "scatter": 48}), "ledger has no mean of each class",
    ),
    "sums of another width": (
        put_arrays("record", mean=np.ones((4, 2)), scatter=np.ones(3)),
        "its arrays are not of the sizes in the ledger of model.json",
    ),
    "no sums over held-out photos": (
        put_arrays("record", **{"held_out.below": None}),
        "held_out.below is not of the shape (97,) in float64",
    ),
    "held-out photos at other temperatures": (
        put_arrays("record", **{"held_out.losses": np.ones(30)}),
        "held_out.losses is not of the shape (31,) in float64",
    ),
    "held-out photos counted twice": (
        put_arrays("record", **{"held_out.count": np.ones(2)}),
        "held_out.count is not of the shape () in float64",
    ),
    "no count of photos": (put_about(counts=[None] * 4), "counts[0] is null"),
    "rows of classes alone": (
        put_arrays("scorer", **{"over.W": ROWS[:4], "over.b": ROWS[:4, 0]}),
        "over.W is of the shape (4, 3), not (5, 3)",
    ),
    "rows that are too narrow": (
        put_arrays("scorer", **{"over.W": ROWS[:, :2]}),
        "over.W is of the shape (5, 2), not (5, 3)",
    ),
    "one number in place of rows": (
        put_arrays("scorer", **{"over.b": ROWS[0, 0]}), "over.b is of the shape (), not (5)",
    ),
    "no rows": (
        put_arrays("scorer", **{"over.W": None}), "a scorer of the kind linear lacks its W",
    ),
    "a view from a word on": (
        put_about(scorer=FACTS | {"start": "x"}),
        "a scorer of the kind viewed cannot have 'x' as its start",
    ),
    "a list of kinds": (put_about(scorer={"kind": [1]}), "a scorer of the kind [1] is unknown"),
    "a scorer of another kind": (
        put_about(scorer=FACTS["over"]), "a scorer of the kind linear lacks its W",
    ),
    "a view of a view": (
        put_about(scorer=FACTS | {"over": FACTS}), "a scorer of the kind linear lacks its W",
    ),
    "a method of trained features": (put_about(method="inFT_siw"), "the method 'inFT_siw' and"),
    "deep JSON": (put_raw("states/0002/model.json", b"[" * 100_000), "its JSON is too deep"),
    "long numbers": (
        put_raw("states/0002/model.json", b'{"seed": ' + b"1" * 9999 + b"}"), "too many digits",
    ),
    "CURRENT out of the folder": (put_raw("CURRENT", b"../../../etc " + b"0" * 64), "is damaged"),
    "CURRENT of many lines": (put_raw("CURRENT", b"0002 " + b"0" * 64 + b"\n\n"), "is damaged"),
    "CURRENT of another": (put_raw("CURRENT", b"0002 " + b"0" * 64 + b"\n"), "(they differ)"),
    "CURRENT of none": (put_raw("CURRENT", b"0009 " + b"0" * 64 + b"\n"), "names state 9"),
    "a backbone out of the folder": (
        put_about(backbone={"name": "x", "sha256": "../../../../etc/passwd"}),
        "backbone.sha256 is no SHA-256 checksum",
    ),
    "files out of the folder": (put_about(files={"../../x": "0"}), "files must be"),
    "a parent that is itself": (
        put_about(parent={"state": 2, "sha256": "0" * 64}), "parent.state must be below 2",
    ),
    "a pipe": (replace_by(os.mkfifo, "CURRENT"), "it is not a file"),
    "a pipe within": (replace_by(os.mkfifo, "states/0002/scorer.safetensors"), "it is not a file"),
    "a folder": (replace_by(Path.mkdir, "states/0002/model.json"), "it is not a file"),
    "a link in a circle": (
        replace_by(lambda path: path.symlink_to(path), "states/0002"), "names state 2",
    ),
    "an endless file": (
        replace_by(lambda path: path.symlink_to("/dev/zero"), "states/0002/record.safetensors"),
        "it is not a file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_folders_are_refused(kind, tmp_path):
    save_toys(tmp_path, 2, graph=GRAPHS[0])
    spoil, reason = HOSTILE[kind]
    spoil(tmp_path)
    started = time.perf_counter()
    with pytest.raises(StoreError) as caught:
        load_state(tmp_path, parts=("scorer", "record"))
    assert reason in str(caught.value)
    assert str(caught.value).endswith(f"or go back by memoryless undo {tmp_path} --to 1") or (
        "CURRENT" in kind or kind == "a pipe"
    )
    assert str(tmp_path) in str(caught.value)
    assert [problem for problem in check_folder(tmp_path) if reason in problem]
    assert time.perf_counter() - started < 5


def test_the_scorer_of_fixed_features_is_a_layer_over_a_view(tmp_path):
    save_toy(tmp_path)
    put_arrays("scorer", W=ROWS, b=ROWS[:, 0])(tmp_path)
    put_about(scorer={"kind": "linear"})(tmp_path)
    (told,) = check_folder(tmp_path)
    assert told == (
        f"the file {tmp_path}/states/0001/scorer.safetensors is damaged (the scorer of fixed "
        "features must be of the kind viewed, over one of the kind linear): restore it from a copy"
    )


def test_the_scorer_of_trained_features_has_a_row_for_each_class(tmp_path, taught):
    folder = tmp_path / "model"
    taught.save(folder)
    assert check_folder(folder) == []
    rows = {name: array[:1] for name, array in load_state(folder).arrays("scorer").items()}
    put_arrays("scorer", **rows)(folder)
    told = check_folder(folder)[0]
    assert "W is of the shape (1, " in told
