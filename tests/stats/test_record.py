"""The record: what it holds, what it weighs, and that it comes back from its file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import draw_classes, gather, make_learner, make_toy, single
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder, last_record, last_state
from memoryless.lab.stream import Stream
from memoryless.stats.projection import ProjectionSums
from memoryless.stats.record import Record
from memoryless.stats.transports import TRANSPORTS, carry

OF_STATISTICS = {n for n, t in TRANSPORTS.items() if {"means", "covariances"} & {*t.moves}}


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def test_bytes_of_every_part(gathered):
    """Six classes of sixteen features in three states, at four bytes a number."""
    ledger = gathered.results()[-1].bytes.record
    basics = {"W": 6 * 16 * 4, "b": 6 * 4, "class_state": 6 * 8, "mu": 3 * 4}
    each = {"count": 6 * 4, "mean": 6 * 16 * 4, "own": 6 * 16 * 16 * 4}
    parts = {f"{t}.{name}": n for t in OF_STATISTICS for name, n in each.items()}
    assert ledger == basics | parts


@pytest.mark.parametrize(
    ("form", "parts"),
    [
        ("mean", {}),
        ("low-rank:3", {"factors": 6 * 3 * 16, "rest": 6}),
        ("tied", {"scatter": 16 * 17 // 2}),
        ("full", {"own": 6 * 16 * 16}),
    ],
)
def test_bytes_of_every_form(form, parts):
    """Six classes of sixteen features, three to a state."""
    record = Record.empty(16)
    for state in range(2):
        record = record.extend(zeros(3, 16), zeros(3), 1.0)
        birth = gather(*draw_classes(state, d=16), form)
        drift = {"forward": np.eye(16, dtype=np.float32)} if state else None
        statistics = carry(record.statistics, birth, drift, ("linear",))
        record = replace(record, statistics=statistics)
    ledger = record.ledger
    mine = {n: size for n, size in ledger.items() if n.startswith("linear.")}
    expected = {"count": 6, "mean": 6 * 16} | parts
    assert mine == {f"linear.{name}": 4 * size for name, size in expected.items()}


def test_frozen_backbones_do_not_drift(tiny, toy):
    config = replace(tiny, strategy="frozen", statistics="full")
    record = last_record(RunFolder(run(config, toy)[0]))
    assert record.statistics.keys() == OF_STATISTICS
    for other in OF_STATISTICS:
        for name, part in record.statistics[other].arrays().items():
            still = record.statistics["none"].arrays()[name]
            np.testing.assert_allclose(part, still, rtol=1e-3, atol=1e-3)


def test_means_alone_are_not_widened(tiny, toy):
    folder = RunFolder(run(replace(tiny, statistics="mean"), toy)[0])
    of_means = {name for name, t in TRANSPORTS.items() if "means" in t.moves}
    assert last_record(folder).statistics.keys() == of_means < OF_STATISTICS
    assert last_state(folder).fitted.keys() == {f"fetril+{name}" for name in of_means}


@pytest.mark.parametrize("statistics", ["none", "full"])
def test_nothing_in_the_record_grows_with_the_images(statistics, tiny):
    sizes = []
    for dataset in (make_toy(train=8), make_toy(train=40)):
        stream = Stream(dataset, "3")
        learner = make_learner(replace(tiny, epochs=1, statistics=statistics), stream[0].train)
        for state in stream:
            learner.learn(state.train, 2)
        sizes.append(learner.record.ledger)
    assert sizes[0] == sizes[1]


def two_classes(**parts) -> Record:
    return replace(Record.empty(2).extend(np.eye(2), zeros(2), 1.0), **parts)


def test_a_record_grows_by_states_and_classes():
    record, rows = Record.empty(3), np.ones((2, 3))
    assert (record.classes, record.states) == (0, 0)
    record = record.extend(rows, zeros(2), 1.5)
    rows += 9  # values are copied
    record = record.extend(np.full((1, 3), 2.0), np.ones(1), 2.5)
    assert (record.classes, record.states) == (3, 2)
    assert record.W[:, 0].tolist() == [1, 1, 2]
    assert record.b.tolist() == [0, 0, 1]
    assert record.class_state.tolist() == [0, 0, 1]
    assert record.mu.tolist() == [1.5, 2.5]


def test_what_a_head_reads_is_there_or_nothing():
    means, full = (gather(*draw_classes(1), form) for form in ("mean", "full"))
    sums = ProjectionSums.empty(3)
    record = two_classes(statistics={"none": means, "linear": full}, projection=sums)
    W, b = record.source("rows", "none")
    assert W is record.W
    assert b is record.b
    assert record.source("means", "none") is means
    assert record.source("means", "linear") is record.source("covariances", "linear") is full
    assert record.source("covariances", "none") is None
    assert record.source("means", "sdc") is None
    assert record.source("projection", "none") is sums
    assert two_classes().source("projection", "none") is None


@pytest.mark.parametrize("fixed", [False, True])
def test_every_part_comes_back_by_its_name(fixed):
    record = two_classes(
        statistics={"none": gather(*draw_classes(1), "low-rank:2")},
        projection=ProjectionSums.empty(3).add(single(4, 2), np.array([0, 0, 1, 1]), 2),
    )
    names = {"W", "b", "class_state", "mu", "none.count", "none.mean", "none.factors", "none.rest"}
    names |= {"projection.gram", "projection.sums"}
    assert record.arrays().keys() == record.ledger.keys() == names
    again = Record.of(record.arrays(), fixed)
    for name, array in record.arrays().items():
        assert again.arrays()[name] is array
    assert again.statistics.keys() == {"none"}
    assert again.statistics["none"].fixed == fixed
    assert record.basics.arrays().keys() == {"W", "b", "class_state", "mu"}
    assert record.ledger["projection.gram"] == 3 * 3 * 4
