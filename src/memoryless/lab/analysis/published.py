"""The paper's own numbers, to stand beside what is measured here; never mixed with it."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from memoryless.metrics import g_il


@cache
def published() -> dict[str, Any]:
    """Tables of the paper and its supplement, under our names of the methods."""
    return json.loads((files("memoryless.lab.analysis") / "published.json").read_text())


def published_accuracy(method: str, data: str, states: int) -> float | None:
    """Top-5 average incremental accuracy in the paper, or nothing where it has none."""
    tables = published()
    if method == "Full":
        return tables["full"].get(data)
    row = tables["methods"].get(method, {"accuracy": {}})
    return row["accuracy"].get(data, {}).get(str(states))


def published_g_il(method: str) -> float:
    """The paper's G_IL, computed from its accuracies."""
    accuracy, full = published()["methods"][method]["accuracy"], published()["full"]
    cells = [(accuracy[d][t], full[d]) for d in full for t in accuracy[d]]
    return g_il(*zip(*cells, strict=True))
