"""The paper's own numbers agree with each other."""

from __future__ import annotations

import pytest

from memoryless import metrics
from memoryless.lab.analysis.published import published, published_accuracy, published_g_il
from memoryless.methods import METHODS

PUBLISHED = published()


@pytest.mark.parametrize("method", PUBLISHED["methods"])
def test_g_il_of_every_published_row(method):
    row = PUBLISHED["methods"][method]
    cells = [(row["accuracy"][d][t], full) for d, full in PUBLISHED["full"].items()
             for t in ("10", "20", "50")]  # fmt: skip
    accuracies, full = zip(*cells, strict=True)
    assert metrics.g_il(accuracies, full) == pytest.approx(row["G_IL"], abs=0.01)


def test_published_tables_are_all_there():
    assert len(PUBLISHED["methods"]) == 15


@pytest.mark.parametrize("method", [m for m in METHODS if m != "Full"])
def test_published_numbers_are_under_our_names(method):
    assert published_accuracy(method, "CIFAR100", 10) is not None
    assert published_g_il(method) == pytest.approx(published()["methods"][method]["G_IL"], abs=0.01)
