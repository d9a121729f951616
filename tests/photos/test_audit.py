"""memoryless audit: attacks on models whose answer is known, refusals, sentences, and a page."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from conftest import call, hostile_text
from html_pages import Page, check_alone
from memoryless.errors import DataError
from memoryless.images.files import Photo
from memoryless.images.find import find_photos
from memoryless.model import Model
from memoryless.model.file import load_state
from memoryless.photos.audit import (
    LEVELS,
    SWAPPED,
    Audit,
    Exposure,
    _doubts,
    audit_photos,
    render,
    summary,
    table_of,
)
from memoryless.photos.embedding import embed
from memoryless.stats.membership import Estimate, Separation
from photo_toys import make_colours, shown, tiny_flags, tiny_settings

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
    assert {row.name for row in found.classes} == set(CLASSES)
    areas = [row.attacks["score"].auroc.value for row in found.classes]
    assert areas == sorted(areas, reverse=True)  # the most exposed first
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
    assert found.left_out == [] == found.warnings
    assert (found.broken, found.doubtful) == ({}, False)


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
    (warning,) = found.warnings
    assert "more members of owl" in warning


def test_an_attack_that_fails_is_no_doubt_where_another_is_certain(found):
    attacks = found.whole.attacks
    low = replace(attacks["score"], auroc=Estimate(30, 20, 40))
    assert list(_doubts(replace(found.whole, attacks={"score": low}), {})) == [SWAPPED]
    both = {"score": low, "scatter": attacks["scatter"]}
    assert list(_doubts(replace(found.whole, attacks=both), {})) == []


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
        "image): repair it, or take it out"
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
        "or not: remove these photos from one side"
    )
    assert f"are among the members too: {named}; " in refused(root, members, others + cats[:2])
    assert refused(root, members, others + cats[:1]).startswith(
        f"1 photo of `others` is among the members too: {root}/used/cat/0.png; "
    )


def test_a_model_that_takes_features(cat_and_dog, root):
    members, others = sides(root, ("cat", "dog"))
    with pytest.raises(DataError, match="takes features"):
        audit_photos(load_state(Path("model")), members, others, PLACES)


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


def make_exposure(
    name: str, area: float = 70.0, trained: bool = False, best: float = 100
) -> Exposure:
    some = Separation(30, 25, Estimate(area, area - 5, area + 5), Estimate(4.2, 1, 9))
    sure = replace(some, auroc=Estimate(best, best, best))
    attacks = {"score": some} | ({} if trained else {"distance": some, "scatter": sure})
    return Exposure(name, 30, 25, attacks)


def make_audit(name: str = "ant", trained: bool = False, **more: Any) -> Audit:
    model = {
        "file": name, "state": 2, "digest": "ab" * 32,
        "date": "2026-11-16T12:00:00Z", "memoryless": "0.3.0", "method": "fixed+lda",
        "classes": 1, "states": 1,
        "backbone": None if trained else {"name": name, "sha256": "cd" * 32},
        "record": {"mean": 800, "held_out.count": 8},
    }  # fmt: skip
    return Audit(**{
        "model": model, "date": "2026-11-17T12:00:00Z", "versions": {"python": "3.11"},
        "places": {"members": name, "others": name}, "honest": "Keeps no photo.",
        "smallest": {"class": name, "photos": 30},
        "whole": make_exposure("all classes", 65, trained),
        "classes": [make_exposure(name, trained=trained)], "left_out": [name], "warnings": [],
        "doubtful": False, "broken": {},
    } | more)  # fmt: skip


@pytest.mark.parametrize(("best", "level"), [(100, 90), (90, 90), (89.9, 60), (60, 60), (59.9, 0)])
def test_the_verdict_comes_first(best, level):
    result, *_ = summary(make_audit(whole=make_exposure("all classes", 50, best=best)))
    assert LEVELS[level] in result
    assert ("memoryless export" in result) == (best >= 90)


def test_the_better_attack_on_the_file_counts():
    result, *_ = summary(make_audit(whole=make_exposure("all classes", 92, best=50)))
    assert LEVELS[90] in result


def test_sentences_have_the_numbers_of_both_attacks():
    found = make_audit(warnings=["few are few"], broken={"b": "no"})
    text = " ".join(summary(found))
    for part in ("by scatter: 100.0 (100-100)", "by score: 65.0 (60-70)", "ant, 30 photos",
                 "few are few", "1 photo could not be read"):  # fmt: skip
        assert part in text, part


def test_files_of_trained_features_are_not_attacked():
    result, reached, *_ = summary(make_audit(trained=True))
    assert "no attack reads the file" in result
    assert "on the file" not in reached
    assert "65.0" in reached


def test_table_of_a_measure():
    head, rows = table_of(make_audit(), "auroc")
    assert head == ["class", "by scatter", "by distance", "by score", "members", "others"]
    assert rows == [
        ["all classes", "100.0 (100-100)", "65.0 (60-70)", "65.0 (60-70)", "30", "25"],
        ["ant", "100.0 (100-100)", "70.0 (65-75)", "70.0 (65-75)", "30", "25"],
    ]
    assert table_of(make_audit(trained=True), "tpr")[1][1] == ["ant", "4.2 (1-9)", "30", "25"]


def test_the_page_says_all_and_needs_nothing_else():
    page = render(make_audit())
    check_alone(page)
    found = Page(page)
    for text in ("Keeps no photo.", "Other attacks may reach more", "4.2 (1-9)",
                 "ab" * 32, "cd" * 32, "2026-11-17T12:00:00Z", "python 3.11",
                 "Classes that were not audited"):  # fmt: skip
        assert text in found.text.replace("\u2011", "-"), text
    assert "img" not in found.tags


@given(hostile_text)
def test_names_are_shown_and_not_obeyed(name):
    page = render(make_audit(name))
    assert Page(page).tags == Page(render(make_audit("x"))).tags
    page.encode()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_it_whole(width, scheme, tmp_path):
    many = replace(make_exposure("all classes", 95), members=12_000, others=12_000)
    found = make_audit(
        "blueberry " * 9, whole=many,
        warnings=["`members` and `others` are swapped"], honest="See `memoryless audit`.",
    )  # fmt: skip
    (tmp_path / "page.html").write_text(render(found))
    with shown(tmp_path / "page.html", width, scheme) as page:
        for row in page.locator("table").first.locator("tbody tr").all():
            box = row.locator("td").first.bounding_box()
            assert box["x"] + box["width"] <= width
        assert page.locator("tbody th").first.bounding_box()["width"] >= 80
        assert "`" not in page.locator("body").inner_text()
        assert page.locator("code").all_inner_texts() == ["members", "others", "memoryless audit"]


AUDIT = "audit model --members used --others new".split()


@pytest.fixture
def taught(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    """The working folder holds a model of two classes, its photos, and others."""
    monkeypatch.chdir(tmp_path)
    make_colours(Path("used"), "cat", "dog")
    make_colours(Path("new"), "cat", "dog", seed=1)
    assert call("learn", "model", "used", *tiny_flags(tiny_backbone), capsys=capsys)[0] == 0


def test_details_add_a_row_for_each_class_and_measure(taught, capsys):
    Path("new/cat/notes.txt").touch()
    code, out, err = call(*AUDIT, capsys=capsys)
    assert (code, err) == (0, "")
    assert "notes.txt" in out
    more = call(*AUDIT, "--details", capsys=capsys)[1]
    cells = [line.split() for line in more.splitlines()]
    assert sum([row[:1], row[-2:]] == [["cat"], ["12", "12"]] for row in cells) == 2
    assert not any(line.split()[:1] == ["cat"] for line in out.splitlines())


@pytest.mark.parametrize(("members", "others"), [("new", "used"), ("more", "new")])
def test_sides_that_are_swapped_or_were_never_learned(taught, capsys, members, others):
    make_colours(Path("more"), "cat", "dog", seed=7)
    words = ("audit", "model", "--members", members, "--others", others)
    code, out, _ = call(*words, capsys=capsys)
    assert (code, out.split()[0]) == (0, "Warning:")  # before any number
    assert json.loads(call(*words, "--json", capsys=capsys)[1])["doubtful"]
    assert not [level for level in LEVELS.values() if level in out]


def test_json_alone_is_printed(taught, capsys):
    code, out, err = call(*AUDIT, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["all"]["scatter"]["auroc"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert {row["class"] for row in found["classes"]} == {"cat", "dog"}
    assert set(found["classes"][0]["score"]) == {"auroc", "tpr"}
    assert "whole" not in found
    assert found["places"] == {
        "members": "used: folders of classes",
        "others": "new: folders of classes",
    }


def test_a_page_is_written(taught, capsys):
    assert call(*AUDIT, "--html", "out/page.html", capsys=capsys)[0] == 0
    assert "<h1>Audit of model.memoryless</h1>" in Path("out/page.html").read_text()


def test_classes_without_photos_are_listed(taught, capsys):
    for side in ("used", "new"):
        Path(f"{side}/cat").rename(f"{side}-cat")
    assert json.loads(call(*AUDIT, "--json", capsys=capsys)[1])["left_out"] == ["cat"]


def test_broken_photos_are_listed(taught, capsys):
    Path("new/cat/0.png").write_text("text")
    code, out, err = call(*AUDIT, "--json", capsys=capsys)
    found = json.loads(out)
    why = "the photo new/cat/0.png cannot be read (not an image): repair it, or take it out"
    assert (code, err) == (1, f"memoryless: {why}\n")
    assert found["broken"] == {"new/cat/0.png": why}
    assert {row["class"]: row["others"] for row in found["classes"]} == {"cat": 11, "dog": 12}


def test_of_train_and_test_each_side_reads_its_own(taught, capsys):
    Path("all").mkdir()
    Path("used").rename("all/train")
    Path("new").rename("all/test")
    words = "audit model --members all --others all --json".split()
    found = json.loads(call(*words, capsys=capsys)[1])
    assert found["all"]["scatter"]["auroc"]["value"] == 1
