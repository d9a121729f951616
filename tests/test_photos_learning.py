"""A plan that is carried out: what is measured, saved and warned of."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from memoryless import Model
from memoryless.errors import DataError
from memoryless.images import pixels, sources
from memoryless.model.file import kept_states
from memoryless.photos.learning import carry_out, doubtful, look_alikes, taken_for
from memoryless.photos.place import teaching
from memoryless.photos.plan import make_plan
from photo_toys import make_colours, tiny_settings


def teach(
    folder: Path,
    place: Path,
    settings: dict,
    spoil=lambda: None,
    few: bool = False,
    more: bool = False,
    **options,
):
    """The model in a folder, taught the photos of a place; `spoil` comes after the plan."""
    with teaching(folder, settings) as (held, model):
        plan = make_plan(model, [place], few, more=more)
        spoil()
        done, saved = carry_out(plan, held, **options)
        return SimpleNamespace(**vars(done), about=saved.about)


@pytest.fixture
def settings(tiny_backbone) -> dict:
    return tiny_settings(tiny_backbone)


def test_photos_are_learned_and_measured(tmp_path, settings):
    done = teach(tmp_path / "model", make_colours(tmp_path / "photos", "cat", "dog"), settings)
    assert done.lesson.held_out == sum(n for _, n in done.lesson.right_by_class.values()) > 0
    assert done.saved.classes.counts == (12, 12)
    assert Model.load(tmp_path / "model").classes == ("cat", "dog")
    assert not done.broken and not done.warnings


def test_deleting_the_photos_changes_nothing(tmp_path, settings):
    place = make_colours(tmp_path / "photos", "cat", "dog")
    teach(tmp_path / "model", place, settings)
    shutil.rmtree(place)
    teach(tmp_path / "model", make_colours(place, "owl", "elk"), {})
    model = Model.load(tmp_path / "model")
    assert model.classes == ("cat", "dog", "elk", "owl")
    assert model.class_state == (0, 0, 1, 1)


def test_each_photo_is_read_and_decoded_once(tmp_path, settings, monkeypatch):
    """Those that are timed for the plan too; the plan opens no other one."""
    opened, decoded = Counter(), []
    really, read = sources.open_file, pixels.read_pixels
    monkeypatch.setattr(sources, "open_file", lambda path: opened.update([path]) or really(path))
    monkeypatch.setattr(
        "memoryless.images.read.read_pixels", lambda *how: decoded.append(1) or read(*how)
    )
    place = make_colours(tmp_path / "photos", "cat", "dog", number=20)
    after_plan = []
    teach(tmp_path / "model", place, settings, lambda: after_plan.append(len(opened)))
    assert after_plan == [8]
    assert set(opened.values()) == {1}
    assert len(opened) == len(decoded) == 40


def test_what_reading_finds_out_is_told_afterwards(tmp_path, settings):
    """A broken photo, copies, a photo under two labels, damaged EXIF data, an animation."""
    place = make_colours(tmp_path / "photos", "cat", "dog", number=15)
    (place / "cat" / "0.png").write_bytes(b"text")
    shutil.copy(place / "cat" / "1.png", place / "cat" / "again.png")
    shutil.copy(place / "cat" / "2.png", place / "dog" / "copy.png")
    image = Image.open(place / "dog" / "3.png")
    image.save(place / "dog" / "near.jpg", quality=95)
    frames = Image.open(place / "dog" / "4.png")
    frames.save(place / "dog" / "moves.gif", save_all=True, append_images=[image])
    done = teach(tmp_path / "model", place, settings)
    unsure = "one image under several labels"
    assert done.broken == {
        f"{place}/cat/0.png": "not an image",
        f"{place}/cat/2.png": unsure,
        f"{place}/dog/copy.png": unsure,
    }
    assert done.saved.classes.counts == (14, 17)
    assert done.near >= 4
    assert done.notes == [
        f"1 photo has several frames, of which the first is used: {place}/dog/moves.gif"
    ]
    left = [path for path in place.rglob("*.*") if str(path) not in done.broken]
    assert done.size == sum(path.stat().st_size for path in left)


def test_nearly_the_same_photo_in_two_classes_is_told(tmp_path, settings):
    place = make_colours(tmp_path / "photos", "cat", "dog", number=15)
    Image.open(place / "cat" / "2.png").save(place / "dog" / "copy.bmp")
    assert teach(tmp_path / "model", place, settings).notes == [
        f"nearly the same photo in different classes: {place}/cat/2.png and {place}/dog/copy.bmp"
    ]


def broken(place: Path, *names: str) -> None:
    for name in names:
        (place / name).write_bytes(b"text")


# What is spoiled of 20 cats, and 5 dogs with 6 copies of one; what then is too few.
TOO_FEW = {
    "a class": ([f"dog/{i}.png" for i in range(5)], "1 class has no photo that can be used: dog ("),
    "of a class": (["dog/4.png"], "a class needs at least 5 different photos, and dog has 4: add"),
    "in all": (
        [f"cat/{i}.png" for i in range(6)],
        "a state needs at least 20 different photos, and there are 19: add photos, or add `few",
    ),
}


@pytest.mark.parametrize("case", TOO_FEW)
def test_the_rule_for_few_photos_counts_different_ones_that_can_be_read(case, tmp_path, settings):
    names, said = TOO_FEW[case]
    place = make_colours(tmp_path / "photos", "cat", number=20)
    make_colours(place, "dog", number=5)
    for i in range(6):
        if case != "a class":
            shutil.copy(place / "dog" / "0.png", place / "dog" / f"copy {i}.png")
    broken(place, *names)
    with pytest.raises(DataError) as error:
        teach(tmp_path / "model", place, settings)
    assert str(error.value).startswith(said)
    assert not (tmp_path / "model").exists()
    if case != "a class":
        done = teach(tmp_path / "model", place, settings, few=True)
        assert any("can be traced back" in note for note in done.notes)


def test_a_class_that_looks_like_a_known_one_is_told(tmp_path, settings):
    teach(tmp_path / "model", make_colours(tmp_path / "a", "cat", "dog", number=20), settings)
    make_colours(tmp_path / "b", "cat", "owl", number=20, seed=1)
    (tmp_path / "b" / "cat").rename(tmp_path / "b" / "kitten")
    done = teach(tmp_path / "model", tmp_path / "b", {})
    (warning,) = done.warnings
    assert warning.startswith("kitten may be cat under another name: ")


def test_only_classes_that_are_taken_for_one_known_class_count():
    """Three of five for cat; half and half; all that no class fits."""
    answers = [0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0]
    known = np.array([True] * 9 + [False] * 2)
    judged = SimpleNamespace(scores=np.eye(2)[answers], known=known)
    model = SimpleNamespace(classes=("cat", "dog"), judge=lambda seen: judged)
    labels = ["kitten"] * 5 + ["owl"] * 4 + ["elk"] * 2
    assert taken_for(model, np.zeros(11), labels) == {"kitten": ("cat", 3, 5)}


def test_a_class_that_is_told_apart_once_it_is_learned_is_not_told():
    taken = {"kitten": ("cat", 3, 5), "owl": ("dog", 5, 5), "elk": ("dog", 5, 5)}
    lesson = SimpleNamespace(right_by_class={"kitten": (2, 3), "owl": (3, 4), "elk": (0, 0)})
    assert list(look_alikes(taken, lesson)) == [
        "kitten may be cat under another name: 3 of its 5 photos were taken for that one, and of 3 "
        "held-out ones 2 are right now; if so, go back"
    ]


@pytest.fixture
def knowing(tmp_path, settings) -> Path:
    """A model of cats and dogs."""
    teach(tmp_path / "model", make_colours(tmp_path / "a", "cat", "dog", number=20), settings)
    return tmp_path / "model"


def test_more_photos_of_the_same_kind_are_no_matter(knowing, tmp_path):
    place = make_colours(tmp_path / "b", "cat", "owl", number=20, seed=1)
    done = teach(knowing, place, {}, more=True)
    assert done.warnings == []
    assert (done.lesson.unlike, set(done.lesson.right_by_class)) == ({}, {"cat", "owl"})
    assert done.saved.classes.counts == (40, 20, 20)
    assert done.saved.classes.learned[1].more == {"cat": 20}


def test_more_photos_that_look_unlike_those_before_are_told(knowing, tmp_path):
    make_colours(tmp_path / "b", "owl", number=20)
    (tmp_path / "b" / "owl").rename(tmp_path / "b" / "dog")
    done = teach(knowing, tmp_path / "b", {}, more=True)
    errors = done.lesson.unlike["dog"]
    assert errors > 1.5
    assert done.warnings == [
        f"the new photos of dog look unlike those before: the two means lie {errors:.1f} standard "
        "errors apart, where chance gives about 1; one mean stands for both now, and may fit "
        "neither: if the new ones are of another kind, which needs a name of its own, or a "
        "mistake, go back"
    ]


def test_more_photos_that_are_taken_for_another_class_are_told(knowing, tmp_path):
    make_colours(tmp_path / "b", "dog", number=20, seed=1)
    (tmp_path / "b" / "dog").rename(tmp_path / "b" / "cat")
    done = teach(knowing, tmp_path / "b", {}, more=True)
    (warning,) = done.warnings
    assert warning.startswith("of the 20 new photos of cat ")
    assert "cat" in done.lesson.unlike


def test_doubts_about_more_photos():
    """The cat's may be dogs, the dog's are dogs, the owl's nobody knows; an elk is new."""
    taken = {"cat": ("dog", 9, 12), "dog": ("dog", 12, 12), "elk": ("cat", 12, 12)}
    lesson = SimpleNamespace(unlike={"cat": 4.0, "owl": 2.345})
    assert list(doubtful(taken, ("cat", "dog", "owl"), lesson)) == [
        "of the 12 new photos of cat 9 were taken for dog before they were learned, and count for "
        "the mean of cat now: if they are of dog, or of a kind that needs a name of its own, go "
        "back",
        "the new photos of owl look unlike those before: the two means lie 2.3 standard errors "
        "apart, where chance gives about 1; one mean stands for both now, and may fit neither: if "
        "the new ones are of another kind, which needs a name of its own, or a mistake, go back",
    ]


