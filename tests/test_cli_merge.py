"""memoryless merge."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import call
from memoryless import Model
from memoryless.model.file import load_state


@pytest.fixture
def birds(cat_and_dog) -> None:
    """A second model in the working folder, which knows a dog too."""
    model = Model(backbone="none")
    features = np.random.default_rng(1).random((30, 8)).astype(np.float32)
    model.learn(features, ["dog", "owl", "Cat"] * 10)
    model.save("a b")


def test_a_merge_tells_what_it_did_and_what_to_type_next(birds, capsys):
    code, out, err = call("merge", "new one", "model", "a b", "--same-class", "join", capsys=capsys)
    assert (code, err) == (0, "")
    sure = load_state(Path("new one")).description.confidence
    assert out.splitlines() == [
        "merged    model: 2 classes from 20 photos, 1 state",
        "merged    a b: 3 classes from 30 photos, 1 state",
        "joined    dog (10 and 10 photos)",
        "made      new one knows 4 classes from 50 photos",
        f"sure      temperature {sure.temperature:.3g}, threshold {sure.threshold:.3g}: the "
        "mean of the merged models', until the next learn",
        "kept      1.6 kB (count 32 bytes, mean 256 bytes, scatter 288 bytes, held_out 1.0 kB), "
        "and no photo",
        "warning   'Cat' and 'cat' are almost the same name: if they are the same class, rename "
        "one by memoryless rename and merge again with --same-class join",
        "",
        "Keeps no photo, thumbnail, file name or per-photo feature. Keeps averages; averages over "
        "few photos can reveal whether a photo was used; smallest class: 10 photos. Not anonymous "
        "unless you show it: `memoryless audit`.",
        "",
        "next      memoryless evaluate 'new one' TEST",
    ]
    assert Model.load("new one").classes == ("cat", "dog", "Cat", "owl")


def test_what_cannot_be_merged_is_one_sentence(birds, capsys):
    code, out, err = call("merge", "new", "model", "a b", capsys=capsys)
    assert (code, out) == (2, "")
    assert err == (
        "memoryless: several models know dog (10 photos in model, 10 photos in a b): add "
        "--same-class join if that is the same class, or else rename it in one by memoryless "
        "rename\n"
    )
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["new", "model"], 2, "name two models or more to merge, not 1"),
        (["new", "model", "model"], 2,
         "model is named twice, or leads to the same model: name it once"),
        (["a b", "model", "none"], 3,
         "a b holds a model already: name a new file first, then the models to merge"),
        (["new", "model", "none"], 3,
         "there is no model none.memoryless: name the file that a model was saved in"),
    ],
)  # fmt: skip
def test_exit_codes(words, code, sentence, birds, capsys):
    assert call("merge", *words, capsys=capsys) == (code, "", f"memoryless: {sentence}\n")


def test_another_word_than_join(birds, capsys):
    code, _, err = call("merge", "new", "model", "a b", "--same-class", "jion", capsys=capsys)
    assert code == 2
    assert "--same-class" in err and "join" in err


def test_where_nothing_was_measured_nothing_is_averaged(cat_and_dog, capsys):
    for name in ("one", "two"):
        model = Model(backbone="none")
        model.learn(np.random.default_rng([*name.encode()]).random((20, 8)), [name] * 20)
        model.save(name)
    code, out, _ = call("merge", "new", "one", "two", capsys=capsys)
    assert code == 0
    assert "sure " not in out
