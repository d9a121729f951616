"""memoryless merge: a merged model equals one that learned everything; what cannot be merged."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from conftest import SMALL_MODEL, call, draw_birds
from databases import damage
from memoryless import Model
from memoryless.errors import ConfigError, MemorylessError
from memoryless.model.file import check_file, load_state, writing
from memoryless.photos.merge import merge_into, merge_models, notes
from memoryless.photos.rename import rename_class
from memoryless.photos.undo import go_back
from merge_toys import TAUGHT, features, photo_model, refused, teach, teach_north_and_south
from photo_toys import draw_photos, tiny_settings

TEST = np.concatenate([features(name, 9, 99) for name in ("ant", "bee", "cat", "dog", "elk")])


def assert_equal(merged: Model, whole: Model) -> None:
    """Scores of classes are the same, wherever their columns stand."""
    assert sorted(merged.classes) == sorted(whole.classes)
    found, expected = (m.decision_function(TEST)[:, np.argsort(m.classes)] for m in (merged, whole))
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
    merge_models(Path(out), [Path(path) for path in paths], same_class="join")
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
def three() -> None:
    for seed, (name, states) in enumerate(TAUGHT.items()):
        teach(name, *states, seed=seed)


@pytest.mark.parametrize("models", ["ab", "ba", "ac", "abc", "cba"])
def test_merged_equals_taught_on_all(models, three):
    assert_equal(join_all(*models), whole_of(*models))


def test_merged_models_can_be_merged(three):
    join_all("a", "b", out="ab")
    assert_equal(join_all("c", "ab"), whole_of("a", "b", "c"))
    assert [state.model for state in load_state(Path("out")).classes.learned] == list("ccabb")


def test_forgettable_models_stay_so(three):
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
    parts, saved = merge_models(Path("out"), [Path("exact"), Path("north"), Path("south")])
    assert not saved.description.forgettable
    (note,) = notes("out", parts)
    assert "north, south" in note
    parts, _ = merge_models(Path("other"), [Path("north"), Path("south")])
    assert list(notes("other", parts)) == []


def test_sums_of_checks_are_added(north_and_south):
    teach("one", {"elk": 40})  # a single class tells nothing
    parts = [load_state(Path(path)).arrays["record"] for path in ("north", "one", "south")]
    assert [float(part["check.count"]) > 0 for part in parts] == [True, False, True]
    merge_models(Path("out"), [Path("north"), Path("one"), Path("south")])
    found = load_state("out").arrays["record"]
    for name in ("check.losses", "check.any_label", "check.below", "check.count"):
        assert found[name] == pytest.approx(sum(part[name] for part in parts))


def test_learning_goes_on_as_if_all_had_been_learned_here(three):
    merged, whole = join_all("a", "b"), whole_of("a", "b")
    for model in (merged, whole):
        model.learn(features("elk", 13), ["elk"] * 13)
    assert_equal(merged, whole)


def test_classes_keep_their_sums_in_whatever_order_their_states_came(three):
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
    merge_models(Path("out"), [Path("north"), Path("south")])
    with pytest.raises(MemorylessError, match="is at its first state"):
        go_back(Path("out"))


def test_states_name_who_learned_them_without_folders():
    for i, (path, name) in enumerate([("x/model", "ant"), ("y/model", "bee"), ("z", "cat")]):
        teach(path, {name: 20}, seed=i)
    merge_models(Path("xy"), [Path("x/model"), Path("y/model")])
    teach("far/model", {"dog": 20})
    merge_models(Path("out"), [Path("z").resolve(), Path("xy"), Path("far/model")])
    states = load_state(Path("out")).classes.learned
    assert [state.model for state in states] == ["z", "model", "model-2", "model-3"]
    assert str(Path.cwd()).encode() not in Path("out.memoryless").read_bytes()


def test_label_types_that_differ_become_names(north_and_south):
    for path, kind in (("north", "int"), ("south", "int")):
        model = Model.load(path)
        model.label_type = kind
        model.save(path)
    teach("third", {"elk": 20})
    for other, kind in (("south", "int"), ("third", "str")):
        _, saved = merge_models(Path(f"with {other}"), [Path("north"), Path(other)])
        assert saved.description.labels == kind


def test_the_sources_are_not_touched(north_and_south):
    before = {path: path.read_bytes() for path in Path().iterdir()}
    merge_models(Path("out"), [Path("north"), Path("south")])
    assert {path: path.read_bytes() for path in before} == before
    assert set(Path().iterdir()) == {*before, Path("out.memoryless")}


def test_names_that_are_almost_the_same_are_warned_of(north_and_south, capsys):
    teach("third", {"Ant ": 20, "elk": 20, "Elk": 20})  # what one model has is its own affair
    out = call("merge", "out", "north", "south", "third", capsys=capsys)[1]
    assert out.count("  warning ") == 1
    assert "'Ant ' and 'ant' are almost the same name" in out


def test_the_same_network_under_another_name(tiny_backbone, tmp_path):
    photo_model("north", tiny_backbone, 0, 1)
    photo_model("south", Path(shutil.copy(tiny_backbone, tmp_path / "net.onnx")), 2, 3)
    merge_models(Path("out"), [Path("north"), Path("south")])
    whole = Model(**tiny_settings(tiny_backbone))
    whole.learn(*draw_photos(0, 1))
    whole.learn(*draw_photos(2, 3))
    photos = draw_photos(0, 1, 2, 3)[0]
    found, expected = Model.load("out").decision_function(photos), whole.decision_function(photos)
    assert np.abs(found - expected).max() <= 1e-6 * np.ptp(expected)


def test_a_loaded_model_merges_with_one_in_memory(tiny_backbone):
    photo_model("north", tiny_backbone, 0, 1)
    fresh = Model(**tiny_settings(tiny_backbone))
    fresh.learn(*draw_photos(2, 3))
    assert len(Model.merge({"north": Model.load("north"), "fresh": fresh}).classes) == 4


def test_a_class_of_several_models_is_refused_or_joined(three):
    Path("sub").mkdir()
    assert refused("out", "a", "sub/../b", "c").startswith(
        "several models know ant (20 photos in a, 8 photos in c), bee (15 photos in a, 7 photos in "
        "c), dog (14 photos in sub/../b, 6 photos in c): add `same_class=join` "
    )
    _, saved = merge_models(Path("out"), [Path("a"), Path("c")], same_class="join")
    assert saved.classes.counts == (28, 22, 13, 6)


def test_a_folder_that_is_named_twice(north_and_south):
    Path("link.memoryless").symlink_to("north.memoryless")
    assert refused("out", "north", "south", "link") == (
        "link is named twice, or leads to the same model: name it once"
    )


@pytest.mark.parametrize("same_class", ["refuse", "join"])
def test_a_copy_counts_once(same_class, north_and_south):
    shutil.copy("north.memoryless", "copy.memoryless")
    same = (
        "north and copy have learned the same photos of ant, bee, which would count twice: leave "
        "out one of the two, or forget these classes in it"
    )
    assert refused("out", "north", "copy", same_class=same_class) == same
    rename_class(Path("copy"), "ant", "emmet")
    model = Model.load("copy")
    model.learn(features("bee", 9, 5), ["bee"] * 9, more=True)
    model.save("copy")
    assert refused("out", "north", "copy", same_class=same_class) == same.replace(
        "of ant, bee", "of ant"
    )


def test_a_model_and_one_that_it_was_merged_into(north_and_south):
    merge_models(Path("both"), [Path("north"), Path("south")])
    assert refused("out", "both", "south", same_class="join") == (
        "both and south have learned the same photos of cat, dog, which would count twice: leave "
        "out one of the two, or forget these classes in it"
    )


def test_trained_features_cannot_be_merged(north_and_south):
    model = Model("inFT_siw", **SMALL_MODEL)
    model.learn(*draw_birds(0, 1))
    model.save("trained")
    assert refused("out", "north", "trained") == (
        "inFT_siw trains its backbone, and a network is no sum over images: trained cannot be "
        "merged; only models with fixed features can"
    )


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"crop": 0.5},
            "they prepare photos differently (crop 1.0 and 0.5): teach one again with the other's "
            "`crop`",
        ),
        (
            {"std": (0.5, 0.5, 0.5)},
            "they prepare photos differently (std (255.0, 255.0, 255.0) and (127.5, 127.5, 127.5))"
            ": teach one again with the other's `std`",
        ),
    ],
)
def test_photos_must_be_prepared_alike(changed, sentence, tiny_backbone):
    photo_model("north", tiny_backbone, 0, 1)
    photo_model("south", tiny_backbone, 2, 3, **changed)
    assert refused("out", "north", "south") == (
        f"north and south cannot be merged, because {sentence}"
    )


def test_photos_must_be_seen_at_one_size(tiny_backbone):
    """Which is part of the graph, so that graphs differ too."""
    photo_model("north", tiny_backbone, 0, 1)
    north, south = Model.load("north"), Model.load("north")
    south._features.preparation = structs.replace(south._features.preparation, size=320)
    south._features.graph = b"another graph"
    with pytest.raises(ConfigError) as error:
        Model.merge({"north": north, "south": south})
    assert str(error.value) == (
        "north and south cannot be merged, because they prepare photos differently (size 16 and "
        "320): teach one again with the other's `image_size`"
    )


def test_networks_must_be_the_same(tiny_backbone, tmp_path):
    import onnx

    photo_model("north", tiny_backbone, 0, 1)
    changed = onnx.load(tiny_backbone)
    changed.graph.node[0].op_type = "MaxPool"
    for name in ("tiny.onnx", "other.onnx"):
        onnx.save(changed, tmp_path / name)
        photo_model(f"south {name}", tmp_path / name, 2, 3)
    begin = "north and south {} cannot be merged, because their networks differ ({}): teach one "
    begin += "again with the other's `backbone`"
    for name, which in (
        ("tiny.onnx", "both called onnx:tiny.onnx"),
        ("other.onnx", "onnx:tiny.onnx and onnx:other.onnx"),
    ):
        assert refused("out", "north", f"south {name}") == begin.format(name, which)
    teach("features", {"ant": 20})
    assert refused("out", "north", "features") == (
        "north and features cannot be merged, because their networks differ (onnx:tiny.onnx and "
        "none): teach one again with the other's `backbone`"
    )


def test_features_must_be_of_one_kind(north_and_south):
    few = Model(backbone="none")
    few.learn(np.random.default_rng(0).random((20, 3)), ["elk"] * 20)
    few.save("few")
    assert refused("out", "north", "few") == (
        "north and few cannot be merged, because their features differ (6 numbers as they are and "
        "3 numbers as they are): teach one again with features like the other's"
    )
    teach("roots", {"elk": 20}, square_roots=True)
    assert refused("out", "north", "roots") == (
        "north and roots cannot be merged, because their features differ (6 numbers as they are "
        "and 6 square roots): teach one again with features like the other's"
    )


def test_the_new_file_is_no_model_yet(north_and_south):
    teach("taken", {"elk": 20})
    assert refused("./north", "north", "south") == (
        "north is one of the models to merge, and would be overwritten: name a new file first, "
        "then the models"
    )
    sentence = "taken holds a model already: name a new file first, then the models to merge"
    assert refused("taken", "north", "south") == sentence
    assert Model.load("taken").classes == ("elk",)


def test_files_that_are_written_meanwhile(north_and_south):
    """The new one is held before a model is read."""
    with writing("out"):
        assert refused("out", "north", "nowhere").startswith("another process is writing out.mem")
    with writing("south"):
        assert refused("out", "north", "south").startswith("another process is writing south.mem")
    assert refused("out", "north", "nowhere") == (
        "there is no model nowhere.memoryless: name the file that a model was saved in"
    )
    merge_models(Path("out"), [Path("north"), Path("south")])


def test_a_damaged_model_is_named(north_and_south):
    damage(Path("south.memoryless"))
    assert refused("out", "north", "south").startswith("south.memoryless is damaged")


@pytest.fixture
def birds(cat_and_dog) -> None:
    """A second model in the working folder, which knows a dog too."""
    model = Model(backbone="none")
    features = np.random.default_rng(1).random((30, 8)).astype(np.float32)
    model.learn(features, ["dog", "owl", "Cat"] * 10)
    model.save("a b")


def test_the_command_names_what_it_joined(birds, capsys):
    code, out, err = call("merge", "new one", "model", "a b", "--same-class", "join", capsys=capsys)
    assert (code, err) == (0, "")
    assert "dog (10 and 10 photos)" in out
    assert "'Cat' and 'cat'" in out
    assert out.endswith("memoryless evaluate 'new one' TEST_PHOTOS --calibrate\n")
    assert Model.load("new one").classes == ("cat", "dog", "Cat", "owl")


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["new", "model", "a b"], 2, "several models know dog (10 photos in model, 10 photos in a "
         "b): add --same-class join if that is the same class, or else rename it in one by "
         "memoryless rename"),
        (["new", "model"], 2, "name two models or more to merge, not 1"),
        (["new", "model", "none"], 3,
         "there is no model none.memoryless: name the file that a model was saved in"),
    ],
)  # fmt: skip
def test_exit_codes(words, code, sentence, birds, capsys):
    assert call("merge", *words, capsys=capsys) == (code, "", f"memoryless: {sentence}\n")


def test_a_note_says_that_a_calibration_is_not_merged(birds, capsys):
    model = Model.load("a b")
    rows = np.random.default_rng(2).random((30, 8)).astype(np.float32)
    model.calibrate(rows, ["dog", "owl", "Cat"] * 10)
    model.save("a b")
    out = call("merge", "new", "model", "a b", "--same-class", "join", capsys=capsys)[1]
    assert "a b was calibrated, and new is not" in out
    assert not Model.load("new").calibrated


def test_merging_into_a_model_is_one_state_more(north_and_south):
    merge_models(Path("out"), [Path("north"), Path("south")], "join")
    before = load_state("north")
    one, saved = merge_into(Path("north.memoryless"), load_state("south"), "join")
    assert one.digest == before.digest
    assert (saved.number, saved.parent, saved.done) == (before.number + 1, before.number, "merge")
    assert_equal(Model.load("north"), Model.load("out"))
    assert go_back(Path("north"))[1].digest == before.digest


def test_merging_into_a_model_keeps_its_history_setting(north_and_south):
    model = Model.load("north")
    model.save("north", history=2)
    _, saved = merge_into(Path("north.memoryless"), load_state("south"), "join")
    assert saved.description.history == 2


def test_what_single_photos_would_follow_from_is_not_kept():
    """The two states differ by the other model: by one whose class had a single photo."""
    teach("one", {"ant": 20, "bee": 20})
    teach("two", {"cat": 1, "dog": 20}, seed=1)
    _, saved = merge_into(Path("one.memoryless"), load_state("two"))
    assert saved.parent is None


def test_merging_into_no_model(north_and_south):
    with pytest.raises(ConfigError, match=r"there is no model out\.memoryless to merge into"):
        merge_into(Path("out.memoryless"), load_state("south"))
