"""The estimator over images: arrays, paths, PIL images and data sets give the same features."""

from __future__ import annotations

import copy
import pickle
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from memoryless import IncrementalClassifier, Model
from memoryless.errors import DataError
from photo_toys import make_colours, tiny_settings


@pytest.fixture
def make(tiny_backbone):
    settings = tiny_settings(tiny_backbone)
    backbone, image_size = settings.pop("backbone"), settings.pop("image_size")

    def made(**params):
        return IncrementalClassifier(backbone, image_size=image_size, settings=settings, **params)

    return made


@pytest.fixture
def photos(tmp_path):
    """Paths of photos of three classes, and their labels."""
    root = make_colours(tmp_path / "photos", "red", "sky", "sea")
    paths = sorted(root.rglob("*.png"))
    return paths, [path.parent.name for path in paths]


def pixels(paths: list[Path]) -> np.ndarray:
    return np.stack([np.array(Image.open(path)) for path in paths])


class Pairs(Dataset):
    """A data set of pairs that counts how many of its images are alive."""

    shape = (8, 8, 3)  # of an image, as some data sets tell it

    def __init__(self, paths, labels):
        self.paths, self.labels = paths, labels
        self.alive = self.most = 0

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        image = Image.open(self.paths[i])
        self.alive += 1
        self.most = max(self.most, self.alive)
        weakref.finalize(image, self._gone)
        return image, self.labels[i]

    def _gone(self):
        self.alive -= 1


class Stream(IterableDataset):
    """A data set without a length, which is read in its own order."""

    def __init__(self, paths):
        self.paths = paths

    def __iter__(self):
        return map(Image.open, self.paths)


FORMS = {
    "arrays": pixels,
    "paths": lambda paths: paths,
    "strings": lambda paths: [str(path) for path in paths],
    "an array of strings": lambda paths: np.array([str(path) for path in paths]),
    "an array of paths": lambda paths: np.array(paths, dtype=object),
    "a list of arrays": lambda paths: list(pixels(paths)),
    "Pillow's images": lambda paths: [Image.open(path) for path in paths],
    "a column of a table": lambda paths: pd.DataFrame({"photo": map(str, paths)})["photo"],
    "a stream": Stream,
    "tensors": lambda paths: torch.from_numpy(pixels(paths)).permute(0, 3, 1, 2),
}


@pytest.mark.parametrize("form", FORMS)
def test_images_come_in_many_forms(make, photos, form):
    paths, labels = photos
    estimator = make().fit(FORMS[form](paths), labels)
    assert estimator.score(FORMS[form](paths), labels) > 0.9
    assert estimator.classes_.tolist() == ["red", "sea", "sky"]
    expected = make().fit(pixels(paths), labels).predict_proba(pixels(paths))
    assert np.array_equal(estimator.predict_proba(FORMS[form](paths)), expected)


def test_grey_images_are_images(make):
    X = np.random.default_rng(0).integers(0, 40, (24, 16, 16), dtype=np.uint8)
    X[:12, :8] += 100
    X[12:, 8:] += 100
    assert make().fit(X, [0] * 12 + [1] * 12).score(X[..., None], [0] * 12 + [1] * 12) == 1


def test_a_data_set_of_pairs_brings_its_labels_and_is_streamed(make, tmp_path):
    paths = sorted(make_colours(tmp_path / "photos", "red", "sky", number=60).rglob("*.png"))
    labels = [path.parent.name for path in paths]
    pairs = Pairs(paths, labels)
    estimator = make().fit(pairs)
    assert pairs.most < 60
    assert estimator.classes_.tolist() == ["red", "sky"]
    assert estimator.score(pairs) == estimator.score(paths, labels) > 0.9
    assert np.array_equal(estimator.predict(pairs), estimator.predict(paths))


def test_labels_that_are_given_count_more_than_those_of_pairs(make, photos):
    paths, labels = photos
    estimator = make().fit(Pairs(paths, [0] * len(paths)), labels)
    assert estimator.classes_.tolist() == ["red", "sea", "sky"]


def test_labels_of_tensors_are_numbers(make, photos):
    paths, labels = photos
    images = torch.from_numpy(pixels(paths)).permute(0, 3, 1, 2)
    numbers = torch.tensor([len(label) for label in labels])
    assert make().fit(TensorDataset(images, numbers)).classes_.tolist() == [3]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_have_their_backbone(make, photos, again, tmp_path):
    paths, labels = photos
    estimator = make().fit(paths, labels)
    estimator.save(tmp_path / "model")
    loaded = IncrementalClassifier.load(tmp_path / "model")
    copies = [again(estimator), again(loaded)]
    (tmp_path / "model.memoryless").unlink()
    for other in copies:
        assert np.array_equal(other.predict_proba(paths), estimator.predict_proba(paths))


