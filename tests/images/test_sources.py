"""Every source gives a sound data set; all that is wrong with files is named at once."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from cifar_toys import make_cifar
from conftest import make_folder, make_lists
from memoryless.errors import ConfigError, DataError
from memoryless.images import Dataset
from memoryless.images import sources as module
from memoryless.images.files import Photo
from memoryless.images.read import Facts, central_square, read
from memoryless.images.read import load as load_photo
from memoryless.images.sources import SOURCES, FileImages, ImageFile, load, without_repeats
from memoryless.settings import DataSettings


def make_source(name: str, root: Path) -> DataSettings:
    if name == "folder":
        return DataSettings(data=name, root=make_folder(root), image_size=8)
    if name == "list":
        return DataSettings(data=name, image_size=8, **make_lists(root))
    if name == "quickdraw100":
        return DataSettings()
    make_cifar(root, name)
    return DataSettings(data=name, root=root)


@pytest.mark.parametrize("name", SOURCES)
def test_source_contract(name, tmp_path):
    """uint8 squares that can be read in any order, every class in both splits, no overlap."""
    settings = make_source(name, tmp_path)
    dataset = load(settings)
    for split in (dataset.train, dataset.test):
        assert set(split.labels) == set(range(len(dataset.classes)))
        positions = np.array([len(split) - 1, 0])
        images = split.read(positions)
        assert images.dtype == torch.uint8
        assert images.shape == (2, *split.images.shape)
        assert torch.equal(images[1:], split.read(np.array([0])))
        assert split.stored_bytes == split.images.stored_bytes(split.indices) > len(split)
    if dataset.train.images is dataset.test.images:
        assert not set(dataset.train.indices) & set(dataset.test.indices)
    assert dataset.image_size == (settings.image_size or SOURCES[name].side)


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        (DataSettings(data="folder"), ConfigError, "add `root=FOLDER`"),
        (DataSettings(data="folder", root=Path("nowhere")), DataError, "no folder or file nowhere"),
        (
            DataSettings(data="list"),
            ConfigError,
            "needs both `train_list=FILE` and",
        ),
        (DataSettings(data="cifar1000"), ConfigError, "did you mean 'cifar100'"),
        (
            DataSettings(data="list", train_list=Path("a.txt"), test_list=Path("b.txt")),
            DataError,
            "the file a.txt cannot be read",
        ),
    ],
)
def test_bad_sources(config, error, message):
    with pytest.raises(error, match=message):
        load(config)


def test_validation_never_touches_test_images():
    whole, tuning = load(DataSettings()), load(DataSettings(validation=0.25))
    assert torch.equal(tuning.test.images.pixels, whole.train.images.pixels)
    assert (len(tuning.train), len(tuning.test)) == (6000, 2000)
    assert not set(tuning.train.indices) & set(tuning.test.indices)


def load_folder(root: Path, **settings) -> Dataset:
    return load(DataSettings(data="folder", root=root, image_size=8, **settings))


def load_lists(lists: dict[str, Path], **settings) -> Dataset:
    return load(DataSettings(data="list", image_size=8, **lists, **settings))


def why_not(load_it, *args, **settings) -> str:
    with pytest.raises(DataError) as caught:
        load_it(*args, **settings)
    return str(caught.value)


def test_train_and_test_in_a_zip(tmp_path):
    for half, seed in (("train", 0), ("test", 1)):
        make_folder(tmp_path / "photos" / half, images=2, seed=seed)
    shutil.make_archive(str(tmp_path / "b"), "zip", tmp_path / "photos")
    for place in (tmp_path / "photos", tmp_path / "b.zip"):
        dataset = load_folder(place)
        assert (len(dataset.train), len(dataset.test)) == (6, 6)


def test_the_same_share_is_held_out_each_time(tmp_path):
    root = make_folder(tmp_path)
    one, two = load_folder(root, test_share=0.4), load_folder(root, test_share=0.4)
    assert (np.bincount(one.test.labels) == 2).all()
    assert [f.photo for f in one.test.images.files] == [f.photo for f in two.test.images.files]


def test_all_broken_files_are_named_before_training(tmp_path):
    root = make_folder(tmp_path / "photos")
    for i in range(12):
        (root / "red" / f"bad{i:02d}.png").write_bytes(b"no image")
    message = why_not(load_folder, root)
    assert message.startswith("12 entries of photos cannot be used: ")
    assert all(f"bad{i:02d}.png (not an image)" in message for i in range(10))
    assert message.endswith("and 2 more; repair them, or leave them out with `skip_broken=True`")
    dataset = load_folder(root, skip_broken=True)
    assert len(dataset.train) + len(dataset.test) == 15
    assert dataset.notes[0].startswith("left out 12 entries of photos: ")


def test_a_class_without_a_sound_image_is_left_out_aloud(tmp_path):
    root = make_folder(tmp_path / "photos")
    for path in (root / "red").iterdir():
        path.write_bytes(b"no image")
    assert "class red (it has no training image)" in why_not(load_folder, root, test_share=0.5)
    assert load_folder(root, skip_broken=True).classes == ("blue", "green")
    for path in root.rglob("*.png"):
        path.write_bytes(b"no image")
    message = why_not(load_folder, root, skip_broken=True)
    assert message.startswith("photos has no class with training and test images: add")


def test_what_is_no_photo_is_noted(tmp_path):
    root = make_folder(tmp_path / "photos")
    (root / "readme.txt").write_text("dear")
    (root / "empty").mkdir()
    (note,) = load_folder(root).notes
    assert note == (
        f"2 entries were not read: {root}/empty (an empty folder), {root}/readme.txt (not an image "
        "by its name)"
    )


def test_an_image_under_two_labels_leaves_both(tmp_path):
    root = make_folder(tmp_path / "photos")
    shutil.copy(root / "red" / "0 a.png", root / "blue" / "copy.png")
    assert why_not(load_folder, root).startswith(
        f"1 entry of photos cannot be used: {root}/blue/copy.png = {root}/red/0 a.png (one image "
        "under several labels)"
    )
    dataset = load_folder(root, skip_broken=True)
    assert len(dataset.train) + len(dataset.test) == 14


def test_an_image_in_train_and_test_leaves_the_training_images(tmp_path):
    make_folder(tmp_path / "train")
    make_folder(tmp_path / "test", images=2, seed=1)
    shutil.copy(tmp_path / "test/red/1 a.png", tmp_path / "train/red/copy.png")
    assert "(one image in training and test)" in why_not(load_folder, tmp_path)
    dataset = load_folder(tmp_path, skip_broken=True)
    assert (len(dataset.train), len(dataset.test)) == (15, 6)


def file_of(name: str, digest: str, label: str = "cat") -> ImageFile:
    return ImageFile(Photo(name, label, open), Facts(digest, 0, 1, 1, True))


def test_several_labels_outweigh_both_splits():
    kept, bad = file_of("k", "K"), {}
    train = [file_of("a", "A"), kept, file_of("b", "A", "dog")]
    assert without_repeats([train, [file_of("c", "A", "dog")]], bad) == ([[kept], []], [])
    assert bad == {"a = b = c": "one image under several labels"}


def test_repeats_in_a_class_are_noted_and_stay_on_one_side(tmp_path):
    root = make_folder(tmp_path / "photos", images=20)
    for i in range(20):
        shutil.copy(root / "red" / f"{i} a.png", root / "red" / f"{i} b.png")
    dataset = load_folder(root, test_share=0.5)
    train, test = (
        {file.facts.sha256 for file in split.images.files}
        for split in (dataset.train, dataset.test)
    )
    assert not train & test
    assert np.bincount(dataset.test.labels).tolist() == [10, 10, 20]
    (note,) = dataset.notes
    assert note.startswith("20 images stand in their class more than once: ")


def test_rows_and_files_of_lists_that_cannot_be_used(tmp_path):
    lists = make_lists(tmp_path)
    with lists["train_list"].open("a") as file:
        file.write("images/red/gone.png 2\nlonely\n/dev/zero 0\nimages/red/4 a.png 2\n")
    message = why_not(load_lists, lists)
    assert message.startswith("4 entries of train cannot be used: ")
    for part in (
        f"{tmp_path}/images/red/gone.png (there is no such file)",
        f"{tmp_path}/train.txt line 15 (it does not name a file and a label)",
        "/dev/zero (its path leads out of the folder)",
        f"{tmp_path}/images/red/4 a.png (one image in training and test)",
    ):
        assert part in message
    kept = load_lists(lists, skip_broken=True)
    assert (len(kept.train), len(kept.test)) == (12, 3)


def test_lists_take_class_names_and_a_root(tmp_path):
    lists, names = make_lists(tmp_path), tmp_path / "names.txt"
    names.write_text("sky\ngrass\nrose\n")
    (tmp_path / "elsewhere").mkdir()
    lists["train_list"] = lists["train_list"].rename(tmp_path / "elsewhere" / "train.txt")
    settings = {"root": tmp_path, "class_names": names}
    assert load_lists(lists, **settings).classes == ("sky", "grass", "rose")
    names.write_text("sky\ngrass\n")
    assert "(label 2 is not below 2)" in why_not(load_lists, lists, **settings)
    names.write_text("sky\nrose\nsky\n")
    assert "names classes twice: sky; name each once" in why_not(load_lists, lists, **settings)


@pytest.mark.parametrize(
    ("labels", "order"),
    [(("10", "9", "2"), ("2", "9", "10")), (("b", "10", "a"), ("10", "a", "b"))],
)
def test_classes_of_lists_are_in_the_order_of_their_numbers_or_names(labels, order, tmp_path):
    lists = make_lists(tmp_path)
    for file in lists.values():
        rows = [line.rsplit(" ", 1) for line in file.read_text().split("\n") if line]
        file.write_text("".join(f"{path} {labels[int(label)]}\n" for path, label in rows))
    assert load_lists(lists).classes == order


def test_a_label_of_very_many_digits(tmp_path):
    lists = make_lists(tmp_path)
    lists["train_list"].write_text(f"images/red/0 a.png {'1' * 5000}\n")
    assert "has 5,000 bytes" in why_not(load_lists, lists)


def checked(*paths: Path) -> list[ImageFile]:
    photos = [Photo.at(path) for path in paths]
    return [ImageFile(photo, read(photo, 8)[1]) for photo in photos]


def noise(folder: Path, number: int = 6) -> list[Path]:
    rng = np.random.default_rng(0)
    paths = [folder / f"{i}.png" for i in range(number)]
    for i, path in enumerate(paths):
        Image.fromarray(rng.integers(0, 256, (11, 17 + i, 3), dtype=np.uint8)).save(path)
    return paths


@pytest.mark.parametrize("grey", [False, True])
@pytest.mark.parametrize("room", [0, 2**30])
def test_images_in_memory_equal_those_decoded_anew(grey, room, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MOST_IN_MEMORY", room)
    files = checked(*noise(tmp_path))
    images, decoded = FileImages(files, side=8, grey=grey), []
    anew = module._decode_again
    monkeypatch.setattr(
        module, "_decode_again", lambda file, **how: decoded.append(file) or anew(file, **how)
    )
    for order in ([3, 1, 3], [0, 1, 2, 3, 4, 5], [5, 0]):
        batch = images.read(np.array(order))
        each = [central_square(load_photo(files[i].photo, 8), 8, grey) for i in order]
        expected = torch.from_numpy(np.stack(each)).permute(0, 3, 1, 2)
        assert torch.equal(batch, expected)
        assert batch.stride() == expected.stride()  # kernels round by layout
    assert len(decoded) == (6 if room else 3 + 6 + 2)
    batch.zero_()
    assert images.read(np.array([5])).any()  # a batch is a copy
    assert images.stored_bytes(np.array([0])) == files[0].facts.size


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: path.write_bytes(b"no image"), "not an image"),
        (lambda path: Image.new("L", (9, 9)).save(path), "its bytes have changed"),
        (Path.unlink, "No such file or directory"),
    ],
)
def test_an_image_that_vanished_or_changed_names_the_fix(change, why, tmp_path):
    (path,) = noise(tmp_path, 1)
    images = FileImages(checked(path), side=8)
    change(path)
    message = why_not(images.read, np.array([0]))
    assert f"the image {path} cannot be read any more ({why}): put it back" in message
