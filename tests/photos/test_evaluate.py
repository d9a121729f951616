"""memoryless evaluate: numbers worked by hand, tables, JSON, and a self-contained page."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from msgspec import structs
from PIL import Image

from conftest import call, hostile_text
from html_pages import Page, check_alone
from memoryless.errors import DataError
from memoryless.images.files import Photo
from memoryless.model import Evaluation, Mistake, Model
from memoryless.model.file import load_state, writing
from memoryless.pages import MARK
from memoryless.photos import evaluate
from memoryless.photos.embedding import Features
from memoryless.photos.evaluate import (
    PICTURES,
    PhotoEvaluation,
    evaluate_photos,
    render,
    thumbnail,
)
from photo_toys import make_colours, shown, tiny_flags


def photo(name: str, label: str) -> Photo:
    return Photo(name, label, lambda _: io.BytesIO())


@pytest.fixture
def model() -> Model:
    model = Model(backbone="none")
    model.learn(np.random.default_rng(0).normal(size=(40, 4)), ["ant", "bee"] * 20)
    return model


def test_no_class_is_known(model):
    with pytest.raises(DataError) as error:
        evaluate_photos(model, [photo("0", "owl"), photo("1", "elk")])
    assert error.value.fields["classes"] == ["elk", "owl"]


def test_no_photo_of_a_known_class_can_be_read(model, monkeypatch):
    broken = Features([], np.zeros((0, 0)), {"0": "the photo 0 cannot be read"})
    monkeypatch.setattr(evaluate, "all_features", lambda *_: broken)
    with pytest.raises(DataError, match="the photo 0 cannot be read"):
        evaluate_photos(model, [photo("0", "ant")])


def png(_: str, width: int = 600, height: int = 300) -> io.BytesIO:
    content = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(content, "PNG")
    content.seek(0)
    return content


def make_evaluation(name: str = "ant", mistakes: int = 1) -> PhotoEvaluation:
    row = {"class": name, "state": 1, "photos": 4, "correct": 3, "top1": 0.75}
    result = Evaluation(
        photos=4, correct=3, top1=0.75, interval=(0.3, 0.95), top5=1.0, ece=0.0125, accepted=0.9,
        unsure=0.2, states=[{"state": 1, "classes": 1, "photos": 4, "top1": 0.75}] * 2,
        classes=[row], confused=[{"class": name, "answer": name, "times": 1, "photos": 4}],
        unknown={name: 3}, auroc=0.875, rejected=0.666,
        mistakes=[Mistake(0, name, name, 0.9, 0.05)] * mistakes,
    )  # fmt: skip
    return PhotoEvaluation(result, [Photo(f"Ann Lee/photos/{name}", name, png)], {"b": "no"})


def test_the_page_has_the_numbers_and_needs_nothing_but_itself():
    page = render("model", "Ann Lee/photos", make_evaluation())
    check_alone(page)
    text = Page(page).text.replace("\u00a0", " ")
    for part in ("75.0 %", "30 to 95", "100.0 %", "1.2 points", "AUROC 87.5", "67 %",
                 "1 photo could not be read", "photos/ant", "1 of 4"):  # fmt: skip
        assert part in text, part
    assert "Ann Lee" not in page


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
    assert f"of {PICTURES + 5}" in page.text


def test_a_photo_that_vanished_is_left_out():
    def gone(_: str) -> io.BytesIO:
        raise FileNotFoundError(2, "No such file")

    found = make_evaluation()
    found.photos[0] = Photo("x", "ant", gone)
    assert "img" not in Page(render("m", "p", found)).tags


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_it_whole(width, scheme, tmp_path):
    page = render("model", "test", make_evaluation("blueberry " * 9, 5))
    (tmp_path / "page.html").write_text(page)
    with shown(tmp_path / "page.html", width, scheme) as page:
        pictures = page.locator("figure img")
        assert pictures.count() == 5
        assert pictures.first.evaluate("image => image.naturalWidth") > 0
        top1 = page.locator("tbody td:has(.bar)").last.bounding_box()
        assert top1["x"] + top1["width"] <= width


@pytest.fixture
def taught(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    """The working folder holds a model of three classes in two states, and test photos."""
    monkeypatch.chdir(tmp_path)
    make_colours(Path("first"), "cat", "dog", number=20)
    make_colours(Path("second"), "owl", number=20)
    call("learn", "model", "first", *tiny_flags(tiny_backbone), capsys=capsys)
    assert call("learn", "model", "second", capsys=capsys)[0] == 0
    make_colours(Path("test"), "cat", "dog", "owl", number=5, seed=1)


def test_json_alone_is_printed(taught, capsys):
    make_colours(Path("test"), "volcano", number=3)
    code, out, err = call("evaluate", "model", "test", "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["mistakes"], found["top1"], found["top5"]) == ([], 1.0, None)
    assert 0 < found["interval"][0] < 1
    assert {c["class"]: c["photos"] for c in found["classes"]} == {"cat": 5, "dog": 5, "owl": 5}
    assert [s["state"] for s in found["states"]] == [1, 2]
    assert found["unknown"] == {"volcano": 3}
    assert 0.5 < found["auroc"] <= 1


def test_mistakes_are_named(taught, capsys):
    Path("test/cat").rename("test/dog2")
    Path("test/dog").rename("test/cat")  # all of cat's photos are dogs now
    code, out, _ = call("evaluate", "model", "test", capsys=capsys)
    assert code == 0
    assert "  cat  0 of 5  5 as dog\n" in out
    assert out.count("  test/cat/") == 5
    found = json.loads(call("evaluate", "model", "test", "--json", capsys=capsys)[1])
    assert {one["file"] for one in found["mistakes"]} == {f"test/cat/{i}.png" for i in range(5)}
    assert set(found["mistakes"][0]) == {"file", "label", "answer", "probability", "own"}


def test_a_page_is_written(taught, capsys):
    Path("test/cat").rename("test/other")
    Path("test/dog").rename("test/cat")
    words = ("evaluate", "model", "test", "--html", "out/page.html")
    assert call(*words, capsys=capsys)[0] == 0
    assert Path("out/page.html").read_text().count("data:image/jpeg") == 5


def test_a_page_that_is_there_stays_if_nothing_is_evaluated(taught, capsys):
    Path("page.html").write_text(MARK)
    Path("test").rename("strange")
    make_colours(Path("test"), "volcano")
    assert call("evaluate", "model", "test", "--html", "page.html", capsys=capsys)[0] == 2
    assert Path("page.html").read_text() == MARK
    assert call("evaluate", "model", "test", "--html", "new.html", capsys=capsys)[0] == 2
    assert not Path("new.html").exists()
    _, _, err = call("evaluate", "model", "test", "--html", "model.memoryless", capsys=capsys)
    assert err == "memoryless: model.memoryless is a model: choose another --html\n"


def test_of_two_halves_the_test_half_is_read(taught, capsys):
    Path("all").mkdir()
    Path("first").rename("all/train")
    Path("test").rename("all/test")
    out = call("evaluate", "model", "all", capsys=capsys)[1]
    assert "15 of 15 photos" in out


def test_broken_photos_are_listed(taught, capsys):
    Path("test/cat/0.png").write_text("text")
    Path("test/cat/notes.txt").touch()
    code, out, err = call("evaluate", "model", "test", capsys=capsys)
    assert code == 1
    assert err.startswith("memoryless: the photo test/cat/0.png cannot be read (not an image): ")
    assert "test/cat/notes.txt" in out
    assert "14 of 14 photos" in out


@pytest.fixture
def more_tests(taught) -> None:
    """30 test photos of the model's classes, and 25 of things that it does not know."""
    make_colours(Path("test"), "cat", "dog", "owl", number=10, seed=1)
    make_colours(Path("strange"), "sea", "sun", "sky", "cat", "fog", number=5, seed=1)


