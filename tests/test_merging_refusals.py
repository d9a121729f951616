"""What cannot be merged is refused with a sentence, and leaves nothing."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL_MODEL, draw_birds
from databases import damage
from memoryless import Model
from memoryless.errors import ConfigError
from memoryless.model.file import writing
from memoryless.photos.merging import merge
from memoryless.photos.renaming import rename_class
from merge_toys import TAUGHT, features, photo_model, refused, teach, teach_north_and_south


@pytest.fixture(autouse=True)
def work_here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def north_and_south() -> None:
    teach_north_and_south()


@pytest.fixture
def taught() -> None:
    for seed, (name, states) in enumerate(TAUGHT.items()):
        teach(name, *states, seed=seed)


def test_a_class_of_several_models_is_refused_or_joined(taught):
    Path("sub").mkdir()
    assert refused("out", "a", "sub/../b", "c") == (
        "several models know ant (20 photos in a, 8 photos in c), bee (15 photos in a, 7 photos in "
        "c), dog (14 photos in sub/../b, 6 photos in c): add `same_class=join` if that is the same "
        "class, or else rename it in one by memoryless rename"
    )
    done = merge(Path("out"), [Path("a"), Path("c")], same_class="join")
    assert done.joined == {"ant": [20, 8], "bee": [15, 7]}
    assert done.saved.classes.counts == (28, 22, 13, 6)


def test_two_models_at_least(north_and_south):
    assert refused("out", "north") == "name two models or more to merge, not 1"
    assert refused("out") == "name two models or more to merge, not 0"


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
    merge(Path("both"), [Path("north"), Path("south")])
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
            "they prepare photos differently (crop 1.0 and 0.5): teach one anew with the other's "
            "`crop`",
        ),
        (
            {"std": (0.5, 0.5, 0.5)},
            "they prepare photos differently (std (255.0, 255.0, 255.0) and (127.5, 127.5, 127.5))"
            ": teach one anew with the other's `std`",
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
    south._knows.preparation = replace(south._knows.preparation, size=320)
    south._knows.graph = b"another graph"
    with pytest.raises(ConfigError) as error:
        Model.merge({"north": north, "south": south})
    assert str(error.value) == (
        "north and south cannot be merged, because they prepare photos differently (size 16 and "
        "320): teach one anew with the other's `image_size`"
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
    begin += "anew with the other's `backbone`"
    for name, which in (
        ("tiny.onnx", "both called onnx:tiny.onnx"),
        ("other.onnx", "onnx:tiny.onnx and onnx:other.onnx"),
    ):
        assert refused("out", "north", f"south {name}") == begin.format(name, which)
    teach("features", {"ant": 20})
    assert refused("out", "north", "features") == (
        "north and features cannot be merged, because their networks differ (onnx:tiny.onnx and "
        "none): teach one anew with the other's `backbone`"
    )


def test_features_must_be_of_one_kind(north_and_south):
    few = Model(backbone="none")
    few.learn(np.random.default_rng(0).random((20, 3)), ["elk"] * 20)
    few.save("few")
    assert refused("out", "north", "few") == (
        "north and few cannot be merged, because their features differ (6 numbers as they are and "
        "3 numbers as they are): teach one anew with features like the other's"
    )
    teach("roots", {"elk": 20}, square_roots=True)
    assert refused("out", "north", "roots") == (
        "north and roots cannot be merged, because their features differ (6 numbers as they are "
        "and 6 square roots): teach one anew with features like the other's"
    )


def test_the_new_file_is_no_model_yet(north_and_south):
    teach("taken", {"elk": 20})
    assert refused("./north", "north", "south") == (
        "north is one of the models to merge, and would be written over: name a new file first, "
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
    merge(Path("out"), [Path("north"), Path("south")])


def test_a_damaged_model_is_named(north_and_south):
    damage(Path("south.memoryless"))
    assert refused("out", "north", "south").startswith("south.memoryless is damaged")
