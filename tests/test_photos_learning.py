"""A plan that is carried out: what is measured, saved and warned of."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import DataError
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
        return carry_out(plan, held, **options)


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


def test_broken_photos_are_left_out_and_told(tmp_path, settings):
    place = make_colours(tmp_path / "photos", "cat", "dog", number=15)
    (place / "cat" / "0.png").write_bytes(b"text")
    vanishing = place / "dog" / "1.png"
    done = teach(tmp_path / "model", place, settings, vanishing.unlink)
    assert list(done.broken) == [str(place / "cat" / "0.png"), str(vanishing)]
    assert done.saved.classes.counts == (14, 14)


def test_a_class_that_vanishes_meanwhile(tmp_path, settings):
    place = make_colours(tmp_path / "photos", "cat", "dog")
    with pytest.raises(DataError) as error:
        teach(tmp_path / "model", place, settings, lambda: shutil.rmtree(place / "dog"))
    assert str(error.value) == (
        f"too few photos of dog are left: the photo {place}/dog/0.png cannot be read (No such file "
        "or directory): mend it, or take it out"
    )
    assert not (tmp_path / "model").exists()


def vanish(place: Path, *names: str) -> None:
    for name in names:
        (place / name).unlink()


def test_the_reason_is_that_of_the_class_that_lacks_photos(tmp_path, settings):
    place = make_colours(tmp_path / "photos", "cat", "dog", number=12)
    lost = ["cat/0.png", *(f"dog/{i}.png" for i in range(8))]
    with pytest.raises(DataError) as error:
        teach(tmp_path / "model", place, settings, lambda: vanish(place, *lost))
    assert str(error.value) == (
        f"too few photos of dog are left: the photo {place}/dog/0.png cannot be read (No such file "
        "or directory): mend it, or take it out"
    )


def test_copies_do_not_make_up_for_photos_that_vanish(tmp_path, settings):
    place = make_colours(tmp_path / "photos", "cat", number=30)
    make_colours(place, "dog", number=5)
    for i in range(6):
        shutil.copy(place / "dog" / "0.png", place / "dog" / f"copy {i}.png")
    with pytest.raises(DataError) as error:
        teach(tmp_path / "model", place, settings, lambda: vanish(place, "dog/4.png"))
    assert str(error.value).startswith("too few photos of dog are left: the photo ")


def test_too_few_are_left_in_all(tmp_path, settings):
    place = make_colours(tmp_path / "photos", "cat", "dog", number=10)
    with pytest.raises(DataError) as error:
        teach(tmp_path / "model", place, settings, lambda: vanish(place, "cat/3.png"))
    assert str(error.value) == (
        "a state needs at least 20 different photos, and there are 19 that can still be read: the "
        f"photo {place}/cat/3.png cannot be read (No such file or directory): mend it, or take it "
        "out"
    )
    assert not (tmp_path / "model").exists()


def test_few_photos_may_become_fewer_but_not_none(tmp_path, settings):
    place = make_colours(tmp_path / "photos", "cat", "dog", number=4)
    done = teach(tmp_path / "a", place, settings, lambda: vanish(place, "cat/3.png"), few=True)
    assert done.saved.classes.counts == (3, 4)
    with pytest.raises(DataError) as error:
        teach(tmp_path / "b", place, settings, lambda: shutil.rmtree(place / "cat"), few=True)
    assert str(error.value).startswith("too few photos of cat are left: ")


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
    shutil.copytree(tmp_path / "b" / "cat", tmp_path / "b" / "kitten")
    done = teach(knowing, tmp_path / "b", {}, more=True)
    (warning,) = done.warnings
    assert warning.startswith("kitten may be cat under another name: ")


def test_more_photos_that_vanish_meanwhile(knowing, tmp_path):
    place = make_colours(tmp_path / "b", "cat", number=20, seed=1)
    with pytest.raises(DataError) as error:
        teach(knowing, place, {}, lambda: vanish(place, "cat/3.png"), more=True)
    assert str(error.value).startswith(
        "a state needs at least 20 different photos, and there are 19 that can still be read: "
    )
    assert Model.load(knowing).counts == (20, 20)


def test_progress_and_history_are_passed_on(tmp_path, settings):
    done = []
    place = make_colours(tmp_path / "a", "cat", "dog")
    teach(tmp_path / "model", place, settings, progress=done.append)
    assert done == list(range(1, 25))
    teach(tmp_path / "model", make_colours(tmp_path / "b", "owl", "elk"), {}, history=0)
    assert [state.number for state in kept_states(tmp_path / "model")[0]] == [2]
