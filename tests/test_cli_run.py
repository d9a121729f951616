"""memoryless run: from a folder of photos to a table, and what stops it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from conftest import PHOTO_FLAGS, call
from memoryless.cli import main
from memoryless.methods import methods_of


def test_the_command_that_shows_a_run_is_quoted(tiny, toy_runs, capsys):
    words = "run --data toy --states 2 --width 1 --epochs 1 --output".split()
    assert main([*words, "a b;\x1b"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(r"a b;\x1b/seed-0: 2 states")
    assert out.endswith("done: memoryless table 'a b;\\x1b'\n")


def test_run_and_table(photos, capsys):
    code, out, _ = call("run", *PHOTO_FLAGS, "--root", "photos", "--seeds", "0", "1", capsys=capsys)
    assert code == 0
    assert "runs/latest/seed-1: 3 states" in out
    assert out.endswith("done: memoryless table runs/latest\n")
    assert "\x1b" not in out  # nothing but lines when not a terminal
    code, out, _ = call("table", "runs/latest", "--write", "t.csv", "t.json", "t.md", capsys=capsys)
    assert code == 0
    assert "runs/latest: photos, 3 states, order natural, finetune, 2 seeds" in out
    assert "chance: top-1 41.7, top-5 100.0" in out
    assert "inFT_siw_mc" in out
    rows = list(csv.DictReader(Path("t.csv").read_text().splitlines()))
    assert [r["method"] for r in rows] == [
        r["method"] for r in json.loads(Path("t.json").read_text())
    ]
    assert [r["method"] for r in rows] == list(methods_of("finetune"))
    assert Path("t.md").read_text().count("\n| inFT") == len(rows) - 1  # and FT


def test_run_goes_on_where_it_stopped(photos, capsys):
    arguments = ["run", *PHOTO_FLAGS, "--root", "photos"]
    assert call(*arguments, capsys=capsys)[0] == 0
    code, out, _ = call(*arguments, capsys=capsys)
    assert code == 0
    assert "(goes on after 3 of 3 states)" in out


def test_skip_broken_says_so(photos, capsys):
    (photos / "red" / "bad.png").write_bytes(b"no")
    arguments = ["run", *PHOTO_FLAGS, "--root", "photos"]
    code, _, err = call(*arguments, capsys=capsys)
    assert code == 2
    assert err == (
        "memoryless: 1 entry of photos cannot be used: photos/red/bad.png (not an image); mend "
        "it, or leave it out with --skip-broken\n"
    )
    code, out, _ = call(*arguments, "--skip-broken", capsys=capsys)
    assert code == 0
    assert out.startswith("left out 1 entry of photos: photos/red/bad.png (not an image)\n")


def test_an_output_that_cannot_be_written(photos, capsys):
    Path("runs").write_text("a file in the way")
    code, _, err = call("run", *PHOTO_FLAGS, "--root", "photos", capsys=capsys)
    assert code == 2
    assert err == (
        "memoryless: cannot write runs/latest/seed-0 (Not a directory): choose another --output\n"
    )


def test_interrupt(photos, capsys, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("memoryless.lab.experiment.run", stop)
    code, _, err = call("run", *PHOTO_FLAGS, "--root", "photos", capsys=capsys)
    assert code == 130
    assert "the same command goes on from the last finished epoch" in err
