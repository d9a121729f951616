"""An audit in sentences, and as a page that can stand in a file by itself."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from conftest import hostile_text
from memoryless.membership import Estimate, Told
from memoryless.photos.audit_page import columns, render, summary, write_audit
from memoryless.photos.auditing import Audit, Exposure
from photo_toys import shown


def make_exposure(
    name: str, area: float = 70.0, trained: bool = False, best: float = 100
) -> Exposure:
    told = Told(30, 25, Estimate(area, area - 5, area + 5), Estimate(4.2, 1, 9))
    sure = replace(told, auroc=Estimate(best, best, best))
    attacks = {"score": told} | ({} if trained else {"distance": told, "scatter": sure})
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


FOLDER = "Whoever has this model's file can tell {} which of these photos were used; "
ANSWERS = "whoever only sees its answers is right in 58 of 100 pairs of a used and an unused photo."
GIVE = " Give others the ONNX file that memoryless export writes instead."
VERDICTS = {
    100: "for certain", 99: "for certain", 98.9: "almost for certain", 90: "almost for certain",
    89.9: "better than by guessing", 60: "better than by guessing",
    59.9: "hardly better than by guessing", 50: "hardly better than by guessing",
}  # fmt: skip


@pytest.mark.parametrize("best", VERDICTS)
def test_the_verdict_comes_first(best):
    verdict, *_ = summary(make_audit(whole=make_exposure("all classes", 58, best=best)))
    assert verdict == FOLDER.format(VERDICTS[best]) + ANSWERS + GIVE * (best >= 90)


def test_whoever_has_the_files_has_the_answers():
    verdict, *_ = summary(make_audit(whole=make_exposure("all classes", 92, best=50)))
    assert verdict.startswith(FOLDER.format("almost for certain"))


@pytest.mark.parametrize("trained", [True, False])
def test_doubts_come_first_and_nothing_claims_safety(trained):
    found = make_audit(trained=trained, doubtful=True, warnings=["it is swapped", "few are few"])
    first, second, third, *rest = summary(found)
    assert (first, second) == ("Mind: it is swapped.", "Mind: few are few.")
    assert third == "So nothing that follows shows that the model is safe."
    assert len(rest) == 2
    assert "Whoever" not in " ".join(rest)


def test_two_sentences_follow():
    assert list(summary(make_audit()))[1:] == [
        "Of the photos that it was taught with, the model keeps 808 bytes (mean, held_out) for 1 "
        "class; the smallest, ant, had 30 photos.",
        "Whether a given photo was among them can be told from the model's answers with an AUROC "
        "of 65.0 (60-70), where 50 is guessing and 100 is certainty; from the model's file, by "
        "scatter, with one of 100.0 (100-100).",
    ]


def test_sentences_where_features_are_trained():
    verdict, _, told = summary(make_audit(trained=True))
    assert verdict == (
        "Whoever sees this model's answers is right in 65 of 100 pairs of a used and an unused "
        "photo."
    )
    assert told.endswith("certainty; its file, whose features are trained, were not attacked.")


def test_warnings_and_broken_photos_come_last():
    *_, warned, broken = summary(make_audit(warnings=["few are few"], broken={"b": "no"}))
    assert warned == "Mind: few are few."
    assert broken == "1 photo could not be read."


def test_columns_of_a_measure():
    head, rows = columns(make_audit(), "auroc")
    assert head == ["class", "members", "others", "by score", "by distance", "by scatter"]
    assert rows == [
        ["all classes", "30", "25", "65.0 (60-70)", "65.0 (60-70)", "100.0 (100-100)"],
        ["ant", "30", "25", "70.0 (65-75)", "70.0 (65-75)", "100.0 (100-100)"],
    ]
    assert columns(make_audit(trained=True), "tpr")[1][1] == ["ant", "30", "25", "4.2 (1-9)"]


def test_the_page_says_all_and_needs_nothing_else():
    page = render(make_audit())
    plain = re.sub(r"<[^>]*>", "", page)
    for text in ("Keeps no photo.", "It is no proof that none reaches more.",
                 "ant (30 / 25)", "4.2 (1-9)", "ab" * 32, "cd" * 32, "2026-11-17T12:00:00Z",
                 "python 3.11", "Classes of the model that were not audited"):  # fmt: skip
        assert text in plain, text
    assert "<script" not in page
    assert "<img" not in page
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == ["data:,"]


@given(hostile_text)
def test_names_are_shown_and_not_obeyed(name):
    pages = [re.findall(r"<[^>]*>", render(make_audit(of))) for of in (name, "x")]
    found, plain = ([tag for tag in tags if tag != "<wbr>"] for tags in pages)
    assert found == plain
    render(make_audit(name)).encode()


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_it_whole(width, scheme, tmp_path):
    many = replace(make_exposure("all classes", 95), members=12_000, others=12_000)
    found = make_audit(
        "blueberry " * 9, whole=many,
        warnings=["`members` and `others` are swapped"], honest="See `memoryless audit`.",
    )  # fmt: skip
    write_audit(tmp_path / "page.html", found)
    with shown(tmp_path / "page.html", width, scheme) as page:
        for cell in page.locator("tbody td").all():
            box = cell.bounding_box()
            assert box["x"] + box["width"] <= width
        assert page.locator("tbody th").first.bounding_box()["width"] >= 80
        brackets = page.locator("td, tbody th, p").get_by_text(
            re.compile(r"^\([\d,]+( / |-)[\d,]+\)$")
        )
        lines = [of.evaluate("of => of.getClientRects().length") for of in brackets.all()]
        assert lines == [1] * 18
        assert "`" not in page.locator("body").inner_text()
        assert "" not in [row.strip() for row in page.locator("thead tr").all_inner_texts()]
        assert page.locator("code").all_inner_texts() == [
            "memoryless export", "members", "others", "memoryless audit",
        ]  # fmt: skip
