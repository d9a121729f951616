"""Photos are found in every layout, in folders and in zips, under names that can be classes."""

from __future__ import annotations

import io
import os
import sys
import tracemalloc
import unicodedata
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from conftest import hostile_text
from memoryless.errors import DataError
from memoryless.images.find import (
    find_listed,
    find_photos,
    find_splits,
    find_test,
    is_image,
    read_list,
    read_table,
)
from memoryless.images.read import load

PNG = io.BytesIO()
Image.new("RGB", (3, 2), "red").save(PNG, "png")
HEAD = "file_name,label\n"
HALVES = ("train/cat/1.png", "test/cat/2.png")


def make(root: Path, files: tuple[str, ...] | dict[str, str], zipped: bool = False) -> Path:
    """A folder or a zip of files: photos, or texts where these are given."""
    texts = files if isinstance(files, dict) else dict.fromkeys(files)
    contents = {n: PNG.getvalue() if t is None else t.encode() for n, t in texts.items()}
    if zipped:
        with ZipFile(root / "a.zip", "w") as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
        return root / "a.zip"
    for name, content in contents.items():
        path = root / "a" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return root / "a"


# What lies there (the text of a file, or none for a photo), the layout, the label of each photo.
LAYOUTS = {
    "folders": (
        {"cat/1.png": None, "cat/old/2.png": None, "dog/1.PNG": None, "dog/3": None},
        "folders of classes",
        {"cat/1.png": "cat", "cat/old/2.png": "cat", "dog/1.PNG": "dog", "dog/3": "dog"},
    ),
    "train and test": (dict.fromkeys(HALVES), "folders of classes in train/", {HALVES[0]: "cat"}),
    "train alone": ({HALVES[0]: None}, "folders of classes in train/", {HALVES[0]: "cat"}),
    "halves otherwise": (
        {"Training/cat/1.png": None, "TEST/cat/2.png": None},
        "folders of classes in Training/",
        {"Training/cat/1.png": "cat"},
    ),
    "train beside a text": (
        {"train/cat/1.png": None, "train/LICENSE": "You may", "test/cat/2.png": None},
        "folders of classes in train/",
        {"train/cat/1.png": "cat"},
    ),
    "a class called train": (
        {"train/1.png": None, "bus/1.png": None, "test/1.png": None},
        "folders of classes",
        {"train/1.png": "train", "bus/1.png": "bus", "test/1.png": "test"},
    ),
    "a class called train, deeper": (
        {"train/steam/1.png": None, "bus/1.png": None},
        "folders of classes",
        {"train/steam/1.png": "train", "bus/1.png": "bus"},
    ),
    "a table": (
        {"metadata.csv": f'\ufeff{HEAD}a.png,cat\r\n"deep/b, c.png","a ""dog"""\r\n',
         "a.png": None, "deep/b, c.png": None},
        "metadata.csv",
        {"a.png": "cat", "deep/b, c.png": 'a "dog"'},
    ),
    "a table in train": (
        {"train/metadata.csv": f"{HEAD}a.png,cat", "train/a.png": None,
         "test/metadata.csv": f"{HEAD}b.png,cat", "test/b.png": None},
        "metadata.csv in train/",
        {"train/a.png": "cat"},
    ),
    "a list": (
        {"list.txt": "./x/a.png cat\nx/b c.png dog\n", "x/a.png": None, "x/b c.png": None},
        "list file",
        {"x/a.png": "cat", "x/b c.png": "dog"},
    ),
    "a list of other things": (
        {"list.txt": "things to do: sleep\n", "cat/a.png": None},
        "folders of classes",
        {"cat/a.png": "cat"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_in_a_folder_and_in_a_zip(name, zipped, tmp_path):
    files, layout, labels = LAYOUTS[name]
    place = make(tmp_path, files, zipped)
    found = find_photos(place)
    assert found.layout == layout + " in a zip" * zipped
    assert {photo.name: photo.label for photo in found.photos} == {
        f"{place}/{path}": label for path, label in labels.items()
    }
    assert {load(photo, 8).shape for photo in found.photos} == {(2, 3, 3)}
    assert not found.unusable


@pytest.mark.parametrize(
    ("paths", "layout"),
    [
        (("birds/owl/1.png", "birds/emu/1.png"), "folders of classes in birds/ in a zip"),
        (("birds/train/owl/1.png", "birds/test/owl/1.png", "birds/x.md", "README.txt"),
         "folders of classes in birds/train/ in a zip"),
        (("owl/1.png", "owl/old/1.png"), "folders of classes in a zip"),
    ],
)  # fmt: skip
def test_a_zip_may_hold_one_folder_with_all(paths, layout, tmp_path):
    found = find_photos(make(tmp_path, paths, zipped=True))
    assert found.layout == layout
    outside = find_photos(make(tmp_path, ("birds/owl/1.png", "birds/emu/1.png")))
    assert outside.classes == ["birds"]  # in a folder of yours, one folder is a class


@pytest.mark.parametrize("name", ["a.csv", "a.lst"])
def test_a_table_or_list_that_is_named_itself(name, tmp_path):
    place = make(tmp_path, ("x/a b.png", "c.png"))
    rows = f"{HEAD}x/a b.png,cat\nc.png,dog\n" if name == "a.csv" else "x/a b.png cat\nc.png\tdog\n"
    for file, root in ((place / name, None), (tmp_path / name, place)):
        file.write_text(rows)
        found = find_listed(file, root)
        assert {photo.name: photo.label for photo in found.photos} == {
            f"{place}/c.png": "dog",
            f"{place}/x/a b.png": "cat",
        }
    assert find_photos(place / name) == find_listed(place / name)


def test_what_stands_beside_is_left_alone_and_said(tmp_path):
    place = make(tmp_path, (*HALVES, "val/cat/3.png", "models/x.png", "read.me"))
    beside = "is read; what stands beside it is left alone: models/, read.me"
    assert find_photos(place).notes == [f"{place}/train {beside}, test/, val/"]
    assert find_test(place).notes == [f"{place}/test {beside}, train/, val/"]
    train, test = find_splits(place)
    assert [len(part.photos) for part in (train, test)] == [1, 1]
    assert train.notes == [
        f"{place}/train and {place}/test are read; what stands beside them is left alone: models/, "
        "read.me, val/"
    ]


@pytest.mark.parametrize("test", ["test", "val", "valid"])
def test_to_evaluate_the_test_photos_are_read(test, tmp_path):
    place = make(tmp_path, ("train/cat/1.png", f"{test}/cat/2.png"))
    for found in (find_test(place), find_splits(place)[1]):
        assert found.layout == f"folders of classes in {test}/"
        assert [photo.name for photo in found.photos] == [f"{place}/{test}/cat/2.png"]


def test_train_or_test_alone(tmp_path):
    place = make(tmp_path, (HALVES[0],))
    (note,) = find_test(place).notes
    assert note.endswith("these may be the photos that were learned")
    with pytest.raises(DataError, match=r"has train/ but not test/: add it, or name"):
        find_splits(place)
    place = make(tmp_path / "other", (HALVES[1],))
    for find in (find_photos, find_splits):
        with pytest.raises(DataError, match=r"has test/ but not train/: name the folder of cl.*t$"):
            find(place)


@pytest.mark.parametrize("zipped", [False, True])
def test_photos_without_labels(zipped, tmp_path):
    files = {"cat/1.png": None, "loose.png": None, "notes.txt": "dear", "more.zip": "PK"}
    place = make(tmp_path, files, zipped)
    found = find_photos(place, labelled=False)
    assert [(photo.name, photo.label) for photo in found.photos] == [
        (f"{place}/cat/1.png", None),
        (f"{place}/loose.png", None),
    ]
    assert found.skipped == {
        f"{place}/notes.txt": "not an image by its name",
        f"{place}/more.zip": "a zip, which is not opened here",
    }
    odd = make(tmp_path, ("odd.name",)) / "odd.name"
    assert load(find_photos(odd, labelled=False).photos[0], 8).shape == (2, 3, 3)


def test_what_is_no_photo_of_a_class_is_listed(tmp_path):
    place = make(
        tmp_path, {"cat/1.png": None, "cat/README": "Photos", "emu/a.txt": "", "b.png": None}
    )
    (place / "dog").mkdir()
    found = find_photos(place)
    assert found.classes == ["cat"]
    assert found.not_read == {
        f"{place}/cat/README": "not an image by its first bytes",
        f"{place}/emu/a.txt": "not an image by its name",
        f"{place}/b.png": "beside the class folders",
        f"{place}/dog": "an empty folder",
    }


def test_rows_that_cannot_be_used(tmp_path):
    rows = (
        "a.png,cat\ngone.png,cat\n../a.png,cat\n/etc/a.png,cat\nb.png\n,dog\nc.png,cat\nc.png,dog\n"
        "a.png,cat\n"
    )
    place = make(
        tmp_path, {"metadata.csv": HEAD + rows, "a.png": None, "c.png": None, "d.png": None}
    )
    found = find_photos(place)
    assert [photo.name for photo in found.photos] == [f"{place}/a.png"]
    assert found.unusable == {
        f"{place}/gone.png": "there is no such file",
        f"{place}/../a.png": "its path leads out of the folder",
        "/etc/a.png": "its path leads out of the folder",
        f"{place}/metadata.csv line 6": "it does not name a file and a label",
        f"{place}/metadata.csv line 7": "it does not name a file and a label",
        f"{place}/c.png": "it has several labels: cat, dog",
    }
    assert found.notes == [f"1 photo is not named in metadata.csv and was not read: {place}/d.png"]


def why_not(place: Path, find=find_photos, **how) -> str:
    with pytest.raises(DataError) as caught:
        find(place, **how)
    return str(caught.value)


def test_places_without_photos(tmp_path):
    nowhere = tmp_path / "nowhere"
    for find in (find_photos, find_test, find_splits):
        assert why_not(nowhere, find).startswith(f"there is no folder or file {nowhere} (No such")
    assert "(embedded null byte)" in why_not(Path("a\0b"))
    place = make(tmp_path, {"notes.txt": "dear"})
    (place / "cat").mkdir()
    listed = f"; not read: {place}/cat (an empty folder), {place}/notes.txt (not an image by its"
    assert f"such as {place}/cat/1.jpg and {place}/dog/1.jpg{listed}" in why_not(place)
    assert f"holds no photo: name another place{listed}" in why_not(place, labelled=False)
    photo = make(tmp_path, ("1.png",)) / "1.png"
    assert "photos but no class folders" in why_not(place)
    assert why_not(photo).startswith(f"{photo} is a photo: name the folder that holds a folder of")


def test_a_class_folder_that_leads_back_is_named_where_there_is_no_photo(tmp_path):
    (tmp_path / "cat").symlink_to(tmp_path)
    assert f"not read: {tmp_path}/cat (a link to the files of" in why_not(tmp_path)


@pytest.mark.parametrize("name", ["list", "list.csv", "photos.zip"])
def test_what_would_be_read_for_ever(name, tmp_path):
    os.mkfifo(tmp_path / name)
    assert "not a regular file" in why_not(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "", "names no photo: each line must name a file and its label"),
        ("a.txt", "gone.png cat\n", "its label; not read: "),
        ("a.csv", HEAD, "names no photo"),
        ("a.csv", "file_name,class\n", "has no column label, but file_name, class"),
        ("a.csv", "", "has no column file_name and no column label"),
        ("a.csv", f'{HEAD}a.png,"' + "x" * 200_000, "line 1 is not CSV (field larger than"),
    ],
)
def test_tables_and_lists_that_cannot_be_read(name, text, said, tmp_path):
    (tmp_path / name).write_text(text)
    assert said in why_not(tmp_path / name)
    (tmp_path / name).write_bytes(b"file_name,label\na.png,\xff\n")
    assert f"{name} cannot be read: 'utf-8'" in why_not(tmp_path / name)


def test_lines_of_a_list():
    text = "a b.jpg cat\n\nc.jpg\tblack dog\n  d.jpg   -emu \nlonely\n"
    assert read_list("l", text) == [
        ("l line 1", "a b.jpg", "cat"),
        ("l line 3", "c.jpg", "black dog"),
        ("l line 4", "d.jpg", "-emu"),
        ("l line 5", "", "lonely"),
    ]
    assert read_table("t", f"{HEAD} a.jpg , cat \n") == [("t line 2", "a.jpg", "cat")]


@pytest.mark.parametrize(
    ("names", "may"),
    [
        ("a.jpg a.JPEG a.heic a.webp a.tif nosuffix", True),
        ("a.txt a.mov a.csv a.zip", False),
    ],
)
def test_names_of_images_and_of_other_files(names, may):
    assert {is_image(f"cat.x/{name}") for name in names.split()} == {may}


def test_names_that_are_equal_to_unicode(tmp_path):
    composed, decomposed = "caf\xe9", "cafe\u0301"
    both = make(tmp_path, (f"{composed}/1.png", f"{decomposed}/1.png"))
    assert "'cafe\\u0301' and 'caf\\xe9' are the same to Unicode" in why_not(both)
    alone = make(tmp_path / "other", (f"{decomposed}/1.png",))
    assert find_photos(alone).classes == [composed]


def test_a_folder_whose_name_is_no_unicode(tmp_path):
    place = make(tmp_path, (os.fsdecode(b"caf\xe9/1.png"),))
    assert why_not(place) == "the class name 'caf\\udce9' is not valid UTF-8: rename the class"


@given(text=st.lists(hostile_text, max_size=4).map("\n".join), table=st.booleans())
def test_any_text_in_a_list_or_table(text, table, tmp_path_factory):
    """Whatever it says, photos are found under sound names or one error of ours is raised."""
    root = make(tmp_path_factory.mktemp("any"), ("0.png",))
    content = f"{HEAD}0.png,{text}\n" if table else f"0.png {text}\n"
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


def test_a_photo_takes_little_more_memory_than_its_name(tmp_path):
    (tmp_path / "cat").mkdir()
    for i in range(1000):
        (tmp_path / "cat" / f"{i}.jpg").touch()
    find_photos(tmp_path)
    tracemalloc.start()
    photos = find_photos(tmp_path).photos
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    names = sum(sys.getsizeof(photo.name) for photo in photos)
    assert taken - names < 150 * len(photos)


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_table_may_have_other_columns_signs_and_a_byte_order_mark(between, tmp_path):
    lines = [("nr", "image", "species"), ("1", "a/1.png", "owl"), ("2", "a/2.png", "wren")]
    make(tmp_path, ("1.png", "2.png"))
    table = tmp_path / "birds.csv"
    text = "".join(between.join(line) + "\r\n" for line in lines)
    table.write_text(text, encoding="utf-8-sig")
    found = find_photos(table, columns=("image", "species"))
    assert [photo.label for photo in found.photos] == ["owl", "wren"]
    with pytest.raises(DataError) as error:
        find_photos(table)
    assert error.value.fields["columns"] == ["nr", "image", "species"]


@pytest.mark.parametrize("name", ["guide.pdf", "film.mpg", "logo.eps", "notes.txt"])
def test_files_that_are_no_photos_are_skipped(name):
    assert not is_image(name)


@pytest.mark.parametrize("name", ["a.jpg", "a.MPO", "a.heic", "a.tiff", "a.webp", "a"])
def test_files_that_may_be_photos(name):
    assert is_image(name)
