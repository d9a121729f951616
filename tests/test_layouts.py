"""Layouts of photos: each is detected, named, and read as its user meant it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryless.images.layouts import by_layout, find_base, is_image, named, read_list, read_table
from memoryless.images.places import Place
from memoryless.errors import DataError


def holding(*paths: str, **texts: str) -> Place:
    """A place with empty files, and others with a text."""
    place = Place("place", dict.fromkeys(paths, bytes))
    for name, text in texts.items():
        path = {"table": "metadata.csv", "list": "list.txt"}[name]
        place.files[path] = text.encode
    return place


def layout(place: Place, half: str = "train", wrapped: bool = False) -> tuple[str, dict[str, str]]:
    base = find_base(place, half, wrapped)
    name, labels = by_layout(place, base)
    return f"{name} in {base}" if base else name, labels


def test_folders_of_classes():
    place = holding("cat/1.jpg", "cat/old/2.jpg", "dog/1.PNG", "dog/notes.txt", "loose.jpg")
    assert layout(place) == (
        "folders of classes",
        {"cat/1.jpg": "cat", "cat/old/2.jpg": "cat", "dog/1.PNG": "dog"},
    )
    assert place.skipped == {
        "place/dog/notes.txt": "not an image by its name",
        "place/loose.jpg": "beside the class folders",
    }
    assert place.notes == []


@pytest.mark.parametrize("name", ["a.jpg", "a.JPEG", "a.heic", "a.webp", "a.tif", "no suffix"])
def test_names_of_images(name):
    assert is_image(f"cat.x/{name}")


@pytest.mark.parametrize("name", ["a.txt", "a.mov", "a.csv", "a.zip", "a.jpg.part"])
def test_names_of_other_files(name):
    assert not is_image(f"cat/{name}")


def test_a_zip_among_photos_is_not_opened():
    place = holding("cat/1.jpg", "cat/more.ZIP")
    layout(place)
    assert place.skipped == {"place/cat/more.ZIP": "a zip, which is not opened here"}


def test_train_is_read_and_what_stands_beside_it_is_left_alone():
    place = holding("train/cat/1.jpg", "test/cat/2.jpg", "val/cat/3.jpg", "models/x/y", "read.me")
    assert layout(place) == ("folders of classes in train/", {"train/cat/1.jpg": "cat"})
    assert place.notes == [
        "place/train is read; what stands beside it is left alone: models/, read.me, test/, val/"
    ]


def test_halves_may_be_written_otherwise():
    place = holding("Training/cat/1.jpg", "TEST/cat/2.jpg")
    assert layout(place) == ("folders of classes in Training/", {"Training/cat/1.jpg": "cat"})
    assert layout(place, "test") == ("folders of classes in TEST/", {"TEST/cat/2.jpg": "cat"})


def test_what_stands_beside_the_one_folder_of_a_zip_is_named():
    place = holding("birds/train/owl/1.jpg", "birds/test/owl/1.jpg", "birds/x.md", "README.txt")
    assert layout(place, wrapped=True)[0] == "folders of classes in birds/train/"
    assert place.notes == [
        "place/birds/train is read; what stands beside it is left alone: README.txt, birds/test/, "
        "birds/x.md"
    ]


def test_train_alone():
    place = holding("train/cat/1.jpg")
    assert layout(place) == ("folders of classes in train/", {"train/cat/1.jpg": "cat"})
    assert place.notes == []


def test_a_class_may_be_called_train():
    place = holding("train/1.jpg", "bus/1.jpg", "test/1.jpg")
    assert set(layout(place)[1].values()) == {"train", "bus", "test"}
    place = holding("train/steam/1.jpg", "bus/1.jpg")
    assert set(layout(place)[1].values()) == {"train", "bus"}
    assert place.notes == []


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("beside", [[], ["val/cat/1.jpg"]])
def test_test_without_train_is_not_learned(beside, wrapped):
    with pytest.raises(DataError) as caught:
        layout(holding("test/cat/1.jpg", *beside), wrapped=wrapped)
    assert str(caught.value) == (
        "place has test/ but not train/: name the folder of classes itself, such as place/test"
    )


@pytest.mark.parametrize(("there", "read"), [("test", "test"), ("val", "val"), ("valid", "valid")])
def test_to_evaluate_test_is_read(there, read):
    place = holding("train/cat/1.jpg", f"{there}/cat/2.jpg")
    assert layout(place, "test") == (f"folders of classes in {read}/", {f"{read}/cat/2.jpg": "cat"})
    assert place.notes == [
        f"place/{read} is read; what stands beside it is left alone: train/",
    ]


def test_to_evaluate_without_test_the_photos_of_train_are_read_aloud():
    place = holding("train/cat/1.jpg")
    assert layout(place, "test") == ("folders of classes in train/", {"train/cat/1.jpg": "cat"})
    assert place.notes == [
        "there is no test/ beside place/train: these may be the photos that were learned"
    ]
    assert layout(holding("cat/1.jpg"), "test") == ("folders of classes", {"cat/1.jpg": "cat"})


@pytest.mark.parametrize(
    ("paths", "found"),
    [
        (["birds/owl/1.jpg", "birds/emu/1.jpg"], "folders of classes in birds/"),
        (["birds/train/owl/1.jpg", "birds/test/owl/1.jpg"], "folders of classes in birds/train/"),
        (["owl/1.jpg"], "folders of classes"),
        (["owl/1.jpg", "owl/old/1.jpg"], "folders of classes"),
        (["train/owl/1.jpg"], "folders of classes in train/"),
    ],
)
def test_a_zip_may_hold_one_folder_with_all(paths, found):
    assert layout(holding(*paths), wrapped=True)[0] == found


def test_outside_a_zip_one_folder_is_a_class():
    labels = layout(holding("birds/owl/1.jpg", "birds/emu/1.jpg"))[1]
    assert set(labels.values()) == {"birds"}


def test_files_without_a_suffix_are_photos_if_they_begin_as_one():
    place = holding("cat/1", "cat/README", "cat/lost", "cat/2.jpg", "LICENSE")

    def lost() -> bytes:
        raise OSError("gone")

    place.heads = {"cat/1": lambda: b"\x89PNG", "cat/README": lambda: b"Photos", "cat/lost": lost}
    place.heads["LICENSE"] = bytes
    assert layout(place)[1] == dict.fromkeys(["cat/1", "cat/2.jpg", "cat/lost"], "cat")
    assert place.skipped == {
        "place/LICENSE": "not an image by its first bytes",
        "place/cat/README": "not an image by its first bytes",
    }


def test_a_text_without_a_suffix_does_not_hide_the_training_photos():
    place = holding("train/cat/1.jpg", "train/LICENSE", "test/cat/2.jpg")
    place.heads["train/LICENSE"] = bytes
    assert layout(place) == ("folders of classes in train/", {"train/cat/1.jpg": "cat"})


def test_what_a_table_names_is_tried_whatever_it_begins_with():
    place = holding("1", "2", "README", table="file_name,label\n1,cat\n2,dog\n")
    place.heads = {"1": bytes, "2": bytes, "README": bytes}
    assert layout(place) == ("metadata.csv", {"1": "cat", "2": "dog"})
    assert place.notes == []


@pytest.mark.parametrize("base", ["", "train/"])
def test_photos_without_class_folders(base):
    place = holding(f"{base}1.jpg", f"{base}2.jpg")
    with pytest.raises(DataError) as caught:
        by_layout(place, base)
    root = str(Path("place", base))
    assert str(caught.value) == (
        f"{root} holds photos but no class folders: put the photos of each class into a folder of "
        f"its own, such as {root}/cat/1.jpg and {root}/dog/1.jpg"
    )


def test_a_table():
    text = (
        '\ufefffile_name,author,label\r\na.jpg,"Doe, J.",cat\r\n"deep/b, c.jpg",me,"a ""dog"""\r\n'
    )
    place = holding("a.jpg", "deep/b, c.jpg", "rest.jpg", "rest.txt", table=text)
    assert layout(place) == ("metadata.csv", {"a.jpg": "cat", "deep/b, c.jpg": 'a "dog"'})
    assert place.notes == ["1 photo is not named in metadata.csv and was not read: place/rest.jpg"]


