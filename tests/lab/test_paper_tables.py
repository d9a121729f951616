"""The paper's tables: measured and published numbers apart, G_IL by hand, and claims."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from msgspec.structs import replace

from conftest import FakeRun
from memoryless.lab.described import Results
from memoryless.lab.frame import averages, results_frame
from memoryless.lab.paper_tables import (
    claims_table,
    paper_tables,
    published,
    published_accuracy,
    published_g_il,
)
from memoryless.stats.methods import METHODS
from memoryless.stats.metrics import g_il
from memoryless.tables import Table


def measured(top5: float, *methods: str, states: int = 10, seed: int = 0, **config) -> FakeRun:
    """A run whose methods reach this top-5 in every state."""
    values = dict.fromkeys(methods, [2 * top5] * states)  # of which top-5 is half
    path = f"{states}-{top5}-{methods[0]}/seed-{seed}"
    return FakeRun(values, path, seed=seed, config=config | {"states": str(states)})


FULL = FakeRun({"joint": [100.0]}, "joint/s", config={"strategy": "joint"}, memoryless=False)
FULL.results = lambda results=FULL.results: [_with_top5(state, 90.0) for state in results()]


def _with_top5(state: Results, top5: float) -> Results:
    return replace(state, methods={"joint": replace(state.methods["joint"], top5=top5)})


def tables(*runs: FakeRun, data: str | None = None) -> list[Table]:
    return paper_tables(averages(results_frame(runs)), "toy", data)


def test_measured_and_published_stand_apart():
    runs = [measured(60.0, "finetune+siw"), measured(50.0, "finetune+siw", states=20), FULL]
    (table, _) = tables(*runs, data="CIFAR100")
    assert table.columns == [
        "method", "T=10", "T=20", "G_IL", "paper T=10", "paper T=20", "paper G_IL",
    ]  # fmt: skip
    # (60 - 90) / 10 = -3 and (50 - 90) / 10 = -4
    assert table.rows == [
        ["finetune+siw (inFT_siw)", "60.0", "50.0", "-3.50", "56.0", "41.8", "-20.97"],
    ]  # fmt: skip
    first = table.figures.iloc[0]
    assert (first["top5"], first["published_top5"], first["full_top5"]) == (0.6, 0.56, 0.9)
    assert first["G_IL"] == pytest.approx(-3.5)
    assert "at once: 90.0." in table.caption
    assert "in the paper: 91.2." in table.caption


def test_without_full_there_is_no_g_il_and_seeds_have_a_deviation():
    runs = [measured(60.0 + s, "lwf_kd+siw", seed=s, strategy="lwf_kd") for s in (0, 2)]
    (table,) = tables(*runs)
    assert table.title == "toy, beyond the paper: top-5"
    assert table.rows == [["lwf_kd+siw", "61.0±1.4", ""]]
    assert math.isnan(table.figures["G_IL"][0])


def test_methods_stand_in_the_papers_order_and_tables():
    names = ["finetune+rda", "finetune+siw", "finetune+min_max", "finetune"]
    table_1, normalisations, beyond = tables(measured(50.0, *names))
    assert [row[0] for row in table_1.rows] == ["finetune (FT)", "finetune+siw (inFT_siw)"]
    assert [row[0] for row in normalisations.rows] == [
        "finetune+min_max (inFT_min_max)", "finetune+siw (inFT_siw)",
    ]  # fmt: skip
    assert [row[0] for row in beyond.rows] == ["finetune+rda"]


def test_labels_keep_rows_of_one_method_apart():
    rows = averages(results_frame([measured(60.0, "finetune+siw"), FULL]))
    both = pd.concat([rows.assign(label=f"finetune+siw (lr {lr})") for lr in (0.2, 0.1)])
    (table, _) = paper_tables(both[both["method"] != "joint"], "toy")
    assert [row[0] for row in table.rows] == [
        "finetune+siw (lr 0.2) (inFT_siw)", "finetune+siw (lr 0.1) (inFT_siw)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("gains", "outcome"),
    [([1.0, 2.0], "holds"), ([1.0, -2.0], "unclear"), ([-1.0, -2.0], "does not hold")],
)
def test_a_claim_holds_in_every_seed_or_not(gains, outcome):
    runs = []
    for seed, gain in enumerate(gains):
        values = {"finetune": [90.0, 40.0], "finetune+initial": [90.0, 40.0 + 2 * gain]}
        runs.append(FakeRun(values, f"{seed}/s", seed=seed))
    table = claims_table(results_frame(runs))
    (row,) = table.rows
    mean = f"{sum(gains) / 2:+.1f}"
    assert row == ["initial rows help fine-tuning", "inFT > FT", outcome, mean]
    assert claims_table(results_frame([FakeRun({"finetune": [90.0, 40.0]})])) is None


PUBLISHED = published()


@pytest.mark.parametrize("name", PUBLISHED["methods"])
def test_published_numbers_agree_with_each_other(name):
    row = PUBLISHED["methods"][name]
    cells = [(row["accuracy"][d][t], full) for d, full in PUBLISHED["full"].items()
             for t in ("10", "20", "50")]  # fmt: skip
    assert g_il(*zip(*cells, strict=True)) == pytest.approx(row["G_IL"], abs=0.01)
    assert published_g_il(name) == pytest.approx(row["G_IL"], abs=0.01)
    for data, by_states in row["accuracy"].items():
        for states, accuracy in by_states.items():
            assert published_accuracy(name, data, int(states)) == accuracy


def test_what_is_published():
    assert PUBLISHED["methods"].keys() == METHODS.keys() - {"Full"}
    nothing = [("Full", "toy", 10), ("", "CIFAR100", 10), ("inFT", "CIFAR100", 7)]
    assert all(math.isnan(published_accuracy(*known)) for known in nothing)
