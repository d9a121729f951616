"""The model that people keep: it learns by name, comes back from its folder, and keeps no image."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
import torch

from memoryless import Model
from memoryless.data.dataset import ArrayImages
from memoryless.errors import ConfigError, DataError, StoreError, TrainingError
from memoryless.model_folder import FILES, load_state
from memoryless.store import write_json
from memoryless.strategies import STRATEGIES, ModelSettings

SMALL = {"epochs": 2, "width": 2, "batch_size": 16}
PATTERNS = np.random.default_rng(1).integers(0, 256, (8, 8, 8))
METHODS = [
    "FT",
    "inFT_siw_mc",
    "inLwF_siw",
    "LUCIR_mc",
    "lwf_kd+rda+widened",
    "finetune+lda:auto+linear",
    "finetune+fetril+bg_z+sdc",
    "finetune+siw+backward",
    "frozen+projection",
    "frozen+mahalanobis+energy",
    "independent+ncm+block_z",
]


def draw(*classes: int, number: int = 12) -> tuple[np.ndarray, list[str]]:
    rng = np.random.default_rng(sum(classes) + number)
    labels = np.repeat(classes, number)
    noise = rng.normal(0, 30, (len(labels), 8, 8))
    return np.clip(PATTERNS[labels] + noise, 0, 255).astype(np.uint8), [f"bird {c}" for c in labels]


@pytest.fixture
def taught() -> Model:
    model = Model("inFT_siw_mc", **SMALL)
    model.learn(*draw(0, 1))
    return model


def files(folder: Path) -> list[Path]:
    return sorted(p for p in folder.rglob("*") if p.is_file() and p.name != ".lock")


def test_classes_are_learned_by_name_and_recognised():
    model = Model("finetune+ncm+linear", epochs=20, width=4, batch_size=16)
    model.learn(*draw(2, 0))
    assert model.classes == ("bird 0", "bird 2")
    model.learn(*draw(1))
    images, names = draw(0, 1, 2, number=20)
    assert model.classes == ("bird 0", "bird 2", "bird 1")
    assert model.scores(images).shape == (60, 3)
    assert np.mean(np.array(model.predict(images)) == names) > 0.7


def test_the_order_of_images_does_not_name_classes(taught):
    images, names = draw(2, 3)
    taught.learn(images[::-1], names[::-1])
    assert taught.classes == ("bird 0", "bird 1", "bird 2", "bird 3")


@pytest.mark.parametrize("method", METHODS)
def test_a_folder_is_all_that_a_model_needs(method, tmp_path):
    whole, parts = Model(method, **SMALL), Model(method, **SMALL)
    images, _ = draw(0, 1, 2, 3, number=5)
    for classes in ((0, 1), (2, 3)):
        whole.learn(*draw(*classes))
        parts.learn(*draw(*classes))
        parts.save(tmp_path / "model")
        parts = Model.load(tmp_path / "model")
        assert np.array_equal(parts.scores(images), whole.scores(images))
    whole.save(tmp_path / "whole")
    for file in FILES:
        name = f"{file}.safetensors"
        (one,), (two,) = (list((tmp_path / f / "states").rglob(name)) for f in ("model", "whole"))
        assert one.read_bytes() == two.read_bytes(), name


def test_every_memoryless_strategy_is_tried():
    tried = {Model(m).method for m in METHODS}
    assert len(tried) == len(METHODS)
    strategies = {m.partition("+")[0] for m in METHODS if "+" in m} | {"finetune", "lwf", "lucir"}
    assert strategies == {name for name, s in STRATEGIES.items() if s.memoryless}


def test_images_can_go_after_learning():
    images, names = draw(0, 1)
    kept = ArrayImages(torch.from_numpy(images)[:, None])
    alive = weakref.ref(kept)
    model = Model("inFT_siw", **SMALL)
    model.learn(kept, names)
    del kept
    gc.collect()
    assert alive() is None


def test_a_folder_holds_no_image_and_no_feature_of_one(tmp_path):
    model = Model("finetune+lda:auto+bg_z+linear", **SMALL)
    images, names = draw(0, 1)
    model.learn(images, names)
    model.save(tmp_path)
    stored = b"".join(p.read_bytes() for p in files(tmp_path))
    features = model._opened().all_features(model._split(images))
    for image, feature in zip(images, features, strict=True):
        assert image.tobytes() not in stored
        assert feature.numpy().tobytes() not in stored
        assert feature.half().numpy().tobytes() not in stored
    state = load_state(tmp_path)
    sizes = [array.shape for part in FILES for array in state.arrays[part].values()]
    assert all(len(images) not in shape[:1] for shape in sizes)


def test_what_fails_leaves_the_model_as_it_was(taught, monkeypatch):
    images, names = draw(2, 3)
    before = taught.scores(images)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taught.learn(images, names, report=stop)
    monkeypatch.setattr("memoryless.learner.Learner._mu", lambda *arguments: float("nan"))
    with pytest.raises(TrainingError, match="gives nan, no scores"):
        taught.learn(images, names)
    assert taught.classes == ("bird 0", "bird 1")
    assert np.array_equal(taught.scores(images), before)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (4, ["bird 0"] * 4, "bird 0 was learned before"),
        (4, [3] * 4, "labels must be names, one string an image, not 3, 3, 3, 3"),
        (4, ["a", "b", "c", " "], "labels must be names"),
        (4, ["a"] * 3, "there are 4 images and 3 labels"),
        (0, [], "there are 0 images and 0 labels"),
    ],
)
def test_labels_that_cannot_be(taught, images, labels, message):
    with pytest.raises(DataError, match=message):
        taught.learn(np.zeros((images, 8, 8), np.uint8), labels)
    assert taught.classes == ("bird 0", "bird 1")


def test_other_channels_are_refused(taught):
    with pytest.raises(DataError, match="the images have 3 channels, and the model"):
        taught.scores(np.zeros((2, 8, 8, 3), np.uint8))


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
            Model(method, **SMALL).learn(*draw(0, 1))
    with pytest.raises(ConfigError, match="the model has learned nothing yet"):
        Model().scores(np.zeros((1, 8, 8), np.uint8))
    with pytest.raises(ConfigError, match="the model has learned nothing yet"):
        Model().save(tmp_path)


def test_the_callers_random_numbers_go_on(taught):
    torch.manual_seed(3)
    threads, expected = torch.get_num_threads(), torch.rand(4)
    torch.manual_seed(3)
    taught.learn(*draw(2))
    assert torch.equal(torch.rand(4), expected)
    assert torch.get_num_threads() == threads


def test_loading_imports_no_torch(taught, tmp_path):
    taught.save(tmp_path)
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from memoryless import Model\n"
        f"print(*Model.load({str(tmp_path)!r}).classes, sep=',')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "bird 0,bird 1\n"


def test_every_flipped_byte_is_seen(taught, tmp_path):
    """Every byte of the small files, every 97th of the large ones."""
    taught.save(tmp_path)
    for file in files(tmp_path):
        content = file.read_bytes()
        for place in range(0, len(content), 1 if len(content) < 300 else 97):
            damaged = bytearray(content)
            damaged[place] ^= 1 << (place % 8)
            file.write_bytes(bytes(damaged))
            with pytest.raises(StoreError):
                Model.load(tmp_path)
        for length in (0, 1, len(content) // 2, len(content) - 1):
            file.write_bytes(content[:length])
            with pytest.raises(StoreError):
                Model.load(tmp_path)
        file.unlink()
        with pytest.raises(StoreError):
            Model.load(tmp_path)
        file.write_bytes(content)
    assert Model.load(tmp_path).classes == taught.classes


def test_files_of_another_model_are_seen(taught, tmp_path):
    other = Model("inFT_siw_mc", **SMALL)
    other.learn(*draw(2, 3))
    for name, model in (("one", taught), ("two", other)):
        model.save(tmp_path / name)
    for file in FILES:
        mine, theirs = (
            tmp_path / n / "states/0001" / f"{file}.safetensors" for n in ("one", "two")
        )
        content = mine.read_bytes()
        mine.write_bytes(theirs.read_bytes())
        with pytest.raises(StoreError, match="is from another model"):
            Model.load(tmp_path / "one")
        mine.write_bytes(content)


def spoil(folder: Path, change) -> None:
    """Change what model.json says, with every checksum made right again."""
    state = folder / "states" / "0001"
    about = load_state(folder).about
    change(about)
    write_json(state / "model.json", about, bound="0001")
    digest = hashlib.sha256((state / "model.json").read_bytes()).hexdigest()
    (folder / "CURRENT").write_text(f"0001 {digest}\n")


@pytest.mark.parametrize("value", [None, -1, 10**30, "x", [], {}, [1], True, float(10**30)])
@pytest.mark.parametrize("key", ["format", "method", "settings", "seed", "classes", "channels",
                                 "preparation", "scorer", "files", "memoryless"])  # fmt: skip
def test_what_a_model_says_is_checked(taught, tmp_path, key, value):
    if (key, value) in (("method", "x"), ("memoryless", "x"), ("seed", -1)):
        pytest.skip("it is sound")
    taught.save(tmp_path)
    spoil(tmp_path, lambda about: about.update({key: value}))
    with pytest.raises(StoreError):
        Model.load(tmp_path)


@pytest.mark.parametrize("value", [None, -1, 10**30, "x", [], {}])
@pytest.mark.parametrize("key", ["epochs", "width", "lr", "strategy", "transports", "mean"])
def test_stored_settings_are_checked(taught, tmp_path, key, value):
    taught.save(tmp_path)
    if (key, value) in (("lr", 10**30), ("mean", None), ("mean", [])):
        pytest.skip("it is sound")
    spoil(tmp_path, lambda about: about["settings"].update({key: value}))
    with pytest.raises(StoreError):
        Model.load(tmp_path)


def test_a_newer_format_names_the_version(taught, tmp_path):
    taught.save(tmp_path)
    spoil(tmp_path, lambda about: about.update(format=2, memoryless="9.1"))
    with pytest.raises(StoreError, match=r"written by memoryless 9.1, which this version cannot"):
        Model.load(tmp_path)


def test_other_folders_are_left_alone(taught, tmp_path):
    (tmp_path / "thesis.doc").write_text("mine")
    with pytest.raises(StoreError, match="holds other files"):
        taught.save(tmp_path)
    with pytest.raises(StoreError, match="there is no model in"):
        Model.load(tmp_path)
    taught.save(tmp_path / "model")
    other = Model("inFT_siw", **SMALL)
    other.learn(*draw(4))
    with pytest.raises(StoreError, match="holds another model"):
        other.save(tmp_path / "model")
    mine, theirs = (Model.load(tmp_path / "model") for _ in range(2))
    mine.learn(*draw(2))
    mine.save(tmp_path / "model")
    with pytest.raises(StoreError, match="changed since it was loaded"):
        theirs.save(tmp_path / "model")
    mine.save(tmp_path / "model")
    assert Model.load(tmp_path / "model").classes == mine.classes


def test_a_failed_save_leaves_the_state_before(taught, tmp_path, monkeypatch):
    """Every write that can fail, fails once."""
    taught.save(tmp_path)
    before, more = taught.classes, Model.load(tmp_path)
    more.learn(*draw(2))
    after, seen = None, set()
    for k in range(1, 200):
        calls = 0

        def fail(*arguments, real=None, k=k):
            nonlocal calls
            calls += 1
            if calls == k:
                raise OSError(28, "No space left on device")
            return real(*arguments)

        with monkeypatch.context() as patch:
            for name in ("fsync", "rename", "replace", "mkdir"):
                real = getattr(os, name)
                patch.setattr(os, name, lambda *a, real=real: fail(*a, real=real))
            try:
                more.save(tmp_path)
            except Exception as error:
                assert "No space left" in str(error)
            else:
                after = more.classes
                break
        more._saved = load_state(tmp_path)
        seen.add(tuple(more._saved.about["classes"]))
    assert seen == {before, after}  # the last failures are of what comes after the switch


def test_settings_that_the_method_needs_are_switched_on():
    model = Model("finetune+lda:auto+linear", **SMALL)
    model.learn(*draw(0, 1))
    done = model.settings
    assert (done.statistics, done.transports, done.held_out) == ("full", ("linear",), 0.1)
    assert isinstance(done, ModelSettings)
    assert json.loads(json.dumps(done.epochs_later)) == 2