def test_a_table_in_train():
    place = holding("train/a.jpg", "test/b.jpg")
    place.files["train/metadata.csv"] = place.files["test/metadata.csv"] = (
        b"file_name,label\na.jpg,cat".strip
    )
    assert layout(place) == ("metadata.csv in train/", {"train/a.jpg": "cat"})


def test_rows_of_a_table_that_cannot_be_used():
    text = (
        "file_name,label\na.jpg,cat\ngone.jpg,cat\n../a.jpg,cat\n/etc/a.jpg,cat\nb.jpg\n,dog\n"
        "c.jpg,cat\nc.jpg,dog\na.jpg,cat\n"
    )
    place = holding("a.jpg", "c.jpg", table=text)
    assert layout(place)[1] == {"a.jpg": "cat"}
    assert place.skipped == {
        "place/metadata.csv line 4": "its path ../a.jpg leads out of the folder",
        "place/metadata.csv line 5": "its path /etc/a.jpg leads out of the folder",
        "place/metadata.csv line 6": "it does not name a file and a label",
        "place/metadata.csv line 7": "it does not name a file and a label",
        "place/gone.jpg": "there is no such file",
        "place/c.jpg": "it has several labels: cat, dog",
    }
    assert place.notes == []


@pytest.mark.parametrize(
    ("header", "lacks"),
    [
        ("file_name,class", "label"),
        ("path,label", "file_name"),
        ("file_name;label", "file_name and no column label"),
        ("", "file_name and no column label"),
    ],
)
def test_a_table_without_its_columns(header, lacks):
    with pytest.raises(DataError) as caught:
        read_table("t.csv", f"{header}\na.jpg,cat\n" if header else "")
    assert str(caught.value) == (
        f"t.csv has no column {lacks}: its first line must name file_name and label, with a comma "
        "between"
    )


