"""Figures show the numbers, are the same every time, and take any name for what it is."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text

from conftest import FakeRun
from memoryless.lab import measures
from memoryless.lab.charts import (
    BY_STREAM,
    CAPTIONS,
    COLOURS,
    FAINT,
    FIGURES,
    METADATA,
    OF_THE_PAPER,
    pareto_figure,
    pictures,
    save_figure,
    shown,
)
from memoryless.lab.comparison import comparisons
from memoryless.lab.runs import RunFolder

TEXT = "{http://www.w3.org/2000/svg}text"


def draw(name: str, *runs, columns: int = 1) -> Figure:
    return FIGURES[name](shown(runs), columns)


def legend_of(figure) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.texts]


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_files_of_their_kind_and_always_the_same(name, finished, tmp_path):
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    before = dict(mpl.rcParams)
    for form in METADATA:
        one, two = (save_figure(draw(name, finished), tmp_path / f"{i}.{form}") for i in (1, 2))
        assert one.read_bytes().startswith(starts[form])
        assert one.read_bytes() == two.read_bytes()
    assert dict(mpl.rcParams) == before


def test_figures_show_the_numbers(finished):
    drawn = draw("similarity", finished).axes[0].lines[0].get_ydata()
    assert list(drawn) == measures.feature_similarity(finished)
    figure = draw("magnitudes", finished)
    assert legend_of(figure) == ["new classes", "past classes"]
    bars = figure.axes[0].containers
    assert [b.get_height() for b in bars[0]] == measures.weight_magnitudes(finished)["new"]
    panels = draw("confusion", finished, columns=2).axes
    assert [panel.get_title() for panel in panels] == ["finetune", "finetune+siw"]
    for panel, method in zip(panels, ("finetune", "finetune+siw"), strict=True):
        expected = measures.state_confusion(finished, method)
        (cells,) = panel.collections
        assert np.allclose(cells.get_alpha(), 0.8 * expected / 100)
        assert [text.get_text() for text in panel.texts] == [f"{v:.0f}" for v in expected.ravel()]


# For each figure of three states: the labels of its axes, and where the ticks of x are.
AXES = {
    "magnitudes": ("state", "mean |w|", None),
    "similarity": ("state", "cosine with the last state", [0, 1, 2]),
    "rows": ("w", "density", None),
    "accuracy": ("state", "top-1 accuracy (%)", [0, 1, 2]),
    "confusion": ("predicted state", "true state", [0.5, 1.5, 2.5]),
    "pareto": ("bytes kept of the past", "top-1 accuracy (%)", None),
}


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("name", FIGURES)
def test_figures_fit_the_columns_of_a_paper_with_text_of_8_points(name, columns, finished):
    x_label, y_label, x_ticks = AXES[name]
    figure = draw(name, finished, columns=columns)
    assert figure.get_figwidth() == {1: 3.3, 2: 6.9}[columns]
    for panel in figure.axes:
        assert (panel.get_xlabel(), panel.get_ylabel()) == (x_label, y_label)
        assert x_ticks is None or ticks(panel.xaxis) == x_ticks
        assert all(line.get_color() in (*COLOURS, FAINT) for line in panel.lines)
    texts = figure.findobj(lambda part: isinstance(part, Text) and part.get_text())
    assert {text.get_fontsize() for text in texts} == {8}


def ticks(axis: Axis) -> list[float]:
    low, high = sorted(axis.get_view_interval())
    return [float(place) for place in axis.get_majorticklocs() if low <= place <= high]


def test_text_stays_text(finished, tmp_path):
    for form in ("svg", "pdf"):
        save_figure(draw("accuracy", finished), tmp_path / f"accuracy.{form}")
    words = ["".join(e.itertext()) for e in ElementTree.parse(tmp_path / "accuracy.svg").iter(TEXT)]
    assert {"finetune+siw", "finetune", "state", "top-1 accuracy (%)"} <= set(words)
    assert b"/FontFile2" in (tmp_path / "accuracy.pdf").read_bytes()  # TrueType, embedded


def test_titles_of_rows_fit_their_panels(finished, monkeypatch):
    values = np.linspace(-1, 1, 50)
    rows = [measures.RowDistribution(name, values, p) for name, p in
            (("w" * 60, 2e-8), ("The Great Wall of China", 0.04), ("bee", 1.0))]  # fmt: skip
    monkeypatch.setattr(measures, "row_distributions", lambda run: rows)
    titles = [panel.get_title() for panel in draw("rows", finished).axes]
    assert titles[:3] == [
        f"{'w' * 15}…\np < 0.001", "The Great Wall…\np = 0.04", "bee\np = 1",
    ]  # fmt: skip


def made(methods: dict[str, list[float]], path: str = "r/seed-0", **config) -> FakeRun:
    return FakeRun(methods, path, config=config)


MANY = {
    "finetune": [90.0, 20.0],
    "finetune+initial": [90.0, 25.0],
    "finetune+siw": [90.0, 30.0],
    "finetune+initial+mc": [9.0, 99.0],
}


def test_lines_are_told_apart_and_named_below():
    other = {"lwf": [50.0, 26.0]}
    figure = draw("accuracy", made(MANY), made(other, "l/s", strategy="lwf"))
    (panel,) = figure.axes
    lines = {line.get_label(): list(line.get_ydata()) for line in panel.lines}
    assert lines == {
        name: v
        for name, v in {**MANY, "lwf": [50.0, 26.0]}.items()
        if name != "finetune+initial+mc"
    }
    assert legend_of(figure) == list(lines)
    assert ticks(panel.yaxis) == [0, 20, 40, 60, 80]
    assert len({(line.get_color(), line.get_marker()) for line in panel.lines}) == len(lines)
    few = draw("accuracy", made({"finetune": [1.0, 2.0]}))
    assert few.get_figheight() < figure.get_figheight()  # the panel keeps its height


def test_seeds_have_a_band_around_their_mean():
    runs = [FakeRun({"finetune": [98.0, v]}, f"f/seed-{v}", seed=v) for v in (20, 40)]
    (panel,) = draw("accuracy", *runs).axes
    (band,) = panel.collections
    corners = band.get_paths()[0].vertices
    assert {round(y, 1) for x, y in corners if x == 1} == {15.9, 30 + 14.1}
    assert not draw("accuracy", runs[0]).axes[0].collections


@pytest.mark.parametrize("states", [2, 10, 50, 1000])
def test_states_are_whole_numbers_and_few_are_marked(states):
    (panel,) = draw("accuracy", made({"finetune": [9.0] * states})).axes
    assert states / panel.lines[0].get_markevery() <= 11
    assert ticks(panel.xaxis)[0] == 0
    assert 2 <= len(ticks(panel.xaxis)) <= 11
    assert all(tick == int(tick) for tick in ticks(panel.xaxis))


def test_few_states_make_a_low_confusion_under_whole_names(monkeypatch):
    middle = {"statistics": "full", "level": "middle", "square_roots": True}
    values = {"finetune": [9.0, 9.0], "finetune+rda+widened": [9.0, 9.0]}
    other = made(values, "l/s", statistics="full", level="last")
    heights = []
    for states in (2, 20):
        monkeypatch.setattr(measures, "state_confusion", lambda r, m, n=states: 100 * np.eye(n))
        figure = draw("confusion", made(values, **middle), other)
        heights.append(figure.get_figheight())
    titles = [panel.get_title() for panel in figure.axes]
    assert titles == ["finetune", "finetune+rda+widened (level middle,\nsquare_roots yes)"]
    assert heights[0] < heights[1] / 2
    names = [text.get_text() for text in figure.axes[0].get_xticklabels()]
    assert names == [f"{a}-{a + 1}" for a in range(0, 20, 2)]  # coarser cells have numbers too
    assert [text.get_text() for text in figure.axes[0].texts][:3] == ["100", "0", "0"]


def test_six_lines_are_drawn_of_the_data_set_with_most_trainings():
    runs = [made({"lwf": [1.0, 2.0]}, f"{lr}/s", strategy="lwf", lr=lr / 10) for lr in range(1, 9)]
    few = FakeRun({"finetune": [1.0, 2.0]}, "a/s", dataset="few")
    lines = draw("accuracy", few, made(MANY), *runs).axes[0].lines
    assert len(lines) == 6
    assert list(lines[0].get_ydata()) == MANY["finetune+siw"]


FACTS = {"nothing": (0, 7.0), "few": (2_000, 10.0), "worse": (30_000, 5.0), "many": (10**6, 60.0)}


@pytest.fixture
def rows():
    row = comparisons([made({"finetune": [1.0, 2.0]})])[0].reference
    return [
        row._replace(label=name, bytes=size, top1=top1, top1_std=3.0)
        for name, (size, top1) in FACTS.items()
    ]


def test_the_front_is_named_and_has_bars(rows):
    figure = pareto_figure({"": rows})
    (panel,) = figure.axes
    (part,) = figure.subfigs
    assert panel.get_title() == ""
    assert legend_of(part) == ["few", "many"]
    (steps,) = [line for line in panel.lines if line.get_drawstyle() == "steps-post"]
    assert steps.get_xydata().tolist() == [[2_000, 10.0], [10**6, 60.0]]
    every, *bars = panel.collections
    assert every.get_offsets().tolist() == [[*fact] for fact in FACTS.values()]
    ends = [bar.get_segments()[0][:, 1].tolist() for bar in bars]
    assert ends == [[7.0, 13.0], [57.0, 63.0]]
    figure.draw_without_rendering()
    shown_ticks = [text.get_text() for text in panel.get_xticklabels()]
    assert shown_ticks == ["0 B", "1 kB", "10 kB", "100 kB", "1 MB"]


@pytest.mark.parametrize(("least", "most"), [(5, 2_000), (20_000, 30_000), (1, 2 * 10**9)])
def test_ticks_of_bytes_do_not_overlap(least, most, rows):
    sizes = (0, least, least + 1, most)
    spaced = [row._replace(bytes=size) for row, size in zip(rows, sizes, strict=True)]
    figure = pareto_figure({"": spaced})
    figure.draw_without_rendering()
    spans = [text.get_window_extent().intervalx for text in figure.axes[0].get_xticklabels()]
    assert len(spans) >= 2
    assert all(a[1] < b[0] for a, b in pairwise(spans))


def test_streams_have_a_panel_each(rows):
    images = [row._replace(memoryless=False) for row in rows]  # which have no place there
    two = pareto_figure({"one": rows, "two\x1b": images}, "top5")
    assert [panel.get_title() for panel in two.axes] == ["one", r"two\x1b"]
    assert len(two.axes[1].lines) == len(two.axes[1].collections) == 0
    assert two.axes[0].get_ylabel() == "top-5 accuracy (%)"


def test_the_reference_is_named_and_stands_out():
    values = {
        "finetune": [90.0, 50.0],
        "finetune+initial": [90.0, 20.0],
        "finetune+siw": [90.0, 20.0],
    }
    figure = draw("pareto", made(values))
    assert legend_of(figure.subfigs[0]) == ["finetune", "finetune+siw"]
    every, *named = figure.axes[0].collections
    assert mpl.colors.to_hex(every.get_facecolor()[0]) == FAINT
    assert [mpl.colors.to_hex(bar.get_edgecolor()[0]) for bar in named] == [*COLOURS[:2]]


def test_trainings_are_named_by_their_strategy_and_drawn_once(finished, gathered_run):
    figure = draw("similarity", finished, RunFolder(gathered_run))
    (panel,) = figure.axes
    assert legend_of(figure) == ["finetune (held_out 0.25)", "finetune (held_out 0)"]
    assert len(draw("similarity", finished, finished).axes[0].lines) == 1
    low, high = panel.get_ylim()
    assert low <= 0
    assert 1 <= high < 1.2


def test_pictures_have_the_names_and_colours_of_the_page_and_ids_of_their_own(finished_run):
    """The page's style gives texts their colour and font."""
    (comparison,) = comparisons([RunFolder(finished_run)])
    every = [*pictures(comparison, BY_STREAM, "c0"), *pictures(comparison, OF_THE_PAPER, "paper")]
    assert [picture.caption for picture in every] == list(CAPTIONS.values())
    assert CAPTIONS.keys() == FIGURES.keys()
    accuracy, kept, confusion = (picture.drawing for picture in every[:3])
    assert all(f">{entry.label}<" in accuracy for entry in comparison.lines)
    assert f">{comparison.reference.label}<" in kept
    assert all(f">{text}<" in confusion for text in ("finetune", "finetune+siw", "true state"))
    for picture in every:
        svg = ElementTree.fromstring(picture.drawing)
        assert (svg.get("role"), svg.get("aria-label")) == ("img", picture.caption)
        assert "var(--ink)" in picture.drawing
        assert not re.search(r"#fff|#000000|#b3b3b3|white|metadata", picture.drawing)
        size = re.findall(r"font-size: ([\d.]+)px", picture.drawing)
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', picture.drawing)[1])
        assert min(map(float, size)) * 328 / width >= 11  # on a phone
    ids = [i for picture in every for i in re.findall(r' id="([^"]+)"', picture.drawing)]
    assert len(ids) == len({*ids})


def test_bytes_are_not_drawn_where_every_training_keeps_images(monkeypatch):
    monkeypatch.setattr(measures, "state_confusion", lambda run, method: np.eye(2))
    config = {"strategy": "replay"}
    (found,) = comparisons([FakeRun({"replay": [9.0, 8.0]}, config=config, memoryless=False)])
    drawn = pictures(found, BY_STREAM, "c")
    assert [picture.caption for picture in drawn] == [CAPTIONS["accuracy"], CAPTIONS["confusion"]]
