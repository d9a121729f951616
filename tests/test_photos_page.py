"""The page of an evaluation: self-contained, escaped, with the mistakes as pictures."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from PIL import Image

from conftest import hostile_text
from memoryless.errors import WriteError
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


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "link", "img", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(page: str) -> list[str]:
    parser = Tags()
    parser.feed(page)
    assert parser.open == []
    return parser.seen


def test_the_page_needs_nothing_but_itself():
    page = render("model", "photos", make_evaluation())
    assert "script" not in tags(page)
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert addresses and all(address.startswith("data:") for address in addresses)
    assert not re.search(r"https?:|url\(|@import", page)


def test_the_numbers_are_there():
    page = re.sub(r"<[^>]*>", "", render("model", "photos", make_evaluation()))
    for text in ("75.0 % were put", "100.0 % it was", "off by 1.2 points", "AUROC 87.5",
                 "it says so of 66.6 %", "1 photo could not be read", "90% sure; 5% for its own",
                 "1 of 4"):  # fmt: skip
        assert text in page, text


@given(hostile_text)
def test_names_are_shown_and_not_obeyed(name):
    evaluation = make_evaluation(name, mistakes=0)
    plain = tags(render("m", "p", make_evaluation("x", mistakes=0)))
    found = tags(render(name, name, evaluation))
    assert [tag for tag in found if tag != "wbr"] == [tag for tag in plain if tag != "wbr"]
    render(name, name, evaluation).encode()


def test_pictures_are_small_jpegs():
    address = thumbnail(Photo("p", "ant", png))
    kind, content = address.split(",")
    assert kind == "data:image/jpeg;base64"
    image = Image.open(io.BytesIO(base64.b64decode(content)))
    assert (image.format, image.size) == ("JPEG", (200, 100))


def test_there_are_not_too_many_pictures():
    page = render("m", "p", make_evaluation(mistakes=PICTURES + 5))
    assert tags(page).count("img") == PICTURES
    assert (
        f"The {PICTURES} wrong answers that the model was surest of, out of {PICTURES + 5}" in page
    )


def test_a_photo_that_vanished_is_left_out():
    def gone() -> io.BytesIO:
        raise FileNotFoundError(2, "No such file")

    evaluation = make_evaluation(mistakes=0)
    evaluation.mistakes.append(Mistake(Photo("x", "ant", gone), "bee", 0.9, 0.1))
    assert "img" not in tags(render("m", "p", evaluation))


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(WriteError) as error:
        write_page(tmp_path / "file" / "page.html", "m", "p", make_evaluation())
    assert str(error.value).startswith(f"cannot write {tmp_path}/file/page.html (")
    assert str(error.value).endswith("): choose another `html`")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_it_whole(width, scheme, tmp_path):
    write_page(tmp_path / "page.html", "model", "test", make_evaluation("blueberry " * 9, 5))
    with shown(tmp_path / "page.html", width, scheme) as page:
        pictures = page.locator("figure img")
        assert pictures.count() == 5
        assert pictures.first.evaluate("image => image.naturalWidth") > 0
        top1 = page.locator("tbody td").last.bounding_box()
        assert top1["x"] + top1["width"] <= width
