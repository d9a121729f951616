"""Attacks on models whose answer is known, and what an audit refuses."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memoryless.errors import DataError
from memoryless.images.find import find_photos
from memoryless.images.read import Photo
from memoryless.model import Model
from memoryless.model.file import load_state
from memoryless.photos.attacks import SWAPPED, Audit, _doubts, audit_photos, find_both
from memoryless.photos.embedding import embed
from memoryless.stats.membership import Estimate
from memoryless.store import to_json
from photo_toys import make_colours, tiny_settings

CLASSES = ("cat", "dog", "owl")
PLACES = ("used: one folder a class", "new: one folder a class")


@pytest.fixture(scope="module")
def root(tmp_path_factory, tiny_backbone) -> Path:
    """A model of three classes of 12 photos each, and as many others; features have 48 numbers."""
    root = tmp_path_factory.mktemp("audit")
    make_colours(root / "new", *CLASSES, seed=1)
    teach(root / "model", make_colours(root / "used", *CLASSES), tiny_backbone)
    return root


def teach(folder: Path, photos: Path, backbone: Path) -> None:
    model, found = Model(**tiny_settings(backbone)), find_photos(photos).photos
    model.learn(
        np.stack([one.features for one in embed(model, found)]), [photo.label for photo in found]
    )
    model.save(folder)


def sides(root: Path, classes: tuple[str, ...] = CLASSES) -> list[list[Photo]]:
    found = [find_photos(root / side).photos for side in ("used", "new")]
    return [[photo for photo in side if photo.label in classes] for side in found]


def audited(root: Path, members: list[Photo], others: list[Photo]) -> Audit:
    return audit_photos(load_state(root / "model"), members, others, PLACES)


@pytest.fixture(scope="module")
def found(root) -> Audit:
    return audited(root, *sides(root))


def test_each_attack_has_an_estimate_for_each_class_and_for_all(found):
    assert [row.name for row in found.classes] != []
    assert {row.name for row in found.classes} == set(CLASSES)
    for row in (found.whole, *found.classes):
        number = 36 if row is found.whole else 12
        assert (row.members, row.others) == (number, number)
        assert list(row.attacks) == ["score", "distance", "scatter"]
        for reached in row.attacks.values():
            assert reached.auroc.low <= reached.auroc.value <= reached.auroc.high


def test_a_scatter_of_few_photos_finds_them_for_certain(found):
    """36 photos of 3 classes, whose features have 48 numbers."""
    for row in (found.whole, *found.classes):
        assert row.attacks["scatter"].auroc.value == 100
        assert row.attacks["scatter"].tpr.value == 100
    assert 50 < found.whole.attacks["distance"].auroc.value < 100


def test_the_most_exposed_class_comes_first(found):
    areas = [row.attacks["score"].auroc.value for row in found.classes]
    assert areas == sorted(areas, reverse=True)


def test_it_says_of_which_model_and_when(found, root):
    saved = load_state(root / "model")
    assert found.model["digest"] == saved.digest
    assert found.model["record"] == saved.description.record
    assert (found.model["state"], found.model["classes"]) == (1, 3)
    assert found.places == dict(zip(("members", "others"), PLACES, strict=True))
    assert found.smallest == {"class": "cat", "photos": 12}
    assert "smallest class: 12 photos" in found.honest
    assert set(found.versions) == {"python", "memoryless", "numpy", "onnxruntime", "pillow"}
    assert found.date.endswith("Z")


def test_nothing_is_wrong_with_it(found):
    assert found.left_out == [] == found.warnings
    assert (found.broken, found.doubtful) == ({}, False)


def test_as_json(found):
    entries = json.loads(to_json(found.as_json()))
    assert entries["all"]["scatter"]["auroc"] == {"value": 100.0, "low": 100.0, "high": 100.0}
    assert [row["class"] for row in entries["classes"]] == [row.name for row in found.classes]
    assert set(entries["classes"][0]["score"]) == {"auroc", "tpr"}
    assert "whole" not in entries


def test_classes_without_photos_are_left_out(root):
    found = audited(root, *sides(root, ("dog", "owl")))
    assert found.left_out == ["cat"]
    assert found.whole.members == 24


def test_it_is_repeated_with_the_same_numbers_and_progress(found, root):
    done: list[int] = []
    again = audit_photos(load_state(root / "model"), *sides(root), PLACES, done.append)
    assert (again.whole, again.classes) == (found.whole, found.classes)
    assert done == list(range(1, 2 * 36 + 1))


def test_few_photos_are_warned_of(root):
    members, others = sides(root)
    found = audited(root, members, [photo for photo in others if photo.name.endswith("1.png")])
    assert found.warnings == [
        "there are fewer than 10 photos on a side of cat, dog, owl: intervals of so few say nothing"
    ]


def test_more_members_than_were_learned_are_warned_of(root, tmp_path):
    make_colours(tmp_path / "more", "owl", number=3, seed=5)
    members, others = sides(root)
    found = audited(root, members + find_photos(tmp_path / "more").photos, others)
    assert found.warnings == [
        "of owl there are more members than photos that the model learned: some were not "
        "used, so it is easier to tell than these numbers say"
    ]


def test_swapped_sides_are_warned_of_first(root):
    members, others = sides(root)
    some = [photo for photo in members if photo.name.endswith("1.png")]
    found = audited(root, others, some)
    assert found.doubtful
    assert found.whole.attacks["scatter"].auroc.value == 0
    assert found.warnings[0] == (
        "the others look more used than the members: perhaps `members` and `others` are swapped, "
        "or the model did not learn these members"
    )
    assert found.warnings[1].startswith("there are fewer than 10 photos")


def test_members_that_were_never_learned_are_warned_of(root, tmp_path):
    """Neither side looks more used, but no photo is so far from a scatter that it is part of."""
    strange = find_photos(make_colours(tmp_path, *CLASSES, seed=7)).photos
    found = audited(root, strange, sides(root)[1])
    assert max(reached.auroc.high for reached in found.whole.attacks.values()) > 50
    assert found.doubtful
    assert found.warnings == [
        "36 of 36 members cannot be among the photos that the model learned: check `members`"
    ]


def test_an_attack_that_fails_is_no_doubt_where_another_is_certain(found):
    attacks = found.whole.attacks
    low = replace(attacks["score"], auroc=Estimate(30, 20, 40))
    assert list(_doubts(replace(found.whole, attacks={"score": low}), {})) == [SWAPPED]
    both = {"score": low, "scatter": attacks["scatter"]}
    assert list(_doubts(replace(found.whole, attacks=both), {})) == []


def test_broken_photos_are_told_and_left_out(root, tmp_path):
    place = Path(shutil.copytree(root / "new", tmp_path / "new"))
    (place / "cat/3.png").write_text("no image")
    members, _ = sides(root)
    found = audited(root, members, find_photos(place).photos)
    why = f"the photo {place}/cat/3.png cannot be read (not an image): mend it, or take it out"
    assert found.broken == {f"{place}/cat/3.png": why}
    assert {row.name: row.others for row in found.classes} == {"cat": 11, "dog": 12, "owl": 12}


def refused(root: Path, members: list[Photo], others: list[Photo]) -> str:
    with pytest.raises(DataError) as error:
        audited(root, members, others)
    return str(error.value)


def test_a_class_without_members_or_without_others(root):
    members, others = sides(root)
    some, fewer = sides(root, ("dog",))
    assert refused(root, some, others).startswith("there are no members of cat, owl: add photos")
    assert refused(root, members, fewer).startswith("there are no others of cat, owl: add photos")


def test_a_class_with_one_photo_on_a_side(root):
    members, others = sides(root)
    one = [photo for photo in others if photo.label != "cat" or photo.name.endswith("/1.png")]
    assert refused(root, members, one) == (
        "there is only one photo among the others of cat: 2 or more are needed on each side, and "
        "some 30 to say anything"
    )


def test_a_class_none_of_whose_photos_can_be_read(root, tmp_path):
    members, others = sides(root)
    place = tmp_path / "cat"
    place.mkdir()
    for i in range(3):
        (place / f"{i}.png").write_text(f"no image {i}")
    broken = find_photos(tmp_path).photos
    assert refused(root, members, [p for p in others if p.label != "cat"] + broken) == (
        f"too few others of cat can be read: the photo {place}/0.png cannot be read (not an "
        "image): mend it, or take it out"
    )


def test_a_class_that_the_model_does_not_know(root, tmp_path):
    members, others = sides(root)
    strange = find_photos(make_colours(tmp_path, "bat", "elk", number=2)).photos
    sentence = refused(root, members + strange, others)
    assert sentence.startswith("the model does not know bat, elk: ")


def test_photos_that_are_on_both_sides(root):
    members, others = sides(root)
    cats = [photo for photo in members if photo.label == "cat"]
    named = f"{root}/used/cat/0.png, {root}/used/cat/1.png"
    assert refused(root, members, others + cats) == (
        f"12 photos of `others` are among the members too: {named} and 10 more; a photo was used "
        "or not, so take such photos out of one side"
    )
    assert f"are among the members too: {named}; " in refused(root, members, others + cats[:2])
    assert refused(root, members, others + cats[:1]).startswith(
        f"1 photo of `others` is among the members too: {root}/used/cat/0.png; "
    )


def test_a_model_that_takes_features(cat_and_dog, root):
    members, others = sides(root, ("cat", "dog"))
    with pytest.raises(DataError, match="takes features"):
        audit_photos(load_state(Path("model")), members, others, PLACES)


def test_the_same_folder_twice(root, monkeypatch):
    monkeypatch.chdir(root)
    with pytest.raises(DataError, match="`members` and `others` are the same photos, used: "):
        find_both(Path("used"), root / "used")


def test_of_train_and_test_each_side_reads_its_own(tmp_path):
    make_colours(tmp_path / "train", "cat", number=3)
    make_colours(tmp_path / "test", "cat", number=2, seed=1)
    members, others = find_both(tmp_path, tmp_path)
    assert (len(members.photos), len(others.photos)) == (3, 2)
    assert len(find_both(tmp_path / "train", tmp_path / "test")[1].photos) == 2


def test_trained_features_are_attacked_by_score_alone(root, tmp_path):
    members, others = sides(root)
    model = Model("inFT_siw", image_size=16, epochs=1, width=2, batch_size=16)
    squares = np.stack([one.features for one in embed(model, members)])
    model.learn(squares, [photo.label for photo in members])
    model.save(tmp_path / "model")
    saved = load_state(tmp_path / "model")
    found = audit_photos(saved, members, others, PLACES)
    assert list(found.whole.attacks) == ["score"]
    assert found.model["backbone"]["name"] == "resnet18_3x3"
