"""Models over fixed features: any split gives the same scores, and photos can go."""

from __future__ import annotations

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import ConfigError, DataError
from memoryless.model.file import load_state
from memoryless.stats.confidence import softmax
from memoryless.stats.leave_one_out import UNLIKELY
from photo_toys import tiny_settings


def features(*classes: int, number: int = 12, d: int = 6):
    """Features and names of classes; the same class always gives the same features."""
    drawn = [
        np.random.default_rng(c).normal(size=d) * 2
        + np.random.default_rng(100 + c).normal(size=(number, d))
        for c in classes
    ]
    names = [f"class {c}" for c in classes for _ in range(number)]
    return np.concatenate(drawn), names


def taught(*states: tuple[int, ...]) -> Model:
    model = Model(backbone="none")
    for classes in states:
        model.learn(*features(*classes))
    return model


def test_classes_are_learned_by_name_and_recognised():
    model = taught((2, 0), (1,))
    assert model.classes == ("class 0", "class 2", "class 1")
    assert model.counts == (12, 12, 12)
    assert model.class_state == (0, 0, 1)
    X, names = features(0, 1, 2)
    assert np.mean(np.array(model.predict(X)) == names) > 0.8


def test_a_folder_is_all_that_a_model_needs(tmp_path):
    whole, parts = taught((0, 1), (2, 3)), taught((0, 1))
    parts.save(tmp_path / "model")
    parts = Model.load(tmp_path / "model")
    parts.learn(*features(2, 3))
    parts.save(tmp_path / "model")
    again, X = Model.load(tmp_path / "model"), features(0, 1, 2, 3)[0]
    assert np.array_equal(again.decision_function(X), whole.decision_function(X))
    assert np.array_equal(again.classify(X).margin, whole.classify(X).margin)
    assert np.array_equal(again.classify(X).probabilities, whole.classify(X).probabilities)
    assert again.counts == whole.counts
    assert Model.load(tmp_path / "model", number=1).classes == ("class 0", "class 1")


