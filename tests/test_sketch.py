"""A sketch puts each mark where its value is."""

from __future__ import annotations

import pytest

from memoryless.lab.analysis.sketch import HEIGHT, MARKS, STEP, sketch


@pytest.mark.parametrize("value", [0.0, 4.0, 6.0, 50.0, 94.9, 100.0])
def test_a_mark_stands_at_its_height(value):
    rows = sketch({"a": [value]}, "t").splitlines()[1 : HEIGHT + 2]
    (place,) = [i for i, row in enumerate(rows) if MARKS[0] in row]
    assert int(rows[place].split("|")[0]) == pytest.approx(value, abs=100 / HEIGHT / 2)


def test_states_stand_a_step_apart_and_are_numbered_from_0():
    *_, axis, numbers, legend = sketch({"one": [0, 0, 0], "two": [100, 50, 0]}, "t").splitlines()
    assert axis == "    +" + "-" * (2 * STEP + 1)
    assert [numbers.index(n) - numbers.index("0") for n in "012"] == [0, STEP, 2 * STEP]
    assert numbers.endswith(" state")
    assert legend == f"{MARKS[0]} one   {MARKS[1]} two"


def test_where_marks_meet_the_later_is_seen():
    drawn = sketch({"one": [50.0], "two": [50.0]}, "t")
    assert drawn.splitlines()[6] == f" 50 |{MARKS[1]}"
