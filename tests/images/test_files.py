"""Where files lie: folders with links, zips that mean harm, and files that a list names."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest
from PIL import Image, features

from memoryless.errors import DataError
from memoryless.images.files import (
    HEAD,
    Files,
    begins_as_image,
    open_file,
    pick_files,
    read_folder,
    read_zip,
)


def put(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
    return root


def packed(path: Path, *members: str | ZipInfo) -> Path:
    with ZipFile(path, "w") as archive:
        for member in members:
            name = member.filename if isinstance(member, ZipInfo) else member
            archive.writestr(member, name.encode())
    return path


def content(files: Files, path: str) -> bytes:
    return files.photo(path).content()


def test_a_folder_gives_all_its_files_but_hidden_ones(tmp_path):
    put(tmp_path, "a.jpg", "cat/deep/c.jpg", ".hidden/d.jpg", "cat/.e", "Thumbs.db", "fox/.hidden")
    put(tmp_path, "__MACOSX/cat/b.jpg", "cat/desktop.ini")
    files = read_folder(tmp_path)
    assert set(files.by_path) == {"a.jpg", "cat/deep/c.jpg"}
    assert content(files, "cat/deep/c.jpg") == b"cat/deep/c.jpg"
    assert files.skipped == {f"{tmp_path}/fox": "an empty folder"}
    assert (files.unusable, files.notes) == ({}, [])


def test_links_to_files_and_folders_elsewhere_are_followed(tmp_path):
    """A class folder may be a link, the folder of all classes too, and links may lead to links."""
    put(tmp_path / "else", "dogs/b.jpg", "c.jpg")
    root = put(tmp_path / "photos", "cat/a.jpg")
    (root / "dog").symlink_to(tmp_path / "else" / "dogs")
    (root / "cat" / "c.jpg").symlink_to(tmp_path / "else" / "c.jpg")
    (tmp_path / "link").symlink_to(root)
    files = read_folder(tmp_path / "link")
    assert set(files.by_path) == {"cat/a.jpg", "cat/c.jpg", "dog/b.jpg"}
    assert content(files, "dog/b.jpg") == b"dogs/b.jpg"
    assert not files.unusable


@pytest.mark.parametrize(
    ("link", "target", "first"),
    [
        ("all", ".", ""),
        ("all", "..", ""),
        ("cat/up", "..", ""),
        ("a", "dog", "dog"),  # a folder itself comes before links to it, whatever their names
        ("cat/dogs", "../dog", "dog"),
        ("cat/self", ".", "cat"),
    ],
)
def test_links_to_what_is_read_anyway_are_refused(link, target, first, tmp_path):
    root = put(tmp_path / "photos", "cat/a.jpg", "dog/b.jpg")
    (root / link).symlink_to(target)
    files = read_folder(root)
    assert set(files.by_path) == {"cat/a.jpg", "dog/b.jpg"}
    assert files.unusable == {
        f"{root}/{link}": f"a link to the files of {root / first}, which are read already"
    }


def test_each_folder_elsewhere_is_read_once_and_links_in_a_circle_end(tmp_path):
    put(tmp_path / "else" / "deep", "a.jpg")
    (tmp_path / "else" / "deep" / "back").symlink_to(tmp_path / "else")
    root = put(tmp_path / "photos", "cat/b.jpg")
    for name in ("one", "two"):
        (root / name).symlink_to(tmp_path / "else")
    files = read_folder(root)
    assert set(files.by_path) == {"cat/b.jpg", "one/deep/a.jpg"}
    assert set(files.unusable) == {f"{root}/one/deep/back", f"{root}/two"}


def test_links_that_lead_nowhere_and_what_is_no_file(tmp_path):
    put(tmp_path, "cat/a.jpg")
    (tmp_path / "cat" / "gone.jpg").symlink_to("nowhere.jpg")
    (tmp_path / "cat" / "loop.jpg").symlink_to("loop.jpg")
    os.mkfifo(tmp_path / "cat" / "fifo")
    files = read_folder(tmp_path)
    assert set(files.by_path) == {"cat/a.jpg"}
    assert files.unusable == {
        f"{tmp_path}/cat/gone.jpg": "a link that leads nowhere",
        f"{tmp_path}/cat/loop.jpg": "a link that leads nowhere",
        f"{tmp_path}/cat/fifo": "not a regular file",
    }


@pytest.mark.parametrize("closed", ["", "cat"])
def test_a_folder_without_permission(closed, tmp_path, monkeypatch):
    put(tmp_path, "cat/a.jpg", "dog/b.jpg")
    listed = os.scandir

    def scandir(path):
        if path == tmp_path / closed:
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    if closed:
        files = read_folder(tmp_path)
        why = "the folder cannot be read (Permission denied)"
        assert (set(files.by_path), files.unusable) == ({"dog/b.jpg"}, {f"{tmp_path}/cat": why})
    else:
        with pytest.raises(DataError, match=r"cannot be read \(Permission denied\): check its"):
            read_folder(tmp_path)


def test_files_that_a_list_names(tmp_path):
    root = put(tmp_path / "photos", "cat/a.jpg")
    put(tmp_path, "b.jpg")
    (root / "link.jpg").symlink_to(tmp_path / "b.jpg")
    whole = f"{root}/cat/a.jpg"
    names = [
        "cat/a.jpg",
        whole,
        "link.jpg",
        "gone.jpg",
        "../b.jpg",
        "/dev/zero",
        "cat",
        "nul\0.jpg",
    ]
    files = pick_files(root, names)
    assert set(files.by_path) == {"cat/a.jpg", whole, "link.jpg"}
    assert {Path(name).name: why for name, why in files.unusable.items()} == {
        "gone.jpg": "there is no such file",
        "b.jpg": "its path leads out of the folder",
        "zero": "its path leads out of the folder",
        "cat": "not a regular file",
        "nul\0.jpg": "there is no such file",
    }


def test_a_list_named_from_where_it_lies(tmp_path, monkeypatch):
    monkeypatch.chdir(put(tmp_path / "photos", "a.jpg"))
    put(tmp_path, "b.jpg")
    files = pick_files(Path(), ["./a.jpg", "../b.jpg"])
    assert (set(files.by_path), set(files.unusable)) == ({"a.jpg"}, {"../b.jpg"})
    assert content(files, "a.jpg") == b"a.jpg"


def test_a_zip_is_read_in_place_and_closed_once_no_member_can_be_read(tmp_path):
    members = ["cat/", "./cat/a.jpg", "cat/.b", "__MACOSX/cat/a.jpg", "dog/", "dog/old/"]
    file = packed(tmp_path / "a.zip", *members)
    files = read_zip(file)
    assert (set(files.by_path), content(files, "cat/a.jpg")) == ({"cat/a.jpg"}, b"./cat/a.jpg")
    assert files.skipped == {f"{file}/dog/old": "an empty folder"}
    assert list(tmp_path.iterdir()) == [file]
    photo = files.photo("cat/a.jpg")
    archive = photo.opens.args[0].fp
    del files
    assert not archive.closed
    del photo
    assert archive.closed


def linked(name: str) -> ZipInfo:
    link = ZipInfo(name)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    return link


OUT = ["../a.jpg", "cat/../../a.jpg", "/etc/a.jpg", "C:/a.jpg", "c:a.jpg", "cat\\..\\a.jpg"]


@pytest.mark.parametrize(
    ("member", "why"),
    [*((name, "its name leads out of the zip") for name in OUT), (linked("cat/b.jpg"), "a link")],
)
def test_members_that_are_refused(member, why, tmp_path):
    files = read_zip(packed(tmp_path / "a.zip", "cat/a.jpg", member))
    assert set(files.by_path) == {"cat/a.jpg"}
    assert list(files.unusable.values()) == [why]


def test_members_there_twice_encrypted_or_that_unpack_to_too_much(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = packed(tmp_path / "a.zip", "cat/a.jpg", "cat/a.jpg", "cat/b.jpg")
    assert read_zip(twice).unusable == {
        f"{twice}/cat/a.jpg": "the zip holds several files of this name"
    }
    file = packed(tmp_path / "b.zip", "cat/a.jpg")
    flags = bytearray(file.read_bytes())
    for start, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        flags[flags.index(start) + place] |= 1
    file.write_bytes(flags)
    assert read_zip(file).unusable == {f"{file}/cat/a.jpg": "encrypted"}
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("bomb.jpg", bytes(2**24 + 1))
        archive.writestr("dense.jpg", bytes(2**23))
    (why,) = read_zip(file).unusable.values()
    assert why.startswith("it would unpack to 16,777,217 bytes from 16,3")


@pytest.mark.parametrize("damage", [b"", b"no zip", b"PK\5\6" + bytes(9)])
def test_what_is_no_zip(damage, tmp_path):
    (tmp_path / "a.zip").write_bytes(damage)
    with pytest.raises(DataError, match=r"a.zip cannot be read \(File is not a zip file\): make"):
        read_zip(tmp_path / "a.zip")


def test_a_member_larger_than_any_image(tmp_path, monkeypatch):
    file = packed(tmp_path / "a.zip", "cat/a.jpg")
    monkeypatch.setattr("memoryless.images.files.LARGEST_FILE", 5)
    with pytest.raises(OSError, match="it has 9 bytes, more than 5"):
        read_zip(file).photo("cat/a.jpg").open()


@pytest.mark.parametrize(
    ("name", "path", "shown"),
    [("p", "a/b", "p/a/b"), ("p", "a/", "p/a"), ("p", "", "p"), (".", "a", "a"), (".", "", "."),
     ("/", "a", "/a"), ("/", "", "/")],
)  # fmt: skip
def test_paths_are_shown_as_a_user_would_type_them(name, path, shown):
    assert Files(name, open_file).shown(path) == shown


def test_files_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(OSError, match="not a regular file"):
        open_file(tmp_path / "fifo")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(2**30 + 1)
    with pytest.raises(OSError, match="it has 1,073,741,825 bytes, more than 1,073,741,824"):
        open_file(tmp_path / "huge")


@pytest.mark.parametrize("form", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP", "AVIF"])
def test_images_are_known_by_their_first_bytes(form):
    if form == "AVIF" and not features.check("avif"):
        pytest.skip("this Pillow writes no AVIF")
    content = io.BytesIO()
    Image.new("RGB", (9, 9), "red").save(content, form)
    assert begins_as_image(content.getvalue()[:HEAD])


@pytest.mark.parametrize(
    ("head", "may"),
    [(b"....ftypheic....", True), (b"....ftypmp42....", False), (b"RIFF....WAVE", False),
     (b"RIFF....WEBP", True), (b"MM\0*", True), (b"", False), (b"Photos of birds", False)],
)  # fmt: skip
def test_other_files_are_not(head, may):
    assert begins_as_image(head) == may
