"""The model that people keep: what holds for every kind of features, fixed and trained."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from conftest import SMALL_MODEL, draw_birds
from memoryless import Model
from memoryless.errors import ConfigError, DataError
from memoryless.model.description import encode
from memoryless.model.file import load_state
from memoryless.stats.discriminant import Discriminant
from remains import nearest


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
    judgement = model.classify(images)
    assert judgement.scores.shape == judgement.probabilities.shape == (len(images), 2)
    assert np.allclose(judgement.probabilities.sum(1), 1)
    assert (judgement.probabilities.argmax(1) == judgement.scores.argmax(1)).all()
    assert judgement.known.shape == (len(images),)
    assert np.array_equal(model.decision_function(images), judgement.scores)


@pytest.mark.parametrize("kind", ["fixed", "trained"])
def test_a_model_comes_back_whole(kind, tmp_path):
    model, images = learned(kind)
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert again.classes == model.classes
    assert (again.counts, again.class_state) == (model.counts, model.class_state)
    assert np.array_equal(again.decision_function(images), model.decision_function(images))
    assert encode(model._stored(None)[0], "m") == encode(again._stored(None)[0], "m")


@pytest.mark.parametrize("kind", ["fixed", "trained"])
def test_a_model_without_what_learning_needs_learns_nothing(kind, tmp_path):
    model, images = learned(kind)
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model", parts=("features", "scorer"))
    with pytest.raises(ConfigError, match="was loaded to predict alone: load it with all its part"):
        again.learn(images, ["owl"] * len(images))
    assert np.array_equal(again.decision_function(images), model.decision_function(images))


@pytest.mark.parametrize("kind", ["fixed", "trained"])
def test_images_and_labels_that_are_none_are_refused(kind):
    model, images = learned(kind)
    with pytest.raises(DataError, match=r"^images must be several, in a list of paths"):
        model.learn(None, ["owl"])
    with pytest.raises(DataError, match=r"^labels must be names, one string an image, not None$"):
        model.learn(images, None)


UNFIT = {
    "a\nb": "has control characters",
    "\x1b[31m": "has control characters",
    "\udcff": "is not valid UTF-8",
    "a/b": "has a slash",
    " ": "is blank",
    "a" * 300: "has 300 bytes, more than 255",
}


@pytest.mark.parametrize("name", UNFIT)
def test_names_that_commands_refuse_are_refused(name):
    model, images = learned("fixed")
    before = model.classes
    for change in (
        lambda: model.learn(images, [name] * len(images)),
        lambda: model.rename({before[0]: name}),
    ):
        with pytest.raises(DataError) as error:
            change()
        assert str(error.value).endswith(f" {UNFIT[name]}: rename the class")
    assert model.classes == before


def draw(classes: str, number: int = 12, seed: int = 0) -> tuple[np.ndarray, list[str]]:
    """Features of classes, each around a point of its own, and their names."""
    rng = np.random.default_rng(seed)
    centres = np.stack([np.random.default_rng(ord(c)).normal(size=6) * 3 for c in classes])
    X = centres.repeat(number, 0) + rng.normal(size=(len(classes) * number, 6))
    return X, [c for c in classes for _ in range(number)]


def taught(*states: tuple[str, int], **settings: Any) -> Model:
    model = Model(backbone="none", **settings)
    for seed, (classes, number) in enumerate(states):
        model.learn(*draw(classes, number, seed), more=True)
    return model


@pytest.mark.parametrize("action", ["more", "forget", "merge", "forgettable"])
def test_trained_features_are_no_sums(action):
    model, images = learned("trained")
    actions = {
        "more": lambda: model.learn(images, ["bird"] * len(images), more=True),
        "forget": lambda: model.forget(model.classes[0]),
        "merge": lambda: Model.merge({"a": model, "b": model}),
        "forgettable": lambda: Model("inFT_siw", forgettable=True),
    }
    with pytest.raises(ConfigError, match=r"a network is no sum over images: \w+ cannot"):
        actions[action]()


def test_a_model_that_forgot_its_last_class_is_as_new(tmp_path):
    model = taught(("ab", 12))
    model.forget("a", "b")
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    with pytest.raises(
        ConfigError, match=r"^the model knows no class yet: let it learn some first"
    ):
        again.decision_function(draw("a")[0])
    again.learn(*draw("cd"))
    new = Model(backbone="none")
    new.learn(*draw("cd"))
    assert (again.decision_function(draw("c")[0]) == new.decision_function(draw("c")[0])).all()


def test_threads_that_teach_one_model_lose_no_class():
    model = Model(backbone="none")
    model.learn(*draw("a"))
    names = [f"class {i}" for i in range(30)]

    def teach(name: str) -> None:
        model.learn(np.random.default_rng([*name.encode()]).normal(size=(8, 6)), [name] * 8)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(teach, names))
    assert sorted(model.classes) == sorted(["a", *names])


def test_constant_features_of_two_models_are_not_taken_for_copies():
    one, two = Model(backbone="none"), Model(backbone="none")
    one.learn(np.ones((6, 3)), ["a"] * 6)
    two.learn(np.ones((6, 3)), ["b"] * 6)
    assert Model.merge({"one": one, "two": two}).classes == ("a", "b")


def strange(number: int = 30, seed: int = 7) -> np.ndarray:
    """Features of things that `draw` knows no class of."""
    return np.random.default_rng(seed).normal(size=(number, 6))


def loss(model: Model, X: np.ndarray, names: list[str]) -> float:
    own = [model.classes.index(name) for name in names]
    return float(-np.log(model.classify(X).probabilities[np.arange(len(own)), own]).mean())


def badly_calibrated() -> tuple[Model, np.ndarray, list[str]]:
    """A model of classes that it tells apart less well on new photos, which come with it."""
    model = taught(("abcd", 12))
    X, names = draw("abcd", 10, 5)
    return model, X + np.random.default_rng(3).normal(size=X.shape) * 5, names


def test_calibrating_lowers_the_loss_and_leaves_scores():
    model, X, names = badly_calibrated()
    scores, before = model.decision_function(X), loss(model, X, names)
    done = model.calibrate(X, names)
    assert loss(model, X, names) < before - 0.05
    assert (model.decision_function(X) == scores).all()
    assert (done.photos, done.unknown, done.left_out) == (40, 0, {})
    assert done.after == model._current.confidence != done.before
    assert model.classify(X).known.mean() == pytest.approx(0.95, abs=0.05)


def test_unknown_things_choose_the_threshold():
    model, X, names = badly_calibrated()
    done = model.calibrate(X, names, strange(60))
    assert done.unknown == 60

    def balanced(threshold: float) -> float:
        margins = [model.classify(part).margin + done.after.threshold for part in (X, strange(60))]
        return float((margins[0] >= threshold).mean() + (margins[1] < threshold).mean())

    tried = max(balanced(t) for t in np.linspace(-30, 30, 601))
    assert balanced(done.after.threshold) > tried - 0.05
    assert balanced(done.after.threshold) > balanced(done.before.threshold)


def test_classes_that_the_model_does_not_know_are_left_out_and_counted():
    model, X, names = badly_calibrated()
    again, *_ = badly_calibrated()
    done = model.calibrate(np.concatenate([X, strange(5)]), [*names, "x", "y", "x", "x", "y"])
    assert done.left_out == {"x": 3, "y": 2}
    assert done.after == again.calibrate(X, names).after


@pytest.mark.parametrize(
    ("number", "unknown", "sentence"),
    [
        (19, None, "takes 20 photos or more of classes that the model knows, not 19: add some$"),
        (20, 19, "takes 20 photos or more of unknown things, not 19: add some$"),
    ],
)
def test_too_few_photos_calibrate_nothing(number, unknown, sentence):
    model, X, names = badly_calibrated()
    before = model._current.confidence
    with pytest.raises(DataError, match=sentence):
        model.calibrate(X[:number], names[:number], unknown and strange(unknown))
    assert model._current.confidence == before
    assert not model.calibrated


def test_a_model_of_one_class_has_nothing_to_calibrate():
    with pytest.raises(ConfigError, match=r"^a model of one class has nothing to calibrate: learn"):
        taught(("a", 30)).calibrate(*draw("a", 30))


def test_a_calibration_is_saved_and_keeps_nothing_of_its_photos(tmp_path):
    model, X, names = badly_calibrated()
    model.save(tmp_path / "model")
    model = Model.load(tmp_path / "model")
    model.calibrate(X, names, strange())
    model.save(tmp_path / "model")
    before, after = load_state(tmp_path / "model", 1), load_state(tmp_path / "model")
    assert (after.number, after.done, after.parts) == (2, "calibrate", before.parts)
    arrays = [a for part in ("record", "scorer") for a in after.arrays[part].values()]
    assert min(nearest(arrays, row) for row in (*X, *strange())) > 1e-3
    again = Model.load(tmp_path / "model", parts=("features", "scorer"))
    assert again.calibrated
    assert (again.classify(X).margin == model.classify(X).margin).all()
    assert (again.classify(X).probabilities == model.classify(X).probabilities).all()


@pytest.mark.parametrize("action", ["learn", "more", "forget", "rename"])
def test_later_states_keep_it_in_units_of_the_spread_of_scores(action, tmp_path):
    model, X, names = badly_calibrated()
    model.calibrate(X, names, strange())
    model.save(tmp_path / "model")
    model = Model.load(tmp_path / "model")
    fitted = model._current.calibrated
    {
        "learn": lambda: model.learn(*draw("efgh", 40)),
        "more": lambda: model.learn(*draw("ab", 200), more=True),
        "forget": lambda: model.forget("a"),
        "rename": lambda: model.rename({"a": "z"}),
    }[action]()
    unit = Discriminant.of(model._current.statistics).unit
    found = model._current.confidence
    assert found.temperature == pytest.approx(fitted.temperature * unit)
    assert found.threshold == pytest.approx(fitted.threshold * unit)


def test_a_merged_model_is_not_calibrated():
    """What was fitted on photos of some of the classes says little about all."""
    model, X, names = badly_calibrated()
    plain, other = taught(("abcd", 12)), taught(("ef", 12))
    model.calibrate(X, names)
    both = Model.merge({"one": model, "two": other})
    assert not both.calibrated
    assert both._current.confidence == Model.merge({"1": plain, "2": other})._current.confidence


def test_a_model_that_forgot_all_is_not_calibrated():
    model, X, names = badly_calibrated()
    model.calibrate(X, names)
    model.forget(*"abcd")
    assert not model.calibrated


def test_a_trained_model_is_calibrated_too(tmp_path):
    model, _ = learned("trained")
    X, names = draw_birds(0, 1, number=15)
    before = loss(model, X, names)
    model.calibrate(X, names)
    assert loss(model, X, names) < before
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert again.calibrated
    assert (again.classify(X).probabilities == model.classify(X).probabilities).all()
    again.learn(*draw_birds(2))
    assert again.calibrated


def test_a_model_describes_itself(caplog):
    model = Model(backbone="none")
    assert repr(model) == "<Model: 0 classes, 0 photos, fixed+lda over none>"
    with caplog.at_level("INFO", logger="memoryless"):
        model.learn(np.random.default_rng(0).normal(size=(20, 3)), ["ant", "bee"] * 10)
        model.forget("ant")
    assert repr(model) == "<Model: 1 class, 10 photos, fixed+lda over none>"
    assert caplog.messages == ["learned 20 photos of 2 classes", "forgot ant"]
