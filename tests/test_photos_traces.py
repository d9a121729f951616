"""The search for traces: it finds what is put there, and takes nothing else for it."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from safetensors.numpy import save

from folders import GRAPHS, describe_toy, draw_toy, save_toy
from memoryless.model_folder import Saved, save_state
from memoryless.names import markdown_text
from memoryless.photos.traces import BACKBONE, ENCODINGS, WORDS, Scan, Sought, scan

NAME = "Zoë [the] Müller"
NOTHING = np.zeros((0, 3))
ROW = np.array([[3.0, -2.0, 1.0]])


def look(saved: Saved, *names: str, rows: np.ndarray = NOTHING, rest: np.ndarray = NOTHING) -> Scan:
    return scan(saved, [Sought(name, {"mean": rows}) for name in names], rest)


def save_named(folder: Path, *classes: str, model: str | None = None) -> Saved:
    """A model of these classes, perhaps merged from another."""
    about = describe_toy(len(classes), 1) | {"classes": list(classes)}
    about["states"] = [about["states"][0] | {"model": model}]
    return save_state(folder, about, draw_toy(len(classes)), None)


def test_a_clean_folder(tmp_path):
    saved = save_toy(tmp_path, graph=GRAPHS[0])
    found = look(saved, NAME, "Al")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert (found.files, found.bytes) == (7, sum(path.stat().st_size for path in files))
    assert (found.found, found.elsewhere, found.short) == ([], [], ["Al"])
    assert found.encodings >= 5 * 8  # two forms of Unicode, each as it is and escaped in three ways


WAYS = {
    "plain": str,
    "Markdown": markdown_text,
    "JSON": json.dumps,
    "JSON, not escaped": lambda text: json.dumps(text, ensure_ascii=False),
    "link": quote,
    "HTML": lambda text: f"<td>{text}</td>",
}


@pytest.mark.parametrize("place", ["notes", "README.md.draft", "states/0007.draft/model.json",
                                   "states/0001/more", "backbones/x.onnx"])  # fmt: skip
@pytest.mark.parametrize("way", WAYS)
def test_a_name_is_found_in_every_encoding_and_anywhere(way, place, tmp_path):
    saved = save_toy(tmp_path, graph=GRAPHS[0])
    (tmp_path / place).parent.mkdir(exist_ok=True)
    for form in ("NFC", "NFD"):
        text = WAYS[way](unicodedata.normalize(form, NAME))
        for encoding in ENCODINGS:
            (tmp_path / place).write_bytes(b"\x00\xff" + text.encode(encoding) + b"\xfe")
            assert look(saved, NAME).found == [f"{tmp_path / place} holds the name of {NAME}"]


def test_a_longer_name_of_another_class_is_none(tmp_path):
    saved = save_named(tmp_path, "robin redbreast", "owl")
    found = look(saved, "redbreast")
    assert (found.found, found.elsewhere) == ([], ["the class robin redbreast"])


def test_beside_a_longer_name_the_name_is_found(tmp_path):
    saved = save_named(tmp_path, "robin redbreast", "owl")
    (tmp_path / "notes").write_text("robin redbreast, redbreast, robin redbreast")
    assert look(saved, "redbreast").found == [f"{tmp_path}/notes holds the name of redbreast"]
    (tmp_path / "notes").write_text("robin redbreast, robin redbreast")
    assert look(saved, "redbreast").found == []


def test_a_hit_that_only_overlaps_a_longer_name_is_found(tmp_path):
    saved = save_named(tmp_path, "cd abcdabcd", "owl")
    (tmp_path / "notes").write_text("abcdabcd abcdabcd")
    assert look(saved, "abcdabcd").found == [f"{tmp_path}/notes holds the name of abcdabcd"]


def test_the_name_of_a_merged_model_is_told(tmp_path):
    saved = save_named(tmp_path, "owl", "elk", model="Redbreast House")
    found = look(saved, "Redbreast House")
    assert found.found == []
    assert found.elsewhere == ["the model Redbreast House, which was merged"]


@pytest.mark.parametrize(
    "word", ["temperature", "held_out", "settings", "forgettable", "data_offsets", "new classes",
             "mean", "class"]
)  # fmt: skip
def test_words_of_every_model_are_no_traces(word, tmp_path):
    found = look(save_toy(tmp_path), word)
    assert found.found == []
    assert found.elsewhere in ([WORDS], [])


def test_words_of_every_model_are_traces_where_it_did_not_write(tmp_path):
    saved = save_toy(tmp_path)
    (tmp_path / "notes").write_text("temperature")
    assert look(saved, "temperature").found == [f"{tmp_path}/notes holds the name of temperature"]


def test_what_a_backbone_says_is_told(tmp_path):
    saved = save_toy(tmp_path, graph=GRAPHS[1])
    found = look(saved, GRAPHS[1].decode())
    assert (found.found, found.elsewhere) == ([], [BACKBONE])


def test_short_names_are_found_as_whole_texts(tmp_path):
    saved = save_named(tmp_path, "owlet", "3 owls", "cat")
    assert look(saved, "owl", "3", "1", "0").found == []
    assert look(saved, "owl", "3").short == ["owl", "3"]
    left = tmp_path / "states" / "0000.draft" / "model.json"
    left.parent.mkdir()
    left.write_text('{"classes": ["owl", "\\u00e9"]}')
    assert look(saved, "owl", "3", "e\u0301").found == [
        f"{left} holds the name of owl",
        f"{left} holds the name of e\u0301",
    ]


def test_a_card_from_before_is_found(tmp_path):
    saved = save_toy(tmp_path)
    (tmp_path / "README.md").write_text("# A model of owl")
    assert look(saved, "owl").found == [f"{tmp_path}/README.md is not as the model has it now"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_is_found_in_any_array(dtype, tmp_path):
    saved = save_toy(tmp_path)
    assert look(saved, NAME, rows=ROW).found == []
    array = np.concatenate([np.ones((5, 3)), ROW * (1 + 5e-4)]).astype(dtype)
    (tmp_path / "x.safetensors").write_bytes(save({"y": np.ones(3), "x": array}))
    assert look(saved, NAME, rows=ROW).found == [
        f"{tmp_path}/x.safetensors holds the mean of {NAME}"
    ]
    array[-1] = ROW[0] + np.array([0, 0.004, 0])  # by more than a thousandth of 3
    (tmp_path / "x.safetensors").write_bytes(save({"x": array}))
    assert look(saved, NAME, rows=ROW).found == []


def test_a_row_that_another_class_has_too_is_none(tmp_path):
    saved = save_toy(tmp_path)
    rows = saved.arrays("record")["mean"]
    assert look(saved, NAME, rows=rows[[1]]).found == [
        f"{saved.path}/record.safetensors holds the mean of {NAME}"
    ]
    assert look(saved, NAME, rows=rows[[1]], rest=rows).found == []


def test_rows_of_zeros_and_files_that_are_no_arrays_say_nothing(tmp_path):
    saved = save_toy(tmp_path)
    (tmp_path / "x.safetensors").write_bytes(save({"x": np.zeros((2, 3)), "y": np.ones((2, 4))}))
    (tmp_path / "y.safetensors").write_bytes(b"no arrays")
    assert look(saved, NAME, rows=np.zeros((1, 3))).found == []
