"""Everything kept is a sum: batches, orders, merges and forgetting in any shape give one model.

Features lie up to 10,000 standard deviations from zero here. Rounding grows with the square of
that: measured, it is 3e-11 of the range of scores at 1,000 and 6e-7 at 100,000.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryless import Model

EXACT = 1e-6  # of the range of scores, which is a log likelihood or more
TIERS = pytest.mark.parametrize("examples", [25, pytest.param(400, marks=pytest.mark.slow)])


@dataclass(frozen=True)
class Data:
    """Photos of some classes, as features, and others to be scored."""

    X: np.ndarray  # (n, d)
    y: np.ndarray  # (n,) names
    probes: np.ndarray  # (m, d)

    @property
    def names(self) -> list[str]:
        return sorted(set(self.y))

    def without(self, gone: list[str]) -> Data:
        stay = ~np.isin(self.y, gone)
        return Data(self.X[stay], self.y[stay], self.probes)


@st.composite
def datasets(draw: st.DrawFn) -> Data:
    """Normal classes, near each other or far apart, around zero or far from it, many or few."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(2, 6))
    counts = draw(st.lists(st.integers(2, 12), min_size=2, max_size=6))
    offset = draw(st.sampled_from([0.0, 1.0, 1e3]))
    apart = draw(st.sampled_from([0.0, 1.0, 30.0]))
    scales = rng.choice(draw(st.sampled_from([[1.0], [0.1, 10.0]])), d)
    means = offset + apart * rng.normal(size=(len(counts), d))
    labels = np.repeat(np.arange(len(counts)), counts)
    X = means[labels] + scales * rng.normal(size=(len(labels), d))
    probes = np.concatenate([X, means + 3 * scales * rng.normal(size=means.shape)])
    return Data(X, np.array([f"class {i}" for i in labels]), probes)


chances = st.integers(0, 2**32 - 1).map(random.Random)


def split(rng: random.Random, things: list[int], parts: int) -> Iterator[list[int]]:
    """Some things in any order, in at most so many parts, none of them empty."""
    things = rng.sample(things, len(things))
    cuts = sorted({0, len(things), *(rng.randint(1, len(things)) for _ in range(parts - 1))})
    yield from (things[a:b] for a, b in pairwise(cuts))


def through_a_folder(rng: random.Random, model: Model) -> Model:
    """The model, now and then as it is loaded after it was saved."""
    if rng.random() < 0.1:
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/model")
            model = Model.load(f"{folder}/model")
    return model


def teach(rng: random.Random, model: Model, data: Data, photos: list[int]) -> Model:
    """The model after photos in any batches, some of which other models learned first."""
    for batch in split(rng, photos, rng.randint(1, 4)):
        if model.classes and rng.random() < 0.3:
            other = teach(rng, Model(backbone="none", forgettable=model.forgettable), data, batch)
            pair = [model, other]
            rng.shuffle(pair)
            model = Model.merge(dict(zip("ab", pair, strict=True)), same_class="join")
        else:
            model.learn(data.X[batch], data.y[batch].tolist(), more=True)
        model = through_a_folder(rng, model)
    return model


def taught(rng: random.Random, data: Data, forgettable: bool = False) -> Model:
    model = Model(backbone="none", forgettable=forgettable)
    return teach(rng, model, data, list(range(len(data.X))))


def assert_exact(scores: np.ndarray, expected: np.ndarray) -> None:
    assert np.abs(scores - expected).max() <= EXACT * max(1.0, np.ptp(expected))


def assert_as_if_taught_at_once(model: Model, data: Data) -> None:
    once = Model(backbone="none")
    once.learn(data.X, data.y.tolist())
    assert sorted(model.classes) == data.names
    columns = [model.classes.index(name) for name in once.classes]
    scores, expected = (
        model.decision_function(data.probes)[:, columns],
        once.decision_function(data.probes),
    )
    assert_exact(scores, expected)
    counts = dict(zip(model.classes, model.counts, strict=True))
    assert counts == dict(zip(once.classes, once.counts, strict=True))


@TIERS
def test_any_way_to_the_same_photos_gives_the_same_scores(examples):
    @settings(max_examples=examples)
    @given(datasets(), chances, st.booleans())
    def check(data: Data, rng: random.Random, forgettable: bool) -> None:
        assert_as_if_taught_at_once(taught(rng, data, forgettable), data)

    check()


@TIERS
def test_what_is_forgotten_had_never_been_and_can_come_again(examples):
    @settings(max_examples=examples)
    @given(datasets(), chances)
    def check(data: Data, rng: random.Random) -> None:
        gone = rng.sample(data.names, rng.randint(1, len(data.names) - 1))
        model = taught(rng, data, forgettable=True)
        model.forget(*gone)
        model = through_a_folder(rng, model)
        assert_as_if_taught_at_once(model, data.without(gone))
        again = [i for i in range(len(data.X)) if data.y[i] in gone]
        assert_as_if_taught_at_once(teach(rng, model, data, again), data)

    check()


@TIERS
def test_forgetting_in_between(examples):
    """A class that goes after some of its photos came; photos of the others come later."""

    @settings(max_examples=examples)
    @given(datasets(), chances)
    def check(data: Data, rng: random.Random) -> None:
        gone = rng.sample(data.names, rng.randint(1, len(data.names) - 1))
        stay = np.flatnonzero(~np.isin(data.y, gone)).tolist()
        some = rng.sample(range(len(data.X)), rng.randint(0, len(data.X)))
        first = sorted({*some, stay[0], data.y.tolist().index(gone[0])})
        model = teach(rng, Model(backbone="none", forgettable=True), data, first)
        model.forget(*(name for name in gone if name in model.classes))
        later = [i for i in stay if i not in first]
        model = teach(rng, model, data, later) if later else model
        assert_as_if_taught_at_once(model, data.without(gone))

    check()


@TIERS
def test_without_own_scatters_forgetting_keeps_the_covariance(examples):
    """What is said of it: scores are those of the means that are left, under the same covariance,
    but that it is shrunk as one of fewer photos is.
    """

    @settings(max_examples=examples)
    @given(datasets(), chances)
    def check(data: Data, rng: random.Random) -> None:
        gone = rng.sample(data.names, rng.randint(1, len(data.names) - 1))
        model = taught(rng, data)
        weights = model.forget(*gone)
        left = data.without(gone)
        assert sum(weights.values()) == pytest.approx(1 - len(left.X) / len(data.X))
        means = np.stack([data.X[data.y == name].mean(0) for name in model.classes])
        away = data.X - np.stack([data.X[data.y == name].mean(0) for name in data.y])
        S = away.T @ away / len(data.X)
        L = np.linalg.inv(S + S.trace() / len(left.X) * np.eye(len(S)))
        counts = np.array([(data.y == name).sum() for name in model.classes])
        free, freedom = len(left.X) - len(counts), np.trace(S @ L)
        tau = freedom / max(1 - freedom / max(free, 1), 0.02) * len(left.X) / max(free, 1)
        centre = np.average(means, axis=0, weights=counts)
        probes, means = data.probes - centre, means - centre
        expected = probes @ L @ means.T - np.einsum("nd,de,ne->n", means, L, means) / 2
        expected += (tau if free >= 16 else 0) / (2 * counts)
        assert_exact(model.decision_function(data.probes), expected)

    check()
