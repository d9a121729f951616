"""Folders of classes: each is read once, and nothing in them is passed over in silence."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import numpy as np
import pytest

from conftest import make_folder
from memoryless.images import load
from memoryless.errors import DataError
from memoryless.settings import DataSettings


def test_folder_with_train_and_test(tmp_path):
    make_folder(tmp_path / "train", images=4)
    make_folder(tmp_path / "test", images=2, seed=1)
    dataset = load(DataSettings(data="folder", root=tmp_path, image_size=8))
    assert (len(dataset.train), len(dataset.test)) == (12, 6)
    (tmp_path / "test" / "yellow").mkdir()
    with pytest.raises(DataError, match="1 class without training images: yellow"):
        load(DataSettings(data="folder", root=tmp_path))


def test_folder_without_classes(tmp_path):
    with pytest.raises(DataError, match="has no class folders"):
        load(DataSettings(data="folder", root=tmp_path))


@pytest.fixture
def photos(tmp_path) -> Path:
    return make_folder(tmp_path / "photos")


def load_photos(root: Path, skip_broken: bool = False):
    return load(DataSettings(data="folder", root=root, image_size=8, skip_broken=skip_broken))


def why_not(root: Path) -> str:
    with pytest.raises(DataError) as caught:
        load_photos(root)
    message = str(caught.value)
    assert message.endswith("; mend it, or leave it out with `skip_broken=True`")
    return message.removeprefix("1 entry of photos cannot be used: ").partition("; mend")[0]


@pytest.mark.parametrize(
    ("link", "target", "what", "again"),
    [
        ("all", "", "class all", ""),
        ("all", "..", "class all", ""),
        ("all", "../..", "class all", ""),
        ("all", "red", "class red", "/all"),  # in the order of names, the link comes first
        ("zoo", "red", "class zoo", "/red"),
        ("red/up", "red", "{root}/red/up", "/red"),
        ("red/up", "", "{root}/red/up", ""),
        ("red/up", "blue", "{root}/red/up", "/blue"),
    ],
)
def test_links_to_folders_that_are_read_anyway(link, target, what, again, photos):
    (photos / link).symlink_to(photos / target, target_is_directory=True)
    where = photos / ("red" if what == "class red" else link)
    assert why_not(photos) == (
        f"{what.format(root=photos)} (the folder {where}: it leads to the images of "
        f"{photos}{again} again)"
    )
    dataset = load_photos(photos, skip_broken=True)
    assert len(dataset.train) + len(dataset.test) == 15
    assert dataset.notes[0].startswith("left out 1 entry of photos: ")


def test_links_to_folders_and_files_elsewhere_are_followed(photos, tmp_path):
    make_folder(tmp_path / "elsewhere", seed=1)
    (photos / "more").symlink_to(tmp_path / "elsewhere" / "red")
    (photos / "red" / "deeper").symlink_to(tmp_path / "elsewhere" / "blue")
    (photos / "red" / "linked.png").symlink_to(tmp_path / "elsewhere" / "green" / "0 a.png")
    dataset = load_photos(photos)
    assert dataset.classes == ("blue", "green", "more", "red")
    total = np.bincount(dataset.train.labels) + np.bincount(dataset.test.labels)
    assert total.tolist() == [5, 5, 5, 11]
    assert dataset.notes == ()


def test_links_in_a_circle_end(photos, tmp_path):
    (tmp_path / "one" / "deep").mkdir(parents=True)
    (tmp_path / "one" / "deep" / "back").symlink_to(tmp_path / "one")
    (photos / "red" / "one").symlink_to(tmp_path / "one")
    assert why_not(photos) == (
        f"{photos}/red/one/deep/back (the folder {photos}/red/one/deep/back: it leads to the "
        f"images of {photos}/red/one again)"
    )


def test_a_link_to_itself_and_one_that_leads_nowhere(photos):
    (photos / "red" / "self.png").symlink_to(photos / "red" / "self.png")
    assert why_not(photos) == f"{photos}/red/self.png (Too many levels of symbolic links)"
    (photos / "red" / "self.png").unlink()
    (photos / "red" / "gone.png").symlink_to("nothing.png")
    assert why_not(photos) == f"{photos}/red/gone.png (No such file or directory)"
    (photos / "red" / "gone.png").rename(photos / "gone")
    assert why_not(photos) == f"{photos}/gone (a link that leads nowhere)"


def test_train_must_not_lead_to_test(tmp_path):
    make_folder(tmp_path / "test")
    (tmp_path / "train").symlink_to(tmp_path / "test")
    with pytest.raises(DataError) as caught:
        load_photos(tmp_path)
    assert str(caught.value) == (
        f"the folder {tmp_path}/test cannot be read (it leads to the images of {tmp_path}/train "
        "again): check `root`"
    )


@pytest.mark.parametrize("kind", ["fifo", "socket"])
def test_what_is_no_file_in_a_class_is_named(kind, photos, monkeypatch):
    monkeypatch.chdir(photos)  # the address of a socket must be short
    if kind == "fifo":
        os.mkfifo("red/odd")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("red/odd")
    assert why_not(photos) == f"{photos}/red/odd (not a regular file)"


def test_what_lies_beside_class_folders_is_noted(photos):
    for name in ("loose.png", "readme.txt", ".hidden", "Thumbs.db"):
        (photos / name).write_bytes(b"any")
    os.mkfifo(photos / "fifo")
    assert load_photos(photos).notes == (
        f"did not read 3 entries beside the class folders of {photos}: {photos}/fifo, "
        f"{photos}/loose.png, {photos}/readme.txt",
    )


def test_what_lies_beside_train_and_test_is_noted(tmp_path):
    for seed, name in enumerate(("train", "test", "val")):
        make_folder(tmp_path / name, seed=seed)
    dataset = load_photos(tmp_path)
    assert dataset.notes == (f"did not read 1 entry beside {tmp_path}/train: {tmp_path}/val",)


def test_hidden_folders_are_passed_over(photos):
    (photos / "red" / ".cache").mkdir()
    (photos / "red" / ".cache" / "0.png").write_bytes(b"no image")
    assert load_photos(photos).notes == ()


def refuse(monkeypatch, folder: Path) -> None:
    """Take the permission to list a folder away, which root would have all the same."""
    listed = Path.iterdir

    def iterdir(path):
        if path == folder:
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)


def test_a_class_folder_without_permission_says_so(photos, monkeypatch):
    refuse(monkeypatch, photos / "red")
    assert why_not(photos) == f"class red (the folder {photos}/red: Permission denied)"
    assert load_photos(photos, skip_broken=True).classes == ("blue", "green")


def test_a_root_without_permission_says_so(photos, monkeypatch):
    refuse(monkeypatch, photos)
    with pytest.raises(DataError) as caught:
        load_photos(photos)
    assert str(caught.value) == (
        f"the folder {photos} cannot be read (Permission denied): check `root`"
    )
