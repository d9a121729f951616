"""Places: folders with links, zips that mean harm, and files that a list names."""

from __future__ import annotations

import os
import socket
import stat
import zipfile
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pytest

from memoryless.images.places import Place, pick_files, read_folder, read_zip
from memoryless.errors import DataError


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


def test_a_folder_gives_all_its_files(tmp_path):
    put(tmp_path, "a.jpg", "cat/b.jpg", "cat/deep/c.jpg", ".hidden/d.jpg", "cat/.e", "Thumbs.db")
    put(tmp_path, "__MACOSX/cat/b.jpg", "cat/desktop.ini")
    place = read_folder(tmp_path)
    assert set(place.files) == {"a.jpg", "cat/b.jpg", "cat/deep/c.jpg"}
    assert place.files["cat/deep/c.jpg"]() == b"cat/deep/c.jpg"
    assert place.shown("cat/b.jpg") == f"{tmp_path}/cat/b.jpg"
    assert (place.skipped, place.notes) == ({}, [])


def test_links_out_of_a_folder_are_not_followed(tmp_path):
    root = put(tmp_path / "photos", "cat/a.jpg")
    put(tmp_path / "else", "b.jpg")
    (root / "cat" / "out.jpg").symlink_to(tmp_path / "else" / "b.jpg")
    (root / "dog").symlink_to(tmp_path / "else")
    place = read_folder(root)
    assert set(place.files) == {"cat/a.jpg"}
    assert place.notes == [
        f"2 links out of the folder were not followed: {root}/cat/out.jpg, {root}/dog"
    ]


def test_links_within_a_folder(tmp_path):
    put(tmp_path, "cat/a.jpg")
    (tmp_path / "cat" / "same.jpg").symlink_to("a.jpg")
    (tmp_path / "cat" / "gone.jpg").symlink_to("nowhere.jpg")
    (tmp_path / "cat" / "loop.jpg").symlink_to("loop.jpg")
    (tmp_path / "cat" / "up").symlink_to(tmp_path)
    place = read_folder(tmp_path)
    assert set(place.files) == {"cat/a.jpg", "cat/same.jpg"}
    assert place.skipped == {
        f"{tmp_path}/cat/gone.jpg": "a link that leads nowhere",
        f"{tmp_path}/cat/loop.jpg": "a link that leads nowhere",
        f"{tmp_path}/cat/up": "a folder, which is read where it is",
    }
    assert place.notes == []


def test_a_folder_that_is_a_link_itself_is_read(tmp_path):
    put(tmp_path / "real", "cat/a.jpg")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "cat" / "same.jpg").symlink_to("a.jpg")
    place = read_folder(tmp_path / "link")
    assert sorted(map(place.shown, place.files)) == [
        f"{tmp_path}/link/cat/a.jpg",
        f"{tmp_path}/link/cat/same.jpg",
    ]


def test_empty_folders_and_what_is_no_file_are_listed(tmp_path, monkeypatch):
    put(tmp_path, "cat/a.jpg", "fox/.hidden")
    (tmp_path / "dog").mkdir()
    monkeypatch.chdir(tmp_path)
    os.mkfifo("cat/fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("cat/socket")
    assert read_folder(tmp_path).skipped == {
        f"{tmp_path}/dog": "an empty folder",
        f"{tmp_path}/fox": "an empty folder",
        f"{tmp_path}/cat/fifo": "not a regular file",
        f"{tmp_path}/cat/socket": "not a regular file",
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
        place = read_folder(tmp_path)
        assert place.skipped == {f"{tmp_path}/cat": "the folder cannot be read (Permission denied)"}
        assert set(place.files) == {"dog/b.jpg"}
    else:
        with pytest.raises(DataError) as caught:
            read_folder(tmp_path)
        assert str(caught.value) == (
            f"the folder {tmp_path} cannot be read (Permission denied): check its permissions"
        )


def test_files_that_a_list_names(tmp_path):
    root = put(tmp_path / "photos", "cat/a.jpg")
    put(tmp_path, "b.jpg")
    (root / "out.jpg").symlink_to(tmp_path / "b.jpg")
    (root / "dog").symlink_to(tmp_path)
    names = ["cat/a.jpg", "cat/gone.jpg", "out.jpg", "dog/b.jpg", "cat", "nul\0.jpg", "x" * 300]
    place = pick_files(root, names)
    assert set(place.files) == {"cat/a.jpg"}
    assert place.skipped == {
        f"{root}/cat/gone.jpg": "there is no such file",
        f"{root}/out.jpg": "a link out of the folder",
        f"{root}/dog/b.jpg": "a link out of the folder",
        f"{root}/cat": "a folder, which is read where it is",
        f"{root}/nul\0.jpg": "there is no such file",
        f"{root}/{'x' * 300}": "there is no such file",
    }


def test_only_the_first_bytes_of_files_without_a_suffix_are_read(tmp_path):
    packed(tmp_path / "a.zip", "cat/a", "cat/b.jpg")
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "a").write_bytes(bytes(1000))
    for place in (read_zip(tmp_path / "a.zip"), read_folder(tmp_path)):
        assert list(place.heads) == ["cat/a"]
    assert place.heads["cat/a"]() == bytes(32)
    with ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("a", b"x" * 1000)
    assert read_zip(tmp_path / "b.zip").heads["a"]() == b"x" * 32


def test_a_zip_is_closed_once_no_member_can_be_read(tmp_path):
    place = read_zip(packed(tmp_path / "a.zip", "cat/a.jpg"))
    read = place.files["cat/a.jpg"]
    opened = read.args[0].fp
    del place
    assert read() is not None and not opened.closed
    del read
    assert opened.closed


def test_a_zip_is_read_in_place(tmp_path):
    members = ["cat/", "./cat/a.jpg", "cat/.b", "__MACOSX/cat/a.jpg", "dog/", "dog/old/"]
    file = packed(tmp_path / "a.zip", *members)
    place = read_zip(file)
    assert {path: content() for path, content in place.files.items()} == {
        "cat/a.jpg": b"./cat/a.jpg"
    }
    assert place.shown("cat/a.jpg") == f"{file}/cat/a.jpg"
    assert place.skipped == {f"{file}/dog/old": "an empty folder"}
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    "name", ["../a.jpg", "cat/../../a.jpg", "/etc/a.jpg", "C:/a.jpg", "c:a.jpg", "cat\\..\\a.jpg"]
)
def test_names_that_lead_out_of_a_zip(name, tmp_path):
    file = packed(tmp_path / "a.zip", "cat/a.jpg", name)
    place = read_zip(file)
    assert set(place.files) == {"cat/a.jpg"}
    assert list(place.skipped.values()) == ["its name leads out of the zip"]


