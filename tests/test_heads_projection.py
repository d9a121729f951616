"""Sums over random features: learning in states is learning at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from sklearn.linear_model import Ridge

from conftest import make_learner, make_toy
from memoryless.heads.projection import ProjectionSums, random_directions
from memoryless.lab.analysis.compare import compare
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.lab.states import last_record, last_state
from memoryless.lab.stream import Stream
from memoryless.randomness import derive


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


def test_sums_and_scores_by_scikit_learn():
    """Ridge regression to one-hot classes over ReLU features of the directions."""
    features, labels = torch.randn(40, 5), torch.arange(40) % 3
    sums = ProjectionSums.empty(9).add(features, labels, 3)
    projected = (features @ random_directions(5, 9)).clamp(min=0)
    hot = torch.nn.functional.one_hot(labels).float()
    torch.testing.assert_close(sums.gram, projected.T @ projected)
    torch.testing.assert_close(sums.sums, hot.T @ projected)
    theirs = Ridge(alpha=0.2 * float(sums.gram.trace()) / 9, fit_intercept=False)
    theirs.fit(projected.numpy(), hot.numpy())
    new = torch.randn(7, 5)
    expected = theirs.predict((new @ random_directions(5, 9)).clamp(min=0).numpy())
    np.testing.assert_allclose(sums.scorer(5, 0.2)(new), expected, rtol=1e-3, atol=1e-4)


def test_more_features_than_a_chunk_make_the_same_sums(monkeypatch):
    features, labels = torch.randn(40, 5), torch.arange(40) % 3
    whole = ProjectionSums.empty(9).add(features, labels, 3)
    monkeypatch.setattr("memoryless.heads.projection.CHUNK", 7)
    parts = ProjectionSums.empty(9).add(features, labels, 3)
    torch.testing.assert_close(parts.gram, whole.gram)
    torch.testing.assert_close(parts.sums, whole.sums)
    assert parts.gram.dtype == parts.sums.dtype == torch.float32


def test_directions_are_those_of_every_version():
    """A record holds sums over them and not them: others would make its sums worthless."""
    seed = torch.Generator().manual_seed(derive(0, "projection"))
    assert torch.equal(random_directions(3, 4), torch.randn(3, 4, generator=seed))
