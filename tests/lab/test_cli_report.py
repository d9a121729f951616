"""memoryless report: a page about any runs, or one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memoryless.cli import main
from memoryless.lab.experiment import run


def test_commands_take_any_name(tiny, toy, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memoryless.progress.LAST_LINE", 1e9)  # on a busy machine as well
    monkeypatch.setattr("memoryless.progress.FIRST_LINE", 1e9)
    classes = ("$x$", "$", "_a", "%é#", "🦕\n", "--><script>alert(1)</script>")
    run(replace(tiny, output=Path(os.fsdecode(b"_$a\x1b\n<i>\xff"))), replace(toy, classes=classes))
    for words in (
        ["report", "."],
        ["figures", ".", "--formats", "svg"],
        ["compare", ".", "--figure", "$.svg"],
    ):
        assert main(words) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert err == ""
    page = Path("report.html").read_text(encoding="utf-8")
    assert "<i>" not in page
    assert page.count("<script>") == 1  # ours
    assert "alert(1)</script>" not in page


def test_on_a_terminal_it_tells_what_it_does(finished, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["report", str(finished.path), "--output", str(tmp_path / "r.html")]) == 0
    out, err = capsys.readouterr()
    assert out == f"the report is {tmp_path / 'r.html'}\n"
    assert "scoring classes" in err  # the last that is done, which is always shown


def test_methods_that_the_runs_cannot_give(finished, tmp_path, capsys):
    words = ["--methods", "finetune+lda", "--output", str(tmp_path / "r.html")]
    assert main(["report", str(finished.path), *words]) == 2
    assert capsys.readouterr().err == (
        "memoryless: the runs there can give none of these methods: train with --statistics full, "
        "or name others\n"
    )


def test_a_page_that_cannot_be_written(finished, tmp_path, capsys):
    (tmp_path / "file").touch()
    page = str(tmp_path / "file" / "r.html")
    assert main(["report", str(finished.path), "--output", page]) == 2
    assert capsys.readouterr().err.endswith("): choose another --output\n")


def test_report_command_of_one_state(tiny, toy, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(replace(tiny, states="1", epochs=1, output=Path("one")), toy)
    assert main(["report", "one", "--output", "pages/one.html"]) == 0
    assert capsys.readouterr().out.endswith("the report is pages/one.html\n")
    assert Path("pages/one.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("command", ["report", "figures"])
def test_a_library_that_lacks_is_named(command, finished):
    code = "import sys; sys.modules['matplotlib'] = None; from memoryless.cli import main; "
    code += f"sys.exit(main([{command!r}, {str(finished.path)!r}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "memoryless: this needs matplotlib, which is not installed: pip install 'memoryless[lab]'\n"
    )
