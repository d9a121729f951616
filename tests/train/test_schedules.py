"""Learning rates by hand."""

from __future__ import annotations

import pytest

from memoryless.lab.config import Config
from memoryless.train.schedules import SCHEDULES, epochs_of, learning_rate


@pytest.mark.parametrize(
    ("rule", "rates"),
    [
        ("t+1", [0.1, 0.05, 0.1 / 3]),
        (0.07, [0.1, 0.07, 0.07]),
        ("t", [0.1, 0.1, 0.05]),
        ("constant", [0.1, 0.1, 0.1]),
    ],
)
def test_rate_at_the_start_of_each_state(rule, rates):
    config = Config(lr_later=rule, schedule="cosine").resolved()
    assert [learning_rate(config, t, 0, []) for t in range(3)] == pytest.approx(rates)


def test_cosine():
    config = Config(epochs=10, schedule="cosine", lr=1).resolved()
    rates = [learning_rate(config, 0, e, []) for e in (0, 5, 10)]
    assert rates == pytest.approx([1, 0.5, 0])


def test_multistep():
    config = Config(epochs=8, schedule="multistep", lr=1, milestones=(0.5, 0.75)).resolved()
    rates = [learning_rate(config, 0, e, []) for e in (0, 3.9, 4, 5.9, 6, 7)]
    assert rates == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01])


def test_plateau_falls_after_patience_epochs_without_progress():
    config = Config(schedule="plateau", lr=1, patience=2, patience_later=1).resolved()
    losses = [3, 2, 2.5, 2, 1, 1, 1, 1, 1]
    rates = [learning_rate(config, 0, e, losses[:e]) for e in range(10)]
    assert rates == pytest.approx([1, 1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.001])
    assert learning_rate(config, 1, 2, [1, 1]) == pytest.approx(0.5 * 0.1)


def test_later_epochs():
    config = Config(epochs=9, epochs_later=4).resolved()
    assert [epochs_of(config, t) for t in (0, 1, 5)] == [9, 4, 4]
    assert epochs_of(Config(epochs=9).resolved(), 3) == 9


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule_contract(name):
    """It starts at the full rate, never rises, and falls before the end."""
    config = Config(schedule=name, lr=1, epochs=30, patience=9).resolved()
    losses: list[float] = []
    rates = []
    for epoch in range(30):
        rates.append(learning_rate(config, 0, epoch, losses))
        losses.append(1.0)
    assert rates[0] == 1
    assert rates == sorted(rates, reverse=True)
    assert rates[-1] < 1


def test_progress_of_less_than_a_ten_thousandth_is_none():
    config = Config(schedule="plateau", lr=1, patience=1).resolved()
    for loss, rate in ((0.99985, 1), (1 - 1e-4, 0.1), (0.99995, 0.1)):
        assert learning_rate(config, 0, 2, [1.0, loss]) == pytest.approx(rate)
