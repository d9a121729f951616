"""memoryless list says what everything in the tables means."""

from __future__ import annotations

import textwrap

import pytest

from conftest import call
from memoryless.backbones import BACKBONES
from memoryless.cli.list_names import KINDS, NOTES, about
from memoryless.data import SOURCES
from memoryless.data.augment import AUGMENTATIONS
from memoryless.lab.presets import PRESETS
from memoryless.lab.stream import ORDERS
from memoryless.schedules import LR_RULES, SCHEDULES
from memoryless.stats.calibration import CALIBRATIONS
from memoryless.stats.class_statistics import FORMS
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import METHODS, method_name
from memoryless.stats.traits import TRAITS
from memoryless.stats.transports import TRANSPORTS
from memoryless.strategies import STRATEGIES

TABLES = {
    "data": SOURCES, "orders": ORDERS, "backbones": BACKBONES, "augmentations": AUGMENTATIONS,
    "strategies": STRATEGIES, "schedules": SCHEDULES, "lr-later": LR_RULES, "presets": PRESETS,
    "heads": HEADS, "calibrations": CALIBRATIONS, "transports": TRANSPORTS, "statistics": FORMS,
    "methods": dict.fromkeys(map(method_name, METHODS.values())),
}  # fmt: skip


def test_list_says_what_everything_means(capsys):
    code, out, _ = call("list", capsys=capsys)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert [line for line in out.splitlines() if not line.startswith(" ")] == list(TABLES)
    told = " ".join(out.split())
    for kind, table in TABLES.items():
        meanings = KINDS[kind]()
        assert set(table) <= {name.split()[0] for name in meanings}
        for name, entry in meanings.items():
            assert len(about(entry)) > 5, (kind, name)
            assert " ".join(f"{name} {about(entry)}".split()) in told


@pytest.mark.parametrize("kind", TABLES)
def test_one_kind_alone(kind, capsys):
    code, out, _ = call("list", kind, capsys=capsys)
    assert code == 0
    head, *lines = out.splitlines()
    assert head == kind
    if kind in NOTES:
        note = textwrap.wrap(NOTES[kind], 78)
        assert [line.strip() for line in lines[: len(note)]] == note
        lines = lines[len(note) :]
    named = [line.split()[0] for line in lines if line[2] != " "]
    assert named == [name.split()[0] for name in KINDS[kind]()]


def test_a_method_has_its_name_in_the_paper_beside_it(capsys):
    out = " ".join(call("list", "methods", capsys=capsys)[1].split())
    for name, method in METHODS.items():
        assert f" {method_name(method)} {name} in the paper: " in out
    for name, one in STRATEGIES.items():
        row = f" {name}+{TRAITS[name].recommended}"
        assert (row in out) == one.memoryless
    assert " finetune+rda+widened the reference method of finetune " in out
    assert " untrained+lda the control " in out


@pytest.mark.parametrize(("columns", "width"), [(40, 80), (100, 100), (300, 120)])
def test_lines_fill_a_terminal_within_bounds(columns, width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    longest = max(map(len, call("list", "methods", capsys=capsys)[1].splitlines()))
    assert width - 12 < longest <= width


@pytest.mark.parametrize(
    ("entry", "meaning"),
    [("as it is", "as it is"), (SCHEDULES["cosine"], "a factor that falls from 1 to 0 along half"
      " a cosine"), (LR_RULES["t"], "lr/t in state t, as in the paper's text"),
     (PRESETS["ilsvrc"], "ILSVRC, 1,000 classes, as published")],
)  # fmt: skip
def test_a_meaning_is_said_where_the_thing_is_defined(entry, meaning):
    assert about(entry) == meaning
