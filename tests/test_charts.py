"""Charts: every value is where its axis says, names are beside their lines, text is escaped."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from conftest import hostile_text
from memoryless.lab.report.charts import (
    FORMATS,
    STRIP,
    Dot,
    Line,
    accuracy_chart,
    bytes_chart,
    in_each_format,
)

LINES = [
    Line("finetune+rda+widened (middle stages)", [80.0, 40.0, 20.0]),
    Line("FT", [80.0, 10, 0]),
]
DOTS = [
    Dot("FT", 0, 10.0),
    Dot("inFT", 2_000, 20.0, named=True, on_front=True),
    Dot("worse", 30_000, 15.0),
    Dot("finetune+rda", 1_000_000, 60.0, named=True, on_front=True),
]
each_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


def texts(chart: str, kind: str) -> dict[str, tuple[float, float]]:
    """Texts of a kind and where they stand."""
    found = ElementTree.fromstring(chart).iter("text")
    return {
        e.text or "": (float(e.attrib["x"]), float(e.attrib["y"]))
        for e in found
        if e.attrib.get("class") == kind
    }


def marks(chart: str) -> dict[str, tuple[float, float]]:
    """Marks of lines by their titles."""
    found = {}
    for path in ElementTree.fromstring(chart).iter("path"):
        if (title := path.find("title")) is not None:
            x, y = re.findall(r"[\d.]+", path.attrib["transform"])
            found[title.text] = (float(x), float(y))
    return found


def dots(chart: str) -> dict[str, tuple[float, float]]:
    circles = ElementTree.fromstring(chart).iter("circle")
    return {c.findtext("title"): (float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles}


@each_format
def test_points_stand_at_their_ticks(form):
    chart = accuracy_chart(LINES, form)
    ticks, points = texts(chart, "tick"), marks(chart)
    assert set(ticks) == {"0", "1", "2", "20", "40", "60", "80"}  # "0" is on both axes
    for t, value in enumerate((80, 40, 20)):
        x, y = points[f"finetune+rda+widened (middle stages), state {t}: {value}.0 %"]
        if t:
            assert x == pytest.approx(ticks[str(t)][0])
        assert y + 4 == pytest.approx(ticks[str(value)][1])
    assert len(points) == 6
    words = "".join(ElementTree.fromstring(chart).itertext())
    assert "top-1 accuracy (%)" in words
    assert "state" in words


@each_format
def test_every_line_has_its_name_at_its_end_and_all_fits(form):
    many = [Line(f"finetune+rda+widened ({i})", [90.0, 50.0 + i / 10]) for i in range(6)]
    chart = accuracy_chart(many, form)
    names = texts(chart, "label")
    assert "".join(names).count("finetune+") + "".join(names).count("(") >= 6
    heights = sorted(y for _, y in names.values())
    assert all(b - a >= 13.9 for a, b in pairwise(heights))
    for name, (x, y) in names.items():
        assert x + 7.4 * len(name) <= form.width
        assert 0 < y < form.height
    root = ElementTree.fromstring(chart)
    assert root.attrib["viewBox"] == f"0 0 {form.width} {form.height}"
    styles = {(p.attrib["stroke"], p.attrib["stroke-dasharray"]) for p in root.iter("polyline")}
    assert len(styles) == 6


def test_of_many_states_few_have_a_mark_that_is_seen():
    chart = ElementTree.fromstring(accuracy_chart([Line("FT", [50.0] * 50)], FORMATS[0]))
    opacity = [p.get("opacity") for p in chart.iter("path") if p.find("title") is not None]
    assert len(opacity) == 50
    assert opacity.count(None) == 10
    assert opacity[0] is opacity[-1] is None


@each_format
def test_seeds_have_a_band_within_the_axes(form):
    chart = accuracy_chart([Line("FT", [90.0, 40.0], [20.0, 10.0]), LINES[1]], form)
    (band,) = ElementTree.fromstring(chart).iter("polygon")
    corners = [tuple(map(float, pair.split(","))) for pair in band.attrib["points"].split()]
    ticks = {name: y - 4 for name, (_, y) in texts(chart, "tick").items()}
    (left, top), *_, (low_left, bottom) = corners
    assert left == low_left
    assert top == pytest.approx(ticks["100"])
    assert bottom == pytest.approx((ticks["80"] + ticks["60"]) / 2, abs=0.1)


def test_named_dots_have_bars_and_lie_over_all_others():
    named = Dot("inFT", 2_000, 20.0, deviation=5.0, named=True)
    chart = bytes_chart([named, Dot("worse", 2_000, 15.0, deviation=5.0)], FORMATS[0])
    root = ElementTree.fromstring(chart)
    assert list(dots(chart)) == ["worse, 2.0 kB: 15.0 %", "inFT, 2.0 kB: 20.0 %"]
    (bar,) = [line for line in root.iter("line") if line.attrib["class"] == "bar"]
    ticks = {name: y - 4 for name, (_, y) in texts(chart, "tick").items()}
    assert float(bar.attrib["y1"]) == pytest.approx(ticks["15"])
    assert float(bar.attrib["y2"]) == pytest.approx(ticks["25"])


def test_one_state_and_many_are_drawn():
    for states, last in ((1, "0"), (2, "1"), (50, "49")):
        ticks = texts(accuracy_chart([Line("FT", [50.0] * states)], FORMATS[0]), "tick")
        assert all(name.isdigit() for name in ticks)
        assert last in ticks


@each_format
def test_bytes_stand_on_a_scale_of_powers_and_nothing_kept_apart(form):
    chart = bytes_chart(DOTS, form)
    ticks, points = texts(chart, "tick"), dots(chart)
    assert {"nothing", "kept", "100 kB"} <= set(ticks) or {"nothing", "kept", "1 MB"} <= set(ticks)
    apart, few, worse, many = (
        points[f"{name}: {value} %"]
        for name, value in (
            ("FT, nothing kept", "10.0"), ("inFT, 2.0 kB", "20.0"), ("worse, 30.0 kB", "15.0"),
            ("finetune+rda, 1.0 MB", "60.0"),
        )
    )  # fmt: skip
    assert apart[0] == pytest.approx(40 + STRIP / 2)
    assert apart[0] + STRIP / 2 < few[0] < worse[0] < many[0]
    assert few[1] + 4 == pytest.approx(ticks["20"][1])
    named = "".join(texts(chart, "label"))
    assert "inFT" in named
    assert "FT, nothing" not in named
    (front,) = ElementTree.fromstring(chart).iter("polyline")
    corners = [tuple(map(float, pair.split(","))) for pair in front.attrib["points"].split()]
    assert corners == [few, (many[0], few[1]), many]
    words = sorted((x, name) for name, (x, _) in ticks.items() if not name.isdigit())
    for (a, left), (b, right) in pairwise(words):
        assert {left, right} == {"nothing", "kept"} or b - a > 6.6 * (len(left) + len(right)) / 2


def test_without_a_method_that_keeps_nothing_there_is_no_strip():
    chart = bytes_chart(DOTS[1:], FORMATS[0])
    assert "nothing" not in chart
    assert "polyline" in bytes_chart(DOTS[:1], FORMATS[0])


@settings(max_examples=40)
@given(hostile_text)
def test_no_name_adds_an_element(text):
    for draw, made, same in (
        (accuracy_chart, [Line(text, [50.0, 20.0])], [Line("x", [50.0, 20.0])]),
        (bytes_chart, [Dot(text, 10, 5.0)], [Dot("x", 10, 5.0)]),
    ):
        found = ElementTree.fromstring(draw(made, FORMATS[0]).encode("utf-8", "replace"))
        plain = ElementTree.fromstring(draw(same, FORMATS[0]))
        tags = [e.tag for e in found.iter() if e.attrib.get("class") != "label"]
        assert tags == [e.tag for e in plain.iter() if e.attrib.get("class") != "label"]


def test_a_chart_is_drawn_once_for_each_format():
    both = in_each_format(lambda form: accuracy_chart(LINES, form))
    assert [f'class="chart {form.name}"' in both for form in FORMATS] == [True, True]
