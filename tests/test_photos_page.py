"""The page of an evaluation: self-contained, escaped, with the mistakes as pictures."""

from __future__ import annotations

import base64
import io

import pytest
from hypothesis import given
from PIL import Image

from conftest import hostile_text
from html_pages import Page, check_alone
from memoryless.images.read import Photo
from memoryless.photos.evaluation import Evaluation, Mistake
from memoryless.photos.page import PICTURES, render, thumbnail, write_page
from photo_toys import shown


def png(width: int = 600, height: int = 300) -> io.BytesIO:
    content = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(content, "PNG")
    content.seek(0)
    return content


def make_evaluation(name: str = "ant", mistakes: int = 1) -> Evaluation:
    photo = Photo(name, name, png)
    row = {"class": name, "state": 1, "photos": 4, "top1": 75.0}
    return Evaluation(
        photos=4, top1=75.0, top5=100.0, ece=1.25, accepted=90.0,
        states=[{"state": 1, "classes": 1, "photos": 4, "top1": 75.0}] * 2,
        classes=[row], confused=[{"class": name, "taken_for": name, "times": 1, "photos": 4}],
        unknown={name: 3}, auroc=87.5, rejected=66.6, broken={"b": "no"},
        mistakes=[Mistake(photo, name, 0.9, 0.05)] * mistakes,
    )  # fmt: skip


def test_the_page_has_the_numbers_and_needs_nothing_but_itself():
    page = render("model", "photos", make_evaluation())
    check_alone(page)
    text = Page(page).text.replace("\u00a0", " ")
    for part in ("75.0 % were put", "100.0 % it was", "off by 1.2 points", "AUROC 87.5",
                 "it says so of 66.6 %", "1 photo could not be read", "90% sure; 5% for its own",
                 "ant, taken for ant", "1 of 4"):  # fmt: skip
        assert part in text, part


@given(hostile_text)
def test_names_are_shown_and_not_obeyed(name):
    page = render(name, name, make_evaluation(name))
    assert Page(page).tags == Page(render("m", "p", make_evaluation("x"))).tags
    page.encode()


def test_pictures_are_small_jpegs():
    address = thumbnail(Photo("p", "ant", png))
    kind, content = address.split(",")
    assert kind == "data:image/jpeg;base64"
    image = Image.open(io.BytesIO(base64.b64decode(content)))
    assert (image.format, image.size) == ("JPEG", (200, 100))


def test_there_are_not_too_many_pictures():
    page = Page(render("m", "p", make_evaluation(mistakes=PICTURES + 5)))
    assert page.tags.count("img") == PICTURES
    assert f"out of {PICTURES + 5}" in page.text


def test_a_photo_that_vanished_is_left_out():
    def gone() -> io.BytesIO:
        raise FileNotFoundError(2, "No such file")

    evaluation = make_evaluation(mistakes=0)
    evaluation.mistakes.append(Mistake(Photo("x", "ant", gone), "bee", 0.9, 0.1))
    assert "img" not in Page(render("m", "p", evaluation)).tags


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_it_whole(width, scheme, tmp_path):
    write_page(tmp_path / "page.html", "model", "test", make_evaluation("blueberry " * 9, 5))
    with shown(tmp_path / "page.html", width, scheme) as page:
        pictures = page.locator("figure img")
        assert pictures.count() == 5
        assert pictures.first.evaluate("image => image.naturalWidth") > 0
        top1 = page.locator("tbody td:has(.bar)").last.bounding_box()
        assert top1["x"] + top1["width"] <= width
