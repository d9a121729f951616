"""The ten lines of docs/export.md run an exported file where memoryless is not installed."""

from __future__ import annotations

import re
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from conftest import call
from memoryless import Model
from memoryless.photos.export import export_onnx
from photo_toys import make_colours, tiny_flags

ROOT = Path(__file__).parents[2]


@pytest.fixture
def place(tmp_path, tiny_backbone, capsys) -> Path:
    """A folder with a model, and the file of it."""
    make_colours(tmp_path / "photos", "cat", "dog", "owl")
    learn = ["learn", str(tmp_path / "model"), str(tmp_path / "photos"), *tiny_flags(tiny_backbone)]
    assert call(*learn, capsys=capsys)[0] == 0
    export_onnx(tmp_path / "model", tmp_path / "out.onnx")
    return tmp_path


def snippet() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/export.md").read_text(), flags=re.S)
    return code


def expected_answer(place: Path) -> str:
    model = Model.load(place / "model")
    judged = model.classify([np.array(Image.open(place / "photo.jpg"))])
    best = judged.scores[0].argmax()
    named = f"{model.classes[best]} {judged.probabilities[0, best]:.1%}"
    return f"{named if judged.known[0] else 'none of these'}\n"


def check_snippet(python: Path | str, place: Path, before: str = "") -> None:
    """Run the snippet with an interpreter on a photo that is known and one that is not."""
    said = []
    for pixels in (
        np.array(Image.open(place / "photos/cat/3.png")),
        np.zeros((9, 30, 3), np.uint8),
    ):
        Image.fromarray(pixels).save(place / "photo.jpg", quality=100)
        command = [python, "-I", "-c", f"{before}\n{snippet()}"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == expected_answer(place)
        said.append(done.stdout)
    assert said[0].startswith("cat ")
    assert said[1] == "none of these\n"


def test_the_snippet_has_ten_lines_and_needs_nothing_of_ours(place):
    assert len([line for line in snippet().splitlines() if line]) == 10
    check_snippet(sys.executable, place, "import sys; sys.modules['memoryless'] = None")


@pytest.mark.slow
def test_the_snippet_runs_where_memoryless_is_not_installed(place):
    venv.create(place / "venv", with_pip=True)
    (python,) = [p for p in place.glob("venv/*/python*") if p.stem == "python"]
    install = [python, "-m", "pip", "install", "--quiet", "onnxruntime", "pillow", "numpy"]
    subprocess.run([*install, "-c", ROOT / "constraints.txt"], check=True)
    command = [python, "-I", "-c", "import memoryless"]
    lacking = subprocess.run(command, check=False, capture_output=True)
    assert b"No module named 'memoryless'" in lacking.stderr
    check_snippet(python, place)


def test_exporting_needs_no_torch(place):
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from memoryless.cli import main\n"
        "sys.exit(main(['export', 'model', 'again.onnx']))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (place / "again.onnx").read_bytes() == (place / "out.onnx").read_bytes()
