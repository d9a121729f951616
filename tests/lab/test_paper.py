"""The paper's trainings: its cells, shards and tables, and what the command shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from memoryless.store import locked

from conftest import TOY_PRESET, make_toy
from memoryless.cli import main
from memoryless.errors import DataError
from memoryless.images.sources import SOURCES, Source
from memoryless.lab.charts import draw_similarity, shown
from memoryless.lab.paper import PaperTable
from memoryless.lab.paper_tables import CLAIMS, NORMALISATIONS
from memoryless.lab.presets import PAPER_STRATEGIES, PRESETS
from memoryless.lab.runs import RunFolder
from memoryless.output import FORMATS, write_tables
from memoryless.progress import Observer, TrainingProgress
from memoryless.stats.methods import METHODS, method_name


@pytest.fixture
def table(tmp_path, toy_source) -> PaperTable:
    return PaperTable("toy", TOY_PRESET, TOY_PRESET.states, PAPER_STRATEGIES, (0, 1), tmp_path)


def test_another_data_set_is_refused_before_training(table):
    wrong = replace(table, preset=replace(TOY_PRESET, classes=7, train_images=100))
    message = "preset toy is for another data set: there are 6 classes instead of 7, 72 training"
    with pytest.raises(DataError, match=message):
        wrong.train(0, 1, Observer())
    assert not list(table.output.iterdir())


def test_joint_training_is_one_cell_for_all_numbers_of_states(table):
    assert len(table.cells) == 2 * (2 * 3 + 1)
    places = {str(c.output.relative_to(table.output)) for c in table.cells}
    assert "toy/joint" in places
    assert "toy/3-states/lwf" in places


def test_the_trainings_of_figure_3(table):
    strategies = ("finetune", "replay:0.25", "replay:0.5", "independent")
    few = replace(table, strategies=strategies, states=(3,), seeds=(0,))
    assert [(c.strategy, c.memory) for c in few.cells[1:3]] == [("replay", 0.25), ("replay", 0.5)]
    assert few.cells[2].output == table.output / "toy/3-states/replay-0.5"
    few.train(0, 1, Observer())
    methods = [line[0] for table in few.tables(few.complete()) for line in table.rows]
    assert "independent" in methods
    assert "replay" not in methods  # it is not memoryless
    runs = [RunFolder(c.output / "seed-0") for c in few.cells]
    assert len(draw_similarity(shown(runs)).axes[0].lines) == 4


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> Iterator[tuple[PaperTable, list]]:
    """A table trained in two shards, and what was seen between them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
        output = tmp_path_factory.mktemp("paper")
        table = PaperTable("toy", TOY_PRESET, TOY_PRESET.states, PAPER_STRATEGIES, (0, 1), output)
        table.train(0, 2, Observer())
        started: list[TrainingProgress] = []

        class Watch(Observer):
            def training(self, progress):
                started.append(progress)

        table.train(0, 2, Watch())
        seen = [
            table.tables(table.complete())[0].title,
            started,
            [seconds for *_, seconds in table.estimate()],
        ]
        table.train(1, 2, Observer())
        yield table, seen


def test_the_whole_table(shards, tmp_path):
    table, _ = shards
    first, normalisations, claims = table.tables(table.complete())
    assert first.title == "toy: 14 of 14 trainings, Table 1: top-5"
    named = [f"{method_name(m)} ({name})" for name, m in METHODS.items() if name != "Full"]
    own = [name for name in named if name.split()[0] not in NORMALISATIONS[:2]]
    assert [line[0] for line in first.rows] == own
    assert {line[0].split()[0] for line in normalisations.rows} == set(NORMALISATIONS)
    assert first.columns[:4] == ["method", "T=2", "T=3", "G_IL"]
    assert [line[0] for line in claims.rows] == list(CLAIMS)
    folders = [RunFolder(table.output / "toy" / "joint" / f"seed-{s}") for s in (0, 1)]
    full = [folder.results()[-1].methods["joint"].top5 for folder in folders]
    row = first.figures.query("method == 'finetune+siw' and T == 3").iloc[0]
    assert row["full_top5"] == pytest.approx(sum(full) / 200)
    assert row["seeds"] == 2
    assert f"all images at once: {sum(full) / 2:.1f}±" in first.caption
    for ending in FORMATS:
        write_tables([first, normalisations, claims], tmp_path / f"t{ending}")
        assert "inFT" in (tmp_path / f"t{ending}").read_text().replace("\\_", "_")


def test_shards_do_every_cell_once_and_finished_ones_are_skipped(shards):
    table, (title, started, seconds) = shards
    assert title == "toy: 7 of 14 trainings, Table 1: top-5"
    assert not started
    assert [left == 0 for left in seconds] == [True, False] * 7
    assert table.tables(table.complete())[0].title == "toy: 14 of 14 trainings, Table 1: top-5"
    assert all(left == 0 for _, left, _ in table.estimate())


