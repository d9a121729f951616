"""Photos are read once; repeats, and classes with too few photos, are found on the way."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image

from memoryless import Model
from memoryless.images import files
from memoryless.images import read as reading
from memoryless.photos.plan import make_plan
from memoryless.photos.reading import Reading, TooFewError
from photo_toys import make_colours, tiny_settings


@pytest.fixture
def model(tiny_backbone) -> Model:
    return Model(**tiny_settings(tiny_backbone))


def test_copies_count_once_for_the_rule_of_few_photos(model, tmp_path):
    place = make_colours(tmp_path, "cat", "dog", number=20)
    for i in range(1, 17):
        shutil.copy(place / "dog" / "0.png", place / "dog" / f"{i}.png")
    with pytest.raises(TooFewError) as error:
        Reading(make_plan(model, [place])).learn(lambda done: None)
    assert error.value.fields == {"classes": {"dog": 4}}
    assert model.classes == ()


def test_each_photo_is_read_and_decoded_once(model, tmp_path, monkeypatch):
    """The plan reads none. Only files of the same size in two classes are read before, to compare
    them.
    """
    contents, decoded = Counter(), []
    content, read = files.Photo.content, reading.read_pixels
    monkeypatch.setattr(
        files.Photo, "content", lambda self: contents.update([self.name]) or content(self)
    )
    monkeypatch.setattr(reading, "read_pixels", lambda *how: decoded.append(1) or read(*how))
    place = make_colours(tmp_path, "cat", "dog", number=20)
    sizes = {str(path): path.stat().st_size for path in place.rglob("*.png")}
    in_classes = {(size, Path(name).parent) for name, size in sizes.items()}
    twice = {name for name, n in sizes.items() if sum(size == n for size, _ in in_classes) > 1}
    after_plan, done = [], []
    plan = make_plan(model, [place])
    after_plan.append(len(contents))
    Reading(plan, done.append).learn(lambda done: None)
    assert after_plan == [0]
    assert done == list(range(1, 41))
    assert len(decoded) == 40
    assert contents == {name: 1 + (name in twice) for name in sizes}


def test_nearly_the_same_photo_in_two_classes_is_noted(model, tmp_path):
    place = make_colours(tmp_path, "cat", "dog", number=15)
    Image.open(place / "cat" / "2.png").save(place / "dog" / "copy.bmp")
    reading = Reading(make_plan(model, [place]))
    reading.learn(lambda done: None)
    (note,) = reading.across_classes()
    assert note.endswith(f": {place}/cat/2.png and {place}/dog/copy.bmp")
