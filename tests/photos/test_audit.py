"""memoryless audit: sentences, tables, JSON, and a page that stands by itself."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from conftest import call, hostile_text
from html_pages import Page, check_alone
from memoryless.photos.attacks import Audit, Exposure
from memoryless.photos.audit import columns, render, summary
from memoryless.stats.membership import Estimate, Separation
from photo_toys import make_colours, shown, tiny_flags


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


@pytest.mark.parametrize("trained", [True, False])
def test_doubts_come_first_and_nothing_claims_safety(trained):
    found = make_audit(trained=trained, doubtful=True, warnings=["it is swapped", "few are few"])
    first, second, third, *rest = summary(found)
    assert (first, second) == ("Mind: it is swapped.", "Mind: few are few.")
    assert third == "So nothing that follows shows that the model is safe."
    assert len(rest) == 2
    assert "Anyone" not in " ".join(rest)


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
    assert (code, first) == (0, DOUBTS[sides])
    assert second == "So nothing that follows shows that the model is safe."
    assert "Anyone" not in out


def test_json_alone_is_printed(taught, capsys):
    code, out, err = call(*AUDIT, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["all"]["scatter"]["auroc"]["value"] == 100
    assert found["places"] == {
        "members": "used: folders of classes",
        "others": "new: folders of classes",
    }


def test_a_page_in_place_of_a_model_is_refused(taught, capsys):
    whole = Path("model.memoryless").read_bytes()
    code, out, err = call(*AUDIT, "--html", "model.memoryless", capsys=capsys)
    sentence = "model.memoryless is a model: choose another --html"
    assert (code, out, err) == (2, "", f"memoryless: {sentence}\n")
    assert Path("model.memoryless").read_bytes() == whole


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
    code, _, err = call(*AUDIT, capsys=capsys)
    assert code == 1
    assert err.startswith("memoryless: the photo new/cat/0.png cannot be read (not an image): ")


def test_the_same_photos_on_both_sides(taught, capsys):
    words = ["audit", "model", "--members", "used", "--others", "used"]
    code, out, err = call(*words, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("memoryless: --members and --others are the same photos, used: name ")
