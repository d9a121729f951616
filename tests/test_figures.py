"""Figures show the numbers, are the same every time, and take any name for what it is."""

from __future__ import annotations

import io
import os
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given, settings
from matplotlib.axis import Axis
from matplotlib.figure import Figure

from conftest import TINY, hostile_text, make_toy
from memoryless.data import Dataset
from memoryless.errors import WriteError
from memoryless.lab.analysis import measures
from memoryless.lab.analysis.figures import (
    FIGURES,
    METADATA,
    plain,
    save_figure,
    save_figures,
    write_figure,
)
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.names import printable

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
    drawn = FIGURES["similarity"]([finished]).axes[0].lines[0].get_ydata()
    assert list(drawn) == measures.feature_similarity(finished)
    bars = FIGURES["magnitudes"]([finished]).axes[0].containers
    assert [b.get_height() for b in bars[0]] == measures.weight_magnitudes(finished)["new"]
    picture = FIGURES["confusion"]([finished]).axes[0].images[0].get_array()
    assert np.allclose(picture, measures.state_confusion(finished, "FT"))


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
    for path in save_figures([hostile], tmp_path / "drawn", [name], list(METADATA)):
        assert path.stat().st_size > 1000
    ElementTree.parse(tmp_path / "drawn" / f"{name}.svg")


def test_folders_take_any_name(hostile, tiny, hostile_data, tmp_path):
    config = replace(tiny, lr=0.5, output=tmp_path / os.fsdecode(b"_$\xff"))
    other = RunFolder(run(config, hostile_data)[0])
    figure = FIGURES["pareto"]([hostile, other])
    names = [text.get_text() for text in figure.axes[0].get_legend().texts]
    place = hostile.path.parent.parent
    assert names[0].startswith(rf"{place}/_a\$b\$ \n<i>: \$ �, 3 states")
    assert names[1].startswith(rf"{tmp_path}/_\$�: \$ �, 3 states")
    save_figure(figure, tmp_path / "p.pdf")


def test_class_names_are_shown_as_they_are(hostile):
    titles = [panel.get_title() for panel in FIGURES["rows"]([hostile]).axes]
    shown = [title.rpartition(" (p")[0] for title in titles]
    assert shown == [r"\$x\$", r"\$", " _a", "�", r"🦕\n", "<b>&-->"]


@settings(max_examples=40, deadline=None)
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
    assert ticks(FIGURES["accuracy"]([finished]).axes[0].xaxis) == [0, 1, 2]
    assert ticks(FIGURES["similarity"]([finished]).axes[0].xaxis) == [0, 1, 2]
    confusion = FIGURES["confusion"]([finished]).axes[0]
    assert ticks(confusion.xaxis) == ticks(confusion.yaxis) == [0, 1, 2]
    # the first state has no past classes
    assert ticks(FIGURES["magnitudes"]([finished]).axes[0].xaxis) == [1, 2]


def test_confusion_cells_carry_numbers_up_to_ten_states(finished, monkeypatch):
    panel = FIGURES["confusion"]([finished]).axes[0]
    expected = measures.state_confusion(finished, "FT")
    assert [text.get_text() for text in panel.texts] == [f"{v:.0f}" for v in expected.ravel()]
    for states, numbers in ((10, 100), (11, 0)):
        monkeypatch.setattr(RunFolder, "finished", states)
        monkeypatch.setattr(measures, "best_method", lambda run: "FT")
        monkeypatch.setattr(RunFolder, "results", lambda run: [{"methods": {"FT": {}}}])
        monkeypatch.setattr(measures, "state_confusion", lambda run, m, n=states: np.eye(n))
        assert len(FIGURES["confusion"]([finished]).axes[0].texts) == numbers


def test_lines_stand_in_the_legend_as_they_end(finished):
    lines = FIGURES["accuracy"]([finished]).axes[0].lines
    ends = [line.get_ydata()[-1] for line in lines]
    assert ends == sorted(ends, reverse=True)
    values = measures.accuracy_lines(finished)
    assert all(list(line.get_ydata()) == values[line.get_label()] for line in lines)


def test_runs_of_one_method_share_a_colour_and_a_name(finished):
    figure = FIGURES["accuracy"]([finished, finished])
    lines = figure.axes[0].lines
    assert len(lines) == 2 * len({line.get_color() for line in lines})
    names = [text.get_text() for text in figure.legends[0].texts]
    assert sorted(names) == sorted(measures.accuracy_lines(finished))


def test_the_front_names_a_stream_and_its_folder_only_if_it_must(finished, tiny, toy, tmp_path):
    legend = FIGURES["pareto"]([finished]).axes[0].get_legend()
    assert legend.texts[0].get_text() == "toy, 3 states, order natural, finetune, 1 seed"
    other = RunFolder(run(replace(tiny, lr=0.5, output=tmp_path / "copy"), toy)[0])
    legend = FIGURES["pareto"]([finished, other]).axes[0].get_legend()
    assert [text.get_text().partition(": ")[0] for text in legend.texts] == [
        str(tmp_path / "out"),
        str(tmp_path / "copy"),
    ]


def test_a_figure_that_cannot_be_written(tmp_path):
    (tmp_path / "file").touch()
    sentence = r"cannot write .*file/x.svg \(.*\): choose another place"
    with pytest.raises(WriteError, match=sentence):
        save_figure(Figure(), tmp_path / "file" / "x.svg")
