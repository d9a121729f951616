"""Methods become scorers as the paper writes them, each head made once."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from conftest import NUMBERS, gather
from memoryless import heads
from memoryless.build import EndOfState, build_scorers
from memoryless.calibration import CALIBRATIONS
from memoryless.heads import HEADS, Head
from memoryless.lab.scoring import score
from memoryless.methods import METHODS, Method
from memoryless.metrics import ranks
from memoryless.record import Record
from memoryless.scorers import Linear, View
from memoryless.statistics import Statistics


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


@pytest.mark.parametrize(
    "view", [View(), View(3), View(0, True), View(3, True), View(3, unit=True)]
)
def test_heads_over_statistics_read_their_view_and_rows_do_not(view):
    random = torch.Generator().manual_seed(1)
    features, d = torch.rand(9, 8, generator=random), 8 - view.start
    statistics = Statistics(torch.ones(2), torch.rand(2, d, generator=random))
    W = torch.rand(2, view.start or 8, generator=random)
    record = Record(W, torch.zeros(2), torch.zeros(2).long(), torch.ones(1))
    fitted = Linear(torch.rand(2, d, generator=random), torch.zeros(2))
    end = EndOfState(
        replace(record, statistics={"none": statistics}),
        (W, torch.zeros(2)),
        {"fetril+none": fitted, "none+fetril": Linear(W, torch.zeros(2))},
        view=view,
    )
    methods = {head: Method("finetune", head) for head in ("initial", "current", "ncm", "fetril")}
    made = build_scorers(methods, end)
    torch.testing.assert_close(made["initial"](features), features[:, : view.start or 8] @ W.T)
    torch.testing.assert_close(made["current"](features), made["initial"](features))
    torch.testing.assert_close(made["ncm"](features), HEADS["ncm"].make(statistics)(view(features)))
    torch.testing.assert_close(made["fetril"](features), fitted(view(features)))
    assert isinstance(made["ncm"], Linear) == (view == View())


@pytest.mark.parametrize("head", [h.name for h in HEADS.values() if h.shrinks])
def test_a_shrinkage_in_a_methods_name_is_used(head, data):
    states = torch.tensor([0, 0, 1])
    statistics = gather(*data, "full").levelled(states == 1)
    record = Record(torch.zeros(3, 6), torch.zeros(3), states, torch.ones(2))
    end = EndOfState(replace(record, statistics={"none": statistics}), (record.W, record.b))
    made = build_scorers({g: Method("finetune", head, shrinkage=g) for g in ("", "0.5")}, end)
    for name, given in (("", ()), ("0.5", (0.5,))):
        expected = HEADS[head].make(statistics, *given)(data[0])
        torch.testing.assert_close(made[name](data[0]), expected)


@pytest.mark.parametrize(("strategy", "levels"), [("finetune", True), ("frozen", False)])
@pytest.mark.parametrize("head", ["lda", "rda"])
def test_lengths_are_levelled_where_the_backbone_changed(head, strategy, levels, data):
    states = torch.tensor([0, 0, 1])
    features = torch.where(data[1][:, None] == 2, data[0], data[0] / 2)  # past means are short
    statistics = gather(features, data[1], "full")
    record = Record(torch.zeros(3, 6), torch.zeros(3), states, torch.ones(2), {"none": statistics})
    end = EndOfState(record, (record.W, record.b))
    made = build_scorers({"it": Method(strategy, head)}, end)["it"]
    read = statistics.levelled(states == 1) if levels else statistics
    torch.testing.assert_close(made(data[0]), HEADS[head].make(read)(data[0]))