def test_a_clone_of_what_was_loaded_has_its_settings(make, photos, tmp_path):
    paths, labels = photos
    make(forgettable=True).fit(paths, labels).save(tmp_path / "model")
    params = clone(IncrementalClassifier.load(tmp_path / "model")).get_params()
    given = make(forgettable=True).get_params()
    assert {**given, "backbone": ""} == {**params, "backbone": ""}


def test_images_are_cross_validated(make, photos):
    paths, labels = photos
    assert cross_val_score(make(), pixels(paths), labels, cv=3).mean() > 0.9
    assert cross_val_score(make(), paths, labels, cv=3).mean() > 0.9


def test_features_of_its_backbone_are_taken_as_images_are(make, photos):
    paths, labels = photos
    estimator = make().fit(paths, labels)
    features = estimator.model_.embed(paths)
    again = make().fit(features, labels)
    for X in (paths, features):
        assert np.array_equal(again.predict_proba(X), estimator.predict_proba(paths))


BAD = [
    (np.zeros((2, 4, 4, 3)), r"a photo must be uint8 \(H, W\)"),
    ([np.zeros((4, 4))] * 2, r"a photo must be uint8 \(H, W\)"),
    (np.zeros((2, 6)), r"features must be \(n, 48\), not \(2, 6\)"),
    (np.zeros((2, 6), np.uint8), r"a photo must be uint8 \(H, W\)"),
    ("photos", "images must be several"),
    (Image.new("RGB", (4, 4)), "images must be several"),
    (np.zeros((64, 64, 3), np.uint8), r"an array of the shape \(64, 64, 3\) is one image"),
    (torch.zeros((9, 8, 1), dtype=torch.uint8), "an array of .* is one image"),
    ([], "X has no image"),
    (np.zeros((0, 4, 4), np.uint8), "X has no image"),
    (["nowhere.png"] * 2, "the photo nowhere.png cannot be read"),
]


@pytest.mark.parametrize(("X", "sentence"), BAD)
def test_what_is_no_image_is_refused(make, photos, X, sentence):
    estimator = make().fit(*photos)
    for use in (lambda: estimator.partial_fit(X, ["a", "b"]), lambda: estimator.predict(X)):
        with pytest.raises(DataError, match=rf"^{sentence}"):
            use()
    assert estimator.model_.counts == (12, 12, 12)


def test_a_folder_is_learned_as_the_command_does(make, tmp_path):
    root = make_colours(tmp_path / "photos", "red", "sky", number=24)
    estimator = make()
    assert estimator.partial_fit_folder(root) is estimator
    assert estimator.classes_.tolist() == ["red", "sky"]
    assert estimator.report_.checked > 0
    more = make_colours(tmp_path / "more", "sky", number=24, seed=1)
    estimator.partial_fit_folder(more)
    assert estimator.model_.counts == (24, 48)
    estimator.save(tmp_path / "model")
    assert Model.load(tmp_path / "model").classes == ("red", "sky")


def test_remarks_on_a_folder_become_warnings(make, tmp_path):
    root = make_colours(tmp_path / "photos", "red", "sky", number=24)
    make_colours(root, "sea", number=2)
    (root / "red" / "broken.png").write_bytes(b"\x89PNG")
    with pytest.warns(UserWarning, match=r"^left out .*broken.png \(.*\), sea \(too few photos: 2"):
        estimator = make().partial_fit_folder(root)
    assert estimator.classes_.tolist() == ["red", "sky"]
    with pytest.warns(UserWarning, match="left out|so few") as recorded:
        assert len(make().partial_fit_folder(root, allow_few=True).classes_) == 3
    assert len(recorded) == 2


def test_folders_must_be_labels_of_the_type_so_far(make, tmp_path, photos):
    paths, _ = photos
    estimator = make().fit(paths, [1] * 12 + [2] * 24)
    estimator.partial_fit_folder(make_colours(tmp_path / "numbers", "3", number=24))
    assert estimator.classes_.tolist() == [1, 2, 3]
    with pytest.raises(DataError, match=r"^labels have the type int, and the class"):
        estimator.partial_fit_folder(make_colours(tmp_path / "names", "robin", number=24))


def test_a_model_that_trains_is_no_estimator(tmp_path, photos):
    model = Model("frozen+lda", width=2, epochs=1, batch_size=8)
    X = np.random.default_rng(0).integers(0, 256, (24, 8, 8), dtype=np.uint8)
    model.learn(X, ["a", "b"] * 12)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="it cannot be an estimator"):
        IncrementalClassifier.load(tmp_path / "model")
