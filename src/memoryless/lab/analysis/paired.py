"""Paired tables compare methods on the same checkpoints: every later state of every run is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.summary import results_of, without_repeats
from memoryless.lab.runs import RunFolder


def paired_grids(
    runs: Sequence[RunFolder], methods: Sequence[str] = (), k: str = "top5"
) -> list[Grid]:
    """Each strategy gets a table: every method's points of accuracy more than the first method."""
    by_strategy: dict[str, list[RunFolder]] = {}
    for run in without_repeats(runs):
        by_strategy.setdefault(run.about["config"]["strategy"], []).append(run)
    grids = [_grid(strategy, group, methods, k) for strategy, group in by_strategy.items()]
    return [grid for grid in grids if grid.rows]


def _grid(strategy: str, runs: Sequence[RunFolder], methods: Sequence[str], k: str) -> Grid:
    states = [state["methods"] for run in runs for state in results_of(run, methods)[1:]]
    common = [m for m in (states[0] if states else ()) if all(m in state for state in states)]
    first, *others = common or [""]
    entries = [
        _compare(first, other, np.array([s[other][k] - s[first][k] for s in states]))
        for other in others
    ]
    rows = [
        [r["method"], f"{r['difference']:+.1f}", f"{r['std']:.1f}", f"{r['better']}/{r['pairs']}",
         "" if r["p_value"] is None else f"{r['p_value']:.2g}"]
        for r in entries
    ]  # fmt: skip
    title = f"{strategy}: {k} against {first}, on {len(states)} checkpoints of {len(runs)} runs"
    caption = "p of Wilcoxon's signed-rank test; states of one run are not independent"
    return Grid(title, caption, ["method", "difference", "std", "better", "p"], rows, entries)


def _compare(reference: str, method: str, differences: np.ndarray) -> dict[str, Any]:
    from scipy.stats import wilcoxon

    p = float(wilcoxon(differences).pvalue) if np.any(differences) else None
    return {
        "method": method,
        "against": reference,
        "difference": float(differences.mean()),
        "std": float(differences.std(ddof=1)) if len(differences) > 1 else 0.0,
        "better": int((differences > 0).sum()),
        "pairs": len(differences),
        "p_value": p,
    }
