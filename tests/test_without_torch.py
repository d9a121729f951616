"""The photo tool without torch: every command but `learn --train` does its work."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from exports import NAMES, draw
from memoryless import Model
from memoryless.images.samples import write_samples
from photo_toys import make_colours

HOOK = """
import sys
class Lacking:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[2:]:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)
sys.meta_path.insert(0, Lacking)
from memoryless.cli import main
codes = {line: main(line.split()) for line in sys.argv[1].splitlines()}
print(codes, file=sys.stderr)
"""
EXTRA = ("torch", "onnxscript", "matplotlib", "sklearn", "pandas")
LACKING = "memoryless: this needs torch, which is not installed: pip install 'memoryless[lab]'"


def commands(
    lines: str, folder: Path, lacking: tuple[str, ...] = EXTRA
) -> tuple[dict[str, int], str]:
    """Exit codes of commands in a process that lacks packages, and what they complain of."""
    command = [sys.executable, "-c", HOOK, lines.strip(), *lacking]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    *complaints, codes = done.stderr.splitlines()
    return ast.literal_eval(codes), "\n".join(complaints)


PHOTOS = """
learn a first
learn a second
learn b other --forgettable
learn b other --forgettable --more
predict a second
evaluate a first --html page.html
show a
merge c a b
rename c fox wolf
forget c wolf
undo b
audit a --members first --others strangers
export a a.onnx
check a
export a d.memoryless
predict d second
samples drawings
"""


def test_the_photo_tool_needs_no_torch(tmp_path):
    for place, names in {
        "first": ("cat", "dog"),
        "second": ("owl", "yak"),
        "other": ("fox", "hen"),
    }.items():
        make_colours(tmp_path / place, *names)
    make_colours(tmp_path / "strangers", "cat", "dog", seed=1)
    codes, complaints = commands(PHOTOS, tmp_path)
    assert [line for line, code in codes.items() if code] == [], complaints


READING = """
show a
check a
predict a first
evaluate a first --html page.html
audit a --members first --others strangers
rename a cat lion
undo a
undo a --list
"""


def test_commands_that_read_or_undo_do_not_wait_for_onnx(tmp_path):
    for place, seed in (("first", 0), ("strangers", 1)):
        make_colours(tmp_path / place, "cat", "dog", seed=seed)
    assert commands("learn a first", tmp_path)[0] == {"learn a first": 0}
    codes, complaints = commands(READING, tmp_path, ("torch", "onnx"))
    assert set(codes.values()) == {0}, complaints


TRAINED = {"image_size": 16, "width": 2, "epochs": 1, "batch_size": 16, "level": "middle"}


def test_a_trained_model_needs_torch_to_learn_alone(tmp_path):
    model = Model("lwf_kd+lda", **TRAINED, statistics="tied", square_roots=True)
    model.learn([p for n in NAMES for p in draw(n, 12)], [n for n in NAMES for _ in range(12)])
    model.save(tmp_path / "m")
    make_colours(tmp_path / "photos", *NAMES)
    make_colours(tmp_path / "more", "yak", "fox")
    lines = (
        "predict m photos\nevaluate m photos\nshow m\nexport m m.onnx\nrename m cat puma\ncheck m"
    )
    codes, complaints = commands(f"{lines}\nlearn m more", tmp_path)
    assert [line for line, code in codes.items() if code] == ["learn m more"], complaints
    assert complaints == LACKING


@pytest.mark.parametrize("line", ["run", "paper", "demo", "learn m photos/train --train"])
def test_what_needs_torch_says_so_in_one_line(line, tmp_path):
    write_samples(tmp_path / "photos", classes=4, per_class=20, test_per_class=4)
    assert commands(line, tmp_path, ("torch",)) == ({line: 2}, LACKING)


def test_finished_runs_are_read_without_torch(gathered_run):
    lines = "table .\ntable . --methods inFT_siw finetune+lda\ncompare . --heads siw lda\nlist"
    codes, complaints = commands(lines, gathered_run, ("torch", "matplotlib"))
    assert set(codes.values()) == {0}, complaints
    assert commands("table .", gathered_run) == ({"table .": 2}, LACKING.replace("torch", "pandas"))
