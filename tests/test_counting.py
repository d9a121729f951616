"""What a method gets right, from hand-made outcomes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from memoryless.build import EndOfState
from memoryless.lab.counting import accuracies, score_methods
from memoryless.lab.scoring import Outcome
from memoryless.methods import METHODS
from memoryless.record import Record


def test_typology_of_a_hand_made_outcome():
    """Two past classes and two new ones."""
    record = Record(torch.zeros(4, 2), torch.zeros(4), torch.tensor([0, 0, 1, 1]), torch.ones(2))
    labels = torch.tensor([0, 0, 1, 1, 2, 3])
    outcome = Outcome(np.array([0, 1, 2, 3, 2, 0]), np.array([0, 1, 2, 3, 0, 1]))
    found = accuracies(outcome, labels, record)
    assert found["typology"] == {
        "c_p": 25, "e_pp": 25, "e_pn": 50, "c_n": 50, "e_nn": 0, "e_np": 50,
    }  # fmt: skip
    assert found["by_state"] == [25, 50]
    assert found["top1"] == pytest.approx(100 / 3)
    assert found["top5"] == 100  # of four classes


def test_the_five_best_are_five():
    record = Record(torch.zeros(7, 2), torch.zeros(7), torch.zeros(7).long(), torch.ones(1))
    labels = torch.arange(7)
    outcome = Outcome(np.zeros(7, dtype=int), np.arange(7))  # the true class comes 1st to 7th
    found = accuracies(outcome, labels, record)
    assert (found["top1"], found["top5"]) == pytest.approx((100 / 7, 500 / 7))


def test_bytes_and_cost_are_of_the_parts_that_a_method_reads():
    record = Record(torch.randn(4, 3), torch.zeros(4), torch.tensor([0, 0, 1, 1]), torch.ones(2))
    end = EndOfState(record, (record.W, record.b))
    methods = {name: METHODS[name] for name in ("FT", "inFT", "inFT_siw_mc")}
    counted = score_methods(torch.randn(4, 3), torch.arange(4), methods, end)
    rows = 4 * 3 * 4 + 4 * 4
    assert [m["bytes"] for m in counted.values()] == [0, rows, rows + 4 * 8 + 2 * 4]
    assert [m["cost"] for m in counted.values()] == [12, 12, 12]