def test_known_classes_are_not_looked_at_as_new_ones_that_look_like_others(knowing, tmp_path):
    """A cat is taken for a cat, which is no news; the kitten is new."""
    make_colours(tmp_path / "b", "cat", number=20, seed=1)
    make_colours(tmp_path / "c", "cat", number=20, seed=2)
    (tmp_path / "c" / "cat").rename(tmp_path / "b" / "kitten")
    done = teach(knowing, tmp_path / "b", {}, more=True)
    (warning,) = done.warnings
    assert warning.startswith("kitten may be cat under another name: ")


def test_more_photos_that_are_broken_leave_the_model_as_it_was(knowing, tmp_path):
    place = make_colours(tmp_path / "b", "cat", number=20, seed=1)
    broken(place, "cat/3.png")
    with pytest.raises(DataError, match="at least 20 different photos, and there are 19"):
        teach(knowing, place, {}, more=True)
    assert Model.load(knowing).counts == (20, 20)


def test_progress_and_history_are_passed_on(tmp_path, settings):
    done = []
    place = make_colours(tmp_path / "a", "cat", "dog")
    teach(tmp_path / "model", place, settings, progress=done.append)
    assert done == list(range(9, 25))  # eight were timed
    teach(tmp_path / "model", make_colours(tmp_path / "b", "owl", "elk"), {}, history=0)
    assert [state.number for state in kept_states(tmp_path / "model")[0]] == [2]
