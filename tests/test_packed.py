"""Models as one file and back: bit by bit, under faults, and never changed as they are."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest

from conftest import draw_birds
from folders import GRAPHS, content, save_toy, save_toys
from memoryless import Model
from memoryless.errors import ConfigError, MemorylessError, StoreError, WriteError
from memoryless.model_folder import (
    check_folder,
    kept_states,
    load_state,
    pack,
    switch,
    unpack,
    writing,
)
from memoryless.photos.overview import go_back, list_kept, overview
from photo_toys import tiny_settings

FEATURES = np.random.default_rng(0).random((20, 8)).astype(np.float32)


def error(action, *arguments) -> tuple[type, str]:
    with pytest.raises(MemorylessError) as caught:
        action(*arguments)
    return caught.type, str(caught.value)


def of_current(folder: Path) -> dict[str, bytes]:
    """The files of the state that counts, without the card."""
    saved = load_state(folder)
    backbone = saved.about["backbone"] and saved.about["backbone"]["sha256"]
    mine = ("CURRENT", f"states/{saved.number:04d}/", f"backbones/{backbone}")
    return {name: part for name, part in content(folder).items() if name.startswith(mine)}


def make_fixed(folder: Path, backbone: Path) -> None:
    model = Model(**tiny_settings(backbone))
    features = np.random.default_rng(0).random((20, 48)).astype(np.float32)
    for names in (["cat", "dog"], ["elk", "owl"]):
        model.learn(features, names * 10)
        model.save(folder)


def make_trained(folder: Path, backbone: Path) -> None:
    model = Model("inFT_siw_mc", epochs=1, width=2, batch_size=16)
    model.learn(*draw_birds(0, 1))
    model.save(folder)


def make_none(folder: Path, backbone: Path) -> None:
    model = Model(backbone="none")
    model.learn(FEATURES, ["cat", "dog"] * 10)
    model.save(folder)


KINDS = {
    "fixed": make_fixed,
    "trained": make_trained,
    "none": make_none,
}


@pytest.mark.parametrize("kind", KINDS)
def test_unpacking_gives_every_byte_back(kind, tmp_path, tiny_backbone):
    folder, again = tmp_path / "model", tmp_path / "new" / "again"
    KINDS[kind](folder, tiny_backbone)
    before = content(folder)
    done = pack(folder)
    assert done.file == tmp_path / "model.memoryless"
    assert done.size == done.file.stat().st_size
    saved = unpack(done.file, again)
    assert saved.identity == done.saved.identity == load_state(folder).identity
    assert of_current(again) == of_current(folder)
    assert sorted(content(again)) == sorted([*of_current(folder), "README.md"])
    assert not list(again.rglob("*.draft"))
    assert check_folder(again) == check_folder(done.file) == []
    assert content(folder) == before
    assert pack(again, tmp_path / "b.memoryless").file.read_bytes() == done.file.read_bytes()


def test_an_unpacked_model_learns_on_and_has_no_way_back(tmp_path, tiny_backbone):
    make_fixed(tmp_path / "model", tiny_backbone)
    unpack(pack(tmp_path / "model").file, tmp_path / "again")
    assert error(go_back, tmp_path / "again") == (
        ConfigError,
        f"{tmp_path / 'again'} keeps no state before the current one, 2: learn with a larger "
        "`history` to keep more",
    )
    model = Model.load(tmp_path / "again")
    model.learn(np.ones((12, 48)), ["bat"] * 12)
    model.save(tmp_path / "again")
    assert [saved.number for saved in kept_states(tmp_path / "again")] == [2, 3]
    assert check_folder(tmp_path / "again") == []


def test_a_model_of_a_packed_file_is_saved_elsewhere(tmp_path, tiny_backbone):
    make_none(tmp_path / "model", tiny_backbone)
    file = pack(tmp_path / "model").file
    model = Model.load(file)
    model.save(tmp_path / "other")
    assert Model.load(tmp_path / "other").classes == ("cat", "dog")
    assert error(model.save, file)[0] is ConfigError


def test_a_packed_model_is_not_changed(tmp_path):
    save_toys(tmp_path / "model", 2)
    file = tmp_path / "my birds.memoryless"
    pack(tmp_path / "model", file)
    before = file.read_bytes()
    told = (
        f"{file} is a packed model, which cannot be changed: memoryless unpack '{file}' MODEL first"
    )
    saved = load_state(file)
    for action in (
        save_toy,
        lambda place: save_toy(place, saved),
        go_back,
        lambda place: go_back(place, 1),
        lambda place: switch(place, 2),
        lambda place: list_kept(place, print),
        lambda place: writing(place).__enter__(),
    ):
        assert error(action, file) == (ConfigError, told)
    assert file.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", file.name]


def test_a_state_that_counted_is_kept_whatever_was_left(tmp_path):
    """Power was cut after the switch, and later CURRENT was deleted by mistake."""
    folder = tmp_path / "again"
    save_toys(tmp_path / "model", 2)
    saved = unpack(pack(tmp_path / "model").file, folder)
    (folder / "UNPACKING.draft").mkdir()
    (folder / "CURRENT").unlink()
    told = f"the file {folder / 'CURRENT'} is missing: restore it from a copy, or go back by "
    told += f"memoryless undo {folder} --to 2"
    for action in (load_state, save_toy):
        assert error(action, folder) == (StoreError, told)
    assert switch(folder, 2).identity == saved.identity


def test_an_overview_of_a_packed_model(tmp_path, tiny_backbone):
    make_fixed(tmp_path / "model", tiny_backbone)
    file = pack(tmp_path / "model").file
    unpack(file, tmp_path / "again")
    packed, folder = overview(file), overview(tmp_path / "again")
    assert (packed.pop("folder"), packed.pop("packed")) == (str(file), True)
    assert (folder.pop("folder"), folder.pop("packed")) == (str(tmp_path / "again"), False)
    assert packed == folder
    assert [state["number"] for state in packed["kept"]] == [2]


def test_states_of_a_packed_model(tmp_path):
    save_toys(tmp_path / "model", 2)
    file = pack(tmp_path / "model").file
    assert [saved.number for saved in kept_states(file)] == [2]
    assert load_state(file, 2).identity == load_state(tmp_path / "model").identity
    assert error(load_state, file, 1) == (
        ConfigError, f"{file} has no state 1: choose from 2"
    )  # fmt: skip


def test_what_is_not_asked_for_is_not_read(tmp_path):
    save_toy(tmp_path / "model")
    file = pack(tmp_path / "model").file
    whole = file.read_bytes()
    mean = load_state(tmp_path / "model").arrays("record")["mean"].tobytes()
    assert whole.count(mean) == 1
    file.write_bytes(whole.replace(mean, bytes(len(mean))))
    loaded = load_state(file, parts=("scorer",))
    assert error(loaded.arrays, "record") == (
        StoreError,
        f"the file {file}/states/0001/record.safetensors is damaged (Bad CRC-32 for file "
        "'states/0001/record.safetensors'): restore it from a copy",
    )


def test_where_the_file_is_written(tmp_path, monkeypatch):
    save_toy(tmp_path / "a.b" / "model")
    (tmp_path / "link").symlink_to("a.b/model")
    assert pack(tmp_path / "link").file == tmp_path / "link.memoryless"
    monkeypatch.chdir(tmp_path / "a.b" / "model")
    assert pack(Path()).file == tmp_path / "a.b" / "model.memoryless"
    assert pack(Path("../model")).file == Path("../model.memoryless")
    assert pack(tmp_path / "link", tmp_path / "new" / "x.memoryless").file.exists()
    assert [name for name in content(Path()) if "memoryless" in name] == []


def test_where_no_file_is_written(tmp_path):
    folder = tmp_path / "model"
    save_toys(folder, 2)
    file = pack(folder).file
    written = file.stat().st_mtime_ns
    pack(folder)  # the same again
    assert file.stat().st_mtime_ns == written
    save_toy(folder, load_state(folder), seed=7)
    (tmp_path / "folder.memoryless").mkdir()
    (tmp_path / "letter").write_text("mine")
    for arguments, told in {
        (folder,): f"{file} is there already: name another file, or delete it first",
        (folder, tmp_path / "x.zip"): (
            f"{tmp_path}/x.zip does not end in .memoryless: name the file so"
        ),
        (folder, tmp_path / "folder.memoryless"): (
            f"{tmp_path}/folder.memoryless is a folder: name a file"
        ),
        (folder, folder / "x.memoryless"): (
            f"{folder}/x.memoryless would lie in a model's own folder: name a place elsewhere"
        ),
        (file,): f"{file} is packed already: copy the file",
        (tmp_path / "letter",): (
            f"{tmp_path}/letter is no packed model: name the folder of a model, or a file that "
            "memoryless pack wrote"
        ),
        (tmp_path / "none",): (
            f"there is no model in {tmp_path}/none: name a folder that a model was saved in"
        ),
    }.items():
        assert error(pack, *arguments)[1] == told
    assert file.stat().st_mtime_ns == written
    names = ["folder.memoryless", "letter", "model", "model.memoryless"]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_where_nothing_is_unpacked(tmp_path):
    save_toy(tmp_path / "model")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.doc").touch()
    file = pack(tmp_path / "model").file
    for arguments, told in {
        (file, tmp_path / "model"): (
            WriteError, f"{tmp_path}/model holds a model already: choose another MODEL"
        ),
        (file, tmp_path / "mine"): (
            StoreError,
            f"{tmp_path}/mine holds other files (thesis.doc): choose another MODEL, or empty it",
        ),
        (tmp_path / "model", tmp_path / "new"): (
            StoreError, f"{tmp_path}/model is no file: name one that memoryless pack wrote"
        ),
        (tmp_path / "none", tmp_path / "new"): (
            StoreError, f"{tmp_path}/none is no file: name one that memoryless pack wrote"
        ),
    }.items():  # fmt: skip
        assert error(unpack, *arguments) == told
    assert not (tmp_path / "new").exists()
    (tmp_path / "mine" / "thesis.doc").unlink()
    unpack(file, tmp_path / "mine")


def test_a_damaged_model_is_not_packed(tmp_path):
    saved = save_toy(tmp_path / "model", graph=GRAPHS[0])
    for name in (
        "record.safetensors",
        "../../backbones/" + saved.about["backbone"]["sha256"] + ".onnx",
    ):
        file = saved.path / name
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + b"\x07")
        assert error(pack, tmp_path / "model")[0] is StoreError
        file.write_bytes(whole)
    assert not (tmp_path / "model.memoryless").exists()
    pack(tmp_path / "model")


def test_a_state_that_a_writer_takes_away_meanwhile(tmp_path, monkeypatch):
    """Packing begins again with the state that counts now."""
    save_toy(tmp_path / "model")
    turns = []

    def load_late(folder, **options):
        saved = load_state(folder, **options)
        if not turns:
            turns.append(save_toy(folder, saved, seed=1, history=0))
        return saved

    monkeypatch.setattr("memoryless.model_folder.packed.load_state", load_late)
    assert pack(tmp_path / "model").saved.number == 2


def test_a_model_from_a_packed_file_can_be_copied(tmp_path):
    model = Model(backbone="none")
    X = np.random.default_rng(0).normal(size=(20, 3))
    model.learn(X, ["a", "b"] * 10)
    model.save(tmp_path / "model")
    pack(tmp_path / "model")
    loaded = Model.load(tmp_path / "model.memoryless")
    for copied in (copy.deepcopy(loaded), pickle.loads(pickle.dumps(loaded))):
        assert np.array_equal(copied.scores(X), model.scores(X))