def test_the_control_is_the_same_whatever_it_stands_beside(table):
    """Commands with other strategies share its folder."""
    longer = replace(TOY_PRESET, strategies={"lwf": {"epochs": 7, "epochs_later": 5}})
    tables = [
        replace(table, preset=longer, strategies=(name,), control=True)
        for name in ("finetune", "lwf")
    ]
    assert tables[0].controls == tables[1].controls


def test_the_time_of_controls_is_estimated_too(table, monkeypatch):
    monkeypatch.setattr("memoryless.lab.estimate.images_per_second", lambda *given: 2.0)
    few = replace(table, strategies=("finetune",), states=(2,), seeds=(0,), control=True)
    sizes = [(config.strategy, left, seconds) for config, left, seconds in few.estimate()]
    trained, untrained = 72 + 72 + 12 + 24, 72 + 12 + 12
    assert sizes == [
        ("finetune", trained, trained / 2),
        ("untrained", untrained, untrained / 2),
    ]


def test_the_control_of_each_stream_that_is_trained_on(table):
    """The preset's own where it has one, so that it is the same run as a cell of it would be."""
    with_control = replace(table, control=True)
    places = [
        (c.output.relative_to(table.output).as_posix(), c.seeds) for c in with_control.controls
    ]
    assert places == [(f"toy/{t}-states/untrained", (seed,)) for seed in (0, 1) for t in (2, 3)]
    assert with_control.cells == table.cells
    assert table.controls == []
    assert replace(with_control, strategies=("joint",)).controls == []
    assert replace(with_control, strategies=("finetune", "untrained")).controls == []
    own = replace(TOY_PRESET, strategies={"untrained": {"statistics": "tied"}})
    (first, *_) = replace(with_control, preset=own).controls
    (cell, *_) = replace(table, preset=own, strategies=("untrained",)).cells
    assert first == cell


@pytest.fixture
def toy_preset(tmp_path, toy_source, monkeypatch) -> None:
    """The toy data as a preset of two states, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", replace(TOY_PRESET, states=(2,)))


def test_paper_command(toy_preset, capsys):
    assert main(["paper", "--preset", "toy", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "runs/paper/toy/2-states/lucir/seed-0" in out
    assert "runs/paper/toy/2-states/untrained/seed-0" in out
    assert "in all, on this machine as it is now" in out
    assert not Path("runs").exists()
    assert main(["paper", "--preset", "toy", "--write", "t.tex", "t.json"]) == 0
    out = capsys.readouterr().out
    assert "toy: 4 of 4 trainings, Table 1: top-5" in out
    assert "toy: 4 of 4 trainings, normalisations" in out
    assert "untrained+lda is the control, a network that never learned" in " ".join(out.split())
    entries = json.loads(Path("t.json").read_text())
    assert len(entries) == 18  # two methods in both
    assert entries[13]["method"] == "untrained+lda"  # the last row of the first table
    assert Path("runs/paper/toy/2-states/untrained/seed-0/run.json").exists()


def test_paper_with_methods_beyond_it(toy_preset, capsys):
    words = (
        "paper --preset toy --strategies finetune --statistics full --square-roots --held-out 0.25"
    )
    name = "finetune+lda:0.3+bg_z+linear"
    assert main([*words.split(), "--methods", name]) == 0
    assert name in capsys.readouterr().out


def test_paper_without_the_control(toy_preset, capsys):
    words = "paper --preset toy --strategies finetune --no-control"
    assert main(words.split()) == 0
    assert "untrained" not in capsys.readouterr().out
    assert not Path("runs/paper/toy/2-states/untrained").exists()


def test_a_control_that_another_process_runs_is_left_out(toy_preset, capsys):
    words = "paper --preset toy --strategies finetune".split()
    folder = Path("runs/paper/toy/2-states/untrained/seed-0")
    with locked(folder):
        assert main(words) == 0
    out = capsys.readouterr().out
    assert "toy: 1 of 1 trainings, Table 1: top-5" in out
    assert "untrained+lda" not in out
    assert (
        f"the control in {folder} is left out, since another process is writing it; the same "
        "command adds its row later\n"
    ) in out
    assert main(words) == 0
    assert "untrained+lda" in capsys.readouterr().out


def test_a_control_that_cannot_be_written_is_an_error(toy_preset, capsys):
    Path("runs/paper/toy/2-states").mkdir(parents=True)
    Path("runs/paper/toy/2-states/untrained").write_text("a file in the way")
    assert main("paper --preset toy --strategies finetune".split()) == 2
    assert "cannot write runs/paper/toy/2-states/untrained/seed-0" in capsys.readouterr().err
