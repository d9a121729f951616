"""LUCIR without memory."""

from __future__ import annotations

import math

import pytest
import torch

from conftest import STREAM, toy_learner


def test_lucir_fixes_old_rows_and_weighs_old_classes(tiny):
    learner = toy_learner(tiny, strategy="lucir")
    learner.learn(STREAM[0].train, 2)
    assert learner.strategy.weight == 0
    rows = learner.network.layer.rows.detach().clone()
    learner.learn(STREAM[1].train, 2)
    assert learner.strategy.weight == pytest.approx(5 * math.sqrt(2 / 2))
    torch.testing.assert_close(learner.network.layer.rows[:2], rows)
    learner.learn(STREAM[2].train, 2)
    assert learner.strategy.weight == pytest.approx(5 * math.sqrt(4 / 2))


def test_lucirs_features_may_be_negative(tiny):
    assert toy_learner(tiny, strategy="lucir").features(STREAM[0].train).min() < 0
    assert toy_learner(tiny).features(STREAM[0].train).min() >= 0
