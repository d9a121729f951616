"""Sums over random features: learning in states is learning at once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from conftest import make_learner, make_toy, single
from memoryless.lab.experiment import run
from memoryless.lab.frame import results_frame
from memoryless.lab.runs import RunFolder, last_record, last_state
from memoryless.lab.stream import Stream
from memoryless.randomness import derive
from memoryless.stats.heads import projection
from memoryless.stats.projection import ProjectionSums, random_directions
from memoryless.tensors import as_tensors


def test_a_projection_learned_in_ten_states_is_one_learned_at_once(tiny):
    data = make_toy(classes=10)
    config = replace(tiny, strategy="frozen", states="10", projection=40).resolved(8)
    folder = RunFolder(run(config, data)[0])
    first = Stream(data, config.states, config.order)[0].train
    learner = make_learner(config, first)
    learner.restore(as_tensors(folder.arrays(9, "network")), last_record(folder))
    features = learner.all_features(data.train)
    at_once = ProjectionSums.empty(40).add(features, data.train.labels, 10)
    scores = projection(at_once, features)(features)
    in_states = last_state(folder).fitted["projection+none"]
    np.testing.assert_allclose(in_states(features), scores, rtol=1e-4, atol=1e-4)
    ledger = folder.results()[-1].bytes.record
    assert ledger["projection.gram"] == 40 * 40 * 4
    assert ledger["projection.sums"] == 10 * 40 * 4
    frame = results_frame([folder], ["frozen+projection"])
    assert frame["bytes"].iloc[-1] == 40 * 40 * 4 + 10 * 40 * 4


@pytest.mark.parametrize("chunk", [7, 4096])
def test_sums_and_scores_are_scikit_learns(chunk, monkeypatch):
    """Ridge regression to one-hot classes over ReLU features of the directions."""
    monkeypatch.setattr("memoryless.stats.projection.CHUNK", chunk)
    features, labels = single(40, 5), np.arange(40) % 3
    sums = ProjectionSums.empty(9).add(features, labels, 3)
    projected = np.maximum(features @ random_directions(5, 9), 0)
    hot = np.eye(3, dtype=np.float32)[labels]
    assert sums.gram.dtype == sums.sums.dtype == np.float32
    np.testing.assert_allclose(sums.gram, projected.T @ projected, rtol=1e-5)
    np.testing.assert_allclose(sums.sums, hot.T @ projected, rtol=1e-5)
    theirs = Ridge(alpha=0.2 * sums.gram.trace() / 9, fit_intercept=False).fit(projected, hot)
    new = single(7, 5, seed=1)
    expected = theirs.predict(np.maximum(new @ random_directions(5, 9), 0))
    scorer = projection(sums, new, shrinkage=0.2)
    np.testing.assert_allclose(scorer(new), expected, rtol=1e-3, atol=1e-4)
    assert scorer.cost == 5 * 9 + 9 * 3


def test_directions_are_those_of_every_version():
    """A record holds sums over them and not them: others would make its sums worthless."""
    rng = np.random.default_rng(derive(0, "projection"))
    expected = rng.standard_normal((3, 4), dtype=np.float32)
    assert np.array_equal(random_directions(3, 4), expected)
