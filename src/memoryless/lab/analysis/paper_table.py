"""The paper's tables show methods at every number of states, with G_IL.

Each number is marked by its column: measured here, or published in the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.published import published, published_accuracy, published_g_il
from memoryless.lab.analysis.summary import Summary
from memoryless.lab.analysis.table import cell
from memoryless.stats.methods import METHODS
from memoryless.stats.metrics import g_il

# The supplement's table of normalisations; its first two rows are not in Table 1.
NORMALISATIONS = ("inFT_min_max", "inFT_mean", "inFT_L2", "inFT_siw")


def paper_tables(
    rows: Sequence[Summary], title: str, data: str | None = None, control: Sequence[str] = ()
) -> list[Grid]:
    """Table 1 and below it the control, the supplement's normalisations, and what the paper does
    not have. Rows of one method are told apart by words in brackets behind its name.
    """
    main = [*(m for m in METHODS if m not in NORMALISATIONS[:2]), *control]
    there = dict.fromkeys(named(row.method) for row in rows)
    others = [method for method in there if method not in (*METHODS, *control)]
    tables = {"Table 1": main, "normalisations": NORMALISATIONS, "beyond the paper": others}
    some = {name: methods for name, methods in tables.items() if {*methods} & {*there}}
    found = [
        accuracy_table(
            [r for r in rows if named(r.method) in (*methods, "Full")],
            f"{title}, {name}: top-5",
            data,
        )
        for name, methods in (some or {"Table 1": main}).items()
    ]
    told = "".join(f"; {name} is the control, a network that never learned" for name in control)
    return [replace(found[0], caption=found[0].caption + told), *found[1:]]


def accuracy_table(rows: Sequence[Summary], title: str, data: str | None = None) -> Grid:
    """A table of measured top-5 averages, and the paper's own if `data` is one of its sets."""
    full = next((row for row in rows if row.method == "Full"), None)
    sizes = sorted({row.states for row in rows if row is not full}, key=lambda s: (len(s), s))
    columns = ["method", *(f"T={t}" for t in sizes), "G_IL"]
    if data:
        columns += [*(f"T={t} published" for t in sizes), "G_IL published"]
    lines, entries = [], []
    for method in [m for m in _in_order(rows) if m != "Full"]:
        mine = {row.states: row for row in rows if row.method == method}
        gap = _g_il(list(mine.values()), full)
        cells = [cell(r.top5, r.top5_std, r.seeds) if (r := mine.get(t)) else "" for t in sizes]
        theirs = [published_accuracy(method, data, int(t)) for t in sizes] if data else []
        known = data is not None and method in published()["methods"]
        lines.append([
            method, *cells, _number(gap, 2), *(_number(a, 1) for a in theirs),
            *([_number(published_g_il(method), 2) if known else ""] if data else []),
        ])  # fmt: skip
        entries += [
            {
                "method": method,
                "states": int(t),
                "measured_top5": row.top5,
                "measured_std": row.top5_std,
                "seeds": row.seeds,
                "measured_full": full.last_top5 if full else None,
                "measured_g_il": gap,
                "published_top5": published_accuracy(method, data, int(t)) if data else None,
                "published_g_il": published_g_il(method) if known else None,
            }
            for t, row in mine.items()
        ]
    caption = "measured top-5, average over states 1 and later"
    if full:
        caption += f"; Full, not memoryless: {cell(full.last_top5, full.last_top5_std, full.seeds)}"
    if data:
        caption += f"; published Full: {published()['full'][data]:.1f}"
    return Grid(title, caption, columns, lines, entries)


def _in_order(rows: Sequence[Summary]) -> list[str]:
    """Methods stand in the paper's order, others after them."""
    there = dict.fromkeys(row.method for row in rows)
    order = list(METHODS)
    return sorted(there, key=lambda m: order.index(n) if (n := named(m)) in order else len(order))


def named(label: str) -> str:
    """The method that a label is of, without the words that tell it apart from others.

    >>> named("finetune+rda (middle stages, roots)")
    'finetune+rda'
    """
    return label.partition(" (")[0]


def _g_il(rows: list[Summary], full: Summary | None) -> float | None:
    return g_il([row.top5 for row in rows], [full.last_top5] * len(rows)) if full else None


def _number(value: float | None, digits: int) -> str:
    return "" if value is None or math.isnan(value) else f"{value:.{digits}f}"
