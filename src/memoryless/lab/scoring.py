"""Figures of methods after a state, from stored or fresh features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from memoryless.inference import Kept, Outcome, method_scorers, score
from memoryless.methods import Method, parts_used
from memoryless.metrics import accuracy_at, accuracy_by_state, error_typology
from memoryless.record import Record


def score_methods(
    features: Tensor, labels: Tensor, methods: Mapping[str, Method], kept: Kept
) -> dict[str, dict[str, Any]]:
    """What every method reaches on these images, in percent."""
    scorers = method_scorers(methods, kept)
    outcomes = score(features, labels, scorers)
    ledger = kept.record.ledger
    return {
        name: figures(outcome, labels, kept.record)
        | {
            "bytes": sum(ledger[part] for part in parts_used(methods[name], ledger)),
            "cost": scorers[name].cost,
        }
        for name, outcome in outcomes.items()
    }


def figures(outcome: Outcome, labels: Tensor, record: Record) -> dict[str, Any]:
    """One method's figures after the last state of the record."""
    truth, class_state = labels.numpy(), record.class_state.numpy()
    first_new = int((class_state < len(record.mu) - 1).sum())
    return {
        "top1": accuracy_at(outcome.ranks, 1),
        "top5": accuracy_at(outcome.ranks, min(5, len(class_state))),
        "typology": error_typology(outcome.predictions, truth, first_new),
        "by_state": accuracy_by_state(outcome.predictions, truth, class_state),
    }
