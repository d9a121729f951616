"""Photos embedded: in order, with the reason if one is unreadable."""

from __future__ import annotations

from hashlib import sha256

import numpy as np
import pytest

from memoryless import Model
from memoryless.images.find import find_photos
from memoryless.photos.embedding import all_features, embed, features
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


def test_features_of_all_photos_that_can_be_read(model, photos):
    found, done = all_features(model, photos), []
    assert found.photos == [photo for photo in photos if photo != photos[2]]
    assert list(found.broken) == [photos[2].name]
    assert model.predict(found.rows) == ["cat"] * 4 + ["dog"] * 5
    alone = all_features(model, photos[2:3], done.append)
    assert (alone.photos, len(alone.rows), done) == ([], 0, [1])


def test_progress_counts_photos(model, photos):
    done = []
    list(features(model, photos, done.append))
    assert done == list(range(1, 11))
