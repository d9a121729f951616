"""Models that are merged equal one that was taught everything, and tell who learned what."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import MemorylessError
from memoryless.model.file import check_file, load_state
from memoryless.photos.merging import merge
from memoryless.photos.overview import go_back
from merge_toys import TAUGHT, features, photo_model, teach, teach_north_and_south
from photo_toys import draw_photos, tiny_settings

TEST = np.concatenate([features(name, 9, 99) for name in ("ant", "bee", "cat", "dog", "elk")])


def assert_equal(merged: Model, whole: Model) -> None:
    """Scores of classes are the same, wherever their columns stand."""
    assert sorted(merged.classes) == sorted(whole.classes)
    found, expected = (m.scores(TEST)[:, np.argsort(m.classes)] for m in (merged, whole))
    assert np.abs(found - expected).max() <= 1e-6 * np.ptp(expected)
    counts = [dict(zip(m.classes, m.counts, strict=True)) for m in (merged, whole)]
    assert counts[0] == counts[1]


@pytest.fixture(autouse=True)
def work_here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def north_and_south() -> None:
    teach_north_and_south()


def join_all(*paths: str, out: str = "out") -> Model:
    merge(Path(out), [Path(path) for path in paths], same_class="join")
    assert list(check_file(out)) == []
    return Model.load(out)


def whole_of(*models: str) -> Model:
    """One model of all that several have learned, taught at once."""
    X, names = [], []
    for model in models:
        for seed, state in enumerate(TAUGHT[model]):
            for name, number in state.items():
                X.append(features(name, number, 10 * [*TAUGHT].index(model) + seed))
                names += [name] * number
    whole = Model(backbone="none")
    whole.learn(np.concatenate(X), names)
    return whole


@pytest.fixture
def taught() -> None:
    for seed, (name, states) in enumerate(TAUGHT.items()):
        teach(name, *states, seed=seed)


@pytest.mark.parametrize("models", ["ab", "ba", "ac", "abc", "cba"])
def test_merged_equals_taught_on_all(models, taught):
    assert_equal(join_all(*models), whole_of(*models))


def test_merged_models_can_be_merged(taught):
    join_all("a", "b", out="ab")
    assert_equal(join_all("c", "ab"), whole_of("a", "b", "c"))
    assert [state.model for state in load_state(Path("out")).classes.learned] == list("ccabb")


def test_forgettable_models_stay_so(taught):
    for name in "abc":
        Path(f"{name}.memoryless").unlink()
        teach(name, *TAUGHT[name], seed="abc".index(name), forgettable=True)
    merged = join_all("a", "c", "b")
    assert merged.forgettable
    assert_equal(merged, whole_of("a", "b", "c"))
    merged.forget("ant")
    never = Model(backbone="none")
    names = [(model, name, n, seed) for model in TAUGHT for seed, state in enumerate(TAUGHT[model])
             for name, n in state.items() if name != "ant"]  # fmt: skip
    X = [features(name, n, 10 * "abc".index(model) + seed) for model, name, n, seed in names]
    never.learn(np.concatenate(X), [name for _, name, n, _ in names for _ in range(n)])
    assert_equal(merged, never)


def test_if_some_are_not_forgettable_the_result_is_not(north_and_south):
    teach("exact", {"elk": 20}, forgettable=True)
    done = merge(Path("out"), [Path("exact"), Path("north"), Path("south")])
    assert not done.saved.description.forgettable
    assert done.notes == [
        "out cannot forget a class exactly, because north, south did not keep each class's own "
        "scatter"
    ]
    assert merge(Path("other"), [Path("north"), Path("south")]).notes == []


def test_temperature_and_threshold_are_means_until_the_next_state(north_and_south):
    teach("one", {"elk": 40})  # a single class tells nothing
    parts = [load_state(Path(path)) for path in ("north", "one", "south")]
    weights = np.array([part.arrays("record")["held_out.count"] for part in parts])
    assert weights.min() == 0 and np.count_nonzero(weights) == 2
    done = merge(Path("out"), [Path("north"), Path("one"), Path("south")])
    for key in ("temperature", "threshold"):
        mean = (
            weights @ [getattr(part.description.confidence, key) for part in parts] / weights.sum()
        )
        assert getattr(done.saved.description.confidence, key) == pytest.approx(mean)
    assert done.saved.description.confidence.averaged
    model = Model.load("out")
    model.learn(features("fox", 30), ["fox"] * 30)
    model.save("out")
    assert not load_state(Path("out")).description.confidence.averaged
    go_back(Path("out"))
    assert load_state(Path("out")).description.confidence.averaged


def test_learning_goes_on_as_if_all_had_been_learned_here(taught):
    merged, whole = join_all("a", "b"), whole_of("a", "b")
    for model in (merged, whole):
        model.learn(features("elk", 13), ["elk"] * 13)
    assert_equal(merged, whole)


def test_classes_keep_their_sums_in_whatever_order_their_states_came(taught):
    model, other = Model.load("a"), teach("d", {"dog": 14}, {"cat": 12})
    other._classes = replace(other._classes, first=(1, 0))
    merged = Model.merge({"d": other, "a": model})
    assert merged.classes == ("cat", "dog", "ant", "bee")
    assert_equal(merged, Model.merge({"a": model, "d": Model.load("d")}))


def test_a_class_that_was_forgotten_before_is_nothing_to_the_new_folder(north_and_south):
    north = Model.load("north")
    north.forget("ant")
    merged = Model.merge({"north": north, "south": Model.load("south")})
    merged.save("out")
    assert merged.classes == ("bee", "cat", "dog")
    assert load_state(Path("out")).description.forgotten is None


def test_nothing_was_before_a_merge(north_and_south):
    merge(Path("out"), [Path("north"), Path("south")])
    with pytest.raises(MemorylessError) as error:
        go_back(Path("out"))
    assert str(error.value) == (
        "out.memoryless is at its first state, and nothing was before it: delete the file to start "
        "over"
    )


def test_states_name_who_learned_them_without_folders():
    for i, (path, name) in enumerate([("x/model", "ant"), ("y/model", "bee"), ("z", "cat")]):
        teach(path, {name: 20}, seed=i)
    merge(Path("xy"), [Path("x/model"), Path("y/model")])
    teach("far/model", {"dog": 20})
    merge(Path("out"), [Path("z").resolve(), Path("xy"), Path("far/model")])
    states = load_state(Path("out")).classes.learned
    assert [state.model for state in states] == ["z", "model", "model-2", "model-3"]
    assert str(Path.cwd()).encode() not in Path("out.memoryless").read_bytes()


def test_label_types_that_differ_become_names(north_and_south):
    for path, kind in (("north", "int"), ("south", "int")):
        model = Model.load(path)
        model.label_type = kind
        model.save(path)
    teach("third", {"elk": 20})
    assert merge(Path("ints"), [Path("north"), Path("south")]).saved.description.labels == "int"
    assert merge(Path("out"), [Path("north"), Path("third")]).saved.description.labels == "str"


def test_the_sources_are_not_touched(north_and_south):
    before = {path: path.read_bytes() for path in Path().iterdir()}
    merge(Path("out"), [Path("north"), Path("south")])
    assert {path: path.read_bytes() for path in before} == before
    assert set(Path().iterdir()) == {*before, Path("out.memoryless")}


def test_names_that_are_almost_the_same_are_warned_of(north_and_south):
    teach("third", {"Ant ": 20, "elk": 20, "Elk": 20})  # what one model has is its own affair
    done = merge(Path("out"), [Path("north"), Path("south"), Path("third")])
    assert done.warnings == [
        "'Ant ' and 'ant' are almost the same name: if they are the same class, rename one by "
        "memoryless rename and merge again with `same_class=join`"
    ]


def test_the_same_network_under_another_name(tiny_backbone, tmp_path):
    photo_model("north", tiny_backbone, 0, 1)
    photo_model("south", Path(shutil.copy(tiny_backbone, tmp_path / "net.onnx")), 2, 3)
    merge(Path("out"), [Path("north"), Path("south")])
    whole = Model(**tiny_settings(tiny_backbone))
    whole.learn(*draw_photos(0, 1))
    whole.learn(*draw_photos(2, 3))
    photos = draw_photos(0, 1, 2, 3)[0]
    found, expected = Model.load("out").scores(photos), whole.scores(photos)
    assert np.abs(found - expected).max() <= 1e-6 * np.ptp(expected)


def test_a_loaded_model_merges_with_one_in_memory(tiny_backbone):
    photo_model("north", tiny_backbone, 0, 1)
    fresh = Model(**tiny_settings(tiny_backbone))
    fresh.learn(*draw_photos(2, 3))
    assert len(Model.merge({"north": Model.load("north"), "fresh": fresh}).classes) == 4
