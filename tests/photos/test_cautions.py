"""Warnings and refusals before photos are learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import DataError
from memoryless.photos.cautions import ADD, alike_names
from memoryless.photos.plan import make_plan
from photo_toys import make_colours, tiny_settings


@pytest.fixture
def model(tiny_backbone) -> Model:
    return Model(**tiny_settings(tiny_backbone))


def few_of_a_class(root: Path) -> Path:
    make_colours(root, "cat", number=30)
    return make_colours(root, "dog", number=4)


def few_in_all(root: Path) -> Path:
    return make_colours(root, "cat", "dog", number=9)


SMALL = {
    few_of_a_class: "a class needs at least 5 different photos, and dog has 4",
    few_in_all: "a state needs at least 20 different photos, and there are 18",
}


@pytest.mark.parametrize("make", SMALL)
def test_photos_that_can_be_traced_back_need_few(make, model, tmp_path):
    place = make(tmp_path)
    with pytest.raises(DataError) as error:
        make_plan(model, [place])
    assert str(error.value).startswith(f"{SMALL[make]}: add photos, or add `few=True` ")
    (warning,) = make_plan(model, [place], few=True).warnings
    assert warning.startswith(f"{SMALL[make]}; averages over so few can be traced back")


@pytest.fixture
def knowing(model) -> Model:
    """A model that has learned a hundred photos of dogs."""
    model.learn(np.random.default_rng(0).random((100, 48)).astype(np.float32), ["dog"] * 100)
    return model


def test_photos_of_a_known_class_that_came_before_do_not_count(knowing, tmp_path):
    place = few_of_a_class(tmp_path)
    why = "a class needs at least 5 different photos, and dog gets 4 in this state"
    with pytest.raises(DataError, match=why):
        make_plan(knowing, [place], more=True)
    (warning,) = make_plan(knowing, [place], few=True, more=True).warnings
    assert warning.startswith(why)


def test_few_photos_more_are_warned_of(knowing, tmp_path):
    plan = make_plan(knowing, [make_colours(tmp_path, "cat", "dog")], more=True)
    assert [warning.partition(";")[0] for warning in plan.warnings] == [
        "fewer than 20 photos: cat 12",
        "fewer than 20 photos more: dog 12",
    ]


def test_photos_that_a_class_s_own_scatter_reveals(tiny_backbone, tmp_path):
    """Of 48 features: cat and dog get 48 and 49 photos; owl is not touched."""
    model = Model(forgettable=True, **tiny_settings(tiny_backbone))
    features = np.random.default_rng(0).random((56, 48)).astype(np.float32)
    model.learn(features, ["cat"] * 18 + ["dog"] * 19 + ["owl"] * 19)
    place = make_colours(tmp_path, "cat", "dog", number=30)
    (warning,) = make_plan(model, [place], more=True).warnings
    assert "(48)" in warning and warning.endswith("which were used: cat 48")


@pytest.mark.parametrize("pair", [("Cat", "cat "), ("blue-tit", "Blue tit"), ("café", "cafe")])
def test_names_that_are_almost_the_same(pair):
    begin = f"{pair[1]!r} and {pair[0]!r} are almost the same name: if they are the same class, "
    together, more = begin + "put them together", begin + f"call it {pair[0]!r}, with `more=True`"
    assert list(alike_names(pair, [])) == list(alike_names(pair, [], ADD)) == [together]
    assert list(alike_names([pair[1]], [pair[0]])) == [together]
    assert list(alike_names([pair[1]], [pair[0]], ADD)) == [more]
    assert list(alike_names(pair, [pair[0]], ADD)) == [more]


def test_two_known_names_that_are_almost_the_same_are_no_news():
    assert list(alike_names(["Cat", "cat"], ["Cat", "cat"], ADD)) == []


def test_names_that_differ():
    assert list(alike_names(["cat", "cats", "🐈", "🐕", "-"], ["dog"])) == []


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
