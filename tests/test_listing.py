"""List files: every line is an image with its label, or is named with what is wrong."""

from __future__ import annotations

import os

import pytest

from conftest import make_lists
from memoryless.images import load
from memoryless.errors import DataError
from memoryless.settings import DataSettings


def test_bad_list_lines_and_labels_are_all_named(tmp_path):
    lists = make_lists(tmp_path)
    with lists["train_list"].open("a") as file:
        file.write("no label here\nimages/red/gone.png 2\nimages/red/0 a.png -1\nlonely\n")
    with lists["test_list"].open("a") as file:
        file.write("images/red/0 a.png 7\n")
    config = DataSettings(data="list", image_size=8, **lists)
    with pytest.raises(DataError) as caught:
        load(config)
    message = str(caught.value)
    assert message.startswith("5 entries of train cannot be used: ")
    for part in (
        f"{tmp_path}/train.txt line 14 (not 'path label')",
        f"{tmp_path}/train.txt line 16 (not 'path label')",
        f"{tmp_path}/train.txt line 17 (not 'path label')",
        f"{tmp_path}/test.txt line 5 (label 7 is not below 3)",
        f"{tmp_path}/images/red/gone.png (No such file or directory)",
    ):
        assert part in message
    kept = load(DataSettings(data="list", image_size=8, skip_broken=True, **lists))
    assert (len(kept.train), len(kept.test)) == (12, 3)


def test_lists_take_class_names_and_a_root(tmp_path):
    lists = make_lists(tmp_path)
    names = tmp_path / "names.txt"
    names.write_text("sky\ngrass\nrose\n")
    moved = tmp_path / "elsewhere" / "train.txt"
    moved.parent.mkdir()
    lists["train_list"] = lists["train_list"].rename(moved)
    config = DataSettings(data="list", root=tmp_path, class_names=names, image_size=8, **lists)
    assert load(config).classes == ("sky", "grass", "rose")
    names.write_text("sky\ngrass\n")
    with pytest.raises(DataError, match=r"elsewhere/train.txt line 9 \(label 2 is not below 2\)"):
        load(config)


def test_a_label_of_5000_digits(tmp_path):
    lists = make_lists(tmp_path)
    with lists["test_list"].open("a") as file:
        file.write(f"images/red/0 a.png {'1' * 5000}\n")
    with pytest.raises(DataError) as caught:
        load(DataSettings(data="list", image_size=8, **lists))
    assert str(caught.value) == (
        f"1 entry of train cannot be used: {tmp_path}/test.txt line 5 (its label has 5,000 "
        "digits); mend it, or leave it out with `skip_broken=True`"
    )


@pytest.mark.parametrize("skip", [False, True])
def test_lists_that_name_no_image(skip, tmp_path):
    lists = make_lists(tmp_path)
    lists["train_list"].write_text("\n")
    with pytest.raises(DataError, match=r"train.txt has no line of 'path label': add one for each"):
        load(DataSettings(data="list", image_size=8, skip_broken=skip, **lists))


def test_names_that_stand_twice(tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("sky\nrose\nsky\n")
    with pytest.raises(DataError, match=r"names.txt names classes twice: sky; name each once"):
        load(DataSettings(data="list", class_names=names, image_size=8, **make_lists(tmp_path)))


@pytest.mark.parametrize("path", ["fifo", "/dev/zero", "images", "a\0b.png"])
def test_what_is_no_regular_file_is_not_opened(path, tmp_path):
    lists = make_lists(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with lists["train_list"].open("a") as file:
        file.write(f"{path} 0\n")
    reason = "embedded null byte" if "\0" in path else "not a regular file"
    with pytest.raises(DataError, match=rf"1 entry of train cannot be used: .* \({reason}\)"):
        load(DataSettings(data="list", image_size=8, **lists))


def test_an_image_in_both_lists_leaves_the_training_images(tmp_path):
    lists = make_lists(tmp_path)
    with lists["train_list"].open("a") as file:
        file.write("images/red/4 a.png 2\n")
    with pytest.raises(DataError) as caught:
        load(DataSettings(data="list", image_size=8, **lists))
    assert str(caught.value) == (
        f"1 entry of train cannot be used: {tmp_path}/images/red/4 a.png (one image in training "
        "and test); mend it, or leave it out with `skip_broken=True`"
    )
    kept = load(DataSettings(data="list", image_size=8, skip_broken=True, **lists))
    assert (len(kept.train), len(kept.test)) == (12, 3)
