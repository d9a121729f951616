"""The model that people keep: it learns by name, comes back from its folder, and keeps no image."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import weakref

import numpy as np
import pytest
import torch

from conftest import SMALL_MODEL, draw_birds
from memoryless import Model
from memoryless.errors import ConfigError, DataError, TrainingError
from memoryless.images.dataset import ArrayImages, Split
from memoryless.model.file import load_state
from memoryless.settings import ModelSettings
from memoryless.stats.calibration import CALIBRATIONS
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import parse_method
from memoryless.stats.transports import TRANSPORTS
from memoryless.strategies import STRATEGIES

METHODS = [
    "FT",
    "inFT_siw_mc",
    "inLwF_siw",
    "LUCIR_mc",
    "lwf_kd+rda+widened",
    "finetune+lda:0.3+linear",
    "finetune+fetril+bg_z+sdc",
    "frozen+projection",
    "frozen+mahalanobis+bg_z",
    "independent+ncm+bg_z",
    "untrained+lda",
]


def test_classes_are_learned_by_name_and_recognised():
    model = Model("finetune+ncm+linear", epochs=20, width=4, batch_size=16)
    model.learn(*draw_birds(2, 0))
    assert model.classes == ("bird 0", "bird 2")
    model.learn(*draw_birds(1))
    images, names = draw_birds(0, 1, 2, number=20)
    assert model.classes == ("bird 0", "bird 2", "bird 1")
    assert model.decision_function(images).shape == (60, 3)
    assert np.mean(np.array(model.predict(images)) == names) > 0.7


@pytest.mark.parametrize("method", METHODS)
def test_a_folder_is_all_that_a_model_needs(method, tmp_path):
    whole, parts = Model(method, **SMALL_MODEL), Model(method, **SMALL_MODEL)
    images, _ = draw_birds(0, 1, 2, 3, number=5)
    for classes in ((0, 1), (2, 3)):
        whole.learn(*draw_birds(*classes))
        parts.learn(*draw_birds(*classes))
        parts.save(tmp_path / "model")
        parts = Model.load(tmp_path / "model")
        assert np.array_equal(parts.decision_function(images), whole.decision_function(images))
    whole.save(tmp_path / "whole")
    assert load_state(tmp_path / "model").parts == load_state(tmp_path / "whole").parts


def test_every_memoryless_strategy_and_kind_of_part_is_tried():
    tried = [parse_method(name) for name in METHODS]
    trained = {n for n, s in STRATEGIES.items() if s.memoryless} - {"fixed"}  # it is not trained
    assert {m.strategy for m in tried} == trained
    assert {m.calibration for m in tried} == set(CALIBRATIONS)
    assert {m.transport for m in tried} == set(TRANSPORTS)
    assert {HEADS[m.head].reads for m in tried} == {head.reads for head in HEADS.values()}


def test_images_can_go_after_learning():
    images, names = draw_birds(0, 1)
    kept = ArrayImages(torch.from_numpy(images)[:, None])
    alive = weakref.ref(kept)
    model = Model("inFT_siw", **SMALL_MODEL)
    model.learn(kept, names)
    del kept
    gc.collect()
    assert alive() is None


def test_a_folder_holds_no_image_and_no_feature_of_one(tmp_path):
    model = Model("finetune+lda+bg_z+linear", **SMALL_MODEL)
    images, names = draw_birds(0, 1)
    model.learn(images, names)
    model.save(tmp_path / "m")
    stored = (tmp_path / "m.memoryless").read_bytes()
    split = Split.whole(ArrayImages(torch.from_numpy(images)[:, None]), np.zeros(len(images)))
    features = model._current.learner().all_features(split)
    for image, feature in zip(images, features, strict=True):
        assert image.tobytes() not in stored
        assert feature.tobytes() not in stored
        assert feature.astype(np.float16).tobytes() not in stored
    state = load_state(tmp_path / "m")
    sizes = [
        array.shape
        for part in ("record", "scorer", "network")
        for array in state.arrays[part].values()
    ]
    assert all(len(images) not in shape[:1] for shape in sizes)


def test_what_fails_leaves_the_model_as_it_was(taught, monkeypatch):
    images, names = draw_birds(2, 3)
    before = taught.decision_function(images)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taught.learn(images, names, progress=stop)
    monkeypatch.setattr("memoryless.train.learner.Learner._mu", lambda *arguments: float("nan"))
    with pytest.raises(TrainingError, match="gives nan, no scores"):
        taught.learn(images, names)
    assert taught.classes == ("bird 0", "bird 1")
    assert np.array_equal(taught.decision_function(images), before)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (4, ["bird 0"] * 4, "bird 0 was learned before"),
        (4, [3] * 4, "labels must be names, one string an image, not 3, 3, 3, 3"),
        (4, ["a"] * 3, "there are 4 images and 3 labels"),
        (0, [], "there are 0 images and 0 labels"),
    ],
)
def test_labels_that_cannot_be(taught, images, labels, message):
    with pytest.raises(DataError, match=message):
        taught.learn(np.zeros((images, 8, 8), np.uint8), labels)
    assert taught.classes == ("bird 0", "bird 1")


def test_other_channels_are_refused(taught):
    for use in (lambda: taught.decision_function(np.zeros((2, 8, 8, 3), np.uint8)),
                lambda: taught.embed_photo(np.zeros((9, 9, 3), np.uint8))):  # fmt: skip
        with pytest.raises(DataError, match="the images have 3 channels, and the model was taught"):
            use()


def test_settings_that_cannot_be(tmp_path):
    with pytest.raises(ConfigError, match=r"unknown setting 'epoch'.*did you mean 'epochs'"):
        Model(epoch=3)
    with pytest.raises(ConfigError, match="the method names the strategy"):
        Model(strategy="lwf")
    for method, message in {
        "replay+siw": "strategy replay needs images of the past",
        "Full": "strategy joint needs images of the past",
        "finetune+sow": "unknown head, calibration or transport 'sow'",
    }.items():
        with pytest.raises(ConfigError, match=message):
            Model(method, **SMALL_MODEL).learn(*draw_birds(0, 1))
    with pytest.raises(ConfigError, match="the model knows no class yet"):
        Model().decision_function(np.zeros((1, 8, 8), np.uint8))


def test_a_model_that_was_never_taught_can_be_saved(tmp_path):
    """With the settings that its own strategy reads."""
    Model("lwf_kd+linear+lda", seed=3, kd_weight=3.0, **SMALL_MODEL).save(tmp_path / "m")
    assert "lambda_base" not in load_state(tmp_path / "m").description.train.settings
    again = Model.load(tmp_path / "m")
    assert (again.classes, again.seed, again.settings.width) == ((), 3, 2)
    assert again.settings.kd_weight == 3.0
    again.learn(*draw_birds(0, 1))
    assert again.classes == ("bird 0", "bird 1")


def test_the_callers_random_numbers_go_on(taught):
    torch.manual_seed(3)
    threads, expected = torch.get_num_threads(), torch.rand(4)
    torch.manual_seed(3)
    taught.learn(*draw_birds(2))
    assert torch.equal(torch.rand(4), expected)
    assert torch.get_num_threads() == threads


WITHOUT_TORCH = """
import sys; sys.modules['torch'] = None
import numpy as np
from memoryless import Model
model = Model.load('model')
np.save('scores.npy', model.decision_function(np.load('images.npy')))
model.rename({'bird 0': 'owl'})
model.save('model')
try:
    model.learn(np.load('images.npy'), ['new'] * 24)
