"""Counts what methods get right after a state, from stored or fresh features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from memoryless.build import EndOfState, build_scorers
from memoryless.lab.scoring import Outcome, score
from memoryless.methods import Method, parts_used
from memoryless.metrics import accuracy_at, accuracy_by_state, error_typology
from memoryless.record import Record


def score_methods(
    features: Tensor,
    labels: Tensor,
    methods: Mapping[str, Method],
    end: EndOfState,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, dict[str, Any]]:
    """What every method reaches on these images, in percent."""
    scorers = build_scorers(methods, end)
    outcomes = score(features, labels, scorers, progress)
    ledger = end.record.ledger
    return {
        name: accuracies(outcome, labels, end.record)
        | {
            "bytes": sum(ledger[part] for part in parts_used(methods[name], ledger)),
            "cost": scorers[name].cost,
        }
        for name, outcome in outcomes.items()
    }


def accuracies(outcome: Outcome, labels: Tensor, record: Record) -> dict[str, Any]:
    """What one method reached after the last state of the record, in percent."""
    truth, class_state = labels.numpy(), record.class_state.numpy()
    past = int((class_state < record.states - 1).sum())
    return {
        "top1": accuracy_at(outcome.ranks, 1),
        "top5": accuracy_at(outcome.ranks, min(5, record.classes)),
        "typology": error_typology(outcome.predictions, truth, past),
        "by_state": accuracy_by_state(outcome.predictions, truth, class_state),
    }
