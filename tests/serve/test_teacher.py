"""States that change under a server."""

from __future__ import annotations

import pytest

from memoryless.errors import ConfigError, DataError
from memoryless.model import Model
from memoryless.serve.teacher import Teacher
from photo_toys import tiny_settings


def test_one_session_serves_all_states(model):
    teacher = Teacher(model)
    teacher.open()
    before = teacher.current
    teacher.rename("owl", "eule")
    teacher.refresh()
    assert before.model.classes == ("elk", "owl")  # a request that began goes on with it
    assert teacher.current.model.classes == ("elk", "eule")
    assert teacher.current.model._extractor is before.model._extractor


def test_another_model_in_the_file_has_a_session_of_its_own(model, tmp_path, tiny_backbone):
    teacher = Teacher(model)
    teacher.open()
    before = teacher.current
    other = tmp_path / "other.memoryless"
    Model(**tiny_settings(tiny_backbone) | {"crop": 0.5}).save(other)
    other.replace(model)
    teacher.refresh()
    assert teacher.current.backbone != before.backbone
    assert teacher.current.model.classes == ()


def test_a_file_that_is_gone_leaves_the_last_state(model):
    teacher = Teacher(model)
    teacher.open()
    model.unlink()
    teacher.refresh()
    assert teacher.known == ("elk", "owl")
    assert teacher.problem.startswith("there is no model")


def test_an_image_size_that_differs_is_refused(model):
    with pytest.raises(ConfigError, match="was made with `image_size=16`"):
        Teacher(model).open(image_size=320)


def test_a_model_without_photos_is_refused(cat_and_dog):
    with pytest.raises(DataError, match="takes features"):
        Teacher("model").open()
