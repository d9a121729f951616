"""The paper's tables: methods at every number of states T, with G_IL, and the paper's claims."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from memoryless.lab.comparison import cell
from memoryless.lab.frame import in_shares
from memoryless.stats.methods import METHODS, method_name
from memoryless.stats.metrics import g_il
from memoryless.tables import Table

FULL = "joint"
OURS = {name: method_name(method) for name, method in METHODS.items()}
ORDER = list(OURS.values())
NORMALISATIONS = [OURS[name] for name in ("inFT_min_max", "inFT_mean", "inFT_L2", "inFT_siw")]
"""The supplement's table; its first two rows are not in Table 1."""
CLAIMS = {
    "initial rows help fine-tuning": ("inFT", "FT"),
    "siw beats raw rows": ("inFT_siw", "inFT"),
    "siw beats L2": ("inFT_siw", "inFT_L2"),
    "siw beats mean normalisation": ("inFT_siw", "inFT_mean"),
    "siw beats min-max": ("inFT_siw", "inFT_min_max"),
    "mc helps siw": ("inFT_siw_mc", "inFT_siw"),
    "mc helps raw rows": ("inFT_mc", "inFT"),
    "mc helps L2 rows": ("inFT_L2_mc", "inFT_L2"),
    "mc hurts LwF": ("inLwF_siw", "inLwF_siw_mc"),
    "mc hurts LUCIR": ("LUCIR", "LUCIR_mc"),
    "initial rows help LwF": ("inLwF", "LwF"),
    "LwF wins on small data": ("LwF", "inFT_siw"),
    "LwF wins, both with siw": ("inLwF_siw", "inFT_siw"),
}
"""Claims of the paper: the first method's top-5 average is above the second's."""


@cache
def published() -> dict[str, Any]:
    """Return the tables of the paper and its supplement, by the paper's names of methods."""
    tables: dict[str, Any]
    tables = json.loads((files("memoryless.lab") / "published.json").read_text())
    return tables


def published_accuracy(name: str, data: str | None, states: int) -> float:
    """Return the paper's top-5 average incremental accuracy, or nan."""
    accuracy = published()["methods"].get(name, {}).get("accuracy", {})
    return float(accuracy.get(data, {}).get(str(states), math.nan))


def published_g_il(name: str) -> float:
    """Return the paper's G_IL, computed from its accuracies, or nan."""
    if name not in published()["methods"]:
        return math.nan
    accuracy, full = published()["methods"][name]["accuracy"], published()["full"]
    cells = [(accuracy[d][t], full[d]) for d in full for t in accuracy[d]]
    return g_il(*zip(*cells, strict=True))


def paper_tables(
    averages: pd.DataFrame, title: str, data: str | None = None, control: Sequence[str] = ()
) -> list[Table]:
    """Make Table 1 with the control, the supplement's normalisations, and methods beyond the paper.

    `averages` are in percent. With `data`, one of the paper's data sets, the published numbers
    follow the measured ones.
    """
    rows = averages if "label" in averages else averages.assign(label=averages["method"])
    full = rows[rows["method"] == FULL]
    rows = rows[rows["method"] != FULL]
    main = [*(name for name in ORDER if name not in NORMALISATIONS[:2]), *control]
    tables = {
        "Table 1": rows[rows["method"].isin(main)],
        "normalisations": rows[rows["method"].isin(NORMALISATIONS)],
        "beyond the paper": rows[~rows["method"].isin([*ORDER, *control])],
    }
    shown = {name: own for name, own in tables.items() if len(own)} or {"Table 1": rows}
    made = [_table(own, full, f"{title}, {name}: top-5", data) for name, own in shown.items()]
    notes = [f" {name} is the control, a network that never learned." for name in control]
    return [replace(made[0], caption=made[0].caption + "".join(notes)), *made[1:]]


def _table(rows: pd.DataFrame, full: pd.DataFrame, title: str, data: str | None) -> Table:
    """Show measured top-5 averages, and the paper's own if `data` is one of its sets."""
    top = float(full["last_top5"].iloc[0]) if len(full) else math.nan
    caption = "Percent, average of states 1 and later; the paper's names are in brackets."
    for row in full[:1].itertuples():
        caption += f" Full, from all images at once: {cell(row.last_top5, row.last_top5_std)}."
    if data:
        caption += f" Full in the paper: {published()['full'][data]:.1f}."
    figures = rows[["label", "paper_name", "T", "seeds", "top5", "top5_std"]].assign(
        G_IL=rows.groupby("label")["top5"].transform(_gap, top),
        full_top5=top / 100,
        published_top5=[
            published_accuracy(row.paper_name, data, row.T) / 100 for row in rows.itertuples()
        ],
        published_G_IL=rows["paper_name"].map(published_g_il),
    )
    sizes = sorted(rows["T"].unique())
    columns = ["method", *(f"T={t}" for t in sizes), "G_IL"]
    columns += [*(f"paper T={t}" for t in sizes), "paper G_IL"] if data else []
    lines = [_line(own, sizes, data) for _, own in figures.groupby("label", sort=False)]
    lines.sort(key=lambda line: _place(line[0]))
    return Table(
        title, caption, columns, lines, in_shares(figures).rename(columns={"label": "method"})
    )


def _gap(top5: pd.Series, top: float) -> float:
    return math.nan if math.isnan(top) else g_il(list(top5), [top] * len(top5))


def _place(label: str) -> tuple[int, str]:
    """Order methods as the paper does, others after them."""
    name = label.partition(" (")[0]
    return (ORDER.index(name), "") if name in ORDER else (len(ORDER), label)


def _line(figures: pd.DataFrame, sizes: Sequence[int], data: str | None) -> list[str]:
    """Return the cells of one method."""
    first = figures.iloc[0]
    by_size = {row.T: row for row in figures.itertuples()}
    name = first["paper_name"]
    cells = [f"{first['label']} ({name})" if name else first["label"]]
    cells += [cell(r.top5, r.top5_std) if (r := by_size.get(t)) else "" for t in sizes]
    cells.append(_two_digits(first["G_IL"]))
    if data:
        cells += [cell(published_accuracy(name, data, t)) for t in sizes]
        cells.append(_two_digits(first["published_G_IL"]))
    return cells


def _two_digits(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2f}"


def claims_table(results: pd.DataFrame) -> Table | None:
    """Say whether the paper's claims hold in every seed and number of states, some, or none."""
    later = results[results["state"] > 0]
    by_seed = later.pivot_table("top5", ["T", "seed"], "method")
    rows = []
    for claim, (above, below) in CLAIMS.items():
        if {OURS[above], OURS[below]} <= {*by_seed.columns}:
            gains = (by_seed[OURS[above]] - by_seed[OURS[below]]).dropna()
            if len(gains):
                rows.append([claim, f"{above} > {below}", _outcome(gains), f"{gains.mean():+.1f}"])
    caption = "Holds: in every seed and number of states. points: mean gain of top-5."
    columns = ["claim", "means", "here", "points"]
    return Table("The paper's claims", caption, columns, rows) if rows else None


def _outcome(gains: pd.Series) -> str:
    if (gains > 0).all():
        return "holds"
    return "unclear" if (gains > 0).any() else "does not hold"
