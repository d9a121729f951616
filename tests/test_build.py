"""Methods become scorers as the paper writes them, each head made once."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from conftest import NUMBERS, gather
from memoryless import heads
from memoryless.build import EndOfState, build_scorers, choose_shrinkage
from memoryless.calibration import CALIBRATIONS
from memoryless.heads import HEADS, Head
from memoryless.lab.scoring import score
from memoryless.methods import METHODS, Method
from memoryless.metrics import ranks
from memoryless.record import Record
from memoryless.statistics import Statistics


@pytest.mark.parametrize("head", [h.name for h in HEADS.values() if h.shrinkages])
def test_a_shrinkage_chosen_without_past_images(head, data):
    """It is one of those offered, and no other is right more often on what was asked."""
    features, labels = data
    statistics = gather(features, labels, "full")
    held_out = features[labels == 2][:9], labels[labels == 2][:9]
    assert choose_shrinkage(HEADS[head], statistics, *held_out) in HEADS[head].shrinkages
    first_state = choose_shrinkage(HEADS[head], statistics, features, labels)
    right = {g: (HEADS[head].make(statistics, g)(features).argmax(1) == labels).sum()
             for g in HEADS[head].shrinkages}  # fmt: skip
    assert right[first_state] == max(right.values())


def test_a_head_is_made_and_scored_once_for_all_its_calibrations(monkeypatch):
    calls = []

    class Counting:
        cost = 0

        def __call__(self, features: torch.Tensor) -> torch.Tensor:
            calls.append(len(features))
            return features @ torch.ones(5, 7)

    def make(statistics: Statistics) -> Counting:
        calls.append("made")
        return Counting()

    monkeypatch.setitem(HEADS, "ncm", Head("ncm", "counts", "means", make))
    record = Record(torch.zeros(7, 5), torch.zeros(7), NUMBERS.class_state, NUMBERS.mu)
    record = replace(record, statistics={"none": Statistics(torch.ones(7), torch.zeros(7, 5))})
    kept = EndOfState(record, (record.W, record.b), held_out=NUMBERS.held_out)
    names = [c.name for c in CALIBRATIONS.values() if not c.logits_only]
    watching = [name for name in names if CALIBRATIONS[name].held_out]
    scorers = build_scorers({c: Method("finetune", "ncm", c) for c in names}, kept)
    assert calls == ["made", *[12 for _ in watching]]  # which look at the held-out images
    calls.clear()
    score(torch.rand(9, 5), torch.zeros(9, dtype=torch.long), scorers)
    assert calls == [9]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_scores_as_the_paper_writes_it(name):
    """Eq. 5 spelled out image by image and class by class."""
    method = METHODS[name]
    generator = torch.Generator().manual_seed(1)
    initial_W, current_W = torch.randn(2, 4, 6, generator=generator)
    initial_b, current_b = torch.randn(2, 4, generator=generator)
    record = Record(initial_W, initial_b, torch.tensor([0, 0, 1, 1]), torch.tensor([6.0, 3.0]))
    features = torch.randn(5, 6, generator=generator)
    labels = torch.tensor([0, 1, 2, 3, 0])
    is_current = method.head == "current"
    head_W, head_b = heads.HEADS[method.head].make(
        current_W if is_current else initial_W, current_b if is_current else initial_b
    )
    expected = torch.zeros(5, 4)
    if method.strategy == "lucir":  # whose layer reads features at length one
        features = torch.nn.functional.normalize(features)
    for i in range(5):
        for c in range(4):
            factor = 0.5 if method.calibration == "mc" and c < 2 else 1.0
            expected[i, c] = (features[i] @ head_W[c] + head_b[c]) * factor
    kept = EndOfState(record, (current_W, current_b))
    layer = build_scorers({"it": method}, kept)["it"]
    torch.testing.assert_close(layer(features), expected)
    beside = build_scorers({"it": METHODS["inFT"]}, kept)["it"]
    outcome = score(features, labels, {"inFT": beside, name: layer})[name]
    assert outcome.predictions.tolist() == expected.argmax(1).tolist()
    assert outcome.ranks.tolist() == ranks(expected, labels).tolist()