def test_a_table_with_a_field_that_never_ends():
    with pytest.raises(DataError) as caught:
        read_table("t.csv", 'file_name,label\na.jpg,"' + "x" * 200_000)
    assert str(caught.value) == (
        "t.csv line 1 is not a table's (field larger than field limit (131072)): mend it"
    )


def test_a_table_that_is_no_text():
    place = holding("a.jpg")
    place.files["metadata.csv"] = lambda: b"file_name,label\na.jpg,\xff\n"
    with pytest.raises(DataError, match=r"the file place/metadata.csv cannot be read: 'utf-8'"):
        layout(place)


def test_lines_of_a_list():
    text = "a b.jpg cat\n\nc.jpg\tblack dog\n  d.jpg   -emu \nlonely\n"
    assert read_list("l.txt", text) == [
        ("l.txt line 1", "a b.jpg", "cat"),
        ("l.txt line 3", "c.jpg", "black dog"),
        ("l.txt line 4", "d.jpg", "-emu"),
        ("l.txt line 5", "", "lonely"),
    ]


def test_a_list_beside_its_photos():
    place = holding("x/a.jpg", "x/b.jpg", list="./x/a.jpg cat\nx/b.jpg dog\n")
    assert layout(place) == ("list file", {"x/a.jpg": "cat", "x/b.jpg": "dog"})


def test_a_list_of_other_things_is_no_list():
    place = holding("cat/a.jpg", list="things to do: sleep\n")
    assert layout(place) == ("folders of classes", {"cat/a.jpg": "cat"})
    assert place.skipped == {"place/list.txt": "not an image by its name"}


def test_a_row_without_a_file_is_named():
    place = holding("a.jpg")
    assert named(place, "", [("l line 1", "", "lonely")], "") == {}
    assert place.skipped == {"l line 1": "it does not name a file and a label"}
