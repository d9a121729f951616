"""Whatever of a photo is planted in a model's files is found; a sound model holds nothing."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from memoryless.data.photos import Photo, find_photos
from memoryless.model import Model
from memoryless.model_folder import kept_states, load_state
from memoryless.photos.scan import Trace, differences, find_rows, scan, texts_in
from memoryless.photos.seeing import see
from memoryless.scorers import square_roots
from photo_toys import make_colours, tiny_settings

PHOTO, FILE = 7, "states/0001/record.safetensors"


@pytest.fixture(scope="module")
def scene(tmp_path_factory, tiny_backbone):
    """Files and states of a model, its photos, which have names and texts, and their features."""
    root = tmp_path_factory.mktemp("scene")
    model = Model(**tiny_settings(tiny_backbone))
    photos, looks = [], []
    for state, classes in enumerate((("elk", "Barn_owl_at_night"), ("cat", "dog"))):
        place = sign(make_colours(root / str(state), *classes, number=12))
        found = find_photos(place).photos
        seen = np.stack(list(see(model, found)))
        model.learn(seen, [photo.label for photo in found])
        model.save(root / "model")
        photos, looks = photos + found, [*looks, *seen]
    saved = load_state(root / "model")
    return saved.everything(), kept_states(saved.folder), photos, np.stack(looks)


def sign(photos: Path) -> Path:
    for i, path in enumerate(sorted(photos.rglob("*.png"))):
        exif = Image.Exif()
        exif[0x010E] = f"Grandmother at the lake {photos.name} {i}"
        name = f"Holiday {photos.name} {i:03}.jpg"
        Image.open(path).save(path.with_name(name), exif=exif, quality=90)
        path.unlink()
    return photos


def planted(scene, content: bytes) -> list[Trace]:
    """What is found when a file has this in its midst."""
    files, states, photos, _ = scene
    middle = len(files[FILE]) // 2 + 3
    changed = files[FILE][:middle] + content + files[FILE][middle:]
    return scan(files | {FILE: changed}, states, photos).traces


def trace(scene, kind: str) -> list[Trace]:
    return [Trace(kind, scene[2][PHOTO].name, FILE)]


def test_a_sound_model_holds_nothing(scene):
    files, states, photos, looks = scene
    done: list[int] = []
    found = scan(files, states, photos, looks, done.append)
    assert found.traces == []
    assert {"CURRENT", "README.md", ".lock", FILE, "states/0002/model.json"} <= set(files)
    assert (found.files, found.bytes) == (len(files), sum(map(len, files.values())))
    assert (found.photos, found.names, found.texts, found.features) == (48, 48, 48, 48)
    assert done == list(range(1, 49))
    assert found.as_json()["traces"] == []


def test_bytes_of_one_photo(scene):
    content = scene[2][PHOTO].content()
    assert planted(scene, content[-60:-28]) == trace(scene, "bytes")
    assert planted(scene, content[-60:-29]) == []
    assert planted(scene, content[:-4]) == [*trace(scene, "bytes"), *trace(scene, "text")]


def test_bytes_that_photos_share_are_of_none_of_them(scene):
    """All of these JPEGs hold the same tables."""
    first, second = (scene[2][i].content() for i in (PHOTO, PHOTO + 1))
    start = next(
        i for i in range(200, len(first))
        if first[i : i + 40] in second and len(set(first[i : i + 40])) > 30
    )  # fmt: skip
    assert planted(scene, first[start : start + 40]) == []


def test_a_photo_that_stands_twice_is_one_photo(scene):
    files, states, photos, _ = scene
    content = photos[PHOTO].content()[-80:-20]
    copy = replace(photos[PHOTO], name="copy.jpg")
    found = scan(files | {"a": content}, states, [*photos, copy])
    assert found.traces == [Trace("bytes", photos[PHOTO].name, "a")]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le"])
def test_the_name_and_the_text_of_a_photo(scene, encoding):
    name, text = "Holiday 0 007", "Grandmother at the lake 0 7"
    assert name in scene[2][PHOTO].name
    assert planted(scene, f"<{name}>".encode(encoding)) == trace(scene, "name")
    assert planted(scene, f"<{text}>".encode(encoding)) == trace(scene, "text")


def test_short_names_and_parts_of_class_names_are_not_searched_for(scene):
    files, states, *_ = scene
    photos = [
        Photo(f"a/{name}.jpg", "elk", lambda: b"") for name in ("1", "Barn_owl", "Barn_owl_2")
    ]
    found = scan(files | {"notes": b"1 Barn_owl Barn_owl_"}, states, photos)
    assert (found.names, found.traces) == (1, [])


def test_a_photo_that_cannot_be_read_is_passed_over(scene):
    def gone() -> bytes:
        raise FileNotFoundError(2, "No such file")

    files, states, photos, _ = scene
    found = scan(
        files | {"a": b"Holidays"}, states, [*photos, Photo("a/Holidays.jpg", "elk", gone)]
    )
    assert found.traces == [Trace("name", "a/Holidays.jpg", "a")]


def saved_image(form: str, **more: object) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (8, 8)).save(content, form, **more)
    return content.getvalue()


def test_texts_of_exif_data_and_others():
    exif = Image.Exif()
    exif[0x010F] = "Camera\0"
    exif[0x9C9B] = "Title".encode("utf-16-le")
    exif.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0By hand"
    exif.get_ifd(0x8825)[0x001D] = "2026:11:16"
    jpeg = saved_image("JPEG", exif=exif, comment=b"A comment")
    assert texts_in(jpeg) == ["2026:11:16", "A comment", "By hand", "Camera", "Title"]
    chunks = PngInfo()
    chunks.add_text("Author", "Ada")
    assert texts_in(saved_image("PNG", pnginfo=chunks)) == ["Ada"]
    assert texts_in(b"no image") == []


@pytest.mark.parametrize("form", [np.asarray, square_roots])
@pytest.mark.parametrize(("factor", "told"), [(1.0, True), (1.0009, True), (1.002, False)])
def test_the_feature_of_one_photo(scene, form, factor, told):
    """In a long array, not at the beginning of a row; 0.2 % off it is not taken for the photo's."""
    files, states, photos, looks = scene
    feature = form(looks[PHOTO][None].astype(np.float64))[0] * factor
    scatter = states[0].arrays("record")["scatter"].copy()
    scatter[101 : 101 + len(feature)] = feature
    arrays = {"record": states[0].arrays("record") | {"scatter": scatter}}
    changed = replace(states[0], _read=arrays | {"scorer": states[0].arrays("scorer")})
    found = scan(files, [changed, states[1]], photos, looks)
    assert found.features == 48
    assert found.traces == (trace(scene, "feature") if told else [])


