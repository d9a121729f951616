"""Models take whatever the reader takes: paths, photos, Pillow images, arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from conftest import SMALL_MODEL
from memoryless import Model
from memoryless.errors import DataError
from memoryless.images.find import find_photos
from photo_toys import make_colours, tiny_settings

FORMS = {
    "paths": lambda photos: [photo.name for photo in photos],
    "an array of paths": lambda photos: np.array([photo.name for photo in photos]),
    "photos": lambda photos: photos,
    "a column of a table": lambda photos: pd.Series([photo.name for photo in photos]),
    "Pillow's images": lambda photos: [Image.open(photo.name) for photo in photos],
    "arrays": lambda photos: [np.asarray(Image.open(photo.name)) for photo in photos],
}


@pytest.fixture(params=["fixed", "trained"])
def model(request, tiny_backbone) -> Model:
    if request.param == "fixed":
        return Model(**tiny_settings(tiny_backbone))
    return Model("inFT_siw", **SMALL_MODEL | {"image_size": 16})


@pytest.fixture
def photos(tmp_path):
    return find_photos(make_colours(tmp_path, "cat", "dog")).photos


def test_every_form_is_learned_and_scored_alike(model, photos):
    names = [photo.label for photo in photos]
    with pytest.raises(DataError, match="images must be several, in a list of paths"):
        model.learn(photos[0].name, ["cat"])
    with pytest.raises(DataError, match=r"the photo gone.png cannot be read"):
        model.learn([photos[0].name, "gone.png"], ["cat", "dog"])
    assert model.classes == ()
    model.learn(FORMS["paths"](photos), names)
    expected = model.decision_function(FORMS["arrays"](photos))
    for name, form in FORMS.items():
        assert np.array_equal(model.decision_function(form(photos)), expected), name
    for name, form in FORMS.items():
        assert model.evaluate(form(photos), pd.Series(names)).photos == len(photos), name
    features = np.stack([model.embed_photo(one) for one in FORMS["arrays"](photos)])
    assert np.allclose(model.decision_function(features), expected, atol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_teaches_the_same(form, photos, tiny_backbone):
    model, plain = (Model(**tiny_settings(tiny_backbone)) for _ in range(2))
    names = [photo.label for photo in photos]
    model.learn(FORMS[form](photos), pd.Series(names))
    plain.learn(FORMS["paths"](photos), names)
    assert np.array_equal(model.predict_proba(photos), plain.predict_proba(photos))
