"""The paper's table: its cells, what it shows, and the settings it stands on."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from conftest import make_toy
from memoryless.cli import main
from memoryless.cli.output import FORMATS
from memoryless.data import SOURCES, Source
from memoryless.errors import ConfigError, DataError
from memoryless.lab.analysis.figures import draw_similarity
from memoryless.lab.analysis.paper_table import NORMALISATIONS, accuracy_table
from memoryless.lab.analysis.published import published, published_accuracy, published_g_il
from memoryless.lab.analysis.summary import Summary
from memoryless.lab.config import Config
from memoryless.lab.experiment import Observer, run
from memoryless.lab.paper import PaperTable
from memoryless.lab.presets import PAPER_STRATEGIES, PRESETS, Preset
from memoryless.lab.runs import RunFolder
from memoryless.methods import METHODS
from memoryless.training import Progress

TOY = Preset(
    settings={"data": "toy", "width": 2, "batch_size": 16, "epochs": 1, "lr": 0.01},
    states=(2, 3),
    classes=6,
    train_images=72,
    published="CIFAR100",
)


@pytest.fixture
def table(tmp_path, monkeypatch) -> PaperTable:
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    return PaperTable("toy", TOY, TOY.states, PAPER_STRATEGIES, (0, 1), tmp_path)


def row(method: str, states: str, top5: float, last: float = 0.0, seeds: int = 1) -> Summary:
    zero = dict.fromkeys((f.name for f in fields(Summary)), 0)
    given = {"states": states, "method": method, "top5": top5, "last_top5": last, "seeds": seeds}
    return Summary(**zero | given | {"top5_std": 1.5})


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("strategy", [*PAPER_STRATEGIES, "lwf_kd", "frozen"])
def test_every_preset_makes_a_config(name, strategy, tmp_path):
    preset = PRESETS[name]
    config = preset.config(strategy, preset.states[0], 7, tmp_path, {"order": "seed:3"})
    assert config.data in SOURCES
    assert (config.seeds, config.order, config.strategy) == ((7,), "seed:3", strategy)


def test_settings_as_published():
    """The supplement's section 3 and the table of data sets."""
    cifar = PRESETS["cifar100"].config("finetune", 10, 0, Path("x"), {})
    assert (cifar.epochs, cifar.epochs_later, cifar.patience, cifar.patience_later) == (
        300,
        70,
        60,
        15,
    )
    assert (cifar.batch_size, cifar.weight_decay, cifar.momentum, cifar.lr) == (128, 5e-4, 0.9, 0.1)
    assert (cifar.image_size, cifar.backbone, cifar.augment) == (
        224, "resnet18", ("resized_crop", "flip"),
    )  # fmt: skip
    large = PRESETS["landmarks"].config("finetune", 10, 0, Path("x"), {})
    assert (large.epochs, large.epochs_later, large.patience, large.patience_later) == (
        120,
        35,
        10,
        5,
    )
    assert (large.batch_size, large.weight_decay) == (256, 1e-4)
    lwf = PRESETS["ilsvrc"].config("lwf", 10, 0, Path("x"), {})
    assert (lwf.lr, lwf.epochs, lwf.weight_decay, lwf.outputs) == (2.0, 70, 1e-5, "all")
    lucir = PRESETS["ilsvrc"].config("lucir", 10, 0, Path("x"), {})
    assert (lucir.epochs, lucir.lambda_base, lucir.weight_decay) == (90, 10.0, 1e-4)
    for preset in PRESETS.values():
        if preset.published:
            facts = published()["datasets"][preset.published]
            assert (preset.train_images, preset.test_images) == (facts["train"], facts["test"])


def test_another_data_set_is_refused_before_training(table):
    wrong = replace(table, preset=replace(TOY, classes=7, train_images=100))
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
    methods = [line[0] for grid in few.grids() for line in grid.rows]
    assert "independent" in methods
    assert "replay" not in methods  # it is not memoryless
    assert (
        len(draw_similarity([RunFolder(c.output / "seed-0") for c in few.cells]).axes[0].lines) == 4
    )


@pytest.mark.parametrize(
    ("strategy", "message"),
    [("lwf:2", "only replay has a memory"), ("replay:much", "needs a share, as in replay:0.02")],
)
def test_a_memory_that_means_nothing(strategy, message, tmp_path):
    with pytest.raises(ConfigError, match=message):
        TOY.config(strategy, 2, 0, tmp_path, {})


