"""memoryless rename: only the name of a class changes, and that can be undone."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import call
from memoryless import Model
from memoryless.errors import ConfigError, DataError, MemorylessError, StoreError
from memoryless.model.file import kept_states, load_state
from memoryless.photos.rename import rename_class
from memoryless.photos.undo import go_back

FEATURES = np.random.default_rng(0).random((24, 8)).astype(np.float32)


@pytest.fixture
def folder(tmp_path):
    model = Model(backbone="none")
    model.learn(FEATURES, ["cat", "dog"] * 12)
    model.save(tmp_path / "model")
    return tmp_path / "model"


def test_only_the_name_changes(folder):
    before = Model.load(folder).decision_function(FEATURES)
    rename_class(folder, "cat", "Katze 🐈")
    assert load_state(folder).number == 2
    model = Model.load(folder)
    assert model.classes == ("Katze 🐈", "dog")
    assert (model.decision_function(FEATURES) == before).all()
    go_back(folder)
    assert Model.load(folder).classes == ("cat", "dog")


def test_without_a_model_no_folder_is_made(tmp_path):
    with pytest.raises(StoreError, match="there is no model"):
        rename_class(tmp_path / "nothing", "cat", "dog")
    assert not (tmp_path / "nothing").exists()


def test_a_leading_dash_and_composed_letters(folder):
    rename_class(folder, "cat", "-e\u0301")
    assert load_state(folder).classes.names == ("-\u00e9", "dog")
    rename_class(folder, "-e\u0301", "elk")
    assert load_state(folder).classes.names == ("elk", "dog")


def test_a_name_that_a_program_gave_can_be_composed(tmp_path):
    model = Model(backbone="none")
    model.learn(FEATURES, ["e\u0301", "dog"] * 12)
    model.save(tmp_path)
    rename_class(tmp_path, "e\u0301", "e\u0301")
    assert list(load_state(tmp_path).classes.names) == ["dog", "\u00e9"]


def test_a_long_history_stays(folder):
    model = Model.load(folder)
    for _ in range(7):
        model.save(folder, history=50)
    rename_class(folder, "cat", "elk")
    assert len(kept_states(folder)[0]) == 9


@pytest.mark.parametrize(
    ("old", "new", "kind", "sentence"),
    [
        ("cta", "x", ConfigError, "unknown class 'cta': choose from cat, dog; did you mean 'cat'?"),
        ("cat", "dog", DataError, "dog would name two classes: choose another name"),
        ("cat", "a\x1b", DataError,
         "the class name 'a\\x1b' has control characters: rename the class"),
        ("cat", "cat", DataError, "cat is the name of this class already: choose another name"),
    ],
)  # fmt: skip
def test_names_that_cannot_be(old, new, kind, sentence, folder):
    with pytest.raises(MemorylessError) as error:
        rename_class(folder, old, new)
    assert type(error.value) is kind
    assert str(error.value) == sentence
    assert load_state(folder).number == 1


def test_the_command(cat_and_dog, capsys):
    code, out, _ = call("rename", "model", "--", "cat", "-x", capsys=capsys)
    assert code == 0
    assert "memoryless undo model" in out
    assert load_state("model").classes.names == ("-x", "dog")


@pytest.mark.parametrize(
    "command", ["rename m a b", "forget m a", "forget m a --dry-run", "export m out.onnx"]
)
def test_a_model_without_classes(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Model(backbone="none").save("m")
    sentence = "memoryless: the model knows no class yet: let it learn some first\n"
    assert call(*command.split(), capsys=capsys) == (2, "", sentence)


def test_a_model_without_classes_that_is_sent_can_learn(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Model(backbone="none").save("m")
    code, out, _ = call("export", "m", "out.memoryless", capsys=capsys)
    assert code == 0
    assert out.endswith("Next: memoryless learn out.memoryless PHOTOS\n")
