"""Sample drawings as folders of PNGs."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from memoryless.errors import ConfigError, WriteError
from memoryless.images.find import find_photos, find_test
from memoryless.images.quickdraw import read_drawings
from memoryless.images.samples import write_samples


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.png"))
    }


def test_samples_are_folders_of_classes(tmp_path):
    write_samples(tmp_path / "new" / "samples", classes=3, per_class=4, test_per_class=2)
    folder = tmp_path / "new" / "samples"
    train, test = find_photos(folder), find_test(folder)
    names, drawings = read_drawings()
    assert train.classes == test.classes == sorted(names[:3])
    assert (len(train.photos), len(test.photos)) == (12, 6)
    drawn = np.asarray(Image.open(folder / "train" / names[1] / "0004.png"))
    assert (drawn == drawings[1, 3]).all()
    held_out = np.asarray(Image.open(folder / "test" / names[2] / "0002.png"))
    assert (held_out == drawings[2, 81]).all()


def test_samples_are_the_same_every_time(tmp_path):
    write_samples(tmp_path / "a")
    write_samples(tmp_path / "b")
    found = digests(tmp_path / "a")
    assert found == digests(tmp_path / "b")
    assert len(found) == 10 * (30 + 10)
    assert len(set(found.values())) == len(found)  # none is in train and test


def test_no_test_drawings(tmp_path):
    write_samples(tmp_path, classes=2, per_class=1, test_per_class=0)
    assert [p.name for p in tmp_path.iterdir()] == ["train"]


def test_what_stands_in_the_way_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("dear")
    with pytest.raises(WriteError, match="is not empty: name a new one"):
        write_samples(tmp_path)
    with pytest.raises(WriteError, match=r"mine\.txt \(File exists\): choose another folder"):
        write_samples(tmp_path / "mine.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [
        ({"classes": 0}, "1 to 100"),
        ({"classes": 101}, "1 to 100"),
        ({"per_class": 81}, "1 to 80"),
        ({"test_per_class": 21}, "0 to 20"),
    ],
)
def test_more_than_there_are(wrong, allowed, tmp_path):
    ((name, value),) = wrong.items()
    with pytest.raises(ConfigError) as caught:
        write_samples(tmp_path / "samples", **wrong)
    assert str(caught.value) == f"`{name}={value}` is not among {allowed}: give one of these"
    assert not (tmp_path / "samples").exists()
