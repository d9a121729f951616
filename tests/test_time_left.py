"""The time that is left, by a clock that the test turns."""

from __future__ import annotations

import pytest

from memoryless.lab.time_left import TimeLeft


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("memoryless.lab.time_left.time.perf_counter", lambda: now[0])
    return now


def test_nothing_is_known_before_any_work(clock):
    assert TimeLeft([{"training": 10}])() is None


def test_states_count_by_their_work(clock):
    left = TimeLeft([{"training": 300}, {"training": 100}])
    clock[0] += 6
    left.did(0, "training", 150)
    assert left() == pytest.approx(10)  # 150 + 100 passes at 25 a second
    assert left.share == 150 / 400


def test_each_kind_has_its_own_speed_once_it_was_met(clock):
    left = TimeLeft([{"training": 100, "scores": 10}] * 2)
    clock[0] += 1
    left.did(0, "training", 100)
    assert left() == pytest.approx((10 + 110) / 100)  # scores are expected to be as fast
    clock[0] += 5
    left.did(0, "scores", 10)
    assert left() == pytest.approx(1 + 5)
    left.finish(0)
    clock[0] += 3
    left.did(1, "training", 50)  # later states turn out to be slower
    assert left() == pytest.approx(3 + 5)


def test_what_was_done_by_an_earlier_command_is_not_counted(clock):
    left = TimeLeft([{"training": 100}] * 3, finished=1)
    left.skip(1, "training", 90)
    clock[0] += 2
    left.did(1, "training", 5)
    assert left() == pytest.approx((5 + 100) * 2 / 5)
    assert left.share == 195 / 300


def test_runs_to_come_count_whole(clock):
    left = TimeLeft([{"training": 100}], after=[[{"training": 100}], [{"training": 50}]])
    clock[0] += 1
    left.did(0, "training", 50)
    assert left() == pytest.approx(1 + 2 + 1)


def test_a_state_that_ends_early_leaves_nothing(clock):
    left = TimeLeft([{"training": 100}, {}])
    clock[0] += 1
    left.did(0, "training", 50)
    left.did(0, "features", 50)  # more than was planned
    left.finish(0)
    assert (left(), left.share) == (0, 1)
