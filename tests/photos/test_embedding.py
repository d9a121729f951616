"""Photos embedded and classified: in order, in chunks, with the reason if one is unreadable."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from memoryless import Model
from memoryless.images.find import find_photos
from memoryless.images.read import UnreadableError
from memoryless.photos import embedding
from memoryless.photos.embedding import classify, embed, features
from photo_toys import make_colours, tiny_settings


@pytest.fixture
def model(tmp_path, tiny_backbone):
    photos = find_photos(make_colours(tmp_path / "train", "cat", "dog")).photos
    model = Model(**tiny_settings(tiny_backbone))
    rows = [found.features for found in embed(model, photos)]
    model.learn(np.stack(rows), [photo.label for photo in photos])
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
            assert (one.features == feature).all()
            assert one.facts.sha256 == sha256(photo.content()).hexdigest()


@pytest.mark.parametrize("chunk", [1, 3, 256])
def test_predictions_do_not_depend_on_how_many_are_classified_together(
    model, photos, chunk, monkeypatch
):
    expected = list(classify(model, photos))
    monkeypatch.setattr(embedding, "CHUNK", chunk)
    found = list(classify(model, photos))
    for prediction, other in zip(found, expected, strict=True):
        if isinstance(other, UnreadableError):
            assert prediction.name == other.name
        else:
            assert prediction.scores == pytest.approx(other.scores, rel=1e-5)
            assert prediction.probabilities.sum() == pytest.approx(1)
            assert prediction.known == (prediction.margin >= 0)


def test_progress_counts_photos(model, photos):
    done = []
    list(classify(model, photos, done.append))
    assert done == list(range(1, 11))


def test_predictions_are_of_their_photos(model, photos):
    answers = [
        None if isinstance(v, UnreadableError) else model.classes[v.scores.argmax()]
        for v in classify(model, photos)
    ]
    assert answers == ["cat", "cat", None, "cat", "cat", *["dog"] * 5]
