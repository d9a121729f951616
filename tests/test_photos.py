"""Photos of a place: found in every layout, with names that can stand for classes."""

from __future__ import annotations

import os
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from conftest import hostile_text, make_photos
from memoryless.images.photos import find_photos, find_test, glance, glances, load, usable
from memoryless.errors import DataError


def zipped(folder: Path, file: Path) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    return file


def why_not(place: Path, **how) -> str:
    with pytest.raises(DataError) as caught:
        find_photos(place, **how)
    return str(caught.value)


def listed(root: Path, separator: str = " ") -> str:
    """Lines of a list, or rows of a table, of photos in folders of classes."""
    paths = sorted(path.relative_to(root) for path in root.rglob("*.png"))
    return "".join(f"{path}{separator}{path.parts[0][-1]}\n" for path in paths)


def test_every_layout_gives_the_same_photos(tmp_path):
    """Folders, a table, a list, each in a folder and in a zip: the same pixels and classes."""
    root = make_photos(tmp_path / "photos", classes=3, number=2)
    table, lines = "file_name,label\n" + listed(root, ","), listed(root)
    found = {"folders": find_photos(root), "zip": find_photos(zipped(root, tmp_path / "a.zip"))}
    for name, text in (("metadata.csv", table), ("list.txt", lines)):
        (root / name).write_text(text)
        found[f"{name} beside"] = find_photos(root)
        found[f"{name} itself"] = find_photos(root / name)
        found[f"{name} zip"] = find_photos(zipped(root, tmp_path / f"{name}.zip"))
        (root / name).unlink()
    assert {name: one.layout for name, one in found.items()} == {
        "folders": "folders of classes",
        "zip": "folders of classes in a zip",
        "metadata.csv beside": "metadata.csv",
        "metadata.csv itself": "metadata.csv",
        "metadata.csv zip": "metadata.csv in a zip",
        "list.txt beside": "list file",
        "list.txt itself": "list file",
        "list.txt zip": "list file in a zip",
    }
    expected = [load(photo, 8) for photo in found["zip"].photos]
    for name, one in found.items():
        labels = [photo.label[-1] for photo in one.photos]
        assert labels == ["0", "0", "1", "1", "2", "2"], name
        assert not one.skipped, name
        assert not one.notes, name
        if "itself" in name or "beside" in name:
            continue  # their files are gone or where they were; read below
        for photo, pixels in zip(one.photos, expected, strict=True):
            assert (load(photo, 8) == pixels).all(), name
    assert [photo.name for photo in found["folders"].photos] == [
        str(path) for path in sorted(root.rglob("*.png"))
    ]
    assert found["zip"].photos[0].name == f"{tmp_path}/a.zip/class 0/0.png"


def test_a_list_may_be_named_from_where_it_lies(tmp_path, monkeypatch):
    root = make_photos(tmp_path / "photos", classes=2, number=2)
    (root / "all.lst").write_text(listed(root))
    monkeypatch.chdir(root)
    found = find_photos(Path("all.lst"))
    assert found.photos[0].name == "class 0/0.png"
    assert load(found.photos[0], 8).shape == (11, 9, 3)


def test_train_and_test(tmp_path):
    make_photos(tmp_path / "train", classes=2, number=2)
    make_photos(tmp_path / "test", classes=3, number=1)
    learned, tested = find_photos(tmp_path), find_test(tmp_path)
    assert (learned.layout, tested.layout) == (
        "folders of classes in train/",
        "folders of classes in test/",
    )
    assert learned.classes == ["class 0", "class 1"]
    assert tested.classes == ["class 0", "class 1", "class 2"]
    assert learned.notes == [
        f"{tmp_path}/train is read; what stands beside it is left alone: test/"
    ]
    assert find_photos(tmp_path, labelled=False).classes == []
    assert len(find_photos(tmp_path, labelled=False).photos) == 7


def test_photos_without_labels(tmp_path):
    root = make_photos(tmp_path / "photos", classes=2, number=1)
    (root / "notes.txt").write_text("dear")
    Image.new("L", (3, 3)).save(root / "loose.png")
    found = find_photos(root, labelled=False)
    assert found.layout == "photos in a folder"
    assert [(photo.name, photo.label) for photo in found.photos] == [
        (f"{root}/class 0/0.png", None),
        (f"{root}/class 1/0.png", None),
        (f"{root}/loose.png", None),
    ]
    assert found.skipped == {f"{root}/notes.txt": "not an image by its name"}
    assert find_photos(zipped(root, tmp_path / "a.zip"), labelled=False).layout == "photos in a zip"


def test_one_photo_without_a_label_is_read_whatever_its_name(tmp_path):
    Image.new("L", (3, 3)).save(tmp_path / "odd.name", "png")
    found = find_photos(tmp_path / "odd.name", labelled=False)
    assert found.layout == "a photo"
    assert load(found.photos[0], 8).shape == (3, 3, 3)


