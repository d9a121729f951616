"""Classes forgotten in a folder: what goes, and what stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import ConfigError
from memoryless.model.file import kept_states, load_state
from memoryless.photos.forgetting import forget
from memoryless.stats.class_statistics import ClassStatistics

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(60, 5)) + 4 * RNG.normal(size=(3, 5)).repeat(20, 0)
NAMES = ["song thrush"] * 20 + ["robin redbreast"] * 20 + ["caf\u00e9"] * 20


def teach(folder: Path, forgettable: bool = False) -> Path:
    model = Model(backbone="none", forgettable=forgettable)
    for i in range(3):
        model.learn(FEATURES[20 * i : 20 * i + 20], NAMES[20 * i : 20 * i + 20])
        model.save(folder)
    return folder


def test_what_is_told(tmp_path):
    done = forget(teach(tmp_path), ["song thrush"])
    assert (done.photos, done.all, done.weights) == (
        {"song thrush": 20},
        60,
        {"song thrush": 1 / 3},
    )
    assert (done.left, done.states, done.exact, done.held_out) == (2, 3, False, True)
    saved = load_state(tmp_path)
    assert list(saved.classes.names) == ["robin redbreast", "caf\u00e9"]
    assert [state.photos for state in saved.classes.learned] == [0, 20, 20]
    assert [state.number for state in kept_states(tmp_path)[0]] == [4]


def test_the_covariance_stays_as_it_was(tmp_path):
    before = ClassStatistics.restore(load_state(teach(tmp_path)).arrays("record"), fixed=True)
    forget(tmp_path, ["song thrush"])
    after = ClassStatistics.restore(load_state(tmp_path).arrays("record"), fixed=True)
    assert (before.count.sum(), after.count.sum()) == (60, 40)
    np.testing.assert_allclose(after.pooled, before.pooled, atol=1e-12)


def test_exactly_as_if_it_had_never_been(tmp_path):
    done = forget(teach(tmp_path, forgettable=True), ["song thrush"])
    assert done.exact
    never = Model(backbone="none", forgettable=True)
    never.learn(FEATURES[20:], NAMES[20:])
    scores, expected = Model.load(tmp_path).scores(FEATURES), never.scores(FEATURES)
    assert never.classes == ("caf\u00e9", "robin redbreast")
    assert np.abs(scores - expected[:, ::-1]).max() < 1e-9 * np.ptp(expected)


def test_several_and_names_in_another_form(tmp_path):
    done = forget(teach(tmp_path), ["cafe\u0301", "song thrush"])
    assert done.photos == {"caf\u00e9": 20, "song thrush": 20}
    assert list(load_state(tmp_path).classes.names) == ["robin redbreast"]


def test_a_name_that_a_program_gave_in_another_form(tmp_path):
    model = Model(backbone="none")
    model.learn(FEATURES[:40], ["cafe\u0301", "owl"] * 20)
    model.save(tmp_path)
    assert forget(tmp_path, ["cafe\u0301"]).photos == {"cafe\u0301": 20}


def test_a_dry_run_tells_the_same(tmp_path):
    would = forget(teach(tmp_path), ["song thrush"], dry_run=True)
    assert load_state(tmp_path).number == 3
    assert forget(tmp_path, ["song thrush"]) == would


def test_an_unknown_class_is_told_before_the_last(tmp_path):
    teach(tmp_path)
    with pytest.raises(ConfigError) as caught:
        forget(tmp_path, ["song thrush", "robin redbreast", "caf\u00e9", "owl"])
    assert str(caught.value).startswith("unknown class 'owl': choose from song thrush, ")
    assert load_state(tmp_path).number == 3
