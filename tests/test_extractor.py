"""The extractor: order, threads, and errors from within."""

from __future__ import annotations

import time

import pytest

from memoryless.errors import ConfigError
from memoryless.extractor import AHEAD, Extractor, ahead, cores


def test_what_is_not_a_graph_is_refused_in_one_sentence():
    with pytest.raises(
        ConfigError, match=r"^onnxruntime [\d.]+ cannot run the backbone \(.*\): export it"
    ):
        Extractor(b"no graph")


def test_results_come_in_order_and_few_are_ahead():
    begun = []

    def work(i: int) -> int:
        begun.append(i)
        time.sleep(0.001 * (i % 3))
        return i

    results = ahead(work, range(50), threads=2)
    assert next(results) == 0
    assert len(begun) <= 2 * AHEAD + 3
    assert list(results) == list(range(1, 50))


def test_an_error_within_reaches_the_caller_and_ends_the_work():
    def work(i: int) -> int:
        if i == 3:
            raise ValueError("broken")
        return i

    results = ahead(work, range(1_000_000), threads=2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="broken"):
        next(results)


def test_there_is_a_core():
    assert cores() >= 1
