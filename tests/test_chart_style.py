"""Labels do not overlap, and ticks are numbers that people read."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryless.lab.analysis.chart_style import (
    COLOURS,
    DASHES,
    MARKERS,
    apart,
    byte_ticks,
    few_of,
    percent_ticks,
    spread,
    state_ticks,
    wrapped,
)


@given(
    st.lists(
        st.tuples(st.floats(-50, 150), st.sampled_from([10.0, 20.0, 30.0])), max_size=6
    ).filter(lambda labels: sum(height for _, height in labels) <= 100)
)
def test_labels_stay_inside_in_order_and_apart(labels):
    places, heights = [p for p, _ in labels], [h for _, h in labels]
    middles = spread(places, heights, 0, 100)
    edges = sorted((m - h / 2, m + h / 2) for m, h in zip(middles, heights, strict=True))
    flat = [edge for pair in edges for edge in pair]
    assert all(a <= b + 1e-9 for a, b in pairwise(flat))
    assert all(-1e-9 <= edge <= 100 + 1e-9 for edge in flat)
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    assert order == sorted(range(len(places)), key=lambda i: (round(middles[i], 6), order.index(i)))


def test_labels_with_room_stay_where_they_are():
    assert spread([80, 20, 50], [10, 20, 10], 0, 100) == [80, 20, 50]
    assert spread([0, 100], [10, 10], 0, 100) == [5, 95]


@pytest.mark.parametrize("states", [1, 2, 10, 11, 20, 50, 100, 1000])
def test_state_ticks_are_few_whole_numbers_from_0(states):
    ticks = state_ticks(states, 6)
    assert ticks[0] == 0
    assert ticks == sorted({*ticks})
    assert len(ticks) <= 7
    assert ticks[-1] == states - 1
    steps = [b - a for a, b in pairwise(ticks)]
    assert not steps or steps[-1] >= 0.75 * steps[0]


def test_percent_ticks_reach_the_highest_and_never_pass_100():
    assert percent_ticks(0) == [0, 1]
    assert percent_ticks(100) == [0, 20, 40, 60, 80, 100]
    assert all(percent_ticks(high)[-1] >= high for high in range(101))


def test_byte_ticks_are_powers_of_ten_in_units():
    assert byte_ticks(5, 2000) == {10: "10 bytes", 100: "100 bytes", 1000: "1 kB"}
    assert byte_ticks(1, 2 * 10**9) == {1: "1 bytes", 1000: "1 kB", 10**6: "1 MB", 10**9: "1 GB"}


def test_texts_that_would_touch_are_left_out_evenly():
    spans = [(10 * i, 10 * i + 8.0) for i in range(6)]
    assert apart(spans, 0, 2) == [0, 1, 2, 3, 4, 5]
    assert apart(spans, 1, 2) == [1, 2, 3, 4, 5]
    assert apart(spans, 0, 3) == [1, 3, 5]
    assert apart(spans, 0, 20) == [2, 5]
    assert apart(spans, 0, 99) == [5]
    assert apart(spans, 99, 2) == apart([], 0, 2) == []


def test_names_break_after_a_plus_and_before_a_bracket():
    assert wrapped("FT", 3) == ["FT"]
    assert wrapped("lwf_kd+rda (last stage)", 30) == ["lwf_kd+rda (last stage)"]
    assert wrapped("lwf_kd+rda (last stage)", 12) == ["lwf_kd+rda", "(last stage)"]
    assert wrapped("lwf_kd+rda", 8) == ["lwf_kd+", "rda"]
    assert wrapped("unbreakable", 4) == ["unbreakable"]
    assert wrapped("", 4) == [""]


def test_few_are_spaced_and_end_with_the_last():
    assert few_of([], 3) == []
    assert few_of([1, 2, 3], 3) == [1, 2, 3]
    assert few_of(list(range(10)), 2) == [0, 9]


def test_six_lines_differ_in_more_than_colour():
    assert len({*COLOURS}) == len({*DASHES}) == len({*MARKERS}) == 6
