"""Runs that keep class statistics: what is in their folders, and what is made of it later."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from conftest import make_learner, make_toy
from memoryless.build import EndOfState, build_scorers, choose_shrinkage
from memoryless.cli import main
from memoryless.data import SOURCES, Source
from memoryless.errors import ConfigError
from memoryless.heads import HEADS
from memoryless.heads.classes import lda
from memoryless.heads.projection import ProjectionSums
from memoryless.lab.analysis.compare import combinations, compare, pareto_front
from memoryless.lab.analysis.paired import paired_grids
from memoryless.lab.analysis.rescore import lacked_by, results_with
from memoryless.lab.config import Config
from memoryless.lab.experiment import Observer, run, scored_in_run
from memoryless.lab.runs import RunFolder
from memoryless.lab.scoring import score
from memoryless.lab.states import last_record, last_state, read_test, states_of
from memoryless.lab.stream import Stream
from memoryless.methods import grid_of, method_name, methods_of, parse_method
from memoryless.metrics import ranks
from memoryless.record import Record
from memoryless.scorers import Linear, square_roots
from memoryless.strategies import STRATEGIES
from test_statistics import EVERY_FORM


@pytest.fixture
def gathering(tiny) -> Config:
    return replace(tiny, statistics="full", held_out=0.25)


@pytest.fixture
def finished(gathering, toy) -> RunFolder:
    return RunFolder(run(gathering, toy)[0])


@pytest.mark.parametrize("form", EVERY_FORM)
def test_statistics_composed_of_births_are_those_of_the_record(tiny, toy, form):
    folder = RunFolder(run(replace(tiny, statistics=form), toy)[0])
    *_, composing = states_of(folder)
    kept, composed = last_record(folder).tensors(), composing.record.tensors()
    assert kept.keys() == composed.keys()
    for name, part in kept.items():
        torch.testing.assert_close(composed[name], part)


def test_bytes_of_every_part(finished):
    """Six classes of sixteen features in three states, at four bytes a number."""
    ledger = finished.results()[-1]["bytes"]["record"]
    basics = {"W": 6 * 16 * 4, "b": 6 * 4, "class_state": 6 * 8, "mu": 3 * 4}
    each = {"count": 6 * 4, "mean": 6 * 16 * 4, "full": 6 * 16 * 16 * 4}
    kinds = ("none", "linear", "widened", "sdc")
    parts = {f"{t}.{name}": n for t in kinds for name, n in each.items()}
    assert ledger == basics | parts | {"backward.W": 6 * 16 * 4}


@pytest.mark.parametrize(
    ("form", "parts"),
    [
        ("mean", {}),
        ("diagonal", {"diagonal": 6 * 16}),
        ("low-rank:3", {"factors": 6 * 3 * 16, "rest": 6}),
        ("tied", {"tied": 16 * 16}),
        ("full", {"full": 6 * 16 * 16}),
    ],
)
def test_bytes_of_every_form(tiny, toy, form, parts):
    config = replace(tiny, statistics=form, transports=("linear",))
    ledger = RunFolder(run(config, toy)[0]).results()[-1]["bytes"]["record"]
    mine = {n: size for n, size in ledger.items() if n.startswith("linear.")}
    expected = {"count": 6, "mean": 6 * 16} | parts
    assert mine == {f"linear.{name}": 4 * size for name, size in expected.items()}


def test_nothing_kept_grows_with_the_images(tiny):
    sizes = [
        last_record(RunFolder(run(replace(tiny, statistics="full", output=tiny.output / str(n)),
                                  make_toy(train=n))[0])).ledger
        for n in (6, 18)
    ]  # fmt: skip
    assert sizes[0] == sizes[1]


def test_held_out_images_have_no_part_in_statistics(finished):
    births = [finished.tensors(t, "birth") for t in range(3)]
    assert all(b["birth.count"].tolist() == [9, 9] for b in births)  # of 12
    held = finished.tensors(1, "held_out")
    assert held["labels"].bincount().tolist() == [0, 0, 3, 3]


@pytest.mark.parametrize("read", [{}, {"square_roots": True}, {"level": "middle"}])
def test_what_runs_score_is_what_is_scored_again(read, gathering, toy):
    finished = RunFolder(run(replace(gathering, **read), toy)[0])
    stored = finished.results()
    names = [name for name in stored[0]["methods"] if "+" in name]
    assert {"finetune+ncm", "finetune+lda+linear", "finetune+fetril+sdc"} <= set(names)
    again = results_with(finished, names)
    for state, other in zip(stored, again, strict=True):
        for name in names:
            assert state["methods"][name]["top1"] == pytest.approx(other["methods"][name]["top1"])


def test_statistics_are_of_roots_and_rows_are_not(gathering, toy):
    config = replace(gathering, square_roots=True, output=gathering.output / "roots")
    plain, rooted = (last_state(RunFolder(run(c, toy)[0])) for c in (gathering, config))
    held, labels = plain.held_out
    features = held.float()

    def scores(name: str, kept: EndOfState) -> torch.Tensor:
        return build_scorers({"it": parse_method(f"finetune+{name}")}, kept)["it"](features)

    assert torch.equal(scores("siw+backward", plain), scores("siw+backward", rooted))
    born, moved = (rooted.record.statistics[name] for name in ("none", "linear"))
    square = born.mean.square().sum(1) + born.full.diagonal(dim1=1, dim2=2).sum(1)
    assert (square >= 0.999).all()  # the sum of a unit vector's 16 entries is 1 to 4
    assert (square <= 4.001).all()
    best = choose_shrinkage(HEADS["lda"], moved, square_roots(features), labels)
    torch.testing.assert_close(
        scores("lda:auto+linear", rooted), lda(moved, best)(square_roots(features))
    )
    fitted = rooted.fitted["fetril+none"]
    torch.testing.assert_close(scores("fetril", rooted), fitted(square_roots(features)))


def test_statistics_are_of_the_middle_and_rows_are_not(gathering, toy):
    config = replace(gathering, level="middle", output=gathering.output / "middle")
    last, middle = (RunFolder(run(c, toy)[0]) for c in (gathering, config))
    rows = [name for name in methods_of("finetune") if name != "FT"] + ["finetune+siw+backward"]
    for state, other in zip(results_with(last, rows), results_with(middle, rows), strict=True):
        for name in rows:  # compared as text, where a nan is equal to itself
            assert str(state["methods"][name]) == str(other["methods"][name])
    kept = last_state(middle)
    assert kept.record.W.shape == (6, 16)
    assert kept.record.statistics["linear"].full.shape == (6, 48, 48)
    # two stages, each at length one: the second moment of the features is 2
    born = kept.record.statistics["none"]
    square = born.mean.square().sum(1) + born.full.diagonal(dim1=1, dim2=2).sum(1)
    torch.testing.assert_close(square, torch.full((6,), 2.0))
    held, _ = kept.held_out
    assert held.shape[1] == 16 + 48
    scorer = build_scorers({"it": parse_method("finetune+lda+linear")}, kept)["it"]
    of_middle = lda(kept.record.statistics["linear"])(held[:, 16:].float())
    torch.testing.assert_close(scorer(held.float()), of_middle)


def test_middle_features_of_other_backbones_are_refused(tiny, toy):
    config = replace(tiny, level="middle")
    with pytest.raises(ConfigError, match="level middle reads the stages of a ResNet"):
        run(config, toy, backbone=torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8)))
    with pytest.raises(ConfigError, match="level middle reads the stages of a ResNet"):
        replace(config, backbone="timm:resnet50").resolved(8)
    assert not config.output.exists()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_combination_with_every_strategy(strategy, gathering, toy):
    """Whatever the grid offers can be scored, in every state, and has a name of its own."""
    config = replace(gathering, strategy=strategy, epochs=1, level="middle", square_roots=True)
    config = replace(config, projection=20 if strategy == "frozen" else 0)
    folder = RunFolder(run(config, toy)[0])
    grid = {n: m for n, m in grid_of(strategy).items() if not lacked_by(folder, m)}
    assert {m.head for m in grid.values()} >= {"current", "ncm", "lda", "mahalanobis", "ridge"}
    for name, method in grid.items():
        assert parse_method(name) == method
        assert method_name(method) == name
    for kept in states_of(folder):
        features, labels = torch.rand(3, 64), torch.zeros(3, dtype=torch.long)
        scorers = build_scorers(grid, kept)
        outcomes = score(features, labels, scorers)
        for name, scorer in scorers.items():
            scores = scorer(features)
            assert scores.shape == (3, len(kept.record.b))
            assert scores.isfinite().all(), name
            if not isinstance(scorer, Linear):  # whose rounding may differ
                assert outcomes[name].ranks.tolist() == ranks(scores, labels).tolist()


def test_a_killed_run_with_statistics_goes_on_to_the_bit(gathering, toy, tmp_path):
    gathering = replace(gathering, level="middle", square_roots=True)
    whole = RunFolder(run(gathering, toy)[0])

    class Kill(Observer):
        def state_finished(self, results):
            if results["state"] == 1:
                raise KeyboardInterrupt

    again = replace(gathering, output=tmp_path / "again")
    with pytest.raises(KeyboardInterrupt):
        run(again, toy, observer=Kill())
    folder = RunFolder(run(again, toy)[0])
    for part, tensor in last_record(whole).tensors().items():
        assert torch.equal(tensor, last_record(folder).tensors()[part]), part
    assert not (folder.state(1) / "record.safetensors").exists()


@pytest.mark.parametrize(
    ("given", "name", "advice"),
    [
        ({}, "finetune+lda", "`statistics=full`"),
        ({"statistics": "mean"}, "finetune+lda", "`statistics=full`"),
        ({"statistics": "full", "transports": ("linear",)}, "finetune+ncm+sdc", "`transports=sdc`"),
        ({"statistics": "full"}, "finetune+siw+bg_z+backward", "`held_out=0.1`"),
        ({"statistics": "full"}, "finetune+lda:auto+linear", "`held_out=0.1`"),
        ({"strategy": "frozen"}, "frozen+projection", "`projection=1000`"),
    ],
)
def test_what_a_run_lacks_is_named_with_the_setting(tiny, toy, given, name, advice):
    folder = RunFolder(run(replace(tiny, epochs=1, **given), toy)[0])
    with pytest.raises(ConfigError, match=f"lacks what .* reads: train with {advice}"):
        results_with(folder, [name])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"statistics": "fool"}, "unknown statistics 'fool'"),
        ({"transports": ("liner",)}, "unknown transport 'liner'.*did you mean 'linear'"),
        ({"projection": 10}, "projection needs a backbone that stays as it is"),
    ],
)
def test_wrong_settings(tiny, given, message):
    with pytest.raises(ConfigError, match=message):
        replace(tiny, **given).resolved(8)


def test_frozen_backbones_do_not_drift(tiny, toy):
    config = replace(tiny, strategy="frozen", statistics="full")
    record = last_record(RunFolder(run(config, toy)[0]))
    for other in ("linear", "widened", "sdc"):
        for name, part in record.statistics[other].tensors().items():
            still = record.statistics["none"].tensors()[name]
            torch.testing.assert_close(part, still, rtol=1e-3, atol=1e-3)
    assert record.rows["backward"] is not None
    torch.testing.assert_close(record.rows["backward"], record.W, rtol=1e-3, atol=1e-3)


def test_a_projection_learned_in_ten_states_is_one_learned_at_once(tiny):
    data = make_toy(classes=10)
    config = replace(tiny, strategy="frozen", states="10", projection=40).resolved(8)
    folder = RunFolder(run(config, data)[0])
    first = Stream.from_config(data, config)[0].train
    learner = make_learner(config, first)
    learner.restore(folder.tensors(9, "network"), last_record(folder))
    features, labels = learner.features(data.train), torch.from_numpy(data.train.labels)
    at_once = ProjectionSums.empty(40).add(features, labels, 10).scorer(features.shape[1])
    in_states = last_state(folder).fitted["projection+none"]
    torch.testing.assert_close(in_states(features), at_once(features), rtol=1e-4, atol=1e-4)
    ledger = folder.results()[-1]["bytes"]["record"]
    assert ledger["projection.gram"] == 40 * 40 * 4
    assert ledger["projection.sums"] == 10 * 40 * 4
    (row,) = compare([folder], ["frozen+projection"])
    assert row.bytes_kept == 40 * 40 * 4 + 10 * 40 * 4


def test_a_record_is_the_same_after_a_file(finished, tmp_path):
    record = last_record(finished)
    record.save(tmp_path / "record.safetensors")
    again = Record.load(tmp_path / "record.safetensors")
    assert again.ledger == record.ledger
    assert all(torch.equal(part, again.tensors()[n]) for n, part in record.tensors().items())


def test_the_front_by_hand(finished):
    rows = compare([finished], ["FT", "inFT", "inFT_siw", "finetune+lda"])
    made = [
        replace(row, bytes_kept=size, top1=top1)
        for row, size, top1 in zip(rows, (10, 20, 20, 30), (5.0, 4.0, 9.0, 9.0), strict=True)
    ]
    assert pareto_front(made) == [made[0], made[2]]


def test_runs_that_kept_different_things_are_compared_by_what_they_have(tiny, toy):
    few, many = (
        RunFolder(run(replace(tiny, epochs=1, statistics=form, output=tiny.output / form), toy)[0])
        for form in ("none", "mean")
    )
    rows = compare([few, many], combinations([few, many]), leave_out=True)
    assert {row.run for row in rows if row.method == "finetune+ncm"} == {str(many.path.parent)}
    assert {row.run for row in rows if row.method == "finetune+siw"} == {
        str(folder.path.parent) for folder in (few, many)
    }
    (grid,) = paired_grids([few, many])
    assert {r["method"] for r in grid.entries} == {*methods_of("finetune")} - {"FT"}


def test_what_the_record_did_not_hold_is_composed_of_births(tiny, toy):
    config = replace(tiny, statistics="full", transports=("linear",))
    folder = RunFolder(run(config, toy)[0])
    assert "none.mean" not in folder.results()[-1]["bytes"]["record"]
    methods = ["finetune+ncm", "finetune+siw+backward"]
    last = results_with(folder, methods)[-1]["methods"]
    assert last["finetune+ncm"]["bytes"] == 6 * 16 * 4


def test_methods_asked_for_are_scored_in_the_run(gathering, toy):
    name = "finetune+siw+bg_z+backward"
    (path,) = run(replace(gathering, methods=(name,)), toy)
    assert name in RunFolder(path).results()[-1]["methods"]
    for wrong, message in {
        "finetune+siw+bg": "unknown head, calibration or transport",
        "lwf+siw": "is not of the strategy finetune",
        "finetune+lda:auto": "reads what is not kept: train with `held_out=0.1`",
    }.items():
        with pytest.raises(ConfigError, match=message):
            replace(gathering, methods=(wrong,), held_out=0.0).resolved(8)


def test_how_statistics_are_made_without_them_does_not_make_another_experiment(tiny, toy):
    (path,) = run(tiny, toy)
    run(replace(tiny, transports=("linear",), level="middle", square_roots=True), toy)
    assert read_test(RunFolder(path), 0)[0].shape == (8, 16)
    with pytest.raises(ConfigError, match="statistics none there, mean here"):
        run(replace(tiny, statistics="mean"), toy)


def test_means_alone_are_not_widened(tiny, toy):
    folder = RunFolder(run(replace(tiny, statistics="mean"), toy)[0])
    assert last_record(folder).statistics.keys() == {"none", "linear", "sdc"}
    assert last_state(folder).fitted.keys() == {"fetril+none", "fetril+linear", "fetril+sdc"}


def test_compare_command(gathering, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    run(replace(gathering, data="toy", seeds=(0, 1), output=Path("runs")))
    assert main(["compare", "runs", "--write", "t.json", "--figure", "p.svg"]) == 0
    out = capsys.readouterr().out
    assert "finetune+lda+linear" in out
    assert "2 seeds" in out
    records = json.loads(Path("t.json").read_text())
    tops = [record["top1"] for record in records]
    assert tops == sorted(tops, reverse=True)
    assert {parse_method(r["method"]).head for r in records} == set(HEADS) - {"projection"}
    assert "<svg" in Path("p.svg").read_text()
    assert main(["compare", "runs", "--heads", "siw", "--calibrations", "all", "--by", "top5"]) == 0
    out = capsys.readouterr().out
    assert "finetune+siw+bg_z+backward" in out
    assert "finetune+lda" not in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name at least one run folder"),
        (["runs", "--heads", "lad"], "unknown head 'lad'"),
        (["runs", "--methods", "finetune+lda+mc"], "compares logits"),
        (["runs", "--figure", "p.gif"], "unknown format 'gif'"),
        (["runs", "--heads", "lda"], "the runs there can give none of that"),
    ],
)
def test_compare_command_with_wrong_words(words, message, tiny, toy, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    run(replace(tiny, epochs=1, output=Path("runs")), toy)
    assert main(["compare", *words]) == 2
    assert message in capsys.readouterr().err


def test_without_statistics_runs_score_what_they_did(tiny):
    assert not any("+" in name for name in scored_in_run(tiny))
    assert combinations([]) == []
    assert EndOfState(Record.empty(2), (torch.zeros(0, 2), torch.zeros(0))).fitted == {}