@pytest.mark.parametrize("labelled", [False, True])
def test_no_such_folder(labelled, tmp_path):
    place = tmp_path / "nowhere"
    assert why_not(place, labelled=labelled) == (
        f"there is no folder or file {place} (No such file or directory): check its name"
    )
    long = tmp_path / ("x" * 300)
    assert why_not(long, labelled=labelled) == (
        f"there is no folder or file {long} (File name too long): check its name"
    )
    with pytest.raises(DataError, match=r"no folder or file .* \(embedded null byte\)"):
        find_test(Path("a\0b"))


def test_images_but_no_class_folders(tmp_path):
    for name in ("1.jpg", "2.jpg"):
        Image.new("L", (3, 3)).save(tmp_path / name)
    assert why_not(tmp_path) == (
        f"{tmp_path} holds photos but no class folders: put the photos of each class into a folder "
        f"of its own, such as {tmp_path}/cat/1.jpg and {tmp_path}/dog/1.jpg"
    )


def test_an_empty_folder(tmp_path):
    example = f"such as {tmp_path}/cat/1.jpg and {tmp_path}/dog/1.jpg"
    assert why_not(tmp_path) == (
        f"{tmp_path} holds no photo of a class: put the photos of each class into a folder of its "
        f"own, {example}"
    )
    assert why_not(tmp_path, labelled=False) == f"{tmp_path} holds no photo: name another place"
    (tmp_path / "cat").mkdir()
    (tmp_path / "notes.txt").write_text("dear")
    said = f"{tmp_path}/cat (an empty folder), {tmp_path}/notes.txt (not an image by its name)"
    assert why_not(tmp_path).endswith(f"{example}; not read: {said}")
    assert why_not(tmp_path, labelled=False).endswith(f"name another place; not read: {said}")


def test_a_photo_in_place_of_a_folder(tmp_path):
    Image.new("L", (3, 3)).save(tmp_path / "a.jpg")
    assert why_not(tmp_path / "a.jpg") == (
        f"{tmp_path}/a.jpg is a photo: name the folder that holds a folder of photos for each class"
    )


def test_empty_and_foreign_things_are_listed_and_are_no_classes(tmp_path):
    root = make_photos(tmp_path / "photos", classes=1, number=1)
    (root / "dog").mkdir()
    (root / "emu").mkdir()
    (root / "emu" / "notes.txt").write_text("dear")
    found = find_photos(root)
    assert found.classes == ["class 0"]
    assert found.skipped == {
        f"{root}/dog": "an empty folder",
        f"{root}/emu/notes.txt": "not an image by its name",
    }


def test_a_link_out_of_the_folder_is_not_followed(tmp_path):
    root = make_photos(tmp_path / "photos", classes=1, number=1)
    Image.new("L", (3, 3)).save(tmp_path / "private.png")
    (root / "class 0" / "link.png").symlink_to(tmp_path / "private.png")
    found = find_photos(root)
    assert [photo.name for photo in found.photos] == [f"{root}/class 0/0.png"]
    assert found.notes == [f"1 link out of the folder was not followed: {root}/class 0/link.png"]


def named(root: Path, *classes: str) -> Path:
    """A table that gives one photo to each of these classes."""
    root.mkdir(exist_ok=True)
    rows = ["file_name,label"]
    for i, name in enumerate(classes):
        Image.new("L", (3, 3)).save(root / f"{i}.png")
        rows.append(f'{i}.png,"{name}"')
    (root / "metadata.csv").write_text("\n".join(rows), encoding="utf-8")
    return root


@pytest.mark.parametrize("place", ["table", "folders"])
def test_names_that_are_equal_after_normalisation(place, tmp_path):
    composed, decomposed = "caf\xe9", "cafe\u0301"
    if place == "table":
        named(tmp_path, composed, decomposed)
    else:
        for name in (composed, decomposed):
            (tmp_path / name).mkdir()
            Image.new("L", (3, 3)).save(tmp_path / name / "1.png")
    assert why_not(tmp_path) == (
        "the class names 'cafe\\u0301' and 'caf\\xe9' are the same to Unicode: rename one, or put "
        "their photos together"
    )


def test_names_are_kept_composed(tmp_path):
    assert find_photos(named(tmp_path, "cafe\u0301", "cafe\u0301")).classes == ["caf\xe9"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cat/dog", "'cat/dog' has a slash"),
        ("cat\\dog", "'cat\\\\dog' has a slash"),
        ("cat\x1b[31m", "'cat\\x1b[31m' has control characters"),
        ("cat\u2028dog", "'cat\\u2028dog' has control characters"),
        ("x" * 256, f"'{'x' * 40}...' has 256 bytes, more than 255"),
        ("\xe9" * 128, "'" + "\\xe9" * 40 + "...' has 256 bytes, more than 255"),
    ],
)
def test_names_that_are_refused(name, said, tmp_path):
    assert why_not(named(tmp_path, name)) == f"the class name {said}: rename the class"


