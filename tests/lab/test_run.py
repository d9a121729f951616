"""memoryless run: from a folder of photos to a table, and what stops it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from conftest import PHOTO_FLAGS, FakeRun, call
from memoryless.cli import main
from memoryless.lab.comparison import comparisons
from memoryless.lab.run import average_line
from memoryless.lab.runs import find_runs
from memoryless.stats.methods import methods_of


def test_the_command_that_shows_a_run_is_quoted(tiny, toy_runs, capsys):
    words = "run --data toy --states 2 --width 1 --epochs 1 --output".split()
    assert main([*words, "a b;\x1b"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(r"a b;\x1b/seed-0: 2 states")
    assert out.endswith("next: memoryless table 'a b;\\x1b'\n")


def test_run_and_table(photos, capsys):
    code, out, _ = call("run", *PHOTO_FLAGS, "--root", "photos", "--seeds", "0", "1", capsys=capsys)
    assert code == 0
    assert "runs/latest/seed-1: 3 states" in out
    assert out.endswith("next: memoryless table runs/latest\n")
    runs = find_runs([Path("runs/latest")])
    (comparison,) = comparisons(runs)
    assert average_line(comparison) in " ".join(out.split())
    assert max(map(len, out.splitlines()[-3:])) <= 80
    assert "untrained+lda" in average_line(comparison)
    assert "\x1b" not in out  # nothing but lines when not a terminal
    code, out, _ = call(
        "table", "runs/latest", "--all", "--write", "t.csv", "t.json", "t.md", capsys=capsys
    )
    assert code == 0
    assert "photos, 3 states, 2 seeds; percent, average of states 1-2" in out
    assert "width 2, epochs 1 (later 1), augmentation" in out
    assert ["chance", "41.7", "100.0"] in [line.split() for line in out.splitlines()]
    rows = list(csv.DictReader(Path("t.csv").read_text().splitlines()))
    mine = [r["method"] for r in rows if r["strategy"] == "finetune"]
    assert {*mine} == {*methods_of("finetune")}
    assert [r["method"] for r in rows] == [
        r["method"] for r in json.loads(Path("t.json").read_text())
    ]
    assert Path("t.md").read_text().count("\n| finetune") == len(mine)


def test_the_line_of_averages():
    values = {"finetune": [90.0, 20.0, 10.0], "finetune+siw": [90.0, 40.0, 30.0]}
    control = FakeRun({"untrained+lda": [9.0, 5.0, 4.0]}, "u/s", config={"strategy": "untrained"})
    assert average_line(*comparisons([FakeRun(values), control])) == (
        "Average of states 1-2: finetune+siw 35.0 (reference), finetune 15.0, untrained+lda 4.5 "
        "(control)"
    )
    replay = FakeRun({"replay": [9.0, 8.0, 8.0]}, config={"strategy": "replay"}, memoryless=False)
    assert average_line(*comparisons([replay])).endswith(": replay 8.0 (not memoryless)")


def test_skip_broken_says_so(photos, capsys):
    (photos / "red" / "bad.png").write_bytes(b"no")
    arguments = ["run", *PHOTO_FLAGS, "--root", "photos"]
    code, _, err = call(*arguments, capsys=capsys)
    assert code == 2
    assert "leave it out with --skip-broken" in err
    code, out, _ = call(*arguments, "--skip-broken", capsys=capsys)
    assert code == 0
    assert out.startswith("left out 1 entry of photos: photos/red/bad.png (not an image)\n")


def test_an_output_that_cannot_be_written(photos, capsys):
    Path("runs").write_text("a file in the way")
    code, _, err = call("run", *PHOTO_FLAGS, "--root", "photos", capsys=capsys)
    assert code == 2
    assert "choose another --output" in err


def test_interrupt(photos, capsys, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("memoryless.lab.experiment.run", stop)
    code, _, err = call("run", *PHOTO_FLAGS, "--root", "photos", capsys=capsys)
    assert code == 130
    assert "the same command continues after the last finished epoch" in err


def test_a_run_without_its_control(tiny, toy_runs, capsys):
    words = "run --data toy --states 2 --width 1 --epochs 1 --no-control".split()
    assert main(words) == 0
    assert "control" not in capsys.readouterr().out
    assert [p.name for p in Path("runs/latest").iterdir()] == ["seed-0"]
    assert main(words) == 0
    assert "2 states, complete already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "threads"),
    [("", 1), ("--width 9", None), ("--threads 2", 2), ("--strategy fixed", None)],
)
def test_threads_suit_the_network(flags, threads, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    set_to: list[int] = []
    monkeypatch.setattr("torch.set_num_threads", set_to.append)
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    monkeypatch.setattr("memoryless.lab.experiment.run", lambda *given: [])
    assert main(["run", *flags.split()]) == 0
    assert set_to == ([threads] if threads else [])


def test_the_images_are_checked_once_for_both(photos, capsys, monkeypatch):
    checked: list[int] = []
    monkeypatch.setattr(
        "memoryless.progress.Display.working",
        lambda self, what, done=0, total=0: (
            checked.append(done) if what == "checking images" else None
        ),
    )
    assert call("run", *PHOTO_FLAGS, "--root", "photos", capsys=capsys)[0] == 0
    assert checked == list(range(1, 16))
