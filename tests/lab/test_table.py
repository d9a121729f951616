"""Tables hold the figures that they print, name their protocol and fit a terminal."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from conftest import FakeRun
from memoryless.lab.compare import compare_table
from memoryless.lab.comparison import comparisons, pareto_front
from memoryless.lab.frame import TYPOLOGY
from memoryless.lab.table import data_table, method_table, typology_tables
from memoryless.output import show

VALUES = {
    "finetune": [90.0, 20.0, 10.0],
    "finetune+initial+mc": [90.0, 50.0, 40.0],
    "finetune+siw": [90.0, 40.0, 30.0],
    "finetune+gaussian_replay+widened": [90.0, 60.0, 50.0],
}
CONTROL = FakeRun({"untrained+lda": [60.0, 50.0, 40.0]}, "u/s", config={"strategy": "untrained"})
JOINT = FakeRun({"joint": [80.0]}, "j/s", config={"strategy": "joint"}, memoryless=False)


def table(*runs: FakeRun, every: bool = False):
    return method_table(*comparisons(runs), every)


def test_a_table_by_hand():
    shown = table(FakeRun(VALUES), CONTROL, JOINT)
    assert shown.title == "toy, 3 states, 1 seed; percent, average of states 1-2"
    assert shown.columns == ["method", "top-1", "A_inc", "A_last", "top-5", "lost", "kept", ""]
    assert shown.rows == [
        ["untrained+lda", "45.0", "50.0", "40.0", "22.5", "15.0", "300 bytes", "control"],
        ["finetune+siw", "35.0", "53.3", "30.0", "17.5", "35.0", "300 bytes", "reference"],
        ["finetune", "15.0", "40.0", "10.0", "7.5", "45.0", "300 bytes", ""],
        ["chance", "20.8", "", "", "91.7", "", "", ""],
        ["Full", "", "", "80.0", "", "", "images", ""],
    ]
    for part in (
        "resnet18_3x3, width 2, epochs 2 (later 2), augmentation flip, order natural, seeds 0.",
        "fixed in advance",
        "never learned",
        "--all shows 2 more",
    ):
        assert part in shown.caption
    assert len(table(FakeRun(VALUES), CONTROL, every=True).rows) == 6
    assert shown.figures["top1"].tolist() == [0.45, 0.35, 0.15]
    assert shown.figures["role"].tolist() == ["control", "reference", ""]


def test_one_state_has_no_average():
    shown = table(JOINT)
    assert shown.columns == ["method", "top-1", "top-5", "kept", ""]
    assert shown.rows[0] == ["joint", "80.0", "40.0", "images", ""]
    assert "joint kept images of the past" in shown.caption


@pytest.mark.parametrize("every", [False, True])
def test_no_line_is_wider_than_a_terminal(every):
    runs = [FakeRun(VALUES, f"{s}/s", seed=s) for s in (0, 1)]
    runs[1].accuracies = {name: [v - 9 for v in values] for name, values in VALUES.items()}
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, color_system=None, width=80)
    (comparison,) = comparisons([*runs, CONTROL, JOINT])
    for made in (method_table(comparison, every), compare_table(comparison, every=every)):
        show(made, terminal)
    lines = screen.getvalue().split("\n")
    assert max(map(len, lines)) <= 80
    assert any("30.5±6.4" in line for line in lines)


def test_the_front_keeps_something_and_beats_all_that_keep_less():
    (comparison,) = comparisons([FakeRun(VALUES)])
    row = comparison.row
    facts = {
        "nothing": (0, 7),
        "few": (10, 9),
        "worse": (20, 8),
        "equal": (30, 9),
        "many": (40, 50),
    }
    rows = [row._replace(method=n, bytes=size, top1=top) for n, (size, top) in facts.items()]
    assert [row.method for row in pareto_front(rows)] == ["few", "many"]
    assert pareto_front([row._replace(bytes=5, top1=6.0), *rows[:1]]) == []
    assert pareto_front([row._replace(memoryless=False)]) == []


def test_compare_shows_the_best_the_front_and_the_reference():
    heads = ("l2", "mean", "min_max", "l2+mc", "mean+mc", "min_max+mc", "siw+mc", "initial")
    many = {f"finetune+{head}": [90.0, 70.0 + i, 70.0] for i, head in enumerate(heads)}
    more = {f"finetune+{c}+bg_z": [9.0, 75.5, 70.0] for c in ("siw", "l2", "initial")}
    (comparison,) = comparisons([FakeRun(VALUES | many | more)])
    few, every = (compare_table(comparison, every=every) for every in (False, True))
    assert len(every.rows) == 15
    assert [row[0] for row in few.rows[:2]] == ["finetune+initial", "finetune+siw+mc"]
    assert few.rows[0] == ["finetune+initial", "73.5", "36.8", "300 bytes", "21", "*"]
    assert len(few.rows) == 10
    assert "--all shows 5 more methods" in few.caption
    assert few.figures["front"].tolist() == [True] + [False] * 9


def test_typology_has_the_stored_percentages():
    (first, second) = typology_tables([FakeRun(VALUES, "a/s"), FakeRun(VALUES, "b/s", seed=1)])
    assert first.title == "a/s: answers after state 2"
    assert [row[0] for row in first.rows] == ["finetune", "finetune+siw"]
    stored = FakeRun(VALUES).results()[2].methods["finetune"].typology
    assert first.rows[0][1:] == [f"{getattr(stored, kind):.1f}" for kind in TYPOLOGY.values()]
    assert second.figures["seed"].unique().tolist() == [1]
    assert sorted(first.figures["state"].unique()) == [1, 2]
    (every,) = typology_tables([FakeRun(VALUES)], every=True)
    assert len(every.rows) == 4
    assert typology_tables([JOINT]) == []


def test_images_of_data_sets():
    run = FakeRun(VALUES, train_images=[10, 20, 30], test_images=[1, 2, 3])
    shown = data_table([run, run, FakeRun(VALUES, dataset="other")])
    assert shown.rows[0] == ["toy", "3", "60", "6", "20.00", f"{np.std([10, 20, 30]):.2f}"]
    assert [row[0] for row in shown.rows] == ["toy", "other"]
