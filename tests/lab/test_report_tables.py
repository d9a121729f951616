"""Tables of a report: one for each stream, by top-1, with chance, control and Full."""

from __future__ import annotations

from conftest import FakeRun
from memoryless.lab.comparison import comparisons
from memoryless.lab.measures import class_accuracies
from memoryless.lab.report import class_table, method_tables, states_tables

MIDDLE = {"statistics": "full", "level": "middle", "square_roots": True}
RUNS = {
    "finetune": [90.0, 20.0, 10.0],
    "finetune+initial+mc": [90.0, 50.0, 40.0],
    "finetune+siw": [90.0, 40.0, 30.0],
}
CONTROL = {"untrained+lda": [60.0, 50.0, 40.0]}
UNTRAINED = MIDDLE | {"strategy": "untrained"}


def finetune(states: int = 3, **about) -> FakeRun:
    values = {name: (v * 9)[:states] for name, v in RUNS.items()}
    return FakeRun(values, f"f{states}/seed-{about.get('seed', 0)}", **about)


def joint() -> FakeRun:
    return FakeRun({"joint": [80.0]}, "j/s", config={"strategy": "joint"}, memoryless=False)


def rows(table) -> list[tuple[str, str]]:
    return [(name, cells[0]) for name, *cells in table.rows]


def references(table) -> list[str]:
    return [name for name, marks in table.marks.items() if "reference" in marks]


def test_methods_stand_by_top1_with_chance_control_and_full():
    control = FakeRun(CONTROL, "u/s", config=UNTRAINED)
    (comparison,) = comparisons([finetune(), control, joint()])
    pair = method_tables(comparison)
    assert rows(pair.first) == [
        ("untrained+lda", "45.0"), ("finetune+siw", "35.0"), ("finetune", "15.0"),
        ("chance", "20.8"), ("Full", ""),
    ]  # fmt: skip
    assert ("finetune+initial+mc", "45.0") in rows(pair.whole)
    assert pair.first.marks == {
        "Full": ["all classes at once", "not memoryless"],
        "untrained+lda": ["control"],
        "finetune+siw": ["reference"],
        "finetune": ["strategy"],
    }
    kinds = {name: marks[0] for name, marks in pair.first.marks.items() if name != "Full"}
    assert pair.first.kinds == kinds | {"chance": "bound", "Full": "bound"}
    assert pair.first.title == "toy, 3 states"
    assert pair.first.columns[:5] == ["method", "top-1", "A_inc", "A_last", "top-5"]
    full = dict(zip(pair.first.columns[1:], pair.first.rows[-1][1:], strict=True))
    assert {name: text for name, text in full.items() if text} == {
        "kept": "images", "A_last": "80.0",
    }  # fmt: skip
    assert {len(row) for row in pair.first.rows} == {len(pair.first.columns)}
    cells = dict(zip(pair.first.columns[1:], pair.first.rows[1][1:], strict=True))
    assert (cells["kept"], cells["multiplications"], cells["seeds"]) == ("300 bytes", "21", "1")


def test_all_methods_are_folded_only_if_there_are_more():
    (comparison,) = comparisons([FakeRun({"finetune": [90.0, 20.0]})])
    assert method_tables(comparison).whole is None


def test_seeds_have_a_spread():
    runs = [FakeRun({"finetune": [90.0, v]}, f"f/seed-{v}", seed=v) for v in (20, 40)]
    table = method_tables(*comparisons(runs)).first
    assert rows(table) == [("finetune", "30.0±14.1"), ("chance", "25.0")]
    assert table.caption.endswith("seeds 20 40")


def test_many_trainings_show_the_first_and_last_of_each():
    values = {n: [9.0, 9.0] for n in ("lwf", "lwf+initial", "lwf+siw")}
    runs = [
        FakeRun(values, f"{i}/s", config={"strategy": "lwf", "lr": i / 10}) for i in range(1, 6)
    ]
    names = {row[0] for row in method_tables(*comparisons(runs)).first.rows}
    assert names == {"chance"} | {
        f"{method} (lr {i / 10})" for method in ("lwf", "lwf+siw") for i in range(1, 6)
    }


