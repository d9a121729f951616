"""memoryless forget: what it tells, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL_MODEL, call, make_toy
from memoryless import Model
from memoryless.model.file import load_state

FEATURES = np.random.default_rng(0).normal(size=(80, 8))
NAMES = ["song thrush", "robin", "robin redbreast", "owl"] * 20
TOLD = """\
forgot    song thrush (20 photos); model knows 4 classes now
deleted   2 states: memoryless undo cannot go back there
remains   {spread}
remains   their held-out photos in temperature and threshold, which rest on those of all classes
remains   what was made before: exports, copies, backups and merged models
next      memoryless show model
"""
SPREAD = (
    "their spread, in the covariance that all classes share: song thrush with weight 20 % "
    "(20 of 100 photos)"
)
EXACTLY = "nothing in the covariance: each class's own scatter was kept, and taken out exactly"


def teach(forgettable: bool = False) -> None:
    model = Model(backbone="none", forgettable=forgettable)
    model.learn(FEATURES, NAMES)
    model.save("model")
    model.learn(FEATURES[:20] + 3, ["elk"] * 20)
    model.save("model")


@pytest.fixture
def birds(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    teach()


def test_what_went_and_what_remains(birds, capsys):
    code, out, err = call("forget", "model", "song thrush", capsys=capsys)
    assert (code, err) == (0, "")
    assert out == TOLD.format(spread=SPREAD)
    assert list(load_state(Path("model")).classes.names) == [
        "owl",
        "robin",
        "robin redbreast",
        "elk",
    ]


def test_exactly(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    teach(forgettable=True)
    out = call("forget", "model", "song thrush", capsys=capsys)[1]
    assert out == TOLD.format(spread=EXACTLY)


def test_a_dry_run_changes_nothing(birds, capsys):
    before = Path("model.memoryless").read_bytes()
    code, out, _ = call("forget", "model", "owl", "robin", "--dry-run", capsys=capsys)
    assert code == 0
    assert Path("model.memoryless").read_bytes() == before
    lines = out.splitlines()
    assert (
        lines[0] == "forgets   owl (20 photos), robin (20 photos); model would know 3 classes now"
    )
    assert lines[1] == "deletes   2 states: memoryless undo cannot go back there"
    assert lines[2] == (
        "remains   their spread, in the covariance that all classes share: owl with weight 20 % "
        "(20 of 100 photos), robin with weight 20 % (20 of 100 photos)"
    )
    assert lines[-1] == "dry run   nothing was changed; without --dry-run this cannot be undone"
    assert len(lines) == 6


def test_undo_does_not_go_back(birds, capsys):
    call("forget", "model", "owl", capsys=capsys)
    date = load_state("model").description.forgotten
    for words, sentence in (
        (["--to", "2"], "model.memoryless has no state 2: choose from 3"),
        ([], f"classes were forgotten in model.memoryless on {date}, and nothing before that is "
             "kept: learn them again to have them back"),
    ):  # fmt: skip
        code, _, err = call("undo", "model", *words, capsys=capsys)
        assert (code, err) == (2, f"memoryless: {sentence}\n")


def test_the_last_class_can_be_forgotten(birds, capsys):
    out = call("forget", "model", *dict.fromkeys(NAMES), "elk", capsys=capsys)[1]
    assert "note      the model knows no class now, and keeps nothing of those it knew\n" in out
    assert load_state("model").parts == {}
    code, _, err = call("predict", "model", "x.png", capsys=capsys)
    assert (code, err) == (
        2, "memoryless: the model knows no class yet: let it learn some first\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["owk", "robin"],
         "unknown class 'owk': choose from owl, robin, robin redbreast, song thrush, elk; did you "
         "mean 'owl'?"),
        ([], 'command "forget" parameter NAME requires an argument.'),
    ],
)  # fmt: skip
def test_what_cannot_be_forgotten(words, sentence, birds, capsys):
    before = Path("model.memoryless").read_bytes()
    code, out, err = call("forget", "model", *words, capsys=capsys)
    assert (code, out, err) == (2, "", f"memoryless: {sentence}\n")
    assert Path("model.memoryless").read_bytes() == before


def test_trained_features_are_no_sums(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    toy = make_toy(2)
    model = Model("finetune", **SMALL_MODEL)
    model.learn(toy.train.images, [str(label) for label in toy.train.labels.tolist()])
    model.save("model")
    code, _, err = call("forget", "model", "1", capsys=capsys)
    assert code == 2
    assert err == (
        "memoryless: finetune trains its backbone, and a network is no sum over images: it cannot "
        "forget a class; only models with fixed features can\n"
    )


def test_no_model(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, _, err = call("forget", "nothing", "owl", capsys=capsys)
    assert code == 3
    assert err == (
        "memoryless: there is no model nothing.memoryless: name the file that a model was saved "
        "in\n"
    )
    assert not Path("nothing").exists()


def test_what_was_forgotten_before_makes_weights_smaller(birds, capsys):
    call("forget", "model", "song thrush", capsys=capsys)
    out = call("forget", "model", "owl", capsys=capsys)[1]
    assert "owl with a weight of at most 25 % (20 of 80 photos)" in out


def test_a_scatter_of_few_photos_still_tells(tmp_path, monkeypatch, capsys):
    """100 photos are more than four for each of 8 features, and fewer for each of 40."""
    monkeypatch.chdir(tmp_path)
    model = Model(backbone="none")
    model.learn(np.random.default_rng(0).normal(size=(40, 40)), ["owl", "elk"] * 20)
    model.save("model")
    out = call("forget", "model", "owl", capsys=capsys)[1]
    assert (
        "remains   so whoever has this file can still tell almost for certain which photos of "
        "theirs were used; only a model made with learn --forgettable forgets that too\n"
    ) in out
    assert "warning   a model of one class takes every photo for it: teach it another\n" in out
