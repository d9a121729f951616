"""The paper's own numbers and names stand beside what is measured here, never mixed with it."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from memoryless.stats.methods import METHODS, method_name, parse_method
from memoryless.stats.metrics import g_il


@cache
def published() -> dict[str, Any]:
    """The tables of the paper and its supplement, with methods under our names."""
    return json.loads((files("memoryless.lab.analysis") / "published.json").read_text())


def published_accuracy(method: str, data: str, states: int) -> float | None:
    """The paper's top-5 average incremental accuracy, or nothing where it has none."""
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


def paper_name(name: str) -> str:
    """A method's name in the paper, or by its parts in one order.

    >>> paper_name("finetune+mc+siw"), paper_name("finetune+linear+lda:0.3")
    ('inFT_siw_mc', 'finetune+lda:0.3+linear')
    """
    method = parse_method(name)
    return next((paper for paper, same in METHODS.items() if same == method), method_name(method))