def test_links_in_a_zip_are_not_followed(tmp_path):
    link = ZipInfo("cat/link.jpg")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    place = read_zip(packed(tmp_path / "a.zip", link))
    assert place.files == {}
    assert place.skipped == {f"{tmp_path}/a.zip/cat/link.jpg": "a link"}


def test_names_that_a_zip_holds_twice_are_not_read(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        file = packed(tmp_path / "a.zip", "cat/a.jpg", "cat/a.jpg", "cat/b.jpg")
    place = read_zip(file)
    assert set(place.files) == {"cat/b.jpg"}
    assert place.skipped == {f"{file}/cat/a.jpg": "the zip holds several files of this name"}


def test_encrypted_members(tmp_path):
    file = packed(tmp_path / "a.zip", "cat/a.jpg")
    content = bytearray(file.read_bytes())
    for start, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(start) + flags] |= 1
    file.write_bytes(content)
    assert read_zip(file).skipped == {f"{file}/cat/a.jpg": "encrypted"}


def test_members_that_unpack_to_too_much(tmp_path):
    file = tmp_path / "a.zip"
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("bomb.jpg", bytes(2**24 + 1))
        archive.writestr("dense.jpg", bytes(2**23))
    place = read_zip(file)
    assert set(place.files) == {"dense.jpg"}
    (why,) = place.skipped.values()
    assert why.startswith("it would unpack to 16,777,217 bytes from 16,3")


def test_a_member_larger_than_any_image(tmp_path, monkeypatch):
    file = packed(tmp_path / "a.zip", "cat/a.jpg")
    monkeypatch.setattr("memoryless.images.pixels.LARGEST_FILE", 5)
    with pytest.raises(OSError, match="it has 9 bytes, more than 5"):
        read_zip(file).files["cat/a.jpg"]()


def test_a_damaged_member_has_its_reason(tmp_path):
    file = packed(tmp_path / "a.zip", "cat/a.jpg")
    file.write_bytes(file.read_bytes().replace(b"cat/a.jpg", b"cat/a.jpG", 2)[:])
    content = file.read_bytes().replace(b"cat/a.jpGcat/a.jpG", b"cat/a.jpgcat/a.jpG")
    file.write_bytes(content)
    with pytest.raises(OSError, match="it cannot be unpacked"):
        read_zip(file).files["cat/a.jpg"]()


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\5\6" + bytes(9)])
def test_what_is_no_zip(content, tmp_path):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_zip(tmp_path / "a.zip")
    assert str(caught.value) == (
        f"the zip {tmp_path}/a.zip cannot be read (File is not a zip file): make it again"
    )


def test_every_flipped_byte_of_a_zip_is_an_error_of_ours(tmp_path):
    file = packed(tmp_path / "a.zip", "cat/a.jpg", "dog/")
    whole = file.read_bytes()
    for i in range(len(whole)):
        for bit in (0, 3, 7):
            flipped = bytearray(whole)
            flipped[i] ^= 1 << bit
            file.write_bytes(flipped)
            try:
                for content in read_zip(file).files.values():
                    assert content() == b"cat/a.jpg"
            except (DataError, OSError):
                pass


def test_a_memory_that_is_full_is_not_the_zips_fault(tmp_path, monkeypatch):
    place = read_zip(packed(tmp_path / "a.zip", "cat/a.jpg"))

    def fail(*args):
        raise MemoryError

    monkeypatch.setattr(zipfile.ZipFile, "open", fail)
    with pytest.raises(MemoryError):
        place.files["cat/a.jpg"]()


@pytest.mark.parametrize(
    ("name", "path", "shown"),
    [("p", "a/b", "p/a/b"), ("p", "a/", "p/a"), ("p", "", "p"), (".", "a", "a"), (".", "", "."),
     ("/", "a", "/a"), ("/", "", "/")],
)  # fmt: skip
def test_paths_are_shown_as_a_user_would_type_them(name, path, shown):
    assert Place(name).shown(path) == shown


def test_notes_name_ten_and_count_the_rest():
    place = Place("here")
    place.note([], "link", "links")
    place.note(map(str, range(12)), "link", "links")
    (note,) = place.notes
    assert note.startswith("12 links: here/0, here/1, ")
    assert note.endswith(" and 2 more")


def test_a_model_among_photos_is_left_alone(tmp_path):
    (tmp_path / "birds" / "states" / "0001").mkdir(parents=True)
    (tmp_path / "birds" / "CURRENT").write_text("0001")
    (tmp_path / "cat").mkdir()
    (tmp_path / "cat" / "1.png").touch()
    place = read_folder(tmp_path)
    assert list(place.files) == ["cat/1.png"]
    assert place.skipped == {place.shown("birds/"): "a model"}
    assert not read_folder(tmp_path / "birds").files
