"""The paper's own numbers agree with each other."""

from __future__ import annotations

import pytest

from memoryless.lab.analysis.published import published, published_accuracy, published_g_il
from memoryless.stats import metrics
from memoryless.stats.methods import METHODS

PUBLISHED = published()


@pytest.mark.parametrize("method", PUBLISHED["methods"])
def test_g_il_of_every_published_row(method):
    row = PUBLISHED["methods"][method]
    cells = [(row["accuracy"][d][t], full) for d, full in PUBLISHED["full"].items()
             for t in ("10", "20", "50")]  # fmt: skip
    accuracies, full = zip(*cells, strict=True)
    assert metrics.g_il(accuracies, full) == pytest.approx(row["G_IL"], abs=0.01)


def test_published_tables_are_all_there():
    assert PUBLISHED["methods"].keys() == METHODS.keys() - {"Full"}


@pytest.mark.parametrize("method", [m for m in METHODS if m != "Full"])
def test_published_numbers_are_under_our_names(method):
    accuracies = PUBLISHED["methods"][method]["accuracy"]
    for data, by_states in accuracies.items():
        for states, accuracy in by_states.items():
            assert published_accuracy(method, data, int(states)) == accuracy
    assert accuracies.keys() == PUBLISHED["full"].keys()
    assert published_g_il(method) == pytest.approx(published()["methods"][method]["G_IL"], abs=0.01)


def test_what_the_paper_has_not_is_nothing():
    assert published_accuracy("Full", "CIFAR100", 10) == PUBLISHED["full"]["CIFAR100"]
    assert published_accuracy("Full", "toy", 10) is None
    assert published_accuracy("lwf_kd", "CIFAR100", 10) is None
    assert published_accuracy("inFT", "CIFAR100", 7) is None
