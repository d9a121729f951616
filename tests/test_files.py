"""Data sets of files name all that is wrong at once, or leave it out and say so."""

from __future__ import annotations

import io
import shutil

import numpy as np
import pytest
from PIL import Image

from conftest import make_folder
from memoryless.images import load
from memoryless.errors import DataError
from memoryless.settings import DataSettings


def test_folder_holds_out_the_same_share_each_time(tmp_path):
    config = DataSettings(data="folder", root=make_folder(tmp_path), test_share=0.4, image_size=8)
    one, two = load(config), load(config)
    assert (np.bincount(one.test.labels) == 2).all()
    assert (one.test.indices == two.test.indices).all()
    assert one.classes == ("blue", "green", "red")


def test_broken_files_are_all_named_before_training(tmp_path):
    make_folder(tmp_path)
    for i in range(12):
        (tmp_path / "red" / f"bad{i:02d}.png").write_bytes(b"no image")
    (tmp_path / "red" / ".hidden").write_bytes(b"ignored")
    (tmp_path / "red" / "Thumbs.db").write_bytes(b"ignored")
    config = DataSettings(data="folder", root=tmp_path, image_size=8)
    with pytest.raises(DataError) as caught:
        load(config)
    message = str(caught.value)
    assert message.startswith(f"12 entries of {tmp_path.name} cannot be used: ")
    assert all(f"bad{i:02d}.png (not an image)" in message for i in range(10))
    assert message.endswith("and 2 more; mend them, or leave them out with `skip_broken=True`")
    dataset = load(DataSettings(data="folder", root=tmp_path, image_size=8, skip_broken=True))
    assert len(dataset.train) + len(dataset.test) == 15
    assert dataset.notes[0].startswith(f"left out 12 entries of {tmp_path.name}: ")


def test_truncated_images_are_found(tmp_path):
    make_folder(tmp_path)
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    for suffix in ("jpg", "png"):
        path = tmp_path / "red" / f"cut.{suffix}"
        Image.fromarray(noise).save(path)
        path.write_bytes(path.read_bytes()[:-600])
    with pytest.raises(DataError, match="2 entries") as caught:
        load(DataSettings(data="folder", root=tmp_path, image_size=8))
    assert "cut.jpg" in str(caught.value)
    assert "cut.png" in str(caught.value)


def test_empty_classes(tmp_path):
    make_folder(tmp_path)
    (tmp_path / "empty").mkdir()
    config = DataSettings(data="folder", root=tmp_path, image_size=8)
    (tmp_path / "red" / "bad.png").write_bytes(b"no image")
    with pytest.raises(DataError) as caught:
        load(config)
    for part in (
        "2 entries of",
        "bad.png (not an image)",
        "class empty (it has no training image)",
    ):
        assert part in str(caught.value)
    dataset = load(DataSettings(data="folder", root=tmp_path, image_size=8, skip_broken=True))
    assert dataset.classes == ("blue", "green", "red")
    assert set(dataset.train.labels) == {0, 1, 2}
    assert "class empty (it has no training image)" in dataset.notes[0]


def test_one_entry_is_one_entry(tmp_path):
    make_folder(tmp_path / "photos")
    (tmp_path / "photos" / "red" / "bad.png").write_bytes(b"no image")
    with pytest.raises(DataError) as caught:
        load(DataSettings(data="folder", root=tmp_path / "photos", image_size=8))
    assert str(caught.value) == (
        f"1 entry of photos cannot be used: {tmp_path}/photos/red/bad.png (not an image); mend it, "
        "or leave it out with `skip_broken=True`"
    )


def test_all_images_broken_leaves_no_class(tmp_path):
    for path in make_folder(tmp_path / "photos").rglob("*.png"):
        path.write_bytes(b"no image")
    config = DataSettings(data="folder", root=tmp_path / "photos", image_size=8, skip_broken=True)
    with pytest.raises(DataError, match="photos has no class with training and test images: add"):
        load(config)


def test_an_image_under_two_labels_leaves_both(tmp_path):
    root = make_folder(tmp_path / "photos")
    shutil.copy(root / "red" / "0 a.png", root / "blue" / "copy.png")
    with pytest.raises(DataError) as caught:
        load(DataSettings(data="folder", root=root, image_size=8))
    assert str(caught.value) == (
        f"1 entry of photos cannot be used: {root}/blue/copy.png = {root}/red/0 a.png (one image "
        "under several labels); mend it, or leave it out with `skip_broken=True`"
    )
    dataset = load(DataSettings(data="folder", root=root, image_size=8, skip_broken=True))
    used = [f.path for split in (dataset.train, dataset.test) for f in split.images.files]
    assert len(used) == 14
    assert root / "red" / "0 a.png" not in used


def test_an_image_in_train_and_test_leaves_the_training_images(tmp_path):
    make_folder(tmp_path / "train")
    make_folder(tmp_path / "test", images=2, seed=1)
    shutil.copy(tmp_path / "test/red/1 a.png", tmp_path / "train/red/copy.png")
    with pytest.raises(DataError, match=r"1 entry .*copy.png = .*/1 a.png \(one image in training"):
        load(DataSettings(data="folder", root=tmp_path, image_size=8))
    dataset = load(DataSettings(data="folder", root=tmp_path, image_size=8, skip_broken=True))
    assert (len(dataset.train), len(dataset.test)) == (15, 6)


def test_repeats_in_a_class_are_noted_and_stay_on_one_side(tmp_path):
    root = make_folder(tmp_path / "photos", images=20)
    for i in range(20):
        shutil.copy(root / "red" / f"{i} a.png", root / "red" / f"{i} b.png")
    dataset = load(DataSettings(data="folder", root=root, image_size=8, test_share=0.5))
    train, test = ({f.digest for f in s.images.files} for s in (dataset.train, dataset.test))
    assert not train & test
    assert np.bincount(dataset.test.labels).tolist() == [10, 10, 20]
    (note,) = dataset.notes
    assert note.startswith(
        f"20 images stand in their class more than once: {root}/red/0 a.png = {root}/red/0 b.png, "
    )


def test_damaged_exif_is_noted_and_the_image_used(tmp_path):
    root = make_folder(tmp_path / "photos")
    image = Image.new("RGB", (16, 16), (200, 30, 30))
    exif = Image.Exif()
    exif[0x010E] = "a long description " * 9
    content = io.BytesIO()
    image.save(content, "jpeg", exif=exif)
    broken = content.getvalue().replace(b"\x00\x00\x00\xac\x00", b"\x00\x00\xff\xac\x00")
    assert broken != content.getvalue()
    (root / "red" / "z.jpg").write_bytes(broken)
    dataset = load(DataSettings(data="folder", root=root, image_size=8))
    assert dataset.notes == (
        f"1 image has damaged EXIF data and is taken as it is stored: {root}/red/z.jpg",
    )
    assert len(dataset.train) + len(dataset.test) == 16
    for split in (dataset.train, dataset.test):
        split.read(np.arange(len(split)))
