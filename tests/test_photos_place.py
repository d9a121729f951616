"""A folder while it is taught: held, left clean, and true to what the model was made with."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import ConfigError, WriteError
from memoryless.photos.place import TRAINED, teaching
from photo_toys import tiny_settings

FEATURES = np.random.default_rng(0).random((24, 48)).astype(np.float32)


@pytest.fixture
def folder(tmp_path, tiny_backbone) -> Path:
    """A model of two classes."""
    model = Model(**tiny_settings(tiny_backbone))
    model.learn(FEATURES, ["cat", "dog"] * 12)
    model.save(tmp_path / "model")
    return tmp_path / "model.memoryless"


def test_a_new_model_has_the_settings(tmp_path, tiny_backbone):
    with teaching(tmp_path / "model", tiny_settings(tiny_backbone)) as (place, model):
        assert place.before is None
        assert model.settings.image_size == 16


def test_nothing_is_left_of_a_folder_that_nothing_was_saved_in(tmp_path):
    with teaching(tmp_path / "a" / "b" / "model", {}):
        assert (tmp_path / "a" / "b" / "model.memoryless.lock").exists()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_after_an_error(tmp_path):
    with pytest.raises(KeyboardInterrupt), teaching(tmp_path / "model", {}):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_is_there_goes_on(folder):
    with teaching(folder, {}) as (place, model):
        assert model.classes == ("cat", "dog")
        assert place.before.number == 1


def test_a_second_writer_is_told_at_once(folder):
    with teaching(folder, {}), pytest.raises(WriteError) as error, teaching(folder, {}):
        pass
    assert str(error.value) == (
        f"another process is writing {folder}: wait for it, or choose another MODEL"
    )


@pytest.mark.parametrize(
    ("given", "was"),
    [
        ({"image_size": 32}, "with `image_size=16`"),
        ({"crop": 0.5}, "with `crop=1.0`"),
        ({"mean": (0.5, 0.5, 0.5)}, "with `mean=0.0 0.0 0.0`"),
        ({"backbone": "efficientnet-lite0", "seed": 3}, "with `backbone=onnx:{}`, with `seed=0`"),
        ({"method": "inFT_siw"}, "with `method=fixed+lda`"),
    ],
)
def test_what_a_model_was_made_with_stays(given, was, folder, tiny_backbone):
    with pytest.raises(ConfigError) as error, teaching(folder, given):
        pass
    assert str(error.value) == (
        f"{folder} was made {was.format(tiny_backbone.name)}, and what it keeps fits nothing "
        "else: leave that setting out, or choose another MODEL"
    )


def test_what_a_model_was_made_without(tmp_path):
    model = Model(backbone="none")
    model.learn(FEATURES, ["cat", "dog"] * 12)
    model.save(tmp_path)
    told = pytest.raises(ConfigError, match="was made without `mean`, and what it keeps")
    with told, teaching(tmp_path, {"mean": (0.5, 0.5, 0.5)}):
        pass


def test_a_model_is_forgettable_from_its_first_state_on(folder, tmp_path, tiny_backbone):
    with pytest.raises(ConfigError) as error, teaching(folder, {"forgettable": True}):
        pass
    assert str(error.value) == (
        f"{folder} was made without `forgettable=True`, and the photos that this needs are gone: "
        "leave it out, or learn everything into another MODEL"
    )
    settings = tiny_settings(tiny_backbone) | {"forgettable": True}
    with teaching(tmp_path / "other", settings) as (place, model):
        assert model.forgettable
        model.learn(FEATURES, ["cat", "dog"] * 12)
        model.save_in(place)
    for given in ({}, {"forgettable": True}):
        with teaching(tmp_path / "other", given) as (_, model):
            assert model.forgettable


def test_fixed_features_are_never_trained(folder):
    with pytest.raises(ConfigError) as error, teaching(folder, {}, train=True):
        pass
    assert "was made with `method=fixed+lda`" in str(error.value)


def test_the_same_settings_may_be_given_again(folder, tiny_backbone):
    with teaching(folder, tiny_settings(tiny_backbone) | {"device": "cpu"}) as (_, model):
        assert model.settings.device == "cpu"


def test_a_backbone_file_may_have_moved_but_not_changed(folder, tiny_backbone, tmp_path):
    moved = shutil.copy(tiny_backbone, tmp_path / "moved.onnx")
    with teaching(folder, {"backbone": f"onnx:{moved}"}) as (_, model):
        assert model.classes == ("cat", "dog")
    import onnx

    changed = onnx.load(moved)
    changed.graph.node[0].op_type = "MaxPool"
    onnx.save(changed, moved)
    with (
        pytest.raises(ConfigError, match="was made with `backbone=onnx:"),
        teaching(folder, {"backbone": f"onnx:{moved}"}),
    ):
        pass


def test_trained_features_have_the_laboratorys_best_method(tmp_path):
    with teaching(tmp_path / "model", {"epochs": 2}, train=True) as (_, model):
        assert model.method == TRAINED
        assert (model.settings.level, model.settings.statistics) == ("middle", "tied")
    with teaching(tmp_path / "model", {"backbone": "timm:resnet26"}, train=True) as (_, model):
        assert model.settings.level == "last"
    with teaching(tmp_path / "model", {"method": "inFT_siw_mc"}, train=True) as (_, model):
        assert (model.method, model.settings.square_roots) == ("inFT_siw_mc", False)
        assert model.settings.held_out == 0.1


def test_train_and_a_method_over_fixed_features_contradict_each_other(tmp_path):
    with (
        pytest.raises(ConfigError) as error,
        teaching(tmp_path / "model", {"method": "fixed+lda"}, train=True),
    ):
        pass
    assert str(error.value) == (
        "`train=True` trains the backbone, which fixed+lda never does: leave one out"
    )
