"""memoryless evaluate: numbers worked by hand, tables, JSON, and a self-contained page."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from PIL import Image

from conftest import call, hostile_text
from html_pages import Page, check_alone
from memoryless.errors import DataError
from memoryless.images.files import Photo
from memoryless.images.read import UnreadableError
from memoryless.model.file import load_state, writing
from memoryless.pages import MARK
from memoryless.photos import evaluate
from memoryless.photos.embedding import Features
from memoryless.photos.evaluate import (
    PICTURES,
    Evaluation,
    Mistake,
    evaluate_photos,
    render,
    thumbnail,
)
from memoryless.stats.confidence import Prediction
from photo_toys import make_colours, shown, tiny_flags

# label, probabilities of ant, bee, cow, margin
GIVEN = [
    ("ant", (0.8, 0.1, 0.1), 2.0),
    ("ant", (0.2, 0.7, 0.1), 1.0),
    ("bee", (0.1, 0.9, 0.0), 3.0),
    ("cow", (0.9, 0.0, 0.1), -1.0),
    ("cow", (0.1, 0.3, 0.6), 4.0),
    ("elk", (0.4, 0.3, 0.3), -2.0),
    ("elk", (0.5, 0.3, 0.2), 1.5),
    ("bee", UnreadableError("7", "not an image"), 0.0),
]


def photo(name: str, label: str) -> Photo:
    return Photo(name, label, lambda _: io.BytesIO())


def model_of(predictions: list[tuple[tuple[float, ...], float]]) -> Any:
    """A model of three classes in two states that gives these probabilities and margins."""
    probabilities = np.array([row for row, _ in predictions])
    margins = np.array([margin for _, margin in predictions])
    found = Prediction(np.log(probabilities + 1e-9), probabilities, margins)
    classes, state = ("ant", "bee", "cow"), (0, 0, 1)
    return SimpleNamespace(classes=classes, class_state=state, classify=lambda rows: found)


@pytest.fixture
def read(monkeypatch):
    """Photos have no features here; those without a probability cannot be read."""

    def features(model, photos, progress):
        broken = {p.name: str(p.open()) for p in photos if isinstance(p.open(), UnreadableError)}
        return Features([p for p in photos if p.name not in broken], np.zeros((0, 0)), broken)

    monkeypatch.setattr(evaluate, "all_features", features)


@pytest.fixture
def found(read):
    model = model_of([(row, m) for _, row, m in GIVEN if not isinstance(row, UnreadableError)])
    return evaluate_photos(
        model,
        [Photo(str(i), label, lambda _, row=row: row) for i, (label, row, _) in enumerate(GIVEN)],
    )


def test_numbers_leave_unknown_classes_out(found):
    """States are counted from 1; the worst class and the surest mistake come first."""
    assert (found.photos, found.top1, found.top5) == (5, 60.0, 100.0)
    assert found.states == [
        {"state": 1, "classes": 2, "photos": 3, "top1": pytest.approx(200 / 3)},
        {"state": 2, "classes": 1, "photos": 2, "top1": 50.0},
    ]
    assert found.classes == [
        {"class": "ant", "state": 1, "photos": 2, "top1": 50.0},
        {"class": "cow", "state": 2, "photos": 2, "top1": 50.0},
        {"class": "bee", "state": 1, "photos": 1, "top1": 100.0},
    ]
    assert found.confused == [
        {"class": "ant", "taken_for": "bee", "times": 1, "photos": 2},
        {"class": "cow", "taken_for": "ant", "times": 1, "photos": 2},
    ]
    wrong = [(m.photo.name, m.answer, m.probability, m.own) for m in found.mistakes]
    assert wrong == [("3", "ant", 0.9, 0.1), ("1", "bee", 0.7, 0.2)]
    assert found.broken == {"7": str(GIVEN[7][1])}


def test_known_against_unknown(found):
    """Of 5 x 2 pairs, the known one is above but for -1 and 1 against 1.5."""
    assert found.unknown == {"elk": 2}
    assert found.auroc == 80.0
    assert (found.accepted, found.rejected) == (80.0, 50.0)


def test_calibration_by_hand(found):
    """Each in a bin of its own, but for 0.9 twice: one of these is right."""
    gaps = [abs(0.8 - 1), 0.7, abs(0.9 + 0.9 - 1), abs(0.6 - 1)]
    assert found.ece == pytest.approx(100 * sum(gaps) / 5)


def test_without_unknown_classes_there_is_no_auroc(read):
    found = evaluate_photos(model_of([((0.8, 0.1, 0.1), 1.0)]), [photo("0", "ant")])
    assert found.auroc is found.rejected is None


def test_no_class_is_known():
    with pytest.raises(DataError, match=r"none of the classes there \(elk, owl\): it knows ant, "):
        evaluate_photos(model_of([]), [photo("0", "owl"), photo("1", "elk")])


def test_no_photo_of_a_known_class_can_be_read(read):
    broken = Photo("0", "ant", lambda _: UnreadableError("0", "broken"))
    with pytest.raises(DataError, match="no photo of a known class can be read: the photo 0 "):
        evaluate_photos(model_of([]), [broken])


def png(_: str, width: int = 600, height: int = 300) -> io.BytesIO:
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
                 "most confused", "1 of 4"):  # fmt: skip
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
    def gone(_: str) -> io.BytesIO:
        raise FileNotFoundError(2, "No such file")

    evaluation = make_evaluation(mistakes=0)
    evaluation.mistakes.append(Mistake(Photo("x", "ant", gone), "bee", 0.9, 0.1))
    assert "img" not in Page(render("m", "p", evaluation)).tags


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
    assert "mistakes" not in found
    assert found["top1"] == found["top5"] == 100.0
    assert {c["class"]: c["photos"] for c in found["classes"]} == {"cat": 5, "dog": 5, "owl": 5}
    assert [s["state"] for s in found["states"]] == [1, 2]
    assert found["unknown"] == {"volcano": 3}
    assert found["auroc"] > 50


def test_tables_for_people(taught, capsys):
    Path("test/cat").rename("test/dog2")
    Path("test/dog").rename("test/cat")  # all of cat's photos are dogs now
    code, out, _ = call("evaluate", "model", "test", capsys=capsys)
    assert code == 0
    assert out.startswith("Of 10 photos of 2 classes, 50.0 % were put into their class (top-1), ")
    assert "5 more show 1 class that the model does not know" in out
    lines = [line.split() for line in out.splitlines()]
    assert lines.index(["cat", "1", "5", "0.0"]) < lines.index(["owl", "2", "5", "100.0"])
    assert ["cat", "dog", "5", "of", "5"] in lines
    assert ["dog2", "5"] in lines


def test_a_page_is_written(taught, capsys):
    Path("test/cat").rename("test/other")
    Path("test/dog").rename("test/cat")
    code, out, _ = call("evaluate", "model", "test", "--html", "out/page.html", capsys=capsys)
    assert code == 0
    assert out.endswith("the page is out/page.html\n")
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
    assert out.startswith("all/test is read; what stands beside it is left alone: train/\nOf 15 ")


def test_broken_photos_are_listed(taught, capsys):
    Path("test/cat/0.png").write_text("text")
    Path("test/cat/notes.txt").touch()
    code, out, err = call("evaluate", "model", "test", capsys=capsys)
    assert code == 1
    assert err.startswith("memoryless: the photo test/cat/0.png cannot be read (not an image): ")
    assert out.startswith("not read: 1: test/cat/notes.txt (not an image by its name)\nOf 14 ")
    assert "1 photo could not be read." in out


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
    assert "These photos were used to calibrate, 30 of known classes: temperature " in out
    assert "So ECE and the shares that are known or not are no measure for new photos." in out
    assert "3 more show 1 class that the model does not know" in out
    assert out.endswith("calibrated: memoryless undo model takes it back\n")
    assert call("undo", "model", capsys=capsys)[0] == 0
    assert load_state("model").description.confidence == before


def test_calibration_as_json(more_tests, capsys):
    before = load_state("model").description.confidence
    words = "evaluate model test --unknown strange --calibrate --json".split()
    found = json.loads(call(*words, capsys=capsys)[1])
    after = load_state("model").description.confidence
    assert found["unknown"] == {"without a class": 25}
    assert found["calibration"] == {
        "photos": 30,
        "unknown": 25,
        "left_out": {},
        "before": {"temperature": before.temperature, "threshold": before.threshold},
        "after": {"temperature": after.temperature, "threshold": after.threshold},
    }
    assert (found["accepted"] + found["rejected"]) / 2 >= 90  # strange/cat is a cat
    assert (
        json.loads(call("evaluate", "model", "test", "--json", capsys=capsys)[1])["top1"]
        == (found["top1"])
    )


def test_unknown_photos_are_measured_without_calibrating(more_tests, capsys):
    content = Path("model.memoryless").read_bytes()
    words = "evaluate model test --unknown strange".split()
    out = call(*words, capsys=capsys)[1]
    assert "\n25 more show things that the model does not know: it says so of " in out
    assert ["without", "a", "class", "25"] in [line.split() for line in out.splitlines()]
    found = json.loads(call(*words, "--json", capsys=capsys)[1])
    assert found["unknown"] == {"without a class": 25}
    assert (found["photos"], found["calibration"]) == (30, None)
    assert found["auroc"] > 50  # strange/cat looks like a class that is known
    assert Path("model.memoryless").read_bytes() == content


def test_a_calibrated_model_says_so_and_learns_on(more_tests, capsys):
    call("evaluate", "model", "test", "--calibrate", capsys=capsys)
    fitted = load_state("model").description.calibrated
    shown = call("show", "model", capsys=capsys)[1]
    assert "sure      as memoryless evaluate --calibrate fitted it on labelled photos\n" in shown
    make_colours(Path("third"), "elk", number=20)
    out = call("learn", "model", "third", capsys=capsys)[1]
    assert "note      temperature and threshold stay as `memoryless evaluate --calibrate`" in out
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
    code, out, _ = call("evaluate", "model", "test", "--calibrate", capsys=capsys)
    assert code == 1
    assert "used to calibrate, 22 of known classes" in out


def test_a_second_writer_waits(more_tests, capsys):
    with writing("model"):
        code, out, err = call("evaluate", "model", "test", "--calibrate", capsys=capsys)
        assert (code, out) == (2, "")
        assert err.startswith("memoryless: another process is writing model.memoryless: wait for")
        assert call("evaluate", "model", "test", capsys=capsys)[0] == 0
