"""Figures show the numbers, are the same every time, and take any name for what it is."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from conftest import TINY, FakeRun, hostile_text, make_toy
from memoryless.data import Dataset
from memoryless.errors import WriteError
from memoryless.lab.analysis import measures
from memoryless.lab.analysis.chart_style import COLOURS
from memoryless.lab.analysis.comparison import comparisons
from memoryless.lab.analysis.figures import (
    FIGURES,
    METADATA,
    pareto_figure,
    plain,
    save_figure,
    save_figures,
    write_figure,
)
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.names import printable

TEXT = "{http://www.w3.org/2000/svg}text"
HOSTILE = ("$x$", "$", "_a", "\udcff", "🦕\n", "<b>&-->")


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_files_of_their_kind_and_always_the_same(name, finished, tmp_path):
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    one = save_figures([finished], tmp_path / "one", [name], list(METADATA))
    two = save_figures([finished], tmp_path / "two", [name], list(METADATA))
    assert [path.suffix[1:] for path in one] == list(METADATA)
    for first, second in zip(one, two, strict=True):
        content = first.read_bytes()
        assert content.startswith(starts[first.suffix[1:]])
        assert content == second.read_bytes()


def test_figures_show_the_numbers(finished):
    drawn = FIGURES["similarity"]([finished], 1).axes[0].lines[0].get_ydata()
    assert list(drawn) == measures.feature_similarity(finished)
    bars = FIGURES["magnitudes"]([finished], 1).axes[0].containers
    assert [b.get_height() for b in bars[0]] == measures.weight_magnitudes(finished)["new"]
    panels = FIGURES["confusion"]([finished], 2).axes
    assert [panel.get_title() for panel in panels] == ["finetune", "finetune+siw"]
    for panel, method in zip(panels, ("finetune", "finetune+siw"), strict=True):
        expected = measures.state_confusion(finished, method)
        assert np.allclose(panel.images[0].get_array(), expected)
        assert [text.get_text() for text in panel.texts] == [f"{v:.0f}" for v in expected.ravel()]


def test_of_several_data_sets_the_one_with_most_trainings_is_drawn():
    few = FakeRun({"finetune": [1.0, 2.0]}, "a/s", dataset="few")
    more = [FakeRun({"finetune": [30.0, 40.0]}, f"{lr}/s", config={"lr": lr}) for lr in (0.1, 0.2)]
    lines = FIGURES["accuracy"]([few, *more], 1).axes[0].lines
    assert [list(line.get_ydata()) for line in lines] == [[30.0, 40.0]] * 2


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("name", FIGURES)
def test_figures_fit_the_columns_of_a_paper_with_text_of_8_points(name, columns, finished):
    figure = FIGURES[name]([finished], columns)
    assert figure.get_figwidth() == {1: 3.3, 2: 6.9}[columns]
    for panel in figure.axes:
        for axis in (panel.xaxis, panel.yaxis):
            assert axis.label.get_text()
            assert axis.label.get_fontsize() == 8
            assert {tick.get_fontsize() for tick in axis.get_ticklabels()} == {8}
        for line in panel.lines:
            assert line.get_color() in (*COLOURS, "0.7")
        names = [text for text in panel.texts if text.get_text()]
        assert all(text.get_fontsize() >= 7 for text in names)


def test_text_stays_text(finished, tmp_path):
    save_figures([finished], tmp_path, ["accuracy"], ["svg", "pdf"])
    words = ["".join(e.itertext()) for e in ElementTree.parse(tmp_path / "accuracy.svg").iter(TEXT)]
    assert {"finetune+siw", "finetune", "state", "top-1 accuracy (%)"} <= set(words)
    assert b"/FontFile2" in (tmp_path / "accuracy.pdf").read_bytes()  # TrueType, embedded


@pytest.fixture(scope="module")
def hostile_data() -> Dataset:
    return replace(make_toy(), classes=HOSTILE, name=os.fsdecode(b"$ \xff"))


@pytest.fixture(scope="module")
def hostile(hostile_data, tmp_path_factory) -> RunFolder:
    """A run whose folder and classes have names that mean something to matplotlib."""
    output = tmp_path_factory.mktemp("hostile") / "_a$b$ \n<i>"
    return RunFolder(run(replace(TINY, output=output), hostile_data)[0])


@pytest.mark.parametrize("name", FIGURES)
def test_figures_take_any_name(name, hostile, tmp_path):
    """Warnings are errors here, so a missing glyph must not give one."""
    for path in save_figures([hostile], tmp_path / "drawn", [name], ["svg", "pdf"]):
        assert path.stat().st_size > 1000
    ElementTree.parse(tmp_path / "drawn" / f"{name}.svg")


def test_class_names_are_shown_as_they_are(hostile):
    titles = [panel.get_title() for panel in FIGURES["rows"]([hostile], 2).axes]
    shown = [title.partition("\n")[0] for title in titles]
    assert shown == [r"\$x\$", r"\$", " _a", "�", r"🦕\n", "<b>&-->"]


def test_titles_of_rows_fit_their_panels(finished, monkeypatch):
    values = np.linspace(-1, 1, 50)
    rows = [measures.RowDistribution(name, values, 0.0, 1.0, p) for name, p in
            (("w" * 60, 2e-8), ("The Great Wall of China", 0.04), ("bee", 1.0))]  # fmt: skip
    monkeypatch.setattr(measures, "row_distributions", lambda run: rows)
    titles = [panel.get_title() for panel in FIGURES["rows"]([finished], 1).axes]
    assert titles[:3] == [
        f"{'w' * 15}…\np < 0.001", "The Great Wall…\np = 0.04", "bee\np = 1",
    ]  # fmt: skip


@settings(max_examples=20, deadline=None)
@given(hostile_text)
def test_any_text_is_drawn_and_never_maths(text):
    figure = Figure(figsize=(2, 1))
    panel = figure.subplots()
    panel.set_title(plain(text))
    panel.plot([0, 1], label=plain(text) or "x")
    panel.legend()  # would warn if the label were left out
    file = io.StringIO()
    write_figure(figure, file, "svg")
    ElementTree.fromstring(file.getvalue())
    shown, maths = panel.title._preprocess_math(plain(text))
    assert maths is False
    assert shown.removeprefix(" ") == printable(
        "".join("�" if "\ud800" <= sign <= "\udfff" else sign for sign in text)
    ).removeprefix(" ")


def test_plotting_state_is_left_alone(finished, tmp_path):
    before = dict(mpl.rcParams)
    save_figures([finished], tmp_path, ["accuracy"], ["svg"])
    assert dict(mpl.rcParams) == before
    assert mpl.rcParams["svg.hashsalt"] is None


def ticks(axis: Axis) -> list[float]:
    low, high = sorted(axis.get_view_interval())
    return [float(place) for place in axis.get_majorticklocs() if low <= place <= high]


def test_state_ticks_are_whole_numbers_from_0(finished):
    assert ticks(FIGURES["accuracy"]([finished], 1).axes[0].xaxis) == [0, 1, 2]
    assert ticks(FIGURES["similarity"]([finished], 1).axes[0].xaxis) == [0, 1, 2]
    confusion = FIGURES["confusion"]([finished], 1).axes[0]
    assert ticks(confusion.xaxis) == ticks(confusion.yaxis) == [0, 1, 2]
    # the first state has no past classes
    assert ticks(FIGURES["magnitudes"]([finished], 1).axes[0].xaxis) == [1, 2]


def test_many_states_make_coarser_cells_that_still_have_numbers(finished, monkeypatch):
    monkeypatch.setattr(measures, "state_confusion", lambda run, method: 100 * np.eye(20))
    panel = FIGURES["confusion"]([finished], 1).axes[0]
    names = [text.get_text() for text in panel.get_xticklabels()]
    assert names == [f"{a}-{a + 1}" for a in range(0, 20, 2)]
    assert [text.get_text() for text in panel.texts][:3] == ["100", "0", "0"]


def made(methods: dict[str, list[float]], path: str = "r/seed-0", **config) -> FakeRun:
    return FakeRun(methods, path, config=config)


MANY = {
    "finetune": [90.0, 20.0],
    "finetune+initial": [90.0, 25.0],
    "finetune+siw": [90.0, 30.0],
    "finetune+initial+mc": [9.0, 99.0],
}


def test_lines_have_their_names_at_their_ends(finished):
    other = {"lwf": [50.0, 26.0]}
    (panel,) = FIGURES["accuracy"]([made(MANY), made(other, "l/s", strategy="lwf")], 1).axes
    lines = {line.get_label(): list(line.get_ydata()) for line in panel.lines}
    assert lines == {
        name: v
        for name, v in {**MANY, "lwf": [50.0, 26.0]}.items()
        if name != "finetune+initial+mc"
    }
    names = {text.get_text(): text for text in panel.texts}
    assert set(names) == set(lines)
    for name, text in names.items():
        assert text.xy == (1, lines[name][-1])
    places = sorted(text.get_position()[1] for text in panel.texts)
    assert all(b - a > 0.05 for a, b in pairwise(places))
    assert ticks(panel.yaxis) == [0, 20, 40, 60, 80, 100]
    assert {text.arrow_patch.get_edgecolor() for text in panel.texts} == {
        mpl.colors.to_rgba(line.get_color()) for line in panel.lines
    }
    styles = {(line.get_color(), line.get_marker(), line._unscaled_dash_pattern[1]) for line in
              panel.lines}  # fmt: skip
    assert len(styles) == len(lines)


def test_seeds_have_a_band_around_their_mean():
    runs = [FakeRun({"finetune": [98.0, v]}, f"f/seed-{v}", seed=v) for v in (20, 40)]
    (panel,) = FIGURES["accuracy"](runs, 1).axes
    (band,) = panel.collections
    corners = band.get_paths()[0].vertices
    assert {round(y, 1) for x, y in corners if x == 1} == {15.9, 30 + 14.1}
    assert not FIGURES["accuracy"](runs[:1], 1).axes[0].collections


def test_of_many_states_few_are_marked():
    (panel,) = FIGURES["accuracy"]([made({"finetune": [9.0] * 50})], 1).axes
    assert len(panel.lines[0].get_markevery()) == 10


def test_few_states_make_a_low_confusion_under_whole_names(monkeypatch):
    middle = {"statistics": "full", "level": "middle", "square_roots": True}
    values = {"finetune": [9.0, 9.0], "finetune+rda+widened": [9.0, 9.0]}
    other = made({"finetune+lda": [9.0, 9.0]}, "l/s", statistics="full", level="last")
    heights = []
    for states in (2, 12):
        monkeypatch.setattr(measures, "state_confusion", lambda r, m, n=states: 100 * np.eye(n))
        figure = FIGURES["confusion"]([made(values, **middle), other], 1)
        heights.append(figure.get_figheight())
    titles = [panel.get_title() for panel in figure.axes]
    assert titles == ["finetune", "finetune+rda+widened\n(middle stages, roots)"]
    assert heights[0] < heights[1] / 2


def test_no_more_than_six_lines_are_drawn():
    runs = [made({"lwf": [1.0, 2.0]}, f"{lr}/s", strategy="lwf", lr=lr / 10) for lr in range(1, 9)]
    assert len(FIGURES["accuracy"]([made(MANY), *runs], 1).axes[0].lines) == 6


def test_the_front_is_named_and_what_keeps_nothing_stands_apart():
    row = comparisons([made({"finetune": [1.0, 2.0]})])[0].reference.row
    facts = {
        "nothing": (0, 7.0),
        "few": (2_000, 10.0),
        "worse": (30_000, 5.0),
        "many": (10**6, 60.0),
    }
    rows = {
        name: row._replace(method=name, bytes=size, top1=top1)
        for name, (size, top1) in facts.items()
    }
    (panel,) = pareto_figure({"": rows}).axes
    assert [text.get_text() for text in panel.texts] == ["few", "many"]
    assert {text.arrow_patch.get_linestyle() for text in panel.texts} == {":"}
    shown = [text.get_text() for text in panel.get_xticklabels()]
    assert shown == ["nothing\nkept", "1 kB", "10 kB", "100 kB", "1 MB"]
    (narrow,) = pareto_figure({"": {"unbreakably_long": rows["few"]} | rows}).axes
    shown = [text.get_text() for text in narrow.get_xticklabels()]
    assert shown == ["nothing\nkept", "10 kB", "1 MB"]
    edge = next(line.get_xdata()[0] for line in panel.lines if line.get_linestyle() == ":")
    assert min(line.get_xdata()[0] for line in panel.lines) < edge < 2_000
    (steps,) = [line for line in panel.lines if line.get_drawstyle() == "steps-post"]
    assert steps.get_xydata().tolist() == [[2_000, 10.0], [10**6, 60.0]]
    assert panel.get_title() == ""
    two = pareto_figure({"one": rows, "two": rows}, "top5")
    assert [panel.get_title() for panel in two.axes] == ["one", "two"]
    assert two.axes[0].get_ylabel() == "top-5 accuracy (%)"


def test_the_reference_is_named_and_lies_over_all_others():
    values = {
        "finetune": [90.0, 50.0],
        "finetune+initial": [90.0, 20.0],
        "finetune+siw": [90.0, 20.0],
    }
    (panel,) = FIGURES["pareto"]([made(values)], 1).axes
    assert [text.get_text() for text in panel.texts] == ["finetune", "finetune+siw"]
    dots = [line for line in panel.lines if line.get_marker() == "o"]
    over = {line.get_color(): line.get_zorder() for line in dots}
    assert over[COLOURS[0]] > over["0.7"]
    assert len(over) == 2


def test_what_keeps_images_has_no_place_on_the_front():
    row = comparisons([FakeRun({"replay": [1.0, 2.0]}, memoryless=False)])[0].reference.row
    assert len(pareto_figure({"": {"replay": row}}).axes[0].lines) == 0


def test_trainings_are_named_by_their_strategy_and_drawn_once(finished, gathered_run):
    (panel,) = FIGURES["similarity"]([finished, RunFolder(gathered_run)], 1).axes
    (legend,) = panel.figure.legends  # beside the panel, where no line is
    names = [text.get_text() for text in legend.texts]
    assert names == ["finetune (held_out 0.0)", "finetune (held_out 0.25)"]
    assert len(FIGURES["similarity"]([finished, finished], 1).axes[0].lines) == 1


def test_a_figure_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    sentence = r"cannot write .*file/x.svg \(.*\): choose another place"
    with pytest.raises(WriteError, match=sentence):
        save_figure(Figure(), tmp_path / "file" / "x.svg")


# For each figure of three states: the labels of its axes, and the ticks of x and y where they are
# the same for all runs.
AXES = {
    "magnitudes": ("state", "mean |w|", [1, 2], None),
    "similarity": ("state", "cosine with the last state", [0, 1, 2], None),
    "rows": ("w", "density", None, None),
    "accuracy": ("state", "top-1 accuracy (%)", [0, 1, 2], [0, 10, 20, 30, 40, 50, 60, 70, 80]),
    "confusion": ("predicted state", "true state", [0, 1, 2], [0, 1, 2]),
    "pareto": ("bytes kept of the past", "top-1 accuracy (%)", None, None),
}


@pytest.mark.parametrize("name", FIGURES)
def test_axes_are_named_and_their_ticks_say_what_they_should(name, finished):
    x_label, y_label, x_ticks, y_ticks = AXES[name]
    for panel in FIGURES[name]([finished], 2).axes:
        assert (panel.get_xlabel(), panel.get_ylabel()) == (x_label, y_label)
        assert x_ticks is None or [*panel.get_xticks()] == x_ticks
        assert y_ticks is None or [*panel.get_yticks()] == y_ticks[: len(panel.get_yticks())]


def test_magnitudes_have_two_panels_and_a_key_in_two_colours(finished):
    drawn = FIGURES["magnitudes"]([finished], 1)
    assert [panel.get_title() for panel in drawn.axes] == ["rows as trained", "rows standardised"]
    key = [text.get_text() for legend in drawn.legends for text in legend.get_texts()]
    assert key == ["new classes", "past classes"]
    new, past = ({bar.get_facecolor() for bar in bars} for bars in drawn.axes[0].containers)
    assert (len(new), len(past), new & past) == (1, 1, set())


def test_cosines_are_seen_up_to_1(finished):
    low, high = FIGURES["similarity"]([finished], 1).axes[0].get_ylim()
    assert low <= 0
    assert 1 <= high < 1.2
