"""Labels do not overlap, and lines are told apart."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryless.lab.chart_style import few_of, spread, wrapped

labels = st.lists(st.tuples(st.floats(-0.5, 1.5), st.sampled_from([0.1, 0.2, 0.3])), max_size=6)


@given(labels.filter(lambda found: found and sum(height for _, height in found) <= 1))
def test_labels_stay_inside_in_order_and_apart(labels):
    places, heights = zip(*labels, strict=True)
    middles = spread(places, heights)
    edges = sorted((m - h / 2, m + h / 2) for m, h in zip(middles, heights, strict=True))
    flat = [-1e-8, *(edge for pair in edges for edge in pair), 1 + 1e-8]
    assert all(a <= b + 1e-8 for a, b in pairwise(flat))
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    assert order == sorted(range(len(places)), key=lambda i: (round(middles[i], 6), order.index(i)))


def test_labels_with_room_stay_where_they_are():
    assert spread([0.8, 0.2, 0.5], [0.1, 0.2, 0.1]) == [0.8, 0.2, 0.5]
    assert spread([0, 1], [0.1, 0.1]) == [0.05, 0.95]


@pytest.mark.parametrize(
    ("label", "most", "lines"),
    [
        ("FT", 3, ["FT"]),
        ("lwf_kd+rda (last stage)", 30, ["lwf_kd+rda (last stage)"]),
        ("lwf_kd+rda (last stage)", 12, ["lwf_kd+rda", "(last stage)"]),
        ("lwf_kd+rda", 8, ["lwf_kd+", "rda"]),
        ("unbreakable", 4, ["unbreakable"]),
        ("", 4, [""]),
    ],
)
def test_names_break_after_a_plus_and_at_a_space(label, most, lines):
    assert wrapped(label, most).split("\n") == lines


def test_few_are_spaced_and_end_with_the_last():
    assert few_of([], 3) == []
    assert few_of([1, 2, 3], 3) == [1, 2, 3]
    assert few_of(list(range(10)), 2) == [0, 9]