def test_calibrating_is_a_state_of_its_own_that_undo_takes_back(more_tests, capsys):
    make_colours(Path("test"), "volcano", number=3)
    before = load_state("model").description.confidence
    code, out, err = call("evaluate", "model", "test", "--calibrate", capsys=capsys)
    after = load_state("model")
    assert (code, err, after.number, after.done) == (0, "", 3, "calibrate")
    assert after.description.confidence != before
    assert "memoryless undo model" in out
    assert call("undo", "model", capsys=capsys)[0] == 0
    assert load_state("model").description.confidence == before


def test_calibration_as_json(more_tests, capsys):
    before = load_state("model").description.confidence
    words = "evaluate model test --unknown strange --calibrate --json".split()
    found = json.loads(call(*words, capsys=capsys)[1])
    after = load_state("model").description.confidence
    assert found["unknown"] == {"no label": 25}
    assert found["calibration"] == {
        "photos": 30,
        "unknown": 25,
        "left_out": {},
        "before": structs.asdict(before),
        "after": structs.asdict(after),
    }
    assert (found["accepted"] + found["rejected"]) / 2 >= 0.9  # strange/cat is a cat
    assert (
        json.loads(call("evaluate", "model", "test", "--json", capsys=capsys)[1])["top1"]
        == (found["top1"])
    )


