"""The plan of what to learn: the model, photos, refusals, warnings and expected cost."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from PIL import Image

from memoryless import Model
from memoryless.errors import ConfigError, DataError
from memoryless.model.file import load_state
from memoryless.photos.plan import (
    ADD,
    TRAINED,
    alike_names,
    bytes_kept,
    make_plan,
    model_to_learn,
    share_of_large,
    spread_bytes,
)
from photo_toys import make_colours, make_photo, paint, tiny_settings


@pytest.fixture
def model(tiny_backbone) -> Model:
    return Model(**tiny_settings(tiny_backbone))


def test_a_plan_tells_what_is_there(model, tmp_path):
    place = make_colours(tmp_path, "cat", "dog")
    (place / "cat" / "notes.txt").touch()
    (place / "dog" / "3.png").write_bytes(b"text")  # which reading finds out
    plan = make_plan(model, [place])
    assert plan.new == {"cat": 12, "dog": 12}
    assert plan.skipped == {str(place / "cat" / "notes.txt"): "not an image by its name"}
    assert plan.layouts == {str(place): "folders of classes"}
    assert plan.rate > 0
    assert plan.seconds == 24 / plan.rate
    assert len(plan.warnings) == 1


def test_bytes_are_those_that_are_kept(model, tmp_path):
    plan = make_plan(model, [make_colours(tmp_path / "a", "cat", "dog")])
    photos = np.random.default_rng(0).random((24, 48)).astype(np.float32)
    model.learn(photos, ["cat", "dog"] * 12)
    model.save(tmp_path / "model")
    ledger = load_state(tmp_path / "model").description.record
    assert plan.bytes == bytes_kept(2, 48) == sum(ledger.values())


def test_several_places_are_learned_together(model, tmp_path):
    places = [
        make_colours(tmp_path / "a", "cat"),
        make_colours(tmp_path / "b", "cat", "dog", seed=1),
    ]
    plan = make_plan(model, places)
    assert plan.new == {"cat": 24, "dog": 12}
    assert list(plan.layouts) == [str(place) for place in places]
    assert not plan.warnings[1:]


def test_a_file_that_two_places_lead_to_counts_once(model, tmp_path):
    make_colours(tmp_path / "train", "cat", "dog")
    make_colours(tmp_path / "test", "cat", "dog", number=2)
    (tmp_path / "link").symlink_to(tmp_path / "train")
    for again in ("train", "link"):
        plan = make_plan(model, [tmp_path, tmp_path / again])
        assert plan.new == {"cat": 12, "dog": 12}
        (note,) = [note for note in plan.notes if "again" in note]
        assert note.startswith(
            f"24 photos were found again and count once: {tmp_path / again}/cat/0.png, "
        )


def learn_features(model: Model, *names: str) -> Model:
    """Twelve features of each class."""
    features = np.random.default_rng(0).random((12 * len(names), 48)).astype(np.float32)
    model.learn(features, [*names] * 12)
    return model


def test_known_classes_get_more_beside_new_ones(model, tmp_path):
    learn_features(model, "cat", "dog")
    place = make_colours(tmp_path, "cat", "owl", number=20)
    plan = make_plan(model, [place], more=True)
    assert (plan.new, plan.more) == ({"owl": 20}, {"cat": 20})
    assert plan.notes == []
    assert plan.warnings == []
    assert plan.bytes == bytes_kept(3, 48)
    assert plan.spread == 0


def test_without_a_known_class_more_changes_nothing(model, tmp_path):
    plan = make_plan(model, [make_colours(tmp_path, "cat", "owl")], more=True)
    assert (plan.new, plan.more, plan.notes) == ({"cat": 12, "owl": 12}, {}, [])


@pytest.mark.parametrize("spelled", ["caf\u00e9", "cafe\u0301"])
def test_a_known_class_is_told_however_unicode_spells_it(spelled, model, tmp_path):
    learn_features(model, spelled, "dog")
    place = make_colours(tmp_path, "cafe\u0301", "owl", number=20)
    with pytest.raises(DataError, match=f"the model knows {spelled} already: "):
        make_plan(model, [place])
    plan = make_plan(model, [place], more=True)
    assert (plan.new, plan.more, plan.warnings) == ({"owl": 20}, {spelled: 20}, [])


def test_a_class_that_trained_features_know_is_refused_without_a_hint_at_more(taught, tmp_path):
    name = taught.classes[0]
    with pytest.raises(DataError) as error:
        make_plan(taught, [make_colours(tmp_path, name, "owl")])
    assert str(error.value) == (
        f"the model knows {name} already: give these photos another name, or leave them out"
    )


def test_bytes_of_a_forgettable_model_are_those_that_are_kept(tiny_backbone, tmp_path):
    """More photos of one class than it has features, fewer of the others."""
    settings = tiny_settings(tiny_backbone)
    model = learn_features(Model(forgettable=True, **settings), "cat", "dog")
    place = make_colours(tmp_path / "a", "owl", number=20)
    make_colours(place, "cat", number=40)
    plan = make_plan(model, [place], more=True)
    features = np.random.default_rng(1).random((60, 48)).astype(np.float32)
    model.learn(features, ["cat"] * 40 + ["owl"] * 20, more=True)
    model.save(tmp_path / "model")
    ledger = load_state(tmp_path / "model").description.record
    assert plan.spread == ledger["spread"] == spread_bytes({"cat": 52, "dog": 12, "owl": 20}, 48)
    assert plan.bytes == sum(ledger.values())


def test_large_photos_take_longer(model, tmp_path):
    """Their headers are read, and a made-up photo of their size is decoded."""
    rates = []
    for name, sides in (("small", (40, 30)), ("large", (4000, 3000))):
        for i in range(20):
            place = tmp_path / name / "ab"[i % 2]
            place.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", sides, (i, 0, 0)).save(place / f"{i}.jpg")
        rates.append(make_plan(model, [tmp_path / name]).rate)
    assert rates[0] > 3 * rates[1]


def test_trained_features_need_no_trial(tmp_path):
    plan = make_plan(Model("inFT_siw"), [make_colours(tmp_path, "cat", "dog")])
    assert plan.seconds is plan.rate is plan.bytes is None


NOT_MADE = {
    "fixed+lda": [
        ({"crop": 0}, "crop must be a number above 0.0, not 0"),
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
        ({"crop": 0, "image_size": 0}, "image_size must be a whole number from 1, not 0; "
         "crop must be a number above 0.0, not 0"),
    ],
    "foo": [({}, "unknown method 'foo': choose from ")],
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
    taught.choose_device("foo")
    with pytest.raises(ConfigError) as error:
        make_plan(taught, [tmp_path / "nowhere"])
    assert "'foo'" in str(error.value)


@pytest.mark.parametrize(
    ("sides", "settings", "large"),
    [
        ((640, 366), {}, 0.5),
        ((366, 640), {}, 0.5),
        ((640, 365), {}, 0.0),
        ((640, 480), {"image_size": 224}, None),
        ((640, 480), {"backbone": "onnx:net.onnx"}, None),
        ((640, 480), {"crop": 0.5}, 0.0),
        ((640, 480), {"backbone": "efficientnet-lite0+lite2"}, 0.5),
    ],
)
def test_the_share_of_large_photos_decides_what_a_new_model_sees(sides, settings, large):
    """It is known from headers alone; broken photos do not count."""
    photos = [make_photo(paint(0, *size)) for size in (sides, sides, (20, 20), (30, 30))]
    assert share_of_large(Model(**settings), [*photos, make_photo(b"text")]) == large


def test_a_model_that_is_there_or_is_trained_keeps_its_size():
    known = Model(backbone="none")
    known.learn(np.random.default_rng(0).random((20, 4)), ["cat", "dog"] * 10)
    for model in (known, Model("inFT_siw")):
        assert share_of_large(model, [make_photo(paint(0, 640, 480))]) is None


@pytest.mark.parametrize(("large", "size"), [(9, 224), (10, 320)])
def test_the_size_depends_on_no_clock(large, size, tmp_path, monkeypatch):
    """Half of the photos decide, however long learning will take on this machine."""
    clock = iter(range(0, 10**9, 10**6))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
    for i in range(20):
        side = 366 if i < large else 360
        paint(i, side, side).save(tmp_path / ("cat", "dog")[i % 2] / f"{i}.png")
    plan = make_plan(Model(), [tmp_path])
    assert plan.model.settings.image_size == size
    assert plan.large == large / 20
    assert plan.seconds > 10**5


@pytest.fixture
def file(tmp_path, tiny_backbone) -> Path:
    """A model of two classes."""
    return saved(learn_features(Model(**tiny_settings(tiny_backbone)), "cat", "dog"), tmp_path)


def saved(model: Model, folder: Path) -> Path:
    """The file that a model is saved in."""
    model.save(folder / "model")
    return folder / "model.memoryless"


def of_file(file: Path, given: dict, train: bool = False) -> Model:
    return model_to_learn(load_state(file), given, train)


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"image_size": 32}, "with `image_size=16`"),
        ({"crop": 0.5}, "with `crop=1.0`"),
        ({"mean": (0.5, 0.5, 0.5)}, "with `mean=0.0 0.0 0.0`"),
        ({"backbone": "efficientnet-lite0", "seed": 3}, "with `backbone=onnx:{}`, with `seed=0`"),
        ({"method": "inFT_siw"}, "with `method=fixed+lda`"),
        ({"forgettable": True}, "without `forgettable=True`"),
    ],
)
def test_a_model_keeps_the_settings_that_it_was_made_with(given, made, file, tiny_backbone):
    with pytest.raises(ConfigError) as error:
        of_file(file, given)
    assert str(error.value).startswith(f"{file} was made {made.format(tiny_backbone.name)}, ")


def test_a_setting_that_a_model_was_made_without(tmp_path):
    file = saved(learn_features(Model(backbone="none"), "cat", "dog"), tmp_path)
    with pytest.raises(ConfigError, match="was made without `mean`"):
        of_file(file, {"mean": (0.5, 0.5, 0.5)})


def test_a_model_stays_forgettable(tiny_backbone, tmp_path):
    settings = tiny_settings(tiny_backbone) | {"forgettable": True}
    made = model_to_learn(None, settings)
    file = saved(learn_features(made, "cat", "dog"), tmp_path)
    assert of_file(file, {}).forgettable
    assert of_file(file, settings).forgettable


def test_fixed_features_are_never_trained(file):
    with pytest.raises(ConfigError, match="was made with `method=fixed\\+lda`"):
        of_file(file, {}, train=True)
    with pytest.raises(ConfigError, match="which fixed\\+lda never does: leave one out"):
        model_to_learn(None, {"method": "fixed+lda"}, train=True)


def test_the_same_settings_may_be_given_again_and_another_device(file, tiny_backbone):
    model = of_file(file, tiny_settings(tiny_backbone) | {"device": "cpu"})
    assert (model.classes, model.settings.device) == (("cat", "dog"), "cpu")


def test_a_backbone_file_may_have_moved_but_not_changed(file, tiny_backbone, tmp_path):
    moved = shutil.copy(tiny_backbone, tmp_path / "moved.onnx")
    given = {"backbone": f"onnx:{moved}"}
    assert of_file(file, given).classes == ("cat", "dog")
    changed = onnx.load(moved)
    changed.graph.node[0].op_type = "MaxPool"
    onnx.save(changed, moved)
    with pytest.raises(ConfigError, match="was made with `backbone=onnx:"):
        of_file(file, given)


def test_trained_features_have_the_laboratorys_best_method():
    model = model_to_learn(None, {"epochs": 2}, train=True)
    assert (model.method, model.settings.level) == (TRAINED, "middle")
    assert model.settings.statistics == "tied"
    other = model_to_learn(None, {"backbone": "timm:resnet26"}, train=True)
    assert other.settings.level == "last"
    own = model_to_learn(None, {"method": "inFT_siw_mc"}, train=True)
    assert (own.method, own.settings.square_roots) == ("inFT_siw_mc", False)
    assert own.settings.held_out == 0.1


def few_of_a_class(root: Path) -> Path:
    make_colours(root, "cat", number=30)
    return make_colours(root, "dog", number=4)


def test_a_class_with_too_few_photos_is_left_out(model, tmp_path):
    plan = make_plan(model, [few_of_a_class(tmp_path)])
    assert (plan.counts, plan.left_out, plan.warnings) == ({"cat": 30}, {"dog": 4}, [])
    assert {photo.label for photo in plan.photos} == {"cat"}
    allowed = make_plan(model, [tmp_path], allow_few=True)
    assert (allowed.counts, allowed.left_out) == ({"cat": 30, "dog": 4}, {})
    assert len(allowed.warnings) == 1


@pytest.mark.parametrize(("number", "classes"), [(4, ("cat", "dog")), (9, ("cat", "dog"))])
def test_too_few_photos_in_all_are_refused(number, classes, model, tmp_path):
    place = make_colours(tmp_path, *classes, number=number)
    with pytest.raises(DataError) as error:
        make_plan(model, [place])
    assert error.value.fields == {"classes": dict.fromkeys(classes, number)}
    assert len(make_plan(model, [place], allow_few=True).warnings) == 1


@pytest.fixture
def knowing_dogs(model) -> Model:
    """A model that has learned a hundred photos of dogs."""
    model.learn(np.random.default_rng(0).random((100, 48)).astype(np.float32), ["dog"] * 100)
    return model


def test_photos_of_a_known_class_that_came_before_do_not_count(knowing_dogs, tmp_path):
    plan = make_plan(knowing_dogs, [few_of_a_class(tmp_path)], more=True)
    assert (plan.left_out, plan.more) == ({"dog": 4}, {})


def test_few_photos_more_are_warned_of(knowing_dogs, tmp_path):
    plan = make_plan(knowing_dogs, [make_colours(tmp_path, "cat", "dog")], more=True)
    assert [warning.partition(";")[0] for warning in plan.warnings] == [
        "fewer than 20 photos: cat 12",
        "fewer than 20 photos added: dog 12",
    ]


def test_photos_that_a_class_s_own_scatter_reveals(tiny_backbone, tmp_path):
    """Of 48 features: cat and dog get 48 and 49 photos; owl is not touched."""
    model = Model(forgettable=True, **tiny_settings(tiny_backbone))
    features = np.random.default_rng(0).random((56, 48)).astype(np.float32)
    model.learn(features, ["cat"] * 18 + ["dog"] * 19 + ["owl"] * 19)
    place = make_colours(tmp_path, "cat", "dog", number=30)
    (warning,) = make_plan(model, [place], more=True).warnings
    assert "(48)" in warning
    assert warning.endswith("which photos were used: cat 48")


@pytest.mark.parametrize("pair", [("Cat", "cat "), ("blue-tit", "Blue tit"), ("café", "cafe")])
def test_names_that_are_almost_the_same(pair):
    begin = f"{pair[1]!r} and {pair[0]!r} are almost the same name: if they are the same class, "
    together, more = begin + "put them together", begin + f"call it {pair[0]!r}, with `more=True`"
    assert list(alike_names(pair, [])) == list(alike_names(pair, [], ADD)) == [together]
    assert list(alike_names([pair[1]], [pair[0]])) == [together]
    assert list(alike_names([pair[1]], [pair[0]], ADD)) == [more]
    assert list(alike_names(pair, [pair[0]], ADD)) == [more]


def test_names_that_differ():
    assert list(alike_names(["cat", "cats", "🐈", "🐕", "-"], ["dog"])) == []
    assert list(alike_names(["Cat", "cat"], ["Cat", "cat"], ADD)) == []  # which is no news


def test_a_near_duplicate_name_is_a_warning(model, tmp_path):
    plan = make_plan(model, [make_colours(tmp_path, "Cat", "cat ", number=20)])
    assert plan.warnings == [
        "'cat ' and 'Cat' are almost the same name: if they are the same class, put them together"
    ]


def test_folders_within_a_class_may_be_the_classes(model, tmp_path):
    make_colours(tmp_path / "photos" / "spring", "cat", "dog")
    make_colours(tmp_path / "photos", "elk")
    plan = make_plan(model, [tmp_path / "photos"])
    assert plan.new == {"elk": 12, "spring": 24}
    assert (
        "the photos of spring lie in 2 folders (cat, dog): if these are the classes, name the "
        "folder spring itself"
    ) in plan.warnings
