"""The plan of a lesson: what is found, refused, warned of and expected."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from memoryless import Model
from memoryless.data.glances import Glance
from memoryless.errors import ConfigError, DataError
from memoryless.model_folder import load_state
from memoryless.photos import plan as plan_module
from memoryless.photos.plan import SEES_LARGE, alike_names, bytes_kept, make_plan, sees_large
from photo_toys import make_colours, tiny_settings


@pytest.fixture
def model(tiny_backbone) -> Model:
    return Model(**tiny_settings(tiny_backbone))


def test_a_plan_tells_what_is_there(model, tmp_path):
    place = make_colours(tmp_path, "cat", "dog")
    shutil.copy(place / "cat" / "0.png", place / "cat" / "again.png")
    (place / "cat" / "notes.txt").touch()
    (place / "dog" / "3.png").write_bytes(b"text")
    plan = make_plan(model, [place])
    assert plan.counts == {"cat": 13, "dog": 11}
    assert plan.broken == {str(place / "dog" / "3.png"): "not an image"}
    assert plan.skipped == {str(place / "cat" / "notes.txt"): "not an image by its name"}
    group = {photo.name: g for photo, g in zip(plan.photos, plan.groups, strict=True)}
    assert group[str(place / "cat" / "0.png")] == group[str(place / "cat" / "again.png")]
    assert plan.near == sum((plan.groups == g).sum() > 1 for g in plan.groups) >= 2
    assert plan.layouts == {str(place): "folders of classes"}
    assert plan.size == sum(
        path.stat().st_size
        for path in place.rglob("*.png")
        if path.parent.name + path.name != "dog3.png"
    )
    assert plan.rate > 0
    assert plan.seconds == 24 / plan.rate
    assert plan.warnings == [
        "fewer than 20 photos: cat 13, dog 11; more would be more accurate, and hide better which "
        "photos were used"
    ]


def test_bytes_are_those_that_are_kept(model, tmp_path):
    plan = make_plan(model, [make_colours(tmp_path / "a", "cat", "dog")])
    photos = np.random.default_rng(0).random((24, 48)).astype(np.float32)
    model.learn(photos, ["cat", "dog"] * 12)
    model.save(tmp_path / "model")
    ledger = load_state(tmp_path / "model").about["ledger"]
    assert plan.bytes == bytes_kept(2, 48) == sum(ledger.values())


def test_several_places_are_learned_together(model, tmp_path):
    places = [
        make_colours(tmp_path / "a", "cat"),
        make_colours(tmp_path / "b", "cat", "dog", seed=1),
    ]
    plan = make_plan(model, places)
    assert plan.counts == {"cat": 24, "dog": 12}
    assert list(plan.layouts) == [str(place) for place in places]
    assert not plan.warnings[1:]


def test_a_file_that_two_places_lead_to_counts_once(model, tmp_path):
    make_colours(tmp_path / "train", "cat", "dog")
    make_colours(tmp_path / "test", "cat", "dog", number=2)
    (tmp_path / "link").symlink_to(tmp_path / "train")
    for again in ("train", "link"):
        plan = make_plan(model, [tmp_path, tmp_path / again])
        assert plan.counts == {"cat": 12, "dog": 12}
        (note,) = [note for note in plan.notes if "again" in note]
        assert note.startswith(
            f"24 photos were found again and count once: {tmp_path / again}/cat/0.png, "
        )


def test_a_file_under_two_names_stays_and_is_told(model, tmp_path):
    make_colours(tmp_path / "cat", "grey", "black")
    make_colours(tmp_path, "dog")
    plan = make_plan(model, [tmp_path, tmp_path / "cat"])
    assert plan.counts == {"black": 12, "cat": 24, "dog": 12, "grey": 12}
    (note,) = plan.notes
    assert note.startswith("nearly the same photo in different classes: ")


def test_progress_counts_glances(model, tmp_path):
    done = []
    make_plan(model, [make_colours(tmp_path, "cat", "dog")], progress=done.append)
    assert done == list(range(1, 25))


def test_without_a_place(model):
    with pytest.raises(ConfigError) as error:
        make_plan(model, [])
    assert str(error.value) == "name a folder of photos, with a folder for each class"


def test_a_known_class_is_refused(model, tmp_path):
    model.learn(np.eye(48, dtype=np.float32)[:4], ["cat", "dog"] * 2)
    with pytest.raises(DataError) as error:
        make_plan(model, [make_colours(tmp_path, "cat", "owl")])
    assert str(error.value) == (
        "the model knows cat already: give these photos another name, or leave them out"
    )


WHY = (
    ": add photos, or add `few=True` if whoever gets the model may find out which photos were used"
)
MEANS = (
    "; averages over so few can be traced back: whoever gets the model may find out which photos "
    "were used, or even what they show"
)


def few_of_a_class(root: Path) -> Path:
    make_colours(root, "cat", number=30)
    return make_colours(root, "dog", number=4)


def copies(root: Path) -> Path:
    """Enough files of a class, but the same photo again and again."""
    few_of_a_class(root)
    for i in range(6):
        shutil.copy(root / "dog" / "0.png", root / "dog" / f"copy {i}.png")
    return root


def few_in_all(root: Path) -> Path:
    return make_colours(root, "cat", "dog", number=9)


SMALL = {
    few_of_a_class: "a class needs at least 5 different photos, and dog has 4",
    copies: "a class needs at least 5 different photos, and dog has 4",
    few_in_all: "a state needs at least 20 different photos, and there are 18",
}


@pytest.mark.parametrize("make", SMALL)
def test_photos_that_can_be_traced_back_need_few(make, model, tmp_path):
    place = make(tmp_path)
    with pytest.raises(DataError) as error:
        make_plan(model, [place])
    assert str(error.value) == SMALL[make] + WHY
    assert make_plan(model, [place], few=True).warnings == [SMALL[make] + MEANS]


def test_a_class_without_a_readable_photo_is_refused(model, tmp_path):
    place = make_colours(tmp_path, "cat", "dog")
    for path in (place / "dog").iterdir():
        path.write_bytes(b"text")
    with pytest.raises(DataError) as error:
        make_plan(model, [place], few=True)
    assert str(error.value).startswith("1 class has no photo that can be read: dog (")


def test_the_same_photo_in_two_classes_is_told(model, tmp_path):
    place = make_colours(tmp_path, "cat", "dog")
    shutil.copy(place / "cat" / "0.png", place / "dog" / "0.png")
    assert make_plan(model, [place]).notes == [
        f"nearly the same photo in different classes: {place}/cat/0.png and {place}/dog/0.png"
    ]


@pytest.mark.parametrize("pair", [("Cat", "cat "), ("blue-tit", "Blue tit"), ("café", "cafe")])
def test_names_that_are_almost_the_same(pair):
    told = f"{pair[1]!r} and {pair[0]!r} are almost the same name: if they are the same class, put "
    assert list(alike_names([pair[1]], [pair[0]])) == [told + "them together"]
    assert list(alike_names(pair, [])) == [told + "them together"]


def test_names_that_differ():
    assert list(alike_names(["cat", "cats", "🐈", "🐕", "-"], ["dog"])) == []


def test_a_near_duplicate_name_is_a_warning(model, tmp_path):
    plan = make_plan(model, [make_colours(tmp_path, "Cat", "cat ", number=20)])
    assert plan.warnings == [
        "'cat ' and 'Cat' are almost the same name: if they are the same class, put them together"
    ]


def test_trained_features_need_no_trial(tmp_path):
    plan = make_plan(Model("inFT_siw"), [make_colours(tmp_path, "cat", "dog")])
    assert plan.seconds is plan.rate is plan.bytes is None


NOT_MADE = {
    "fixed+lda": [
        ({"crop": 0}, "crop must be above 0 and at most 1, not 0"),
        ({"image_size": 0}, "image_size must be from 1 to 1,000,000, not 0"),
        (
            {"epochs": 3},
            "`epochs=3` is for training, and fixed+lda never trains its backbone: leave it out, or "
            "add `train=True`",
        ),
    ],
    "inFT_siw": [
        (
            {"device": "foo", "backbone": "onnx:x"},
            "unknown device 'foo': choose auto, cpu, cuda, cuda:N or mps; backbone onnx:x cannot "
            "be trained: choose `strategy=fixed`",
        ),
        ({"crop": 0, "image_size": 0}, "image_size must be from 1 to 1,000,000, not 0; crop must "
         "be above 0 and at most 1, not 0"),
    ],
    "foo": [({}, "unknown strategy 'foo': choose from ")],
    "replay": [({}, "strategy replay needs images of the past, which a model does not keep: "
                "choose a method of another")],
}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "settings", "sentence"),
    [(m, *case) for m, cases in NOT_MADE.items() for case in cases],
)
def test_a_model_that_cannot_be_made_is_refused_before_a_photo_is_read(
    method, settings, sentence, tmp_path
):
    with pytest.raises(ConfigError) as error:
        make_plan(Model(method, **settings), [tmp_path / "nowhere"])
    assert str(error.value).startswith(sentence)


def test_the_device_of_a_trained_model_that_is_there_is_checked_too(taught, tmp_path):
    taught.settings = replace(taught.settings, device="foo")
    with pytest.raises(ConfigError) as error:
        make_plan(taught, [tmp_path / "nowhere"])
    assert "'foo'" in str(error.value)


@pytest.mark.parametrize(
    ("sides", "settings", "large"),
    [
        ((640, 480), {}, True),
        ((480, 640), {}, True),
        ((640, 360), {}, False),
        ((640, 480), {"image_size": 224}, False),
        ((640, 480), {"backbone": "onnx:net.onnx"}, False),
        ((640, 480), {"crop": 0.5}, False),
    ],
)
def test_a_new_model_sees_more_of_large_photos(sides, settings, large):
    looks = [Glance("", 1, *sides, 1, 0, True)] * 3 + [Glance("", 1, 20, 20, 1, 0, True)]
    assert sees_large(Model(**settings), looks) == large


def test_a_model_that_is_there_or_is_trained_keeps_its_size():
    looks = [Glance("", 1, 640, 480, 1, 0, True)]
    known = Model(backbone="none")
    known.learn(np.random.default_rng(0).random((20, 4)), ["cat", "dog"] * 10)
    assert not sees_large(known, looks)
    assert not sees_large(Model("inFT_siw"), looks)


@pytest.mark.parametrize(("seconds", "size"), [(599, 320), (601, None)])
def test_large_photos_are_seen_so_if_it_does_not_take_too_long(
    seconds, size, tmp_path, monkeypatch
):
    colours = make_colours(tmp_path / "photos", "cat", "dog")
    for path in colours.rglob("*.png"):
        Image.open(path).resize((400, 400)).save(path)
    monkeypatch.setattr(plan_module, "time_a_few", lambda model, photos: (24 / seconds, 8))
    plan = make_plan(Model(), [colours])
    assert plan.model.settings.image_size == size
    assert (SEES_LARGE in plan.notes) == (size is not None)


def test_folders_within_a_class_may_be_the_classes(model, tmp_path):
    make_colours(tmp_path / "photos" / "spring", "cat", "dog")
    make_colours(tmp_path / "photos", "elk")
    plan = make_plan(model, [tmp_path / "photos"])
    assert plan.counts == {"elk": 12, "spring": 24}
    assert (
        "the photos of spring lie in 2 folders (cat, dog): if these are the classes, name the "
        "folder spring itself"
    ) in plan.warnings