def test_unknown_photos_are_measured_without_calibrating(more_tests, capsys):
    content = Path("model.memoryless").read_bytes()
    words = "evaluate model test --unknown strange".split()
    found = json.loads(call(*words, "--json", capsys=capsys)[1])
    assert found["unknown"] == {"no label": 25}
    assert (found["photos"], found["calibration"]) == (30, None)
    assert found["auroc"] > 0.5  # strange/cat looks like a class that is known
    assert Path("model.memoryless").read_bytes() == content


def test_a_calibrated_model_says_so_and_learns_on(more_tests, capsys):
    call("evaluate", "model", "test", "--calibrate", capsys=capsys)
    fitted = load_state("model").description.calibrated
    assert "evaluate --calibrate" in call("show", "model", capsys=capsys)[1]
    make_colours(Path("third"), "elk", number=20)
    out = call("learn", "model", "third", capsys=capsys)[1]
    assert "note      temperature and threshold stay" in out
    assert load_state("model").description.calibrated == fitted


@pytest.mark.parametrize(
    ("number", "unknown", "sentence"),
    [
        (6, (), "calibrating takes 20 photos or more of classes that the model knows, not 18"),
        (7, ("--unknown", "few"), "calibrating takes 20 photos or more of unknown things, not 4"),
    ],
)
def test_too_few_photos_change_nothing(number, unknown, sentence, taught, capsys):
    make_colours(Path("test"), "cat", "dog", "owl", "volcano", number=number)
    make_colours(Path("few"), "sea", number=4)
    content = Path("model.memoryless").read_bytes()
    done = call("evaluate", "model", "test", "--calibrate", *unknown, capsys=capsys)
    assert done == (2, "", f"memoryless: {sentence}: add some\n")
    assert Path("model.memoryless").read_bytes() == content


def test_photos_that_cannot_be_read_do_not_count(taught, capsys):
    make_colours(Path("test"), "cat", "dog", number=10)
    for name in ("test/cat/0.png", "test/owl/0.png", "test/owl/1.png"):
        Path(name).write_text("text")
    code, out, _ = call("evaluate", "model", "test", "--calibrate", "--json", capsys=capsys)
    assert (code, json.loads(out)["calibration"]["photos"]) == (1, 22)


def test_a_second_writer_waits(more_tests, capsys):
    with writing("model"):
        code, out, err = call("evaluate", "model", "test", "--calibrate", capsys=capsys)
        assert (code, out) == (2, "")
        assert err.startswith("memoryless: another process is writing model.memoryless: wait for")
        assert call("evaluate", "model", "test", capsys=capsys)[0] == 0
