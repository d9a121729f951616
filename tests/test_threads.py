"""Threads: work done ahead, in order, and ended with its caller; one thread of BLAS."""

from __future__ import annotations

import threading
import time

import pytest

from memoryless.threads import AHEAD, ahead, blas_threads, in_threads, one_thread


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


def test_who_stops_asking_ends_the_work():
    """What has begun is waited for, what has not never begins."""
    begun, gate, before = [], threading.Event(), threading.active_count()

    def work(i: int) -> None:
        begun.append(i)
        if i:
            gate.wait(10)

    results = ahead(work, range(1_000_000), threads=2)
    next(results)
    timer = threading.Timer(0.5, gate.set)
    timer.start()
    results.close()
    timer.join()
    assert len(begun) <= 3
    assert threading.active_count() == before


def test_within_one_thread_blas_uses_one_and_afterwards_as_many_as_before():
    before = blas_threads()
    with one_thread():
        assert blas_threads() == 1
    assert blas_threads() == before


def test_work_in_threads_gives_results_in_order():
    assert list(in_threads(lambda i: i * i, range(20))) == [i * i for i in range(20)]
