"""What a check of a model's folder tells."""

from __future__ import annotations

import shutil

from folders import GRAPHS, content, save_toy, save_toys
from memoryless.model_folder import check_folder, load_state, switch

CARD = "is not as this version would write it: the next command that changes the model writes it"


def test_a_sound_folder(tmp_path):
    save_toys(tmp_path, 3, graph=GRAPHS[0])
    assert check_folder(tmp_path) == []
    switch(tmp_path, 2)
    assert check_folder(tmp_path) == []
    (tmp_path / ".DS_Store").write_bytes(b"a file browser was here")
    assert check_folder(tmp_path) == []


def test_no_model(tmp_path):
    told = f"there is no model in {tmp_path}: name a folder that a model was saved in"
    assert check_folder(tmp_path) == [told]


def test_a_card_that_was_edited_or_is_missing_is_a_note(tmp_path):
    save_toy(tmp_path)
    card = tmp_path / "README.md"
    whole = card.read_bytes()
    for change in (lambda: card.write_bytes(whole + b"!"), card.unlink):
        change()
        assert check_folder(tmp_path) == [f"note: {card} {CARD} anew"]
    save_toy(tmp_path, load_state(tmp_path))
    assert check_folder(tmp_path) == []


def test_what_is_no_part_of_the_model_is_named(tmp_path):
    saved = save_toys(tmp_path, 2)
    mine = [
        tmp_path / "notes.txt",
        tmp_path / "backbones" / "x.onnx",
        tmp_path / "states" / "old" / "model.json",
        saved.path / "network.safetensors",
        saved.path / "photo.jpg",
        tmp_path / "states" / "link",
    ]
    for path in mine[:-1]:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    mine[-1].symlink_to(tmp_path)
    assert sorted(check_folder(tmp_path)) == sorted(
        f"the file {path} is no part of the model: move it elsewhere" for path in mine
    )


def test_what_an_interrupted_command_left_is_a_note(tmp_path):
    saved = save_toy(tmp_path)
    shutil.copytree(saved.path, tmp_path / "states" / "0002.draft")
    (tmp_path / "CURRENT.draft").write_text("cut")
    left = [tmp_path / "CURRENT.draft"]
    left += [tmp_path / "states" / "0002.draft" / name for name in sorted(content(saved.path))]
    assert check_folder(tmp_path) == [
        f"note: {path} was left by an interrupted command: the next one removes it" for path in left
    ]


def test_every_damage_is_told_once(tmp_path):
    save_toys(tmp_path, 3, graph=GRAPHS[0])
    (graph,) = (tmp_path / "backbones").iterdir()
    record, scorer = (tmp_path / "states" / name for name in ("0001/record", "0003/scorer"))
    graph.write_bytes(b"other")
    record.with_suffix(".safetensors").write_bytes(b"")
    scorer.with_suffix(".safetensors").unlink()
    found = check_folder(tmp_path)
    assert [problem.split(" ")[2] for problem in found] == [
        f"{scorer}.safetensors", f"{record}.safetensors", str(graph),
    ]  # fmt: skip
    assert found[-1].endswith("is damaged (its checksum differs): restore it from a copy")


def test_a_state_that_was_exchanged_for_another_is_seen(tmp_path):
    """Both are sound in themselves."""
    for name in ("one", "two"):
        save_toys(tmp_path / name, 2)
    other = tmp_path / "two" / "states" / "0001"
    save_toy(tmp_path / "three", seed=5)
    shutil.rmtree(other)
    shutil.copytree(tmp_path / "three" / "states" / "0001", other)
    assert check_folder(tmp_path / "two") == [
        f"the file {other / 'model.json'} is not the one that state 2 follows: restore it from a "
        "copy"
    ]
