"""memoryless list names everything in the tables."""

from __future__ import annotations

from conftest import call
from memoryless.backbones import BACKBONES
from memoryless.calibration import CALIBRATIONS
from memoryless.data import SOURCES
from memoryless.data.augment import AUGMENTATIONS
from memoryless.heads import HEADS
from memoryless.lab.presets import PRESETS
from memoryless.lab.stream import ORDERS
from memoryless.methods import METHODS
from memoryless.schedules import LR_RULES, SCHEDULES
from memoryless.statistics import FORMS
from memoryless.strategies import STRATEGIES
from memoryless.transports import TRANSPORTS

TABLES = (
    *(BACKBONES, CALIBRATIONS, SOURCES, AUGMENTATIONS, HEADS, PRESETS, ORDERS, LR_RULES),
    *(SCHEDULES, FORMS, STRATEGIES, TRANSPORTS),
)


def test_list_names_everything(capsys):
    code, out, _ = call("list", capsys=capsys)
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    for table in TABLES:
        about = {name: getattr(entry, "about", entry) for name, entry in table.items()}
        if all(isinstance(meaning, str) for meaning in about.values()):
            assert all([name, *meaning.split()] in lines for name, meaning in about.items())
        else:
            assert f" {' '.join(table)}" in out
    for name, method in METHODS.items():
        assert [name, method.strategy, "+", method.head, "+", method.calibration] in lines
