"""A plan that is carried out: what is measured, saved and warned of."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import make_colours, tiny_settings
from memoryless import Model
from memoryless.errors import DataError
from memoryless.photos.learning import carry_out, look_alikes
from memoryless.photos.place import teaching
from memoryless.photos.plan import make_plan


def teach(folder: Path, place: Path, settings: dict, spoil=lambda: None, **options):
    """The model in a folder, taught the photos of a place; `spoil` comes after the plan."""
    with teaching(folder, settings) as (held, model):
        plan = make_plan(model, [place])
        spoil()
        return carry_out(plan, held, **options)


@pytest.fixture
def settings(tiny_backbone) -> dict:
    return tiny_settings(tiny_backbone)


def test_photos_are_learned_and_measured(tmp_path, settings):
    done = teach(tmp_path / "model", make_colours(tmp_path / "photos", "cat", "dog"), settings)
    assert done.lesson.held_out == sum(n for _, n in done.lesson.right_by_class.values()) > 0
    assert done.saved.about["counts"] == [12, 12]
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
    assert done.saved.about["counts"] == [14, 14]


def test_a_class_that_vanishes_meanwhile(tmp_path, settings):
    place = make_colours(tmp_path / "photos", "cat", "dog")
    with pytest.raises(DataError) as error:
        teach(tmp_path / "model", place, settings, lambda: shutil.rmtree(place / "dog"))
    assert str(error.value) == (
        f"too few photos of dog are left: the photo {place}/dog/0.png cannot be read (No such file "
        "or directory): mend it, or take it out"
    )
    assert not (tmp_path / "model").exists()


def test_a_class_that_looks_like_a_known_one_is_told(tmp_path, settings):
    teach(tmp_path / "model", make_colours(tmp_path / "a", "cat", "dog", number=20), settings)
    make_colours(tmp_path / "b", "cat", "owl", number=20, seed=1)
    (tmp_path / "b" / "cat").rename(tmp_path / "b" / "kitten")
    done = teach(tmp_path / "model", tmp_path / "b", {})
    (warning,) = done.warnings
    assert warning.endswith(
        " of 20 photos of kitten were taken for cat before kitten was learned: if they are the "
        "same class, go back"
    )


def test_only_classes_that_are_taken_for_one_known_class_are_told():
    """Four of five for cat; three of five; four of five that no class fits."""
    answers = [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1]
    margins = [1.0] * 10 + [-1.0] * 4 + [1.0]
    judged = SimpleNamespace(scores=np.eye(2)[answers], known=np.array(margins) >= 0)
    model = SimpleNamespace(classes=("cat", "dog"), judge=lambda seen: judged)
    labels = ["kitten"] * 5 + ["owl"] * 5 + ["elk"] * 5
    assert list(look_alikes(model, np.zeros(15), labels)) == [
        "4 of 5 photos of kitten were taken for cat before kitten was learned: if they are the "
        "same class, go back"
    ]


def test_progress_and_history_are_passed_on(tmp_path, settings):
    done = []
    place = make_colours(tmp_path / "a", "cat", "dog")
    teach(tmp_path / "model", place, settings, progress=done.append)
    assert done == list(range(1, 25))
    teach(tmp_path / "model", make_colours(tmp_path / "b", "owl", "elk"), {}, history=0)
    assert [path.name for path in (tmp_path / "model" / "states").iterdir()] == ["0002"]
