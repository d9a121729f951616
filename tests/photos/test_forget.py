"""memoryless forget: the classes that go, and the traces that remain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import SMALL_MODEL, call, make_toy
from counted_names import Name, some_names
from memoryless import Model
from memoryless.model.file import kept_states, load_state
from memoryless.photos.forget import forget_classes, verdict
from memoryless.stats.class_statistics import ClassStatistics

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(60, 5)) + 4 * RNG.normal(size=(3, 5)).repeat(20, 0)
NAMES = ["song thrush"] * 20 + ["robin redbreast"] * 20 + ["caf\u00e9"] * 20


def teach_states(folder: Path, forgettable: bool = False) -> Path:
    model = Model(backbone="none", forgettable=forgettable)
    for i in range(3):
        model.learn(FEATURES[20 * i : 20 * i + 20], NAMES[20 * i : 20 * i + 20])
        model.save(folder)
    return folder


def test_names_are_not_searched_for_in_a_list(tmp_path):
    model, names = Model(backbone="none"), some_names(500)
    model.learn(RNG.normal(size=(1000, 2)), [str(name) for name in names] * 2)
    model.save(tmp_path / "model")
    Name.looked_up = 0
    forget_classes(tmp_path / "model", names[::2])
    assert Name.looked_up < 20 * 500


def test_the_covariance_stays_as_it_was(tmp_path):
    taught = load_state(teach_states(tmp_path))
    before = ClassStatistics.restore(taught.arrays["record"], fixed=True)
    forget_classes(tmp_path, ["song thrush"])
    after = ClassStatistics.restore(load_state(tmp_path).arrays["record"], fixed=True)
    assert (before.count.sum(), after.count.sum()) == (60, 40)
    np.testing.assert_allclose(after.pooled, before.pooled, atol=1e-12)


def test_exactly_as_if_it_had_never_been(tmp_path):
    forget_classes(teach_states(tmp_path, forgettable=True), ["song thrush"])
    never = Model(backbone="none", forgettable=True)
    never.learn(FEATURES[20:], NAMES[20:])
    scores, expected = (
        Model.load(tmp_path).decision_function(FEATURES),
        never.decision_function(FEATURES),
    )
    assert never.classes == ("caf\u00e9", "robin redbreast")
    assert np.abs(scores - expected[:, ::-1]).max() < 1e-9 * np.ptp(expected)


def test_several_and_names_in_another_form(tmp_path):
    done = forget_classes(teach_states(tmp_path), ["cafe\u0301", "song thrush"])
    assert done.photos == {"caf\u00e9": 20, "song thrush": 20}
    assert list(load_state(tmp_path).classes.names) == ["robin redbreast"]


def test_a_name_that_a_program_gave_in_another_form(tmp_path):
    model = Model(backbone="none")
    model.learn(FEATURES[:40], ["cafe\u0301", "owl"] * 20)
    model.save(tmp_path)
    assert forget_classes(tmp_path, ["cafe\u0301"]).photos == {"cafe\u0301": 20}


BIRDS = np.random.default_rng(0).normal(size=(80, 8))
SPECIES = ["song thrush", "robin", "robin redbreast", "owl"] * 20


def teach(forgettable: bool = False) -> None:
    model = Model(backbone="none", forgettable=forgettable)
    model.learn(BIRDS, SPECIES)
    model.save("model")
    model.learn(BIRDS[:20] + 3, ["elk"] * 20)
    model.save("model")


@pytest.fixture
def birds(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    teach()


def test_a_class_goes_and_its_weight_remains(birds):
    done = forget_classes(Path("model"), ["song thrush"])
    assert (done.photos, done.left, done.states) == ({"song thrush": 20}, 4, 2)
    assert (done.weight, done.at_most, done.calibration) == (pytest.approx(0.2), False, True)
    assert not done.complete
    assert "traces remain" in verdict(done)
    saved = load_state("model")
    assert saved.classes.names == ("owl", "robin", "robin redbreast", "elk")
    assert [state.photos for state in saved.classes.learned] == [60, 20]
    assert [state.number for state in kept_states("model")[0]] == [3]


def test_exactly(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    teach(forgettable=True)
    done = forget_classes(Path("model"), ["song thrush"])
    assert (done.complete, done.exposed, done.calibration) == (True, False, True)
    assert verdict(done).startswith("gone completely")


def test_a_dry_run_changes_nothing(birds, capsys):
    before = Path("model.memoryless").read_bytes()
    assert call("forget", "model", "owl", "robin", "--dry-run", capsys=capsys)[0] == 0
    assert Path("model.memoryless").read_bytes() == before
    tried = forget_classes(Path("model"), ["owl", "robin"], dry_run=True)
    assert tried == forget_classes(Path("model"), ["owl", "robin"])
    assert (tried.photos, tried.weight) == ({"owl": 20, "robin": 20}, pytest.approx(0.4))


def test_undo_does_not_go_back(birds, capsys):
    call("forget", "model", "owl", capsys=capsys)
    for words in (["--to", "2"], []):
        code, _, err = call("undo", "model", *words, capsys=capsys)
        assert (code, err.count("\n")) == (2, 1)
    assert load_state("model").description.forgotten in err


def test_the_last_class_can_be_forgotten(birds, capsys):
    done = forget_classes(Path("model"), [*dict.fromkeys(SPECIES), "elk"])
    assert (done.left, done.complete, done.calibration) == (0, True, False)
    assert load_state("model").parts == {}
    code, _, err = call("predict", "model", "x.png", capsys=capsys)
    assert (code, err[12:46]) == (2, "the model knows no class yet: let ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["owk", "robin"],
         "unknown class 'owk': choose from owl, robin, robin redbreast, song thrush, elk; did you "
         "mean 'owl'?"),
        ([], 'command "forget" parameter NAME requires an argument.'),
    ],
)  # fmt: skip
def test_what_cannot_be_forgotten(words, sentence, birds, capsys):
    before = Path("model.memoryless").read_bytes()
    code, out, err = call("forget", "model", *words, capsys=capsys)
    assert (code, out, err) == (2, "", f"memoryless: {sentence}\n")
    assert Path("model.memoryless").read_bytes() == before


def test_trained_features_are_no_sums(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    toy = make_toy(2)
    model = Model("finetune", **SMALL_MODEL)
    model.learn(toy.train.images, [str(label) for label in toy.train.labels.tolist()])
    model.save("model")
    code, _, err = call("forget", "model", "1", capsys=capsys)
    assert code == 2
    assert err.startswith("memoryless: finetune trains its backbone, ")


def test_what_was_forgotten_before_makes_weights_smaller(birds):
    forget_classes(Path("model"), ["song thrush"])
    done = forget_classes(Path("model"), ["owl"])
    assert (done.weight, done.at_most) == (pytest.approx(0.25), True)


def test_a_scatter_of_few_photos_still_reveals_them(tmp_path):
    """40 photos are fewer than four for each of 40 features, 100 are more than for each of 8."""
    for photos, d, exposed in ((40, 40, True), (100, 8, False)):
        model = Model(backbone="none")
        model.learn(RNG.normal(size=(photos, d)), ["owl", "elk"] * (photos // 2))
        model.save(tmp_path / str(d))
        assert forget_classes(tmp_path / str(d), ["owl"]).exposed == exposed
