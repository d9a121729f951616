"""The model that people keep: what holds for every kind of features, fixed and trained."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from conftest import SMALL_MODEL, draw_birds
from memoryless import Model
from memoryless.errors import ConfigError


def learned(kind: str) -> tuple[Model, np.ndarray]:
    images, names = draw_birds(0, 1)
    if kind == "trained":
        model = Model("inFT_siw", **SMALL_MODEL)
    else:
        model = Model(backbone="none")
        images = images.reshape(len(images), -1)[:, ::7].astype(np.float32)
    model.learn(images, names)
    return model, images


@pytest.mark.parametrize("kind", ["fixed", "trained"])
def test_what_a_judgement_holds_fits_together(kind):
    model, images = learned(kind)
    judgement = model.judge(images)
    assert judgement.scores.shape == judgement.probabilities.shape == (len(images), 2)
    assert np.allclose(judgement.probabilities.sum(1), 1)
    assert (judgement.probabilities.argmax(1) == judgement.scores.argmax(1)).all()
    assert judgement.known.shape == (len(images),)
    assert np.array_equal(model.scores(images), judgement.scores)


@pytest.mark.parametrize("kind", ["fixed", "trained"])
def test_a_model_comes_back_whole(kind, tmp_path):
    model, images = learned(kind)
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert again.classes == model.classes
    assert (again.counts, again.class_state) == (model.counts, model.class_state)
    assert np.array_equal(again.scores(images), model.scores(images))
    assert json.dumps(model.about()) == json.dumps(again.about())


def test_a_setting_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="unknown setting 'epoch'"):
        Model(epoch=3)
    with pytest.raises(ConfigError, match="the method names the strategy"):
        Model(strategy="fixed")


def test_predicting_over_fixed_features_imports_no_torch(tmp_path):
    model, images = learned("fixed")
    model.save(tmp_path / "model")
    np.save(tmp_path / "x.npy", images)
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "import numpy as np\nfrom memoryless import Model\n"
        f"model = Model.load({str(tmp_path / 'model')!r})\n"
        f"print(len(model.predict(np.load({str(tmp_path / 'x.npy')!r}))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(len(images))
