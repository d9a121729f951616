"""Models over a network with several outputs: a group of features each, weighed by the sums."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
import pytest

from conftest import call
from graphs import two_outputs
from memoryless import IncrementalClassifier, Model
from memoryless.errors import ConfigError
from memoryless.model.file import load_state
from memoryless.photos.export import export_onnx
from memoryless.settings import BackboneSettings
from memoryless.stats.choice import choose
from memoryless.train.backbones import build_backbone

GROUPS = (3, 48)
PREPARED = {"image_size": 8, "crop": 1.0, "mean": (0.0,) * 3, "std": (1 / 255,) * 3}


@pytest.fixture
def backbone(tmp_path) -> str:
    onnx.save(two_outputs(), tmp_path / "two.onnx")
    return f"onnx:{tmp_path / 'two.onnx'}"


def photos(*classes: int, number: int = 12) -> tuple[list[np.ndarray], list[str]]:
    """Photos of classes of one colour that differ in where they are bright."""
    found, names = [], []
    for c in classes:
        bright = np.random.default_rng(c).integers(40, 200, (8, 8, 1))
        noise = np.random.default_rng(100 + c).integers(0, 56, (number, 8, 8, 3))
        found += list((bright + noise).astype(np.uint8))
        names += [f"class {c}"] * number
    return found, names


def taught(backbone: str, *states: tuple[int, ...], forgettable: bool = False) -> Model:
    model = Model(backbone=backbone, forgettable=forgettable, **PREPARED)
    for classes in states:
        model.learn(*photos(*classes))
    return model


def assert_alike(one: Model, other: Model) -> None:
    images = photos(*range(5))[0]
    columns = [one.classes.index(name) for name in other.classes]
    expected = other.decision_function(images)
    assert np.abs(one.decision_function(images)[:, columns] - expected).max() <= 1e-4 * np.ptp(
        expected
    )


def test_what_one_group_cannot_tell_another_one_does(backbone):
    model = taught(backbone, range(5))
    own = model._current
    assert own.groups == GROUPS
    (first, second), report = own.answers.chosen, model.learn(*photos(5))
    assert first[0] == 1
    assert second[0] > 0
    assert report.correct == report.checked
    images, names = photos(*range(5), number=20)
    assert np.mean(np.array(model.predict(images)) == names) > 0.95


def test_features_are_those_of_both_outputs_each_at_length_one(backbone):
    model = taught(backbone, (0, 1))
    image = photos(0)[0][0]
    planes = image.transpose(2, 0, 1).astype(np.float64)
    colours = planes.mean((1, 2))
    places = planes.reshape(3, 4, 2, 4, 2).mean((2, 4)).ravel()
    assert np.allclose(model.embed([image]), [[*colours, *places]], rtol=1e-4)
    viewed = model._current.view(model.embed([image]))
    parts = [np.sqrt(part / np.linalg.norm(part)) for part in (colours, places)]
    assert np.allclose(viewed, [np.concatenate(parts)], rtol=1e-4)


def test_the_layer_is_the_weighted_sum_of_the_groups(backbone):
    model = taught(backbone, range(4))
    own, images = model._current, photos(*range(4))[0]
    viewed = own.view(model.embed(images).astype(np.float64))
    discriminant = choose(own.statistics)
    expected = 0.0
    for weight, group, rows in zip(
        discriminant.weights, discriminant.groups, np.split(viewed, [3], axis=1), strict=True
    ):
        expected = expected + weight * ((rows - group.centre) @ group.W.T + group.b)
    assert np.allclose(model.decision_function(images), expected, atol=1e-3 * np.ptp(expected))


@pytest.mark.parametrize("forgettable", [False, True])
def test_states_merging_and_files_change_no_score(backbone, tmp_path, forgettable):
    whole = taught(backbone, range(5), forgettable=forgettable)
    assert_alike(taught(backbone, (4, 1), (0,), (3, 2), forgettable=forgettable), whole)
    parts = {
        "north": taught(backbone, (0, 3), forgettable=forgettable),
        "south": taught(backbone, (1,), (2, 4), forgettable=forgettable),
    }
    assert_alike(Model.merge(parts), whole)
    whole.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert np.array_equal(
        again.decision_function(photos(0)[0]), whole.decision_function(photos(0)[0])
    )
    assert again._current.answers.chosen == whole._current.answers.chosen
    again.rename({"class 0": "zero"})
    assert np.array_equal(
        again.decision_function(photos(0)[0]), whole.decision_function(photos(0)[0])
    )


def test_forgetting_exactly_is_as_if_a_class_had_never_been(backbone):
    model = taught(backbone, range(5), forgettable=True)
    model.forget("class 2")
    assert_alike(model, taught(backbone, (0, 1, 3, 4)))


def test_the_file_holds_sums_of_each_group_and_what_was_chosen(backbone, tmp_path, capsys):
    model = taught(backbone, range(4), forgettable=True)
    model.save(tmp_path / "m")
    state = load_state(tmp_path / "m")
    shapes = {name: array.shape for name, array in state.arrays["record"].items()}
    assert shapes["mean"] == (4, 3)
    assert shapes["1.mean"] == (4, 48)
    assert shapes["scatter"] == (6,)
    assert shapes["1.scatter"] == (48 * 49 // 2,)
    assert shapes["spread"] == (4 * 3, 3)
    assert shapes["1.spread"] == (4 * 11, 48)
    stored = state.description.groups
    assert [group.size for group in stored] == list(GROUPS)
    assert (
        tuple((group.weight, group.shrinkage) for group in stored) == model._current.answers.chosen
    )
    code, out, _ = call("show", str(tmp_path / "m"), capsys=capsys)
    assert code == 0
    assert "layers    output 1: weight 1, shrinkage " in out
    assert "; output 2: weight " in out
    assert call("check", str(tmp_path / "m"), capsys=capsys)[0] == 0


def test_an_exported_graph_gives_the_same_answers(backbone, tmp_path):
    import onnxruntime

    model = taught(backbone, range(4))
    model.save(tmp_path / "m")
    export_onnx(tmp_path / "m", tmp_path / "out.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "out.onnx")
    images = np.stack(photos(*range(4))[0])
    scores, probabilities = session.run(["scores", "probabilities"], {"photos": images})
    judged = model.classify(list(images))
    assert np.abs(scores - judged.scores).max() < 1e-3 * np.ptp(judged.scores)
    assert np.abs(probabilities - judged.probabilities).max() < 1e-3


def test_outputs_of_unknown_size_are_refused(tmp_path):
    network = two_outputs()
    network.graph.output[1].type.tensor_type.shape.dim[1].dim_param = "d"
    onnx.save(network, tmp_path / "two.onnx")
    with pytest.raises(ConfigError, match="2 outputs, and does not say how many features"):
        taught(f"onnx:{tmp_path / 'two.onnx'}", (0, 1))


def test_the_networks_own_middle_layers_are_a_second_group(tmp_path):
    """Those of its three blocks have length one each."""
    model = Model(image_size=32)
    model.learn(*photos(0, 1))
    model.save(tmp_path / "m")
    own = Model.load(tmp_path / "m")._current
    assert own.groups == (1280, 240 + 480 + 672)
    features = model.embed(photos(0)[0][:2]).astype(np.float64)
    for start, end in pairwise(np.cumsum((1280, 240, 480, 672))):
        assert np.allclose(np.linalg.norm(features[:, start:end], axis=1), 1)


def test_a_run_reads_one_network():
    with pytest.raises(ConfigError, match="a run reads one network"):
        build_backbone(BackboneSettings(backbone="efficientnet-lite0+lite2"), 3)


def test_two_networks_give_four_groups(tmp_path, capsys):
    """The file keeps what is needed to decode photos for the larger network, too."""
    model = Model(backbone="efficientnet-lite0+lite2")
    model.learn(*photos(0, 1))
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert again.min_side == 297  # 260 / 0.875
    assert again._current.groups == (1280, 1392, 1280, 720)
    images = photos(0, 1)[0]
    assert np.array_equal(again.decision_function(images), model.decision_function(images))
    out = call("show", str(tmp_path / "m"), capsys=capsys)[1]
    assert "over efficientnet-lite0+lite2 at 224 and 260 pixels\n" in out
    assert "middle layer of Lite2: weight" in " ".join(out.split())
    out = call("show", str(tmp_path / "m"), "--markdown", capsys=capsys)[1]
    assert "| sees | 224 and 260 pixels |" in out
    exported = export_onnx(tmp_path / "m", tmp_path / "m.onnx")
    assert exported.drawings.difference < 1e-3
    estimator = IncrementalClassifier.load(tmp_path / "m")
    assert estimator.fit(*photos(2, 3)).predict(photos(2)[0]).tolist() == ["class 2"] * 12


def test_show_says_why_nothing_was_chosen(backbone, tmp_path, capsys):
    for name, number, reason in (("few", 5, True), ("many", 12, False)):
        model = Model(backbone=backbone, **PREPARED)
        model.learn(*photos(0, 1, number=number))
        model.save(tmp_path / name)
        out = " ".join(call("show", str(tmp_path / name), capsys=capsys)[1].split())
        assert ("(not chosen: fewer than 16 photos beyond one for each class)" in out) == reason
