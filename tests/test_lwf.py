"""LwF's outputs, of the classes seen or of all."""

from __future__ import annotations

import pytest

from conftest import STREAM, toy_learner


@pytest.mark.parametrize(("outputs", "sizes"), [("seen", [2, 4]), ("all", [6, 6])])
def test_lwf_outputs(outputs, sizes, tiny):
    learner = toy_learner(tiny, strategy="lwf", outputs=outputs)
    for state, size in zip(STREAM[:2], sizes, strict=True):
        learner.learn(state.train, 2)
        assert learner.network.classes == size
        assert learner.layer[0].shape[0] == 2 * state.index + 2
