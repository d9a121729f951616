"""Scorers are data: each comes back from its facts and arrays, and scores as before."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from conftest import single
from memoryless.errors import StoreError
from memoryless.settings import ModelSettings
from memoryless.stats.methods import view_of
from memoryless.stats.scorers import (
    SCORERS,
    Affine,
    Linear,
    Projected,
    Quadratic,
    Scorer,
    View,
    Viewed,
    describe,
    misshapen,
    restore,
)
from memoryless.tensors import from_bytes, to_bytes

CLASSES, FEATURES = 5, 6


def make(kind: str) -> Scorer:
    random = np.random.default_rng(3)

    def draw(*shape: int) -> np.ndarray:
        return random.random(shape, dtype=np.float32) + np.float32(0.1)

    layer = Linear(draw(CLASSES, FEATURES), draw(CLASSES), unit=True)
    roots = np.triu(draw(CLASSES, FEATURES, FEATURES))
    made = {
        "linear": layer,
        "quadratic": Quadratic(draw(CLASSES, FEATURES), roots),
        "projected": Projected(draw(FEATURES, 9) - 0.6, Linear(draw(CLASSES, 9), draw(CLASSES))),
        "viewed": Viewed(Linear(draw(CLASSES, 4), draw(CLASSES)), 2, True),
        "affine": Affine(Quadratic(draw(CLASSES, FEATURES), roots), draw(5), draw(5)),
    }
    return made[kind]


@pytest.mark.parametrize("kind", SCORERS)
def test_scores_are_the_same_after_a_file(kind):
    scorer, features = make(kind), single(11, FEATURES)
    facts, arrays = describe(scorer)
    assert facts["kind"] == kind
    again = restore(json.loads(json.dumps(facts)), from_bytes(to_bytes(arrays))[0])
    assert np.array_equal(again(features), scorer(features))
    assert again(features).dtype == np.float32
    assert again.cost == scorer.cost
    assert list(misshapen(again, {"N": CLASSES})) == []
    assert list(misshapen(again, {"N": CLASSES, "d": FEATURES})) == []
    assert list(misshapen(again, {"N": CLASSES + 1}))


@pytest.mark.parametrize("kind", SCORERS)
def test_what_is_missing_is_named(kind):
    facts, arrays = describe(make(kind))
    for name in arrays:
        rest = {n: a for n, a in arrays.items() if n != name}
        with pytest.raises(StoreError, match=f"`{name.rpartition('.')[2]}`"):
            restore(facts, rest)
    with pytest.raises(StoreError, match="a scorer of the kind 'magic' is unknown"):
        restore({"kind": "magic"}, arrays)


EYE = Linear(np.eye(2), np.zeros(2))
LAYER = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([0.5, 0.0])
TWO = np.array([2.0, 3.0]), np.array([1.0, -1.0])


@pytest.mark.parametrize(
    ("scorer", "features", "scores", "cost"),
    [
        (Linear(*LAYER), [3.0, 4, 9], [11.5, 4], 4),  # the third is not read
        (Linear(*LAYER, unit=True), [3.0, 4], [2.7, 0.8], 4),
        (Quadratic(np.array([[1.0, 0]]), np.diag([2.0, 3])[None]), [0.0, 7], [-4 - 9], 3),
        (Quadratic(np.array([[3.0, 0]]), np.eye(2)[None], unit=False), [3.0, 2], [-4], 3),
        (Affine(EYE, *TWO), [5.0, 7], [11, 20], 4),
        (
            Projected(np.array([[1.0, -1, 2]]), Linear(np.array([[1.0, 9, 3]]), np.ones(1))),
            [2.0],
            [2 + 0 + 12 + 1],
            6,
        ),
        (Viewed(EYE, 1, False), [5.0, 0.36, -0.48], [0.36, -0.48], 4),
        (Viewed(EYE, 1, True), [5.0, 0.36, -0.48], [0.6**0.5, -(0.8**0.5)], 4),
        (Viewed(EYE, 1, True), [5.0, 0, 0], [0, 0], 4),
        (Linear(np.eye(2), np.zeros(2), unit=True), [0.0, 0], [0, 0], 4),
    ],
)
def test_scores_by_hand(scorer, features, scores, cost):
    np.testing.assert_allclose(scorer(np.array([features])), [scores])
    assert scorer.cost == cost


def test_a_quadratic_is_the_same_in_pieces(monkeypatch):
    scorer, features = make("quadratic"), single(30, FEATURES)
    whole = scorer(features)
    monkeypatch.setattr("memoryless.stats.scorers.MOST_VALUES", 7)
    monkeypatch.setattr("memoryless.stats.scorers.COLUMNS", 4)
    np.testing.assert_allclose(scorer(features), whole, rtol=1e-5)


def test_a_view_reads_the_columns_of_its_groups():
    features = np.array([[0.36, -0.48, 0.8, 3.0, -4.0]])
    assert np.array_equal(View()(features), features)
    assert View(3)(features).tolist() == [[3, -4]]
    assert View(1, groups=(1, 2))(features).tolist() == [[-0.48, 0.8, 3]]
    roots = [0.6, -np.sqrt(0.48), np.sqrt(0.8)]
    assert np.allclose(View(0, True, (3,))(features), [roots])
    assert np.allclose(View(0, True, (3, 2))(features), [[*roots, np.sqrt(0.6), -np.sqrt(0.8)]])


@pytest.mark.parametrize(("kind", "reads"), [("quadratic", True), ("linear", False)])
def test_a_fact_that_is_not_told_has_its_default(kind, reads):
    facts, arrays = describe(make(kind))
    del facts["unit"]
    assert restore(facts, arrays).unit == reads


@pytest.mark.parametrize(
    ("settings", "view"),
    [
        ({}, View()),
        ({"level": "middle", "square_roots": True}, View()),  # nothing is computed from a view
        ({"statistics": "mean"}, View()),
        ({"statistics": "mean", "level": "middle"}, View(16)),
        ({"statistics": "full", "square_roots": True}, View(0, True)),
        ({"projection": 9, "level": "middle", "square_roots": True}, View(16, True)),
        ({"strategy": "fixed", "statistics": "tied"}, View(0, True, (16,))),
        ({"strategy": "untrained", "statistics": "tied"}, View(0, True, (16,))),
        ({"strategy": "untrained", "projection": 9, "level": "middle"}, View(16, True)),
        ({"strategy": "fixed", "statistics": "none"}, View()),
    ],
)
def test_the_view_that_settings_ask_for(settings, view):
    assert view_of(ModelSettings(**settings), 16) == view


def test_arrays_that_do_not_fit_each_other_are_named():
    layer = Linear(np.ones((5, 8)), np.ones(5))
    (problem,) = misshapen(Projected(np.ones((6, 9)), layer), {"N": 5})
    assert problem == "over.W has the shape (5, 8), not (5, 9)"
    (problem,) = misshapen(Viewed(layer, 2, True), {"N": 5, "d": 8})
    assert problem == "over.W has the shape (5, 8), not (5, 6)"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": [1]}, "[1] is unknown"),
        ({"start": "x"}, "got `str` - at `$.start`"),
        ({"start": True}, "got `bool` - at `$.start`"),
        ({"start": -1}, ">= 0 - at `$.start`"),
        ({"square_roots": 1}, "got `int` - at `$.square_roots`"),
        ({"over": 3}, "got `int` - at `$.over`"),
        ({"over": None}, "got `NoneType` - at `$.over`"),
    ],
)
def test_facts_of_other_types_are_refused(change, problem):
    facts, arrays = describe(make("viewed"))
    with pytest.raises(StoreError, match=re.escape(problem)):
        restore(facts | change, arrays)
