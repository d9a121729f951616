"""Scorers are data: each comes back from its facts and arrays, and scores as before."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from conftest import single
from memoryless import Model
from memoryless.errors import StoreError
from memoryless.stats.build import view_of
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
    square_roots,
    unit,
)
from memoryless.tensors import from_bytes, to_bytes
from memoryless.train.settings import ModelSettings

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


def test_every_kind_has_an_example():
    for kind in SCORERS:
        assert make(kind).kind == kind


@pytest.mark.parametrize("kind", SCORERS)
def test_scores_are_the_same_after_a_file(kind):
    scorer, features = make(kind), single(11, FEATURES)
    facts, arrays = describe(scorer)
    again = restore(json.loads(json.dumps(facts)), from_bytes(to_bytes(arrays))[0])
    assert np.array_equal(again(features), scorer(features))
    assert again(features).dtype == np.float32
    assert again.cost == scorer.cost


@pytest.mark.parametrize("square_roots", [False, True])
@pytest.mark.parametrize(("classes", "images", "d"), [(1, 20, 16), (5, 3, 500), (3, 40, 7)])
def test_a_model_scores_to_the_bit_as_before_it_was_saved(
    classes, images, d, square_roots, tmp_path
):
    """A product's last bits depend on how its matrices lie in memory."""
    X, names = single(classes * images, d), [f"class {i}" for i in range(classes)] * images
    model = Model(backbone="none", square_roots=square_roots)
    model.learn(X, names)
    model.save(tmp_path)
    again = Model.load(tmp_path)
    assert np.array_equal(again.scores(X), model.scores(X))
    assert np.array_equal(again.scores(X[:1]), model.scores(X[:1]))


@pytest.mark.parametrize("kind", SCORERS)
def test_what_is_missing_is_named(kind):
    facts, arrays = describe(make(kind))
    for name in arrays:
        rest = {n: a for n, a in arrays.items() if n != name}
        with pytest.raises(StoreError, match=f"lacks its {name.rpartition('.')[2]}"):
            restore(facts, rest)
    with pytest.raises(StoreError, match="a scorer of the kind 'magic' is unknown"):
        restore({"kind": "magic"}, arrays)


def test_linear_by_hand():
    layer = Linear(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([0.5, 0.0]))
    assert layer(np.array([[3.0, 4.0, 9.0]])).tolist() == [[11.5, 4.0]]  # the third is not read
    at_length_one = Linear(layer.W, layer.b, unit=True)
    np.testing.assert_allclose(at_length_one(np.array([[3.0, 4.0]])), [[2.7, 0.8]])


def test_quadratic_by_hand():
    scorer = Quadratic(np.array([[1.0, 0.0]]), np.array([[[2.0, 0.0], [0.0, 3.0]]]))
    np.testing.assert_allclose(scorer(np.array([[0.0, 7.0]])), [[-(2.0**2) - 3.0**2]])


def test_a_quadratic_is_the_same_in_pieces(monkeypatch):
    scorer, features = make("quadratic"), single(30, FEATURES)
    whole = scorer(features)
    monkeypatch.setattr("memoryless.stats.scorers.MOST_VALUES", 7)
    monkeypatch.setattr("memoryless.stats.scorers.COLUMNS", 4)
    np.testing.assert_allclose(scorer(features), whole, rtol=1e-5)


def test_views():
    features = np.array([[1.0, 2.0, 3.0, -4.0]])
    assert np.array_equal(View()(features), features)
    assert View(2)(features).tolist() == [[3.0, -4.0]]
    assert View(2).rows(features).tolist() == [[1.0, 2.0]]
    assert View().rows(features) is features
    np.testing.assert_allclose(View(2, True)(features), [[0.6**0.5, -(0.8**0.5)]])


def test_zero_features_stay_zero():
    zero = np.zeros((1, 3), np.float32)
    assert np.array_equal(unit(zero), zero)
    assert np.array_equal(square_roots(zero), zero)


def test_affine_by_hand():
    over = Linear(np.eye(2), np.zeros(2))
    scorer = Affine(over, np.array([2.0, 3.0]), np.array([1.0, -1.0]))
    assert scorer(np.array([[5.0, 7.0]])).tolist() == [[11.0, 20.0]]
    assert scorer.cost == 4


