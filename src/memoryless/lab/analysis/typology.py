"""Typology tables say where the test images of each state go: the supplement's error analysis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.summary import results_of, without_repeats
from memoryless.lab.runs import RunFolder

KINDS = {
    "c_p": "c(p)", "e_pp": "e(p,p)", "e_pn": "e(p,n)",
    "c_n": "c(n)", "e_nn": "e(n,n)", "e_np": "e(n,p)",
}  # fmt: skip


def typology_grids(runs: Sequence[RunFolder], methods: Sequence[str] = ()) -> list[Grid]:
    """Each run gets a table: the kinds of answers of each method, in percent, by state."""
    return [grid for run in without_repeats(runs) if (grid := _grid(run, methods)).rows]


def _grid(run: RunFolder, methods: Sequence[str]) -> Grid:
    results = results_of(run, methods)[1:]
    names = list(results[0].methods) if results else []
    rows, entries = [], []
    for name in names:
        for kind, shown in KINDS.items():
            values = [getattr(state.methods[name].typology, kind) for state in results]
            rows.append([f"{name} {shown}", *(f"{v:.1f}" for v in values)])
            entries += [
                {"run": str(run.path), "method": name, "kind": shown, "state": t, "percent": v}
                for t, v in enumerate(values, 1)
            ]
    columns = ["percent", *(f"state {t}" for t in range(1, len(results) + 1))]
    caption = "past images: c(p) + e(p,p) + e(p,n) = 100; new ones: c(n) + e(n,n) + e(n,p) = 100"
    return Grid(f"{run.path}: error typology", caption, columns, rows, entries)


def data_grid(runs: Sequence[RunFolder]) -> Grid:
    """The table counts the images of each data set, as the supplement's first table does."""
    facts = {run.about.dataset: run.about for run in runs}
    entries: list[dict[str, Any]] = []
    for name, about in facts.items():
        per_class = np.array(about.train_images)
        entries.append(
            {
                "data": name,
                "classes": len(per_class),
                "train": int(per_class.sum()),
                "test": sum(about.test_images),
                "mean_per_class": float(per_class.mean()),
                "std_per_class": float(per_class.std()),
            }
        )
    rows = [
        [r["data"], str(r["classes"]), f"{r['train']:,}", f"{r['test']:,}",
         f"{r['mean_per_class']:.2f}", f"{r['std_per_class']:.2f}"]
        for r in entries
    ]  # fmt: skip
    columns = ["data", "classes", "training images", "test images", "mean of a class", "deviation"]
    caption = "images, and mean and standard deviation of the training images of a class"
    return Grid("data sets", caption, columns, rows, entries)
