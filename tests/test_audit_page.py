"""An audit in sentences, and as a page that can stand in a file by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from conftest import hostile_text
from html_pages import Page, check_alone
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


VERDICTS = {
    100: "for certain", 99: "for certain", 98.9: "almost for certain", 90: "almost for certain",
    89.9: "better than by guessing", 60: "better than by guessing",
    59.9: "hardly better than by guessing", 50: "hardly better than by guessing",
}  # fmt: skip


@pytest.mark.parametrize("best", VERDICTS)
def test_the_verdict_comes_first(best):
    verdict, *_ = summary(make_audit(whole=make_exposure("all classes", 50, best=best)))
    assert f" folder can tell {VERDICTS[best]} which" in verdict
    assert "its answers is right in 50 of 100 pairs" in verdict
    assert ("memoryless export" in verdict) == (best >= 90)


def test_whoever_has_the_files_has_the_answers():
    verdict, *_ = summary(make_audit(whole=make_exposure("all classes", 92, best=50)))
    assert " folder can tell almost for certain which" in verdict


@pytest.mark.parametrize("trained", [True, False])
def test_doubts_come_first_and_nothing_claims_safety(trained):
    found = make_audit(trained=trained, doubtful=True, warnings=["it is swapped", "few are few"])
    first, second, third, *rest = summary(found)
    assert (first, second) == ("Mind: it is swapped.", "Mind: few are few.")
    assert third == "So nothing that follows shows that the model is safe."
    assert len(rest) == 2
    assert "Whoever" not in " ".join(rest)


def test_sentences_say_what_is_kept_and_how_well_members_are_told():
    found = make_audit(warnings=["few are few"], broken={"b": "no"})
    _, kept, told, warned, broken = summary(found)
    assert "808 bytes (mean, held_out) for 1 class; the smallest, ant, had 30 photos" in kept
    assert "an AUROC of 65.0 (60-70)" in told
    assert "by scatter, with one of 100.0 (100-100)" in told
    assert (warned, broken) == ("Mind: few are few.", "1 photo could not be read.")


def test_files_of_trained_features_are_not_attacked():
    verdict, _, told = summary(make_audit(trained=True))
    assert "this model's answers is right in 65 of 100 pairs" in verdict
    assert told.endswith("were not attacked.")


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
    write_audit(tmp_path / "page.html", found)
    with shown(tmp_path / "page.html", width, scheme) as page:
        for row in page.locator("table").first.locator("tbody tr").all():
            box = row.locator("td").first.bounding_box()
            assert box["x"] + box["width"] <= width
        assert page.locator("tbody th").first.bounding_box()["width"] >= 80
        assert "`" not in page.locator("body").inner_text()
        assert page.locator("code").all_inner_texts() == ["members", "others", "memoryless audit"]