def test_a_folder_whose_name_is_blank(tmp_path):
    make_photos(tmp_path, classes=1, number=1).joinpath("class 0").rename(tmp_path / "\xa0 ")
    assert why_not(tmp_path) == "the class name '\\xa0 ' is blank: rename the class"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "", ""),
        ("a.txt", "gone.png cat\n", "; not read: {}/gone.png (there is no such file)"),
        ("a.csv", "file_name,label\n", ""),
    ],
)
def test_a_list_that_names_no_photo(name, text, said, tmp_path):
    (tmp_path / name).write_text(text)
    assert why_not(tmp_path / name) == (
        f"{tmp_path}/{name} names no photo: each line must name a file and its label"
        f"{said.format(tmp_path)}"
    )


def test_a_list_that_names_a_link_out_of_its_folder(tmp_path):
    root = named(tmp_path / "photos", "cat")
    Image.new("L", (3, 3)).save(tmp_path / "private.png")
    (root / "link.png").symlink_to(tmp_path / "private.png")
    (root / "a.txt").write_text("0.png cat\nlink.png cat\n../private.png cat\n.. cat\n")
    assert find_photos(root / "a.txt").skipped == {
        f"{root}/a.txt line 3": "its path ../private.png leads out of the folder",
        f"{root}/link.png": "a link out of the folder",
        f"{root}/..": "a link out of the folder",
    }


@given(text=st.lists(hostile_text, max_size=4).map("\n".join), table=st.booleans())
def test_any_text_in_a_list_or_table(text, table, tmp_path_factory):
    """Whatever it says, photos are found under sound names or one error of ours is raised."""
    root = named(tmp_path_factory.mktemp("any"), "cat")
    content = f"file_name,label\n0.png,{text}\n" if table else f"0.png {text}\n"
    file = root / ("list.csv" if table else "list.text")
    file.write_text(content, encoding="utf-8", errors="surrogatepass", newline="")
    try:
        found = find_photos(file)
    except DataError as error:
        assert "\n" not in str(error) or "\n" in text
        return
    for name in found.classes:
        assert not {unicodedata.category(sign) for sign in name} & {"Cc", "Cs"}
        assert 0 < len(name.encode()) <= 255


def test_a_folder_whose_name_is_no_unicode(tmp_path):
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    Image.new("L", (3, 3)).save(folder / "1.png")
    assert why_not(tmp_path) == (
        "the class name 'caf\\udce9' has control characters: rename the class"
    )


@pytest.mark.parametrize(
    "name", ["🦕", "👩\u200d🔬", "-rf", "--help", "a b", "x" * 255, "\xe9" * 127, "=1+1", "."]
)
def test_names_that_are_accepted(name, tmp_path):
    assert find_photos(named(tmp_path, name)).classes == [name]


def test_a_class_without_a_readable_photo(tmp_path):
    root = make_photos(tmp_path / "photos", classes=2, number=2)
    (root / "class 1" / "0.png").write_text("Dear all")
    (root / "class 1" / "1.png").write_bytes(b"")
    found = find_photos(root)
    with pytest.raises(DataError) as caught:
        usable(found, glances(found.photos))
    assert str(caught.value) == (
        f"1 class has no photo that can be read: class 1 ({root}/class 1/1.png: not an image); add "
        "photos, or take the class out"
    )


def test_classes_without_a_readable_photo_are_all_named(tmp_path):
    root = make_photos(tmp_path / "photos", classes=3, number=1)
    found = find_photos(root)
    with pytest.raises(DataError) as caught:
        usable(found, [glance(found.photos[0]), "not an image", "encrypted"])
    assert str(caught.value) == (
        f"2 classes have no photo that can be read: class 1 ({root}/class 1/0.png: not an image), "
        f"class 2 ({root}/class 2/0.png: encrypted); add photos, or take these classes out"
    )


@pytest.mark.parametrize("name", ["list", "list.csv", "photos.zip"])
def test_what_would_be_read_for_ever(name, tmp_path):
    os.mkfifo(tmp_path / name)
    assert "cannot be read" in why_not(tmp_path / name)
    assert "not a regular file" in why_not(tmp_path / name)


def test_photos_can_be_read_after_their_zip_is_deleted(tmp_path):
    """An open zip stays readable where files do: no half-read photo, no other file's bytes."""
    root = make_photos(tmp_path / "photos", classes=1, number=1)
    file = zipped(root, tmp_path / "a.zip")
    found = find_photos(file)
    file.unlink()
    expected = np.asarray(Image.open(root / "class 0" / "0.png"))
    assert (load(found.photos[0], 8) == expected).all()
