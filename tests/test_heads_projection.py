"""Sums over random features: learning in states is learning at once."""

from __future__ import annotations

from dataclasses import replace

import torch

from conftest import make_learner, make_toy
from memoryless.heads.projection import ProjectionSums
from memoryless.lab.analysis.compare import compare
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.lab.states import last_record, last_state
from memoryless.lab.stream import Stream


def test_projection_in_ten_states_is_learning_at_once():
    features, labels = torch.randn(200, 8), torch.arange(200) % 20
    at_once = ProjectionSums.empty(50).add(features, labels, 20)
    in_states = ProjectionSums.empty(50)
    for first in range(0, 20, 2):
        new = (labels >= first) & (labels < first + 2)
        in_states = in_states.add(features[new], labels[new], 2)
    torch.testing.assert_close(in_states.sums, at_once.sums)
    test = torch.randn(30, 8)
    torch.testing.assert_close(
        in_states.scorer(8)(test), at_once.scorer(8)(test), rtol=1e-4, atol=1e-4
    )
    assert at_once.scorer(8).cost == 8 * 50 + 50 * 20


def test_a_projection_learned_in_ten_states_is_one_learned_at_once(tiny):
    data = make_toy(classes=10)
    config = replace(tiny, strategy="frozen", states="10", projection=40).resolved(8)
    folder = RunFolder(run(config, data)[0])
    first = Stream.from_config(data, config)[0].train
    learner = make_learner(config, first)
    learner.restore(folder.tensors(9, "network"), last_record(folder))
    features, labels = learner.features(data.train), torch.from_numpy(data.train.labels)
    at_once = ProjectionSums.empty(40).add(features, labels, 10).scorer(features.shape[1])
    in_states = last_state(folder).fitted["projection+none"]
    torch.testing.assert_close(in_states(features), at_once(features), rtol=1e-4, atol=1e-4)
    ledger = folder.results()[-1]["bytes"]["record"]
    assert ledger["projection.gram"] == 40 * 40 * 4
    assert ledger["projection.sums"] == 10 * 40 * 4
    (row,) = compare([folder], ["frozen+projection"])
    assert row.bytes_kept == 40 * 40 * 4 + 10 * 40 * 4
