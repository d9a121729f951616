"""memoryless export: what it says, and how it ends."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from conftest import call
from photo_toys import make_colours, tiny_flags


@pytest.fixture
def taught(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    make_colours(Path("photos"), "cat", "dog")
    assert call("learn", "model", "photos", *tiny_flags(tiny_backbone), capsys=capsys)[0] == 0


HEAD = r"""exported  out\.onnx: 2 classes, [\d.]+ kB, state [0-9a-f]{12}
takes     photos: uint8 \(n, height, width, 3\), RGB, upright, one size a batch
gives     scores, probabilities, margin and known of each photo
compared  on 9 drawings probabilities differ by [\de-]+ at most
decoded   in full, 3 of 3 large drawings \(100\.0 %\) get the same answer
"""
NOTE = (
    "note      only drawings were compared; compare photos of your own by memoryless export model "
    "'my file.onnx' --check PHOTOS --force\n"
)
FOOT = r"""
Keeps no photo, .* smallest class: 12 photos\. .*

next      docs/export\.md has ten lines of Python that run it without memoryless
"""


def test_without_photos_drawings_are_compared(taught, capsys):
    code, out, err = call("export", "model", "my file.onnx", capsys=capsys)
    assert (code, err) == (0, "")
    assert re.fullmatch(HEAD.replace("out", "my file", 1) + NOTE + FOOT, out)
    assert Path("my file.onnx").exists()


def test_photos_are_compared_where_they_are_named(taught, capsys):
    code, out, _ = call("export", "model", "out.onnx", "--check", "photos", capsys=capsys)
    assert code == 0
    photos = (
        r"compared  on 24 photos probabilities differ by [\de-]+ at most\n"
        r"decoded   in full anyway: none of the photos is large\n"
    )
    assert re.fullmatch(HEAD + photos + FOOT, out)


def test_a_broken_photo_is_told_and_the_rest_is_done(taught, capsys):
    Path("photos/broken.png").write_text("a text")
    code, out, _ = call("export", "model", "out.onnx", "--check", "photos", capsys=capsys)
    assert code == 1
    assert "compared  on 24 photos " in out
    assert (
        "broken    the photo photos/broken.png cannot be read (not an image): mend it, or take it "
        "out\n" in out
    )
    assert Path("out.onnx").exists()


def test_one_photo_will_do(taught, capsys):
    Image.fromarray(np.zeros((1200, 1200, 3), np.uint8)).save("large.jpg")
    _, out, _ = call("export", "model", "out.onnx", "--check", "large.jpg", capsys=capsys)
    assert "decoded   in full, 1 of 1 large photos (100.0 %) get the same answer\n" in out


def test_a_file_is_replaced_only_by_force(taught, capsys):
    Path("out.onnx").write_bytes(b"mine")
    code, out, err = call("export", "model", "out.onnx", capsys=capsys)
    assert (code, out) == (2, "")
    assert err == ("memoryless: out.onnx is there already: name another file, or add --force\n")
    assert Path("out.onnx").read_bytes() == b"mine"
    assert call("export", "model", "out.onnx", "--force", capsys=capsys)[0] == 0
    assert Path("out.onnx").read_bytes() != b"mine"


def test_what_is_not_there_is_named(taught, capsys):
    code, _, err = call("export", "none", "out.onnx", capsys=capsys)
    assert code == 3
    assert err == (
        "memoryless: there is no model none.memoryless: name the file that a model was saved in\n"
    )
    code, _, err = call("export", "model", "out.onnx", "--check", "gone", capsys=capsys)
    assert code == 2
    assert err == (
        "memoryless: there is no folder or file gone (No such file or directory): check its name\n"
    )
    assert not Path("out.onnx").exists()