def with_more(saved, feature: np.ndarray, number: float):
    """A state that got `number` photos of the class elk, whose mean is a feature."""
    record = saved.arrays("record")
    count, mean = record["count"].copy(), record["mean"].copy()
    i = saved.about["classes"].index("elk")
    mean[i] = (count[i] * mean[i] + number * feature) / (count[i] + number)
    count[i] += number
    arrays = {"record": record | {"count": count, "mean": mean}, "scorer": saved.arrays("scorer")}
    return replace(saved, number=9, _read=arrays)


def test_what_two_states_differ_by(scene):
    files, states, photos, looks = scene
    roots = square_roots(looks.astype(np.float64))
    more = with_more(states[1], roots[PHOTO], 1)
    assert np.allclose(differences(states[1], more), roots[[PHOTO]])
    for pair in ([states[1], more], [more, states[1]], [states[0], more]):
        (found,) = scan(files, pair, photos, looks).traces
        told = f"states {pair[0].number} and {pair[1].number}"
        assert found == Trace("difference", photos[PHOTO].name, told)
    several = with_more(states[1], roots[PHOTO : PHOTO + 5].mean(0), 5)
    assert scan(files, [states[1], several], photos, looks).traces == []
    assert differences(states[0], states[1]).shape == (0, 48)


def test_rows_are_found_as_by_looking_at_each_place(monkeypatch):
    monkeypatch.setattr("memoryless.photos.scan.STEP", 50)
    random = np.random.default_rng(0)
    features, array = random.normal(size=(20, 6)), random.normal(size=(40, 7)).astype(np.float32)
    flat = array.reshape(-1)
    for i, place in ((3, 0), (5, 100), (8, 46), (13, 280 - 6)):
        off = 0.9e-3 * np.abs(features[i]).max() * random.choice([-1, 1], 6)
        flat[place : place + 6] = features[i] + off
    places = np.lib.stride_tricks.sliding_window_view(flat, 6)
    slowly = [
        i for i, feature in enumerate(features)
        if (np.abs(places - feature).max(1) <= 1e-3 * np.abs(feature).max()).any()
    ]  # fmt: skip
    assert find_rows(features, array) == slowly == [3, 5, 8, 13]


def test_a_feature_of_zeros_is_nobodys():
    assert find_rows(np.zeros((1, 3)), np.zeros(9)) == []
    assert find_rows(np.ones((1, 3)), np.ones(2)) == []
