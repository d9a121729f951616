"""memoryless list says what everything in the tables means."""

from __future__ import annotations

import pytest

from conftest import call
from memoryless.backbones import BACKBONES
from memoryless.cli.list_names import KINDS, NOTES, about
from memoryless.images import SOURCES
from memoryless.images.augment import AUGMENTATIONS
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
    "methods": METHODS,
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
        assert lines.pop(0) == f"  {NOTES[kind]}"
    named = [line.split()[0] for line in lines if line[2] != " "]
    assert named == [name.split()[0] for name in KINDS[kind]()]


def test_a_method_has_its_name_by_its_parts_beside_it(capsys):
    out = call("list", "methods", capsys=capsys)[1]
    assert "  inFT_siw      finetune+siw         initial rows standardised (Eq. 4)\n" in out
    assert "  inFT_mc       finetune+initial+mc  initial rows as they are (Eq. 2),\n" in out
    assert "  Full          joint                all classes at once, with all images" in out
    assert (
        "  inLwF_siw     lwf+siw              initial rows standardised (Eq. 4), with lwf\n" in out
    )
    lines = [line.split()[:2] for line in out.splitlines()[2:] if line[2] != " "]
    named = [[name, method_name(method)] for name, method in METHODS.items()]
    assert lines[: len(METHODS)] == named


def test_what_is_recommended_for_a_strategy_stands_among_its_methods(capsys):
    out = call("list", "methods", capsys=capsys)[1]
    rows = [line.split()[0] for line in out.splitlines()[2:] if line[2] != " "][len(METHODS) :]
    memoryless = {n: TRAITS[n].recommended for n, one in STRATEGIES.items() if one.memoryless}
    assert dict(row.split("+")[:2] for row in rows) == memoryless
    told = " ".join(out.split())
    assert (
        "finetune+rda+widened distance by half the class's and half the shared covariance, moved "
        "by widened; recommended with --statistics full"
    ) in told
    assert "(Deep SLDA), with untrained; the control" in told


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
