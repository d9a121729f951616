"""Numbers as people read them; lines stay lines, whatever a name holds."""

from __future__ import annotations

from memoryless.cli.wording import duration, reasons, size, tell, tell_each


def test_sizes_at_their_edges():
    assert [size(n) for n in (0, 1, 1000, 999_999, 10**6, 10**9)] == [
        "0 bytes", "1 bytes", "1.0 kB", "1000.0 kB", "1.0 MB", "1.0 GB",
    ]  # fmt: skip


def test_durations_at_their_edges():
    assert [duration(s) for s in (0, 99.4, 100, 86400)] == [
        "1 s",
        "99 s",
        "0:01:40",
        "1 day, 0:00:00",
    ]


def test_lines_stand_under_their_heading(capsys):
    tell("model", "a\nb")
    tell_each("note", ["one", "two"])
    assert capsys.readouterr().out == "model     a\\nb\nnote      one\nnote      two\n"


def test_reasons_name_the_first_ten():
    assert reasons({"a": "broken"}) == "1: a (broken)"
    assert reasons({str(i): "no" for i in range(1200)}).startswith("1,200: 0 (no), 1 (no)")
    assert reasons({str(i): "no" for i in range(12)}).endswith("9 (no) and 2 more")