except ImportError as error:
    print(error)
"""


def test_predicting_and_renaming_need_no_torch(taught, tmp_path):
    images, _ = draw_birds(0, 1)
    np.save(tmp_path / "images.npy", images)
    taught.save(tmp_path / "model")
    command = [sys.executable, "-c", WITHOUT_TORCH]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert (
        done.stdout == "this needs torch, which is not installed: pip install 'memoryless[lab]'\n"
    )
    assert np.array_equal(np.load(tmp_path / "scores.npy"), taught.decision_function(images))
    again = Model.load(tmp_path / "model")
    assert again.classes == ("owl", "bird 1")
    assert np.array_equal(again.decision_function(images), taught.decision_function(images))


MIDDLE = {"statistics": "tied", "square_roots": True, "level": "middle"}


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(
    ("method", "settings"),
    [("lwf_kd+lda+widened", MIDDLE), ("LUCIR", {}), ("FT", {"backbone": "resnet18"})],
)
def test_scores_are_those_of_the_network(method, settings, channels):
    """Of images as large as what it sees, a little larger, much larger, and smaller."""
    model = Model(method, **SMALL_MODEL, image_size=16, **settings)
    rng = np.random.default_rng(0)
    model.learn(rng.integers(0, 256, (24, channels, 16, 16), dtype=np.uint8), ["cat", "dog"] * 12)
    learned = model._current
    for side in (16, 18, 40, 11):
        images = rng.integers(0, 256, (5, channels, side, side), dtype=np.uint8)
        split = Split.whole(ArrayImages(torch.from_numpy(images)), np.zeros(5))
        expected = learned.scorer(learned.learner().all_features(split))
        assert (
            np.abs(model.decision_function(images) - expected).max() < 1e-4 * np.abs(expected).max()
        ), side


@pytest.mark.parametrize(("crop", "apart"), [(0.875, 0.02), (0.5, 0.1)])
def test_a_photo_is_seen_as_its_square_is(crop, apart):
    """The square is rounded to whole numbers, and resized again where its margin is wide."""
    model = Model("FT", **SMALL_MODEL, image_size=32, crop=crop)
    model.learn(*draw_photos())
    photo = np.tile(np.arange(256, dtype=np.uint8)[:, None], (256, 1, 3))
    alone, square = (
        model.decision_function([photo]),
        model.decision_function(model.learning_input(photo)[None]),
    )
    assert np.abs(alone - square).max() < apart * np.abs(square).max()


@pytest.mark.parametrize("device", ["cuda:1", "mps"])
def test_a_device_to_train_on_is_none_to_predict_on(device, taught):
    images, _ = draw_birds(0, 1)
    expected = taught.decision_function(images)
    taught.choose_device(device)
    assert np.array_equal(taught.decision_function(images), expected)


def test_settings_that_the_method_needs_are_switched_on():
    model = Model("finetune+lda+bg_z+linear", **SMALL_MODEL)
    model.learn(*draw_birds(0, 1))
    done = model.settings
    assert (done.statistics, done.transports, done.held_out) == ("full", ("linear",), 0.1)
    assert isinstance(done, ModelSettings)
    assert json.loads(json.dumps(done.epochs_later)) == 2


def draw_photos(number: int = 12) -> tuple[list[np.ndarray], list[str]]:
    rng = np.random.default_rng(0)
    photos = [rng.integers(0, 256, (30 + i, 40, 3), dtype=np.uint8) for i in range(2 * number)]
    return photos, ["cat", "dog"] * number


def test_photos_are_seen_the_same_way_in_every_state(tmp_path):
    model = Model("inFT_siw", **{**SMALL_MODEL, "image_size": 16})
    photos, names = draw_photos()
    model.open()
    assert (model.min_side, model.learning_input(photos[0]).shape) == (18, (18, 18, 3))
    model.learn(photos, names)
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert again.min_side == 18
    train = load_state(tmp_path / "model").description.train
    assert (train.size, train.augment) == (16, ("resized_crop", "flip"))


def test_without_a_size_photos_are_seen_at_224_pixels():
    model = Model("inFT_siw")
    model.open()
    assert (model.min_side, model.learning_input(draw_photos(1)[0][0]).shape) == (
        256,
        (256, 256, 3),
    )
    assert model._current.settings.image_size == 224


def test_photos_of_one_group_are_held_out_together():
    model = Model("finetune+lda", **SMALL_MODEL, held_out=0.3)
    images, names = draw_birds(0, 1)
    alike = np.repeat(np.arange(12), 2)
    report = model.learn_chunks([(images, names)], {*names}, lambda: alike)
    assert report.checked % 2 == 0
    assert 2 <= report.checked <= 8