def test_projected_by_hand():
    scorer = Projected(np.array([[1.0, -1.0, 2.0]]), Linear(np.array([[1.0, 9, 3]]), np.ones(1)))
    assert scorer(np.array([[2.0]])).tolist() == [[2 + 0 + 12 + 1.0]]
    assert scorer.cost == 3 + 3


def test_viewed_reads_its_view():
    over = Linear(np.eye(2), np.zeros(2))
    features = np.array([[5.0, 0.36, -0.48]])
    assert Viewed(over, 1, False)(features).tolist() == [[0.36, -0.48]]
    np.testing.assert_allclose(Viewed(over, 1, True)(features), [[0.6**0.5, -(0.8**0.5)]])
    np.testing.assert_allclose(Viewed(over, 0, False)(features), [[5.0, 0.36]])


@pytest.mark.parametrize(("kind", "reads"), [("quadratic", True), ("linear", False)])
def test_a_fact_that_is_not_told_has_its_default(kind, reads):
    facts, arrays = describe(make(kind))
    del facts["unit"]
    assert restore(facts, arrays).unit == reads


def test_distances_of_features_as_they_are():
    scorer = Quadratic(np.array([[3.0, 0.0]]), np.eye(2)[None], unit=False)
    assert scorer(np.array([[3.0, 2.0]])).tolist() == [[-4.0]]


@pytest.mark.parametrize(
    ("settings", "view"),
    [
        ({}, View()),
        ({"level": "middle", "square_roots": True}, View()),  # nothing is computed from a view
        ({"statistics": "mean"}, View()),
        ({"statistics": "mean", "level": "middle"}, View(16)),
        ({"statistics": "full", "square_roots": True}, View(0, True)),
        ({"projection": 9, "level": "middle", "square_roots": True}, View(16, True)),
    ],
)
def test_the_view_that_settings_ask_for(settings, view):
    assert view_of(ModelSettings(**settings), 16) == view


@pytest.mark.parametrize("strategy", ["fixed", "untrained"])
def test_fixed_features_are_read_as_square_roots(strategy):
    plain = ModelSettings(strategy=strategy)
    assert view_of(replace(plain, statistics="tied"), 16) == View(0, True)
    assert view_of(replace(plain, projection=9, level="middle"), 16) == View(16, True)
    assert view_of(replace(plain, statistics="none"), 16) == View()


@pytest.mark.parametrize("kind", SCORERS)
def test_arrays_that_fit_are_not_told_of(kind):
    assert list(misshapen(make(kind), {"N": CLASSES})) == []
    assert list(misshapen(make(kind), {"N": CLASSES, "d": FEATURES})) == []
    assert list(misshapen(make(kind), {"N": CLASSES + 1}))


def test_arrays_that_do_not_fit_each_other():
    layer = Linear(np.ones((5, 8)), np.ones(5))
    assert list(misshapen(Projected(np.ones((6, 9)), layer), {"N": 5})) == [
        "over.W is of the shape (5, 8), not (5, 9)"
    ]
    assert list(misshapen(Viewed(layer, 2, True), {"N": 5, "d": 8})) == [
        "over.W is of the shape (5, 8), not (5, 6)"
    ]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"kind": [1]}, "a scorer of the kind [1] is unknown to this version"),
        ({"start": "x"}, "a scorer of the kind viewed cannot have 'x' as its start"),
        ({"start": True}, "a scorer of the kind viewed cannot have True as its start"),
        ({"start": -1}, "a scorer of the kind viewed cannot have -1 as its start"),
        ({"square_roots": 1}, "a scorer of the kind viewed cannot have 1 as its square_roots"),
        ({"over": 3}, "a scorer of the kind viewed cannot have 3 as its over"),
        ({"over": None}, "a scorer of the kind viewed lacks its over"),
    ],
)
def test_facts_of_other_types_are_refused(change, problem):
    facts, arrays = describe(make("viewed"))
    with pytest.raises(StoreError) as caught:
        restore(facts | change, arrays)
    assert str(caught.value) == problem
