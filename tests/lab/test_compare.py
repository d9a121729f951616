"""memoryless compare: combinations, methods by name, and wrong words."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from memoryless.cli import main
from memoryless.lab.compare import combinations
from memoryless.lab.experiment import run
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import parse_method


def test_compare_command(gathering, toy_source, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    run(replace(gathering, data="toy", seeds=(0, 1), output=Path("runs")))
    assert main(["compare", "runs", "--all", "--write", "t.json", "--figure", "p.svg"]) == 0
    out = capsys.readouterr().out
    assert "finetune+lda+linear" in out
    assert "2 seeds" in out
    records = json.loads(Path("t.json").read_text())
    tops = [record["top1"] for record in records]
    assert tops == sorted(tops, reverse=True)
    assert {parse_method(r["method"]).head for r in records} == set(HEADS) - {"projection"}
    assert "<svg" in Path("p.svg").read_text()
    assert (
        main(["compare", "runs", "--heads", "siw", "--calibrations", "all", "--by", "top-5"]) == 0
    )
    out = capsys.readouterr().out
    assert "finetune+siw+bg_z" in out
    assert "finetune+lda" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name at least one run folder"),
        (["runs", "--heads", "lad"], "unknown head 'lad'"),
        (["runs", "--methods", "finetune+lda+mc"], "compares logits"),
        (["runs", "--figure", "p.gif"], "unknown format 'gif'"),
        (["runs", "--heads", "lda"], "can give none of that: train with --statistics full\n"),
        (["runs", "--calibrations", "bg_z"], "can give none of that: train with --held-out 0.1\n"),
        (["runs", "--heads", "lda", "--calibrations", "bg_z"],
         "can give none of that: train with --statistics full and --held-out 0.1\n"),
        (["runs", "--heads", "projection"],
         "can give none of that: head projection needs a backbone that stays as it is: the "
         "strategy frozen, fixed or untrained\n"),
        (["runs", "--transports", "linear", "--calibrations", "mc"],
         "can give none of that: transport linear moves "),
    ],
)  # fmt: skip
def test_compare_command_with_wrong_words(words, message, toy_runs, capsys):
    assert main(["compare", *words]) == 2
    assert message in capsys.readouterr().err


def test_combinations_have_their_names_and_those_of_the_paper(toy_runs, capsys):
    words = ["compare", str(toy_runs), "--calibrations", "all", "--all", "--write", "t.json"]
    assert main(words) == 0
    records = json.loads(Path("t.json").read_text())
    names = {record["method"]: record["paper_name"] for record in records}
    assert (names["finetune"], names["finetune+siw+mc"]) == ("FT", "inFT_siw_mc")
    assert "Highest top-1 first" in capsys.readouterr().out


def test_a_method_of_one_strategy_is_not_asked_of_another(toy, tiny, capsys):
    for strategy in ("frozen", "finetune"):
        given = {"strategy": strategy, "epochs": 1, "states": "2"}
        run(replace(tiny, **given, output=tiny.output / strategy), toy)
    assert main(["compare", str(tiny.output), "--heads", "projection"]) == 2
    assert "can give none of that: train with --projection 1000\n" in capsys.readouterr().err


def test_combinations(finished):
    assert combinations([finished], ["siw"], ("none", "mc")) == ["finetune+siw", "finetune+siw+mc"]