def test_large_numbers_are_no_infinite_ones():
    """Their sum overflows in single precision."""
    X, names = features(0, 1)
    X = np.abs(X * 3e37).astype(np.float32)
    with np.errstate(over="ignore"):
        assert np.isinf(X.sum())
    model = Model(backbone="none")
    model.learn(X, names)
    assert model.counts == (12, 12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_leaves_the_model_as_it_was(bad):
    model = taught((0, 1))
    X, spoilt = features(0, 1)[0], features(2, 3)[0]
    before = model.decision_function(X)
    spoilt[5, 2] = bad
    with pytest.raises(DataError, match=r"^features must be finite numbers: some are nan or inf"):
        model.learn(spoilt, ["new"] * 24)
    assert model.classes == ("class 0", "class 1")
    assert np.array_equal(model.decision_function(X), before)


@pytest.mark.parametrize(
    ("images", "labels", "sentence"),
    [
        (np.zeros((3, 5)), ["a"] * 3, r"^features must be \(n, 6\), not \(3, 5\)$"),
        (np.zeros((3, 6)), ["a"] * 2, "^there are 3 images and 2 labels: give each one$"),
        (
            np.zeros((1, 6)),
            ["class 0"],
            "^class 0 was learned before: add `more=True` to add",
        ),
        (np.zeros((1, 6)), [" "], "^the class name ' ' is blank: rename the class$"),
        (np.zeros((2, 4, 4, 3), np.uint8), ["a"] * 2, "^a model with `backbone=none` takes"),
    ],
)
def test_what_cannot_be_learned_gets_a_sentence(images, labels, sentence):
    with pytest.raises(DataError, match=sentence):
        taught((0, 1)).learn(images, labels)


def test_another_head_over_fixed_features_is_the_laboratorys():
    with pytest.raises(ConfigError, match=r"a model's method is fixed\+lda, not fixed\+ncm"):
        Model("fixed+ncm")


def test_what_no_class_is_like_is_not_known():
    model = Model(backbone="none")
    model.learn(*features(*range(6), number=60, d=40))
    known, unknown = (model.classify(features(*c, number=60, d=40)[0]).known.mean()
                      for c in (range(6), range(20, 26)))  # fmt: skip
    assert known > 0.9
    assert unknown < 0.5


def test_photos_of_a_call_are_checked_and_counted_by_class():
    model = taught((0, 1))
    report = model.learn(*features(2, 3, number=20))
    assert report.checked == 40
    assert {name: of for name, (_, of) in report.correct_by_class.items()} == {
        "class 2": 20,
        "class 3": 20,
    }
    assert sum(right for right, _ in report.correct_by_class.values()) == report.correct
    assert all(wrong <= of for *_, wrong, of in report.confused)


def test_each_photo_is_scored_by_a_model_that_never_had_it():
    """Real refits give the same answers, but for the few where the shrinkage decides."""
    X, names = features(*range(5), number=8, d=12)
    model = Model(backbone="none")
    report, right = model.learn(X, names), 0
    for i in range(len(X)):
        without = Model(backbone="none")
        keep = np.arange(len(X)) != i
        without.learn(X[keep], [name for j, name in enumerate(names) if j != i])
        right += without.predict(X[i : i + 1]) == [names[i]]
    assert abs(report.correct - right) <= 1
    assert report.correct < len(X)


def swapped(names, *photos):
    """The names with those of two photos exchanged."""
    one, other = photos
    names = [*names]
    names[one], names[other] = names[other], names[one]
    return names


def test_photos_with_wrong_labels_are_named_by_their_number_in_the_call(monkeypatch):
    """Chunks and a random order change nothing; the least probable photo comes first."""
    monkeypatch.setattr("memoryless.model.model.CHUNK", 50)
    X, names = features(*range(6), number=30, d=20)
    order = np.random.default_rng(0).permutation(180)
    wrong = swapped(names, 10, 100)
    report = taught().learn(X[order], [wrong[i] for i in order])
    found = {int(order[one.number]): (one.label, one.looks_like) for one in report.suspects}
    assert found == {10: ("class 3", "class 0"), 100: ("class 0", "class 3")}
    assert [one.probability for one in report.suspects] == sorted(
        one.probability for one in report.suspects
    )
    assert 0 <= report.suspects[-1].probability < UNLIKELY


def test_probabilities_of_suspects_are_those_of_real_refits():
    """With the temperature of the call and all that leave-one-out keeps as it is."""
    X, names = features(*range(6), number=30, d=20)
    wrong = swapped(names, 10, 100)
    model = taught()
    report = model.learn(X, wrong)
    assert len(report.suspects) == 2
    for suspect in report.suspects:
        keep = np.arange(180) != suspect.number
        without = taught()
        without.learn(X[keep], [name for i, name in enumerate(wrong) if keep[i]])
        scores = (
            without.decision_function(X[suspect.number : suspect.number + 1]) / report.temperature
        )
        p = softmax(scores)[0, model.classes.index(suspect.label)]
        assert np.log(suspect.probability) == pytest.approx(np.log(p), rel=0.1)


def test_a_later_call_counts_its_own_photos():
    X, names = features(*range(6), number=40, d=20)
    later = np.arange(240) % 40 >= 30
    model, labels = taught(), np.array(names)
    assert model.learn(X[~later], labels[~later].tolist()).suspects == []
    (found,) = model.learn(X[later], ["class 4", *labels[later][1:]], more=True).suspects
    assert found[:3] == (0, "class 4", "class 0")


def test_without_a_temperature_no_photo_is_suspected():
    X, names = features(*range(6), number=30, d=20)
    assert taught().learn(X, ["a"] * 180).suspects == []
    assert taught().learn(X[::30], names[::30]).suspects == []  # no class has another photo
    model = taught()
    model.learn(X, names)
    for check in ("due", "always"):  # this call is not due, and then too small for a temperature
        report = model.learn(X[:3], ["class 5"] * 3, more=True, check=check)
        assert (report.checked, report.suspects) == (0 if check == "due" else 3, [])


def test_sums_of_checks_join_in_the_unit_of_each_call():
    """Scores grow with the photos; a temperature over two calls is that of the newest scores."""
    many, few = features(*range(6), number=60, d=20), features(*range(6), number=30, d=20)
    model = Model(backbone="none")
    model.learn(*few)
    first = model.classify(few[0])
    model.learn(*many, more=True)
    second = model.classify(few[0])
    once = Model(backbone="none")
    once.learn(np.concatenate([few[0], many[0]]), few[1] + many[1])
    ratio = second.probabilities.max(1).mean() / once.classify(few[0]).probabilities.max(1).mean()
    assert 0.9 < ratio < 1.1
    assert first.scores.std() != pytest.approx(second.scores.std(), rel=0.05)


def test_a_call_that_is_not_due_adds_and_checks_nothing():
    model = Model(backbone="none")
    X, names = features(0, 1, number=60)
    assert model.learn(X, names, check="due").checked == 120  # the first call
    before = model._current.check
    small = model.learn(X[:12], names[:12], more=True, check="due")
    assert (small.checked, model._current.check) == (0, before)
    assert model.counts == (72, 60)
    due = model.learn(X[:3], names[:3], more=True, check="due")  # 15 of 135 since the last check
    assert due.checked == 3
    whole = Model(backbone="none")
    whole.learn(np.concatenate([X, X[:12], X[:3]]), names + names[:12] + names[:3])
    assert np.abs(model.decision_function(X) - whole.decision_function(X)).max() <= 1e-6 * np.ptp(
        whole.decision_function(X)
    )


def test_chunks_do_not_change_what_is_learned(monkeypatch):
    X, names = features(*range(5), number=30)
    order = np.random.default_rng(0).permutation(150)
    X, names = X[order], [names[i] for i in order]
    models = []
    for chunk in (7, 4096):
        monkeypatch.setattr("memoryless.model.model.CHUNK", chunk)
        models.append(Model(backbone="none"))
        models[-1].learn(X, names)
    one, other = models
    assert np.abs(one.decision_function(X) - other.decision_function(X)).max() <= 1e-6 * np.ptp(
        other.decision_function(X)
    )
    assert one._current.confidence.temperature == pytest.approx(
        other._current.confidence.temperature
    )


def test_the_state_keeps_nothing_of_single_photos(tmp_path):
    model = taught((0, 1))
    model.save(tmp_path / "model")
    record = load_state(tmp_path / "model").arrays["record"]
    assert {name: array.shape for name, array in record.items()} == {
        "count": (2,),
        "mean": (2, 6),
        "scatter": (21,),
        "check.losses": (33,),
        "check.any_label": (33,),
        "check.below": (193,),
        "check.count": (),
    }


def test_renamed_classes_keep_their_columns(tmp_path):
    model, X = taught((0, 1)), features(0, 1)[0]
    before = model.decision_function(X)
    model.rename({"class 0": "zero"})
    assert model.classes == ("zero", "class 1")
    assert np.array_equal(model.decision_function(X), before)
    with pytest.raises(ConfigError, match="unknown class 'class 0'"):
        model.rename({"class 0": "x"})
    with pytest.raises(DataError, match=r"^class 1 would name two classes: choose another name$"):
        model.rename({"zero": "class 1"})


def test_of_one_class_every_photo_is_known_and_later_ones_are_not_misled():
    model = Model(backbone="none")
    model.learn(*features(0, number=40))
    assert model.classify(features(0)[0]).known.all()
    for c in range(1, 6):
        model.learn(*features(c, number=40))
    whole = Model(backbone="none")
    whole.learn(*features(*range(6), number=40))
    X = features(*range(6), number=40)[0]
    assert abs(model.classify(X).known.mean() - whole.classify(X).known.mean()) < 0.1


def test_the_device_and_folders_of_this_machine_are_not_kept(tiny_backbone, tmp_path):
    model = Model(**tiny_settings(tiny_backbone), device="cpu")
    model.learn([np.full((9, 9, 3), 20 * i, np.uint8) for i in range(10)], ["a", "b"] * 5)
    file = tmp_path / "model.memoryless"
    model.save(file)
    kept = Model.load(file).settings
    assert (kept.device, kept.backbone) == ("auto", f"onnx:{tiny_backbone.name}")
    assert str(tiny_backbone.parent).encode() not in file.read_bytes()


def test_no_photo_gives_no_answer(tmp_path):
    assert taught((0, 1)).predict([]) == []


@pytest.mark.parametrize(("scale", "what"), [(1e100, "large"), (1e160, "large"), (1e-160, "small")])
def test_features_of_an_absurd_scale_are_refused(scale, what):
    model = Model(backbone="none")
    X = np.random.default_rng(0).normal(size=(20, 3)) * scale
    with pytest.raises(DataError, match=f"features are too {what} to compute with"):
        model.learn(X, ["a", "b"] * 10)
    assert model.classes == ()


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_features_of_a_large_or_small_scale_are_learned(scale):
    X = np.random.default_rng(0).normal(size=(40, 3)) + np.arange(40)[:, None] % 2 * 9
    model = Model(backbone="none")
    model.learn(X * scale, ["a", "b"] * 20)
    assert model.predict(X * scale) == ["a", "b"] * 20