def test_streams_of_one_name_are_numbered():
    found = comparisons([finetune(), finetune(sizes=[4, 1, 1])])
    assert [method_tables(c).first.title for c in found] == [
        "toy, 3 states (1)",
        "toy, 3 states (2)",
    ]
    (pair,) = states_tables(found)
    assert pair.first.columns == ["method", "T=3 (1)", "T=3 (2)"]


def test_numbers_of_states_stand_beside_each_other():
    (pair,) = states_tables(comparisons([finetune(20), finetune(3), finetune(5), joint()]))
    assert pair.first.columns == ["method", "T=3", "T=5", "T=20"]
    assert pair.first.title == "toy: methods by number of states T"
    found = {name: cells for name, *cells in pair.first.rows}
    assert found["finetune+siw"][0] == "35.0"
    assert found["chance"][0] == "20.8"
    assert "finetune+initial+mc" not in found
    assert "finetune+initial+mc" in {row[0] for row in pair.whole.rows}
    assert [row[0] for row in pair.first.rows][:2] == ["finetune+siw", "finetune"]


def test_one_method_is_the_reference_for_all_numbers_of_states():
    """That which the page begins with: of the number of states with the most trainings."""
    other = FakeRun({"lwf": [9.0] * 5, "lwf+siw": [9.0] * 5}, "l/s", config={"strategy": "lwf"})
    more = [FakeRun({"frozen": [9.0] * 3}, "z/s", config={"strategy": "frozen"}), finetune(3)]
    (pair,) = states_tables(comparisons([other, *more]))
    for table in (pair.first, pair.whole):
        assert references(table) == ["finetune+siw"]
        assert table.kinds["finetune+siw"] == "reference"


def test_what_has_not_ended_recommends_nothing_for_all_numbers_of_states():
    values = {"finetune": [9.0] * 2, "finetune+siw": [9.0] * 2}
    part = [FakeRun(values, f"{lr}/s", config={"lr": lr}, sizes=[2] * 4) for lr in (0.1, 0.2)]
    (pair,) = states_tables(comparisons([finetune(3), finetune(5), *part]))
    assert references(pair.first) == []


def test_what_a_number_of_states_lacks_is_left_empty_and_what_has_not_ended_has_no_column():
    only = FakeRun({"lwf": [9.0] * 5}, "l/s", config={"strategy": "lwf"})
    part = FakeRun({"finetune": [9.0] * 2}, "p/s", sizes=[2, 2, 2, 2])
    (pair,) = states_tables(comparisons([finetune(3), finetune(5), only, part]))
    assert pair.first.columns == ["method", "T=3", "T=5"]
    assert {name: cells for name, *cells in pair.first.rows}["lwf"] == ["", "9.0"]


def test_one_number_of_states_needs_no_such_table():
    assert states_tables(comparisons([finetune(), joint()])) == []


def test_one_state_shows_what_it_has():
    table = method_tables(*comparisons([joint()])).first
    assert rows(table) == [("joint", "80.0"), ("chance", "50.0")]
    assert table.columns == ["method", "top-1", "top-5", "kept", "multiplications", "seeds"]


def test_classes_stand_worst_first_by_the_the_reference_method(finished):
    table = class_table(*comparisons([finished]))
    accuracy = class_accuracies(finished, "finetune+siw")
    assert [row[2] for row in table.rows] == [f"{value:.1f}" for value in sorted(accuracy)]
    by_name = {name: cells for name, *cells in table.rows}
    assert [by_name[str(c)] for c in range(6)] == [
        [str(c // 2), f"{value:.1f}"] for c, value in enumerate(accuracy)
    ]
    assert table.title == "toy, 3 states: classes by finetune+siw"
    assert table.sortable
