"""What a method gets right, from hand-made outcomes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from memoryless.lab.counting import accuracies
from memoryless.lab.scoring import Outcome
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
