"""Many methods over the same features score as each would alone, and what they get right."""

from __future__ import annotations

import weakref
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from conftest import ENDED, single
from memoryless.lab import evaluate
from memoryless.lab.described import Typology
from memoryless.lab.evaluate import Outcome, figures_of, score, score_methods
from memoryless.stats.calibration import CALIBRATIONS
from memoryless.stats.class_statistics import ClassStatistics, Group
from memoryless.stats.heads import HEADS, Head
from memoryless.stats.methods import METHODS, Method, build_scorer
from memoryless.stats.metrics import ranks
from memoryless.stats.record import EndOfState, Record
from memoryless.stats.scorers import View

PLAIN, UNIT = METHODS["FT"], METHODS["LUCIR"]


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def end_of(W: np.ndarray, b: np.ndarray, current: np.ndarray | None = None) -> EndOfState:
    """The first state, with these initial rows and another layer as trained, or the same."""
    record = Record(W, b, np.zeros(len(b), int), np.ones(1, np.float32))
    return EndOfState(record, (W if current is None else current, b))


def assert_same_outcomes(one: dict[str, Outcome], two: dict[str, Outcome]) -> None:
    assert list(one) == list(two)
    for mine, other in zip(one.values(), two.values(), strict=True):
        assert mine.ranks.tolist() == other.ranks.tolist()
        assert mine.predictions.tolist() == other.predictions.tolist()


def assert_as_alone(features, labels, methods, end) -> None:
    """Methods together answer as the scorer of each."""
    outcomes = score(features, labels, methods, end)
    assert list(outcomes) == list(methods)
    for name, method in methods.items():
        scorer = build_scorer(method, end)
        assert outcomes[name].ranks.tolist() == ranks(scorer(features), labels).tolist()
        assert outcomes[name].predictions.tolist() == scorer(features).argmax(1).tolist()
        assert outcomes[name].cost == scorer.cost


def test_scoring_in_chunks_changes_nothing(monkeypatch):
    features, labels = single(50, 6), np.arange(50) % 4
    end = end_of(single(4, 6, seed=1), single(4), single(4, 6, seed=2))
    methods = {"a": PLAIN, "b": UNIT, "c": METHODS["inFT"]}
    whole = score(features, labels, methods, end)
    monkeypatch.setattr(evaluate, "CHUNK", 7)
    assert_same_outcomes(score(features, labels, methods, end), whole)


def test_progress_counts_images_evenly_over_the_passes(monkeypatch, data, statistics):
    """A pass for each head."""
    monkeypatch.setattr(evaluate, "CHUNK", 50)
    end = end_of(single(3, 6), single(3))
    end = replace(end, record=replace(end.record, statistics={"none": statistics}))
    methods = {h: Method("finetune", h) for h in ("current", "initial", "ncm", "lda")}
    seen: list[tuple[int, int]] = []
    score(*data, methods, end, lambda *numbers: seen.append(numbers))
    assert seen == [(n, 120) for n in (12, 25, 30, 42, 55, 60, 72, 85, 90, 102, 115, 120)]


@pytest.mark.parametrize("classes", [1, 2, 255, 256, 257, 300])
def test_ranks_are_those_of_the_metrics_for_any_number_of_classes(classes):
    scores, labels = single(9, classes).round(1), np.arange(9) % classes  # some are equal
    scores[0, 0], scores[1, labels[1]] = 9, -9  # above all others, and below
    outcome = Outcome.empty(9, 0)
    for chunk in (slice(0, 5), slice(5, 9)):
        outcome.enter(chunk, scores[chunk], labels[chunk])
    assert outcome.ranks.tolist() == ranks(scores, labels).tolist()
    assert outcome.predictions.tolist() == scores.argmax(1).tolist()


def test_features_may_be_stored_in_half_precision():
    features, labels = single(9, 6).astype(np.float16), np.arange(9) % 4
    end, methods = end_of(single(4, 6, seed=1), single(4)), {"a": PLAIN, "b": UNIT}
    half, whole = (score(f, labels, methods, end) for f in (features, features.astype("f4")))
    assert_same_outcomes(half, whole)


def test_features_of_zero_have_scores_and_nan_is_a_wrong_answer():
    end = end_of(single(4, 6), np.array([0, 3, 1, 2], np.float32))
    outcome = score(zeros(2, 6), np.array([1, 0]), {"it": UNIT}, end)["it"]
    assert (outcome.predictions.tolist(), outcome.ranks.tolist()) == ([1, 1], [0, 3])
    end = end_of(np.full((9, 6), np.nan, np.float32), zeros(9))
    assert score(single(5, 6), np.arange(5), {"it": PLAIN}, end)["it"].ranks.tolist() == [8] * 5


