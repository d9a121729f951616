"""memoryless export: the model's answers from one ONNX file, which needs nothing of ours."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from msgspec import structs
from onnx import TensorProto
from PIL import Image

import memoryless
from conftest import call
from exports import NAMES, draw, refusal, teach
from memoryless import Model
from memoryless.embed import answers, graph
from memoryless.embed.graph import OPSET, Nodes
from memoryless.embed.session import open_session
from memoryless.errors import ConfigError, DataError, WriteError
from memoryless.images.files import Photo
from memoryless.model.file import load_state
from memoryless.photos import export
from memoryless.photos.export import WHOLE, compare, drawings, export_onnx, exported
from memoryless.stats.confidence import Confidence
from photo_toys import make_colours, tiny_flags


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_backbone) -> Path:
    """A model whose features have both signs."""
    place = tmp_path_factory.mktemp("taught") / "model"
    return teach(place, tiny_backbone, *NAMES, mean=(0.4, 0.5, 0.6))


@pytest.fixture(scope="module")
def out(folder) -> Path:
    """The file of that model."""
    export_onnx(folder, folder.with_name("out.onnx"))
    return folder.with_name("out.onnx")


@pytest.fixture(scope="module")
def session(out) -> onnxruntime.InferenceSession:
    return open_file(out)


@pytest.fixture(scope="module")
def model(folder) -> Model:
    return Model.load(folder)


def open_file(file: Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(file)


def metadata_of(file: Path) -> dict[str, str]:
    return open_file(file).get_modelmeta().custom_metadata_map


@pytest.mark.parametrize("sides", [(20, 20), (16, 16), (37, 50), (300, 90), (1, 1), (1, 40)])
@pytest.mark.parametrize("n", [1, 3])
def test_every_output_is_the_models(model, session, sides, n):
    photos = np.random.default_rng(0).integers(0, 256, (n, *sides, 3), dtype=np.uint8)
    photos[0] = 0  # a black photo
    scores, probabilities, margin, known = session.run(
        ["scores", "probabilities", "margin", "known"], {"photos": photos}
    )
    expected = model.classify(photos)
    assert np.abs(scores - expected.scores).max() <= 1e-5 * np.ptp(expected.scores)
    assert np.abs(probabilities - expected.probabilities).max() < 1e-5
    assert np.abs(margin - expected.margin).max() <= 1e-5 * np.ptp(expected.scores)
    assert np.array_equal(known, expected.known)
    assert (scores.dtype, margin.dtype, known.dtype) == (np.float32, np.float32, bool)


def test_known_and_unknown_photos_are_told_apart(model, session):
    photos = np.stack([p for name in (*NAMES, "asparagus", "bee") for p in draw(name, 6)])
    (known,) = session.run(["known"], {"photos": photos})
    assert set(known.tolist()) == {True, False}
    assert np.array_equal(known, model.classify(photos).known)


def test_features_of_length_zero_have_an_answer(tmp_path, tiny_backbone):
    model = teach(tmp_path / "model", tiny_backbone, *NAMES)
    export_onnx(model, tmp_path / "out.onnx")
    black = np.zeros((1, 16, 16, 3), np.uint8)
    (scores,) = open_file(tmp_path / "out.onnx").run(["scores"], {"photos": black})
    assert np.allclose(scores, Model.load(model).decision_function(black))


def test_of_one_class_the_probability_is_one(tmp_path, tiny_backbone):
    model = teach(tmp_path / "model", tiny_backbone, "cat")
    export_onnx(model, tmp_path / "out.onnx")
    photos = np.stack(draw("cat", 2))
    (found,) = open_file(tmp_path / "out.onnx").run(["probabilities"], {"photos": photos})
    assert found.tolist() == [[1.0], [1.0]]


def test_the_ends_have_free_sizes(session):
    ends = [
        (end.name, end.type, end.shape) for end in (*session.get_inputs(), *session.get_outputs())
    ]
    assert ends == [
        ("photos", "tensor(uint8)", ["n", "h", "w", 3]),
        ("scores", "tensor(float)", ["n", 3]),
        ("probabilities", "tensor(float)", ["n", 3]),
        ("margin", "tensor(float)", ["n"]),
        ("known", "tensor(bool)", ["n"]),
    ]


def test_it_is_one_sound_file_with_the_same_bytes_every_time(folder, out, tmp_path):
    export_onnx(folder, tmp_path / "new folder" / "out.onnx")
    (alone,) = (tmp_path / "new folder").iterdir()
    assert alone.read_bytes() == out.read_bytes()
    onnx.checker.check_model(onnx.load(alone, load_external_data=False), full_check=True)


def test_what_the_file_says_of_itself(folder, out, tiny_backbone):
    found, sure = metadata_of(out), load_state(folder).description.confidence
    assert json.loads(found.pop("preparation")) == {
        "size": 16,
        "crop": 1.0,
        "mean": [102.0, 127.5, 153.0],
        "std": [255.0] * 3,
        "second_size": None,
    }
    assert found == {
        "classes": '["cat", "dog", "owl"]',
        "state": load_state(folder).digest,
        "memoryless": memoryless.__version__,
        "backbone": "onnx:tiny.onnx",
        "temperature": repr(sure.temperature),
        "threshold": repr(sure.threshold),
        "privacy": "Keeps no photo, thumbnail, file name or per-photo feature. Keeps averages; "
        "averages over few photos can reveal whether a photo was used; smallest class: 12 photos. "
        "Not anonymous unless you show it: `memoryless audit`.",
    }
    assert str(tiny_backbone.parent).encode() not in out.read_bytes()


ODD = ('"quoted"', "-dash", "a,b [c]", "e\u0301 é 🦕 猫", "'", "<script>")


def test_odd_names_come_back(tmp_path, tiny_backbone):
    model = teach(tmp_path / "model", tiny_backbone, *NAMES, *"abc")
    renamed = Model.load(model)
    renamed.rename(dict(zip(renamed.classes, ODD, strict=True)))
    renamed.save(model)
    export_onnx(model, tmp_path / "out.onnx")
    assert json.loads(metadata_of(tmp_path / "out.onnx")["classes"]) == list(ODD)


def test_what_a_backbone_says_of_itself_stays(tmp_path, tiny_backbone):
    network = onnx.load(tiny_backbone)
    onnx.helper.set_model_props(network, {"license": "MIT", "classes": "[]"})
    onnx.save(network, tmp_path / "own.onnx")
    model = teach(tmp_path / "model", tmp_path / "own.onnx", *NAMES)
    export_onnx(model, tmp_path / "out.onnx")
    found = metadata_of(tmp_path / "out.onnx")
    assert (found["license"], found["classes"]) == ("MIT", '["cat", "dog", "owl"]')


@pytest.mark.parametrize("opset", [OPSET + 1, OPSET + 3])
def test_newer_versions_of_onnx(opset, tmp_path, tiny_backbone):
    network = onnx.load(tiny_backbone)
    network.opset_import[0].version = opset
    onnx.save(network, tmp_path / "own.onnx")
    model = teach(tmp_path / "model", tmp_path / "own.onnx", *NAMES)
    assert export_onnx(model, tmp_path / "out.onnx").drawings.difference < 1e-5


TRAINED = {"image_size": 16, "width": 2, "epochs": 1, "batch_size": 16, "held_out": 0.2}


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("lwf_kd+lda+widened", {"statistics": "tied", "square_roots": True, "level": "middle"}),
        ("inFT_siw_mc", {}),
        ("lucir+ncm", {"crop": 0.5}),
    ],
)
def test_trained_features_are_exported(method, settings, tmp_path):
    teach_trained(tmp_path / "model", method, settings)
    done = export_onnx(tmp_path / "model", tmp_path / "out.onnx")
    assert len(done.drawings.differences) == 9
    assert done.drawings.difference < 1e-4


def teach_trained(folder: Path, method: str, settings: dict[str, object]) -> None:
    """A model that trains its backbone on photos of two states."""
    model = Model(method, **TRAINED, **settings)
    for names in (NAMES[:2], NAMES[2:]):
        photos = [photo for name in names for photo in draw(name, 12)]
        model.learn(photos, [name for name in names for _ in range(12)])
    model.save(folder)


def test_a_method_that_is_no_layer_is_refused(tmp_path):
    teach_trained(tmp_path / "model", "finetune+rda", {})
    assert refusal(ConfigError, tmp_path / "model", tmp_path / "out.onnx") == (
        f"{tmp_path / 'model.memoryless'} scores features by finetune+rda, which cannot be "
        "written as a graph: learn with another `method`, such as fixed+lda or lwf_kd+lda+widened"
    )


def test_a_model_of_grey_images_is_refused(taught, tmp_path):
    taught.save(tmp_path / "model")
    assert refusal(ConfigError, tmp_path / "model", tmp_path / "out.onnx") == (
        f"{tmp_path / 'model.memoryless'} learned grey images of one channel, and an "
        "exported file takes photos in colour: learn images of three channels into another "
        "model, and export that"
    )


def test_a_stored_graph_that_is_not_ours_is_one_sentence(folder, tmp_path):
    """Its checksums are right: somebody made it so."""
    model = Model.load(folder)
    network = onnx.load_model_from_string(model._current.graph)
    network.graph.node[-1].output[0] = network.graph.output[0].name = "answers"
    model._current.graph = network.SerializeToString()
    model.save(tmp_path / "crafted")
    assert refusal(ConfigError, tmp_path / "crafted", tmp_path / "out.onnx") == (
        "the backbone's graph takes photos tensor(uint8) and gives answers tensor(float), where a "
        "model's takes photos tensor(uint8) and gives features tensor(float): learn with a "
        "`backbone` again, or restore the model from a copy"
    )


def test_a_model_without_photos_is_refused(tmp_path):
    model = Model(backbone="none")
    model.learn(np.random.default_rng(0).normal(size=(12, 4)), ["a", "b"] * 6)
    model.save(tmp_path / "model")
    assert refusal(ConfigError, tmp_path / "model", tmp_path / "out.onnx") == (
        f"{tmp_path / 'model.memoryless'} was made with `backbone=none` and takes features, not "
        "photos: there is no network to export"
    )


def test_more_than_2_gib_are_refused(folder, tmp_path, monkeypatch):
    monkeypatch.setattr("memoryless.embed.graph.LARGEST", 1000)
    assert refusal(ConfigError, folder, tmp_path / "out.onnx") == (
        f"{folder} would have more than 2 GiB as one ONNX file, which none can have: export a "
        "model of fewer classes, or one with a smaller backbone"
    )


def test_files_that_are_not_written(folder, tmp_path):
    photo, there = tmp_path / "a.jpg", tmp_path / "c.onnx"
    photo.write_bytes(b"a photo")
    there.write_bytes(b"a network")
    assert refusal(ConfigError, folder, photo, force=True) == (
        f"{photo} does not end in .onnx or .memoryless: name the file so"
    )
    assert refusal(WriteError, folder, there) == (
        f"{there} is there already: name another file, or add `force=True`"
    )
    assert photo.read_bytes() == b"a photo"
    assert there.read_bytes() == b"a network"
    export_onnx(folder, there, force=True)
    assert metadata_of(there)["memoryless"] == memoryless.__version__


def test_a_place_that_cannot_be_written(folder, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    out = tmp_path / "file" / "out.onnx"
    assert refusal(WriteError, folder, out) == (
        f"cannot write {out} (File exists): choose another file"
    )


@pytest.mark.parametrize(("fault", "shown"), [(1000, r"0\.\d+"), (np.nan, "nan")])
def test_a_file_that_differs_is_not_written(folder, tmp_path, monkeypatch, fault, shown):
    def wrong(model, scorer, classes, sure):
        right(model, scorer, classes, structs.replace(sure, temperature=fault * sure.temperature))

    right, there = answers.append_answers, tmp_path / "out.onnx"
    monkeypatch.setattr(answers, "append_answers", wrong)
    there.write_bytes(b"an older file")
    assert re.fullmatch(
        rf"the probabilities of the exported file differ from the model's by up to {shown}, more "
        r"than 0\.001, so it was not written: export the backbone so that a photo's features do "
        r"not depend on the photos beside it",
        refusal(ConfigError, folder, there, force=True),
    )
    assert there.read_bytes() == b"an older file"
    assert list(tmp_path.iterdir()) == [there]


def test_a_file_whose_margins_differ_is_not_written(folder, tmp_path, monkeypatch):
    """Probabilities do not tell: only the threshold is another."""

    def wrong(model, scorer, classes, sure):
        right(model, scorer, classes, structs.replace(sure, threshold=sure.threshold + fault))

    right, margins = answers.append_answers, []
    for batch in drawings():
        photos = np.stack([export.load(photo, WHOLE) for photo in batch])
        margins += Model.load(folder).classify(photos).margin.tolist()
    reach = max(0, *margins) - min(0, *margins)
    monkeypatch.setattr(answers, "append_answers", wrong)
    fault = 0.0005 * reach
    export_onnx(folder, tmp_path / "near.onnx")
    fault = 0.002 * reach
    assert re.fullmatch(
        r"the margins of the exported file differ from the model's by up to [\d.e-]+, more than "
        r"[\d.e-]+, so it was not written: export the backbone so that a photo's features do not "
        r"depend on the photos beside it",
        refusal(ConfigError, folder, tmp_path / "out.onnx"),
    )
    assert not (tmp_path / "out.onnx").exists()


def jpeg(pixels: np.ndarray) -> Photo:
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, "JPEG")
    return Photo("a.jpg", None, lambda _: io.BytesIO(content.getvalue()))


def large(name: str = "cat") -> Photo:
    """A photo of 1,200 pixels, which is decoded at half its size."""
    return jpeg(draw(name, 1, side=1200)[0])


def test_photos_are_compared_one_at_a_time_and_large_ones_decoded_in_full(folder, tmp_path):
    small = jpeg(draw("dog", 1)[0])
    found = [large(), small, large("owl")]
    seen: list[int] = []
    done = export_onnx(folder, tmp_path / "out.onnx", found, progress=seen.append)
    assert done.photos is not None
    assert seen == [1, 2, 3]
    assert (len(done.photos.differences), done.photos.same.tolist()) == (3, [1, 1])
    assert 0 <= done.photos.difference < 1e-5
    assert (len(done.drawings.differences), done.drawings.same.tolist()) == (9, [1, 1, 1])
    assert export_onnx(folder, tmp_path / "other.onnx").photos is None


def test_another_answer_on_a_full_decode_is_counted(folder, monkeypatch):
    def decoded(photo, least):
        return draw("cat" if least == WHOLE else "dog", 1, side=24 if least == WHOLE else 20)[0]

    monkeypatch.setattr(export, "load", decoded)
    saved = load_state(folder)
    confident = Confidence(temperature=1.0, threshold=-1e6)  # every photo is known
    saved = replace(saved, description=structs.replace(saved.description, confidence=confident))
    found = compare(open_session(exported(saved)), Model.of(saved), [[large()]])
    assert (len(found.differences), found.same.tolist()) == (1, [False])


def test_an_answer_that_becomes_none_of_these_is_another_answer():
    outputs = {"known": np.array([True, False]), "probabilities": np.array([[0.2, 0.8]] * 2)}
    assert export._first(outputs).tolist() == [1, -1]


def test_only_broken_photos_are_refused(folder, tmp_path):
    broken = Photo("b.jpg", None, lambda _: io.BytesIO(b"a text"))
    assert refusal(DataError, folder, tmp_path / "none.onnx", [broken]) == (
        "no photo could be compared: the photo b.jpg cannot be read (not an image): repair it, or "
        "take it out"
    )
    assert not (tmp_path / "none.onnx").exists()


def test_drawings_are_of_several_sizes_and_each_is_another():
    contents = [photo.content() for batch in drawings() for photo in batch]
    assert len(set(contents)) == 9
    sizes = [Image.open(io.BytesIO(content)).size for content in contents[::3]]
    assert sizes == [(28, 28), (200, 300), (2000, 1600)]


def test_efficientnet_lite0(tmp_path):
    model = Model()
    model.learn(
        [p for name in NAMES for p in draw(name, 3, 100)], [n for n in NAMES for _ in "abc"]
    )
    model.save(tmp_path / "model")
    found = [jpeg(draw("cat", 1, 200)[0]), large("owl")]
    done = export_onnx(tmp_path / "model", tmp_path / "out.onnx", found)
    assert done.photos is not None
    assert max(done.photos.difference, done.drawings.difference) < 1e-4
    photos = np.stack(draw("dog", 2, 120))
    (found_scores,) = open_file(tmp_path / "out.onnx").run(["scores"], {"photos": photos})
    assert np.allclose(found_scores, model.decision_function(photos), rtol=1e-3, atol=1e-2)


def tied(kind: str) -> onnx.ModelProto:
    """A backbone whose features depend on other photos of a batch, or that takes one at a time."""
    nodes = Nodes()
    cells = nodes.add("AveragePool", "images", kernel_shape=[4, 4], strides=[4, 4])
    rows = nodes.add("Flatten", cells)
    if kind == "one":
        nodes.add("Reshape", rows, nodes.value(graph.whole(1, 48)), name="out")
    else:
        largest = nodes.add("ReduceMax", rows, nodes.value(graph.whole(0)), keepdims=1)
        nodes.add("Add", rows, largest, name="out")
    ends = {"images": (TensorProto.FLOAT, ["n", 3, 16, 16])}
    return nodes.model(ends, {"out": (TensorProto.FLOAT, ["n", 48])})


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("all", r"the probabilities of the exported file differ from the model's by up to [01].*"),
        (
            "one",
            r"the exported file cannot take 3 photos of \d+ x \d+ pixels at once \(.*\): export "
            r"the backbone for any number of images, and learn with that",
        ),
    ],
)
def test_backbones_that_cannot_take_batches_are_noticed(kind, sentence, tmp_path):
    onnx.save(tied(kind), tmp_path / "own.onnx")
    model = teach(tmp_path / "model", tmp_path / "own.onnx", *NAMES)
    assert re.fullmatch(sentence, refusal(ConfigError, model, tmp_path / "out.onnx"))
    assert not (tmp_path / "out.onnx").exists()


@pytest.fixture
def colours(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    make_colours(Path("photos"), "cat", "dog")
    assert call("learn", "model", "photos", *tiny_flags(tiny_backbone), capsys=capsys)[0] == 0


def test_without_photos_drawings_are_compared(colours, capsys):
    code, out, err = call("export", "model", "my file.onnx", capsys=capsys)
    assert (code, err) == (0, "")
    assert " 9 drawings\n" in out
    assert "--check" in out
    assert Path("my file.onnx").exists()


def test_photos_are_compared_where_they_are_named(colours, capsys):
    code, out, _ = call("export", "model", "out.onnx", "--check", "photos", capsys=capsys)
    assert (code, "--check" in out) == (0, False)
    assert " 24 photos\n" in out


def test_a_broken_photo_is_listed_and_the_rest_is_done(colours, capsys):
    Path("photos/broken.png").write_text("a text")
    code, out, _ = call("export", "model", "out.onnx", "--check", "photos", capsys=capsys)
    assert code == 1
    assert " 24 photos\n" in out
    assert "photos/broken.png" in out
    assert Path("out.onnx").exists()
