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
    SWAPPED,
    Audit,
    Exposure,
    _doubts,
    audit_photos,
    columns,
    render,
    summary,
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
    assert found.warnings == [
        "of owl there are more members than photos that the model learned: some were not "
        "used, so it is easier to tell than these numbers say"
    ]


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


LEVELS = {
    100: "for certain", 99: "for certain", 98.9: "almost for certain", 90: "almost for certain",
    89.9: "better than by guessing", 60: "better than by guessing",
    59.9: "hardly better than by guessing", 50: "hardly better than by guessing",
}  # fmt: skip


@pytest.mark.parametrize("best", LEVELS)
def test_the_result_comes_first(best):
    result, *_ = summary(make_audit(whole=make_exposure("all classes", 50, best=best)))
    assert f" file can determine {LEVELS[best]} which" in result
    assert "its answers is right in 50 of 100 pairs" in result
    assert ("memoryless export" in result) == (best >= 90)


def test_anyone_with_the_file_has_the_answers():
    result, *_ = summary(make_audit(whole=make_exposure("all classes", 92, best=50)))
    assert " file can determine almost for certain which" in result


def test_sentences_say_what_is_kept_and_how_well_attacks_do():
    found = make_audit(warnings=["few are few"], broken={"b": "no"})
    _, kept, reached, warned, broken = summary(found)
    assert "808 bytes (mean, held_out) for 1 class; the smallest, ant, had 30 photos" in kept
    assert "an AUROC of 65.0 (60-70)" in reached
    assert "by scatter, with one of 100.0 (100-100)" in reached
    assert (warned, broken) == ("Mind: few are few.", "1 photo could not be read.")


def test_files_of_trained_features_are_not_attacked():
    result, _, reached = summary(make_audit(trained=True))
    assert "this model's answers is right in 65 of 100 pairs" in result
    assert "its file was not attacked" in reached


def test_columns_of_a_measure():
    head, rows = columns(make_audit(), "auroc")
    assert head == ["class", "by score", "by distance", "by scatter", "members", "others"]
    assert rows == [
        ["all classes", "65.0 (60-70)", "65.0 (60-70)", "100.0 (100-100)", "30", "25"],
        ["ant", "70.0 (65-75)", "70.0 (65-75)", "100.0 (100-100)", "30", "25"],
    ]
    assert columns(make_audit(trained=True), "tpr")[1][1] == ["ant", "4.2 (1-9)", "30", "25"]


def test_the_page_says_all_and_needs_nothing_else():
    page = render(make_audit())
    check_alone(page)
    found = Page(page)
    for text in ("Keeps no photo.", "It is no proof that none reaches more.", "4.2 (1-9)",
                 "ab" * 32, "cd" * 32, "2026-11-17T12:00:00Z", "python 3.11",
                 "Classes of the model that were not audited"):  # fmt: skip
        assert text in found.text, text
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


def test_sentences_and_tables_for_people(taught, capsys):
    Path("new/cat/notes.txt").touch()
    code, out, err = call(*AUDIT, capsys=capsys)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "not read: 1: new/cat/notes.txt (not an image by its name)"
    assert lines[1].startswith("Anyone with this model's file can determine for certain which ")
    assert lines[1].endswith("Give others the ONNX file that memoryless export writes instead.")
    assert lines[2].endswith("for 2 classes; the smallest, cat, had 12 photos.")
    assert "by scatter, with one of 100.0 (100-100)." in lines[3]
    cells = [line.split() for line in lines]
    assert ["class", "by", "score", "by", "distance", "by", "scatter", "members", "others"] in cells
    assert sum([row[:1], row[-2:]] == [["cat"], ["12", "12"]] for row in cells) == 2
    assert lines[-2:] == [
        "An audit shows what these attacks reach with these photos. It is no proof that none "
        "reaches more.",
        "next      the same command with --html FILE writes a page for a data-protection file",
    ]


DOUBTS = {
    "new used": "Mind: the others look more used than the members: perhaps --members and --others "
    "are swapped, or the model did not learn these members.",
    "more new": "Mind: 24 of 24 members cannot be among the photos that the model learned: check "
    "--members.",
}


@pytest.mark.parametrize("sides", DOUBTS)
def test_sides_that_are_swapped_or_were_never_learned(taught, capsys, sides):
    make_colours(Path("more"), "cat", "dog", seed=7)
    members, others = sides.split()
    code, out, _ = call("audit", "model", "--members", members, "--others", others, capsys=capsys)
    first, second, *_ = out.splitlines()
    assert (code, first) == (0, DOUBTS[sides])  # before anything that claims safety
    assert second == "So nothing that follows shows that the model is safe."
    assert "Anyone" not in out


def test_json_alone_is_printed(taught, capsys):
    code, out, err = call(*AUDIT, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["all"]["scatter"]["auroc"] == {"value": 100.0, "low": 100.0, "high": 100.0}
    assert {row["class"] for row in found["classes"]} == {"cat", "dog"}
    assert set(found["classes"][0]["score"]) == {"auroc", "tpr"}
    assert "whole" not in found
    assert found["places"] == {
        "members": "used: folders of classes",
        "others": "new: folders of classes",
    }


def test_a_page_is_written(taught, capsys):
    code, out, _ = call(*AUDIT, "--html", "out/page.html", capsys=capsys)
    assert code == 0
    assert out.endswith("the page is out/page.html\n")
    assert "<h1>Audit of model.memoryless</h1>" in Path("out/page.html").read_text()


def test_classes_without_photos_are_listed(taught, capsys):
    for side in ("used", "new"):
        Path(f"{side}/cat").rename(f"{side}-cat")
    out = call(*AUDIT, capsys=capsys)[1]
    lines = [line.strip() for line in out.splitlines()]
    assert lines[lines.index("not audited") :].count("cat") == 1


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
    assert found["all"]["scatter"]["auroc"]["value"] == 100