def test_the_whole_table(table):
    table.train(0, 1, Observer())
    grid, normalisations = table.grids()
    assert grid.title == "toy: 14 of 14 trainings, Table 1"
    left_out = ("Full", "inFT_mean", "inFT_min_max")
    assert [line[0] for line in grid.rows] == [m for m in METHODS if m not in left_out]
    assert {line[0] for line in normalisations.rows} == set(NORMALISATIONS)
    assert grid.columns[:4] == ["method", "T=2", "T=3", "G_IL"]
    full = [
        RunFolder(table.output / "toy" / "joint" / f"seed-{s}").results()[-1]["methods"]["Full"]
        for s in (0, 1)
    ]
    mean_full = sum(f["top5"] for f in full) / 2
    record = next(r for r in grid.entries if r["method"] == "inFT_siw" and r["states"] == 3)
    assert record["measured_full"] == mean_full
    assert record["seeds"] == 2
    assert f"Full, not memoryless: {mean_full:.1f}±" in grid.caption
    for form in FORMATS.values():
        assert "inFT" in form([grid])


def test_shards_do_every_cell_once_and_finished_ones_are_skipped(table):
    table.train(0, 2, Observer())
    assert table.grids()[0].title == "toy: 7 of 14 trainings, Table 1"
    started: list[Progress] = []

    class Watch(Observer):
        def training(self, progress):
            started.append(progress)

    table.train(0, 2, Watch())
    assert not started
    assert [seconds == 0 for _, seconds in table.estimate()] == [True, False] * 7
    table.train(1, 2, Observer())
    assert table.grids()[0].title == "toy: 14 of 14 trainings, Table 1"
    assert all(seconds == 0 for _, seconds in table.estimate())


def test_measured_and_published_stand_apart():
    rows = [
        row("inFT_siw", "10", 60.0),
        row("inFT_siw", "20", 50.0),
        row("Full", "1", 0.0, last=90),
    ]
    grid = accuracy_table(rows, "title", "CIFAR100")
    assert grid.columns == [
        "method", "T=10", "T=20", "G_IL", "T=10 published", "T=20 published", "G_IL published",
    ]  # fmt: skip
    # (60 - 90) / 10 = -3 and (50 - 90) / 10 = -4
    assert grid.rows == [["inFT_siw", "60.0", "50.0", "-3.50", "56.0", "41.8", "-20.97"]]
    assert grid.entries[0]["measured_top5"] == 60.0
    assert grid.entries[0]["published_top5"] == 56.0
    assert "published Full: 91.2" in grid.caption


def test_without_full_there_is_no_g_il():
    grid = accuracy_table([row("lwf_kd+siw", "10", 60.0, seeds=3)], "title")
    assert grid.rows == [["lwf_kd+siw", "60.0±1.5", ""]]


@pytest.mark.parametrize("method", [m for m in METHODS if m != "Full"])
def test_published_numbers_are_under_our_names(method):
    assert published_accuracy(method, "CIFAR100", 10) is not None
    assert published_g_il(method) == pytest.approx(published()["methods"][method]["G_IL"], abs=0.01)


def test_latex_escapes_names():
    grid = accuracy_table([row("inFT_L2", "10", 60.0, seeds=2)], "title")
    assert r"inFT\_L2 & 60.0$\pm$1.5 &  \\" in FORMATS[".tex"]([grid])


def test_paper_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    monkeypatch.setitem(PRESETS, "toy", replace(TOY, states=(2,)))
    assert main(["paper", "--preset", "toy", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "runs/paper/toy/2-states/lucir/seed-0" in out
    assert "in all, on this machine as it is now" in out
    assert not Path("runs").exists()
    assert main(["paper", "--preset", "toy", "--write", "t.tex", "t.json"]) == 0
    out = capsys.readouterr().out
    assert "toy: 4 of 4 trainings, Table 1" in out
    assert "toy: 4 of 4 trainings, normalisations" in out
    assert len(json.loads(Path("t.json").read_text())) == 17  # two methods in both


def test_paper_with_methods_beyond_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    monkeypatch.setitem(PRESETS, "toy", replace(TOY, states=(2,)))
    words = (
        "paper --preset toy --strategies finetune --statistics full --square-roots --held-out 0.25"
    )
    name = "finetune+lda:auto+bg_z+linear"
    assert main([*words.split(), "--methods", name]) == 0
    assert name in capsys.readouterr().out


def test_not_memoryless_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    for strategy in ("replay", "frozen"):
        config = Config(data="toy", strategy=strategy, states="2", epochs=1, width=1)
        run(replace(config, output=Path(strategy)))
        assert main(["table", strategy]) == 0
        assert ("not memoryless" in capsys.readouterr().out) == (strategy == "replay")