@pytest.mark.parametrize("rows", [PLAIN, UNIT], ids=["plain", "unit"])
def test_features_after_those_of_rows_are_not_read(rows):
    """A run may keep features of the middle behind; heads over statistics read those alone."""
    means = ClassStatistics(np.ones(4), (Group(single(4, 4)),))
    end = end_of(single(4, 6, seed=1), single(4))
    record = replace(end.record, statistics={"none": means})
    end, methods = replace(end, record=record, view=View(6)), {"it": rows}
    features, labels = single(9, 10, seed=2), np.arange(9) % 4
    assert_as_alone(features, labels, methods | {"behind": Method("finetune", "ncm")}, end)
    other = np.concatenate([features[:, :6], single(9, 4, seed=3)], axis=1)
    found = (score(f, labels, methods, end) for f in (features, other))
    assert_same_outcomes(*found)


def over(statistics: ClassStatistics, held_out=None) -> EndOfState:
    """Two past classes and a new one with these statistics, without rows that mean anything."""
    record = Record(zeros(3, 6), zeros(3), np.array([0, 0, 1]), np.ones(2, np.float32))
    record = replace(record, statistics={"none": statistics})
    return EndOfState(record, (record.W, record.b), held_out=held_out)


def test_heads_over_statistics_and_rows_answer_in_the_order_of_their_methods(data, statistics):
    heads = ("lda", "initial", "ncm", "current", "rda")
    methods = {head: Method("finetune", head) for head in heads}
    methods["calibrated"] = Method("finetune", "rda", "bg_z")
    methods["again"] = methods["rda"]  # a calibration does not spoil what it shares
    assert_as_alone(*data, methods, over(statistics, held_out=data))


def test_a_head_is_made_and_scored_once_for_all_its_calibrations(monkeypatch):
    calls = []

    class Counting:
        cost = 0

        def __call__(self, features: np.ndarray) -> np.ndarray:
            calls.append(len(features))
            return features @ np.ones((5, 7), np.float32)

    def make(statistics: ClassStatistics) -> Counting:
        calls.append("made")
        return Counting()

    monkeypatch.setitem(HEADS, "ncm", Head("ncm", "counts", "means", make))
    means = ClassStatistics(np.ones(7), (Group(zeros(7, 5)),))
    end = replace(ENDED, record=replace(ENDED.record, statistics={"none": means}))
    names = [c.name for c in CALIBRATIONS.values() if not c.logits_only]
    methods = {c: Method("finetune", "ncm", c) for c in names}
    score(single(9, 5), np.zeros(9, int), methods, end)
    watching = [12 for name in names if CALIBRATIONS[name].held_out]  # held-out images
    assert calls == ["made", *watching, 9]


def test_scorers_over_statistics_are_built_and_dropped_one_at_a_time(monkeypatch, data, statistics):
    built: list[weakref.ref] = []
    alive: list[int] = []
    real = evaluate.head_scorer

    def head_scorer(method: Method, end: EndOfState):
        alive.append(sum(known() is not None for known in built))
        scorer = real(method, end)
        built.append(weakref.ref(scorer))
        return scorer

    monkeypatch.setattr(evaluate, "head_scorer", head_scorer)
    parts = product(("lda", "rda", "mahalanobis", "ridge"), ("none", "bg_z"))
    methods = {head + calibration: Method("finetune", head, calibration)
               for head, calibration in parts}  # fmt: skip
    score(*data, methods, over(statistics, held_out=data))
    assert len(built) == 4
    assert max(alive) == 0


def test_typology_of_a_hand_made_outcome():
    """Two past classes and two new ones."""
    record = Record(zeros(4, 2), zeros(4), np.array([0, 0, 1, 1]), np.ones(2))
    labels = np.array([0, 0, 1, 1, 2, 3])
    outcome = Outcome(np.array([0, 1, 2, 3, 2, 0]), np.array([0, 1, 2, 3, 0, 1]), 8)
    found = figures_of(outcome, labels, record)
    assert found.typology == Typology(c_p=25, e_pp=25, e_pn=50, c_n=50, e_nn=0, e_np=50)
    assert found.by_state == [25, 50]
    assert found.top1 == pytest.approx(100 / 3)
    assert found.top5 == 100  # of four classes


def test_the_five_best_are_five():
    record = Record(zeros(7, 2), zeros(7), np.zeros(7, int), np.ones(1))
    outcome = Outcome(np.zeros(7, int), np.arange(7), 14)  # the true class comes 1st to 7th
    found = figures_of(outcome, np.arange(7), record)
    assert (found.top1, found.top5) == pytest.approx((100 / 7, 500 / 7))


def test_bytes_and_cost_are_of_the_parts_that_a_method_reads():
    record = Record(single(4, 3), zeros(4), np.array([0, 0, 1, 1]), np.ones(2, np.float32))
    end = EndOfState(record, (record.W, record.b))
    methods = {name: METHODS[name] for name in ("FT", "inFT", "inFT_siw_mc")}
    counted = score_methods(single(4, 3), np.arange(4), methods, end)
    rows = 4 * 3 * 4 + 4 * 4
    assert [m.bytes for m in counted.values()] == [0, rows, rows + 4 * 8 + 2 * 4]
    assert [m.cost for m in counted.values()] == [12, 12, 12]
