"""Scorers as nodes of a graph give what they give in NumPy."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto

from memoryless.embed.answers import KINDS, OUTPUTS, append_answers, kinds_of
from memoryless.embed.graph import Nodes
from memoryless.model.trained import lead
from memoryless.stats.confidence import Confidence, classify
from memoryless.stats.scorers import Affine, Linear, Viewed, describe

D, CLASSES = 12, 5
SURE = Confidence(temperature=0.7, threshold=0.3)


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def linear(rows: int, d: int, unit: bool = False) -> Linear:
    return Linear(draw(rows, d), draw(rows), unit)


def features_graph() -> ModelProto:
    """A graph whose features are what it is given."""
    nodes = Nodes()
    nodes.add("Identity", "rows", name="features")
    ends = (TensorProto.FLOAT, ["n", D])
    return nodes.model({"rows": ends}, {"features": ends})


SCORERS = [
    linear(CLASSES, D),
    linear(CLASSES, 4),  # rows read the first features only
    linear(CLASSES, D, unit=True),
    Viewed(linear(CLASSES, D), 0, square_roots=True),
    Viewed(linear(CLASSES, D - 4), 4, square_roots=True),
    Viewed(linear(CLASSES, D - 4), 4, square_roots=False),
    Affine(linear(CLASSES, D), draw(CLASSES), draw(CLASSES) + 1),
    linear(1, D),
    Viewed(linear(CLASSES + 1, D), 0, square_roots=True),  # over fixed features
]


@pytest.mark.parametrize("scorer", SCORERS)
def test_answers_are_those_of_the_scorer(scorer):
    features = draw(7, D)
    classes = 1 if scorer is SCORERS[-2] else CLASSES
    model = features_graph()
    append_answers(model, scorer, classes, SURE)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found = dict(zip(OUTPUTS, session.run(list(OUTPUTS), {"rows": features}), strict=True))
    if scorer is SCORERS[-1]:
        scores = scorer(features)
        expected = classify(scores[:, :-1], scores[:, :-1].max(1) - scores[:, -1], SURE)
    else:
        expected = classify(scorer(features), lead(scorer(features)), SURE)
    for name in OUTPUTS[:3]:
        assert found[name] == pytest.approx(getattr(expected, name), abs=1e-5), name
    assert (found["known"] == expected.known).all()


def test_every_kind_is_tried():
    assert set.union(*(kinds_of(describe(scorer)[0]) for scorer in SCORERS)) == set(KINDS)
