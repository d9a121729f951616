"""Paired tables compare methods in the same states: every later state of every seed is a pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.summary import Summary, by_seed, results_of, rows_of
from memoryless.lab.analysis.table import stream_name
from memoryless.lab.run_format import Results
from memoryless.lab.runs import RunFolder


def paired_grids(
    runs: Sequence[RunFolder], methods: Sequence[str] = (), k: str = "top1"
) -> list[Grid]:
    """Each training gets a table: every method's points of accuracy more than the first method."""
    groups = [(group, [results_of(run, methods) for run in group]) for group in by_seed(runs)]
    grids = [_grid(rows, results, k) for g, results in groups if (rows := rows_of(g, results))]
    return [grid for grid in grids if grid.rows]


def _grid(named: Sequence[Summary], results: Sequence[list[Results]], k: str) -> Grid:
    states = [state.methods for by_state in results for state in by_state[1:]]
    first, *others = [row.method for row in named] if states else [""]
    reached = {
        method: np.array([getattr(state[method], k) for state in states])
        for method in ([first, *others] if states else ())
    }
    entries = [_compare(first, other, reached[other] - reached[first]) for other in others]
    rows = [
        [r["method"], f"{r['difference']:+.1f}", f"{r['std']:.1f}", f"{r['better']}/{r['pairs']}",
         "" if r["p_value"] is None else f"{r['p_value']:.2g}"]
        for r in entries
    ]  # fmt: skip
    title = f"{stream_name(named[0])}: {k.replace('top', 'top-')} against {first}"
    caption = (
        f"in {len(states)} states after state 0; p of Wilcoxon's signed-rank test, where states of "
        "one run are not independent"
    )
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
