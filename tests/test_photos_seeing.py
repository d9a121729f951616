"""Photos as a model sees them: in order, in chunks, with the reason where one cannot be read."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from memoryless import Model
from memoryless.images.find import find_photos
from memoryless.images.read import UnreadableError
from memoryless.photos import seeing
from memoryless.photos.seeing import embed, features, judge
from photo_toys import make_colours, tiny_settings


@pytest.fixture
def model(tmp_path, tiny_backbone):
    photos = find_photos(make_colours(tmp_path / "train", "cat", "dog")).photos
    model = Model(**tiny_settings(tiny_backbone))
    looks = [found.look for found in embed(model, photos)]
    model.learn(np.stack(looks), [photo.label for photo in photos])
    return model


@pytest.fixture
def photos(tmp_path):
    """Test photos, one of them broken."""
    place = make_colours(tmp_path / "test", "cat", "dog", number=5, seed=1)
    (place / "cat" / "2.png").write_text("text")
    return find_photos(place).photos


def test_features_are_in_order_and_broken_photos_say_why(model, photos):
    embedded, found = list(embed(model, photos)), list(features(model, photos))
    for one, feature, photo in zip(embedded, found, photos, strict=True):
        if photo == photos[2]:
            assert (
                (one.name, one.why) == (feature.name, feature.why) == (photo.name, "not an image")
            )
        else:
            assert feature.shape == (48,)
            assert (one.look == feature).all()
            assert one.facts.sha256 == sha256(photo.content()).hexdigest()


@pytest.mark.parametrize("chunk", [1, 3, 256])
def test_verdicts_do_not_depend_on_how_many_are_judged_together(model, photos, chunk, monkeypatch):
    expected = list(judge(model, photos))
    monkeypatch.setattr(seeing, "CHUNK", chunk)
    found = list(judge(model, photos))
    for verdict, other in zip(found, expected, strict=True):
        if isinstance(other, UnreadableError):
            assert verdict.name == other.name
        else:
            assert verdict.scores == pytest.approx(other.scores, rel=1e-5)
            assert verdict.probabilities.sum() == pytest.approx(1)
            assert verdict.known == (verdict.margin >= 0)


def test_progress_counts_photos(model, photos):
    done = []
    list(judge(model, photos, done.append))
    assert done == list(range(1, 11))


def test_verdicts_are_of_their_photos(model, photos):
    answers = [
        None if isinstance(v, UnreadableError) else model.classes[v.scores.argmax()]
        for v in judge(model, photos)
    ]
    assert answers == ["cat", "cat", None, "cat", "cat", *["dog"] * 5]
