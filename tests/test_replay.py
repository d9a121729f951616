"""Replay keeps as many images as it may, and the right ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from conftest import STREAM, toy_learner
from memoryless.strategies.replay import herding


@pytest.mark.parametrize("exemplars", ["herding", "random"])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
def test_replay_never_exceeds_its_budget(exemplars, share, tiny):
    learner = toy_learner(tiny, strategy="replay", memory=share, exemplars=exemplars)
    for state in STREAM:
        before = learner.strategy.memory
        learner.learn(state.train, 2)
        memory = learner.strategy.memory
        assert len(memory) == min(round(share * 72), 24 * (state.index + 1))
        counts = np.bincount(memory.labels, minlength=2 * state.index + 2)
        assert counts.max() - counts.min() <= 1
        if before is not None:  # classes only ever lose images
            old = memory.labels < 2 * state.index
            assert set(memory.indices[old]) <= set(before.indices)


def test_herding_equals_a_direct_greedy_search():
    features = torch.randn(12, 5, generator=torch.Generator().manual_seed(3))
    directions = (features / features.norm(dim=1, keepdim=True)).numpy()
    mean = directions.mean(0) / np.linalg.norm(directions.mean(0))
    chosen: list[int] = []
    for _ in range(6):
        left = [i for i in range(12) if i not in chosen]
        gaps = [np.linalg.norm(mean - directions[[*chosen, i]].mean(0)) for i in left]
        chosen.append(left[int(np.argmin(gaps))])
    assert herding(features, 6).tolist() == chosen
    assert sorted(herding(features, 99).tolist()) == list(range(12))
