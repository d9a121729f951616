"""The results frame: one row for each run, state and method, from which every table is made.

Accuracies in it are in percent. What programs read has shares from 0 to 1 (`in_shares`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from memoryless.lab.config import Config
from memoryless.lab.described import Results, compared
from memoryless.lab.runs import RunFolder
from memoryless.stats.methods import method_name, paper_name, parse_method
from memoryless.stats.metrics import forgetting

if TYPE_CHECKING:
    import pandas as pd

TYPOLOGY = {
    "past": "c_p", "past_to_past": "e_pp", "past_to_new": "e_pn",
    "new": "c_n", "new_to_new": "e_nn", "new_to_past": "e_np",
}  # fmt: skip
TRAINING = ["data_id", "stream", "finished", "settings"]
"""Columns that are equal for runs that differ only by seed."""
ACCURACIES = ["top1", "top5", "A_inc", "A_last", "last_top5"]
SHARES = [*ACCURACIES, *(f"{name}_std" for name in ACCURACIES), *TYPOLOGY]
SHARES += ["forgetting", "chance_top1", "chance_top5"]


def results_frame(
    runs: Sequence[RunFolder], methods: Sequence[str] = (), leave_out: bool = False
) -> pd.DataFrame:
    """Return the results of runs, each once; `methods` are scored in place of the stored ones.

    With `leave_out`, methods that a run cannot give are left out; else they are an error.
    """
    import pandas as pd

    rows = []
    for run in without_repeats([run for run in runs if run.finished]):
        states = _scored(run, methods, leave_out)
        facts = _facts(run)
        for name in states[0].methods:
            rows += [facts | row for row in _method_rows(name, states)]
    return pd.DataFrame(rows)


def _scored(run: RunFolder, methods: Sequence[str], leave_out: bool) -> list[Results]:
    if not methods:
        return run.results()
    from memoryless.lab.rescore import results_with

    return results_with(run, methods, leave_out)


def without_repeats(runs: Sequence[RunFolder]) -> list[RunFolder]:
    """Return each run once: of several folders that hold it, the first with the most states."""
    found: dict[str, RunFolder] = {}
    for run in runs:
        if run.id not in found or run.finished > found[run.id].finished:
            found[run.id] = run
    return list(found.values())


def _facts(run: RunFolder) -> dict[str, Any]:
    """Return what a run is, in columns."""
    about, config = run.about, run.about.config
    images = "validation" if config.validation else "test"
    return {
        "run": str(run.path),
        "data": about.dataset,
        "images": images,
        "T": len(about.sizes),
        "finished": run.finished,
        "sizes": " ".join(map(str, about.sizes)),
        "order": config.order,
        "seed": about.seed,
        "memoryless": about.memoryless,
        "network": f"{about.backbone_class}, width {config.width}",
        "epochs": config.epochs,
        "epochs_later": config.epochs_later,
        "augmentation": " ".join(about.preparation.augment),
        "statistics": config.statistics,
        "statistics_of": statistics_of(config),
        "data_id": _digest([about.dataset, images, sorted({*about.classes})]),
        "stream": _digest([about.classes, about.sizes]),
        "settings": json.dumps(compared(config)),
    }


def _digest(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


def statistics_of(config: Config) -> str:
    """Return the features of which a run gathered class statistics; nothing where it gathered none.

    >>> statistics_of(Config(statistics="full"))
    'last stage'
    """
    if config.statistics == "none" and not config.projection:
        return ""
    stages = "middle stages" if config.level == "middle" else "last stage"
    return f"{stages}, roots" if config.square_roots else stages


def _method_rows(name: str, states: Sequence[Results]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one method of a run, state by state."""
    method = parse_method(name)
    names = {"method": method_name(method), "paper_name": paper_name(method), **asdict(method)}
    by_state = [state.methods[name].by_state for state in states]
    for t, state in enumerate(states):
        scored = state.methods[name]
        yield names | {
            "state": t,
            "classes_seen": state.classes_seen,
            "top1": scored.top1,
            "top5": scored.top5,
            **{ours: getattr(scored.typology, k) for ours, k in TYPOLOGY.items()},
            "forgetting": forgetting(by_state[: t + 1]),
            "bytes": scored.bytes,
            "bytes_of_run": sum(state.bytes.record.values()),
            "bytes_of_images": state.bytes.images_not_kept,
            "multiplications": scored.cost,
            "seconds": state.seconds.training,
        }


def averages(results: pd.DataFrame) -> pd.DataFrame:
    """Average each method of each training over states, then over runs, with deviations.

    `top1` and `top5` leave the first state out, as the paper does, unless it is the only one;
    `A_inc` counts it. Runs of a training are averaged over the methods that all of them scored.
    """
    if results.empty:
        return results
    counted = (results["state"] > 0) | (results["finished"] == 1)
    seen = results["classes_seen"]
    columns = results.assign(
        A_inc=results["top1"],
        A_last=results["top1"],
        last_top5=results["top5"],
        top1=results["top1"].where(counted),
        top5=results["top5"].where(counted),
        chance_top1=(100 / seen).where(counted),
        chance_top5=(100 * seen.clip(upper=5) / seen).where(counted),
    )
    means = ["top1", "top5", "A_inc", "chance_top1", "chance_top5"]
    by_run = columns.groupby([*TRAINING, "method", "run"], sort=False, as_index=False).agg(
        dict.fromkeys(columns.columns.difference([*TRAINING, "method", "run"], sort=False), "last")
        | dict.fromkeys(means, "mean")
        | {"seconds": "sum"}
    )
    return _over_runs(by_run)


def _over_runs(by_run: pd.DataFrame) -> pd.DataFrame:
    """Average over the runs of each training, with deviations of what differs by seed."""
    runs = by_run.groupby(TRAINING, sort=False)["run"].transform("nunique")
    own = by_run.groupby([*TRAINING, "method"], sort=False)["run"].transform("nunique")
    groups = by_run[runs == own].groupby([*TRAINING, "method"], sort=False)
    found = groups.first()
    found[[*ACCURACIES, "forgetting"]] = groups[[*ACCURACIES, "forgetting"]].mean()
    for name in ACCURACIES:
        found[f"{name}_std"] = groups[name].std()
    found["seeds"] = groups["seed"].nunique()
    found["seed"] = groups["seed"].agg(lambda seeds: " ".join(map(str, sorted(set(seeds)))))
    return found.reset_index().drop(columns=["state", "classes_seen", *TYPOLOGY])


def in_shares(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn percent into shares from 0 to 1, as programs read them, rounded to 12 digits."""
    there = [name for name in SHARES if name in frame]
    return frame.assign(**{name: (frame[name].astype(float) / 100).round(12) for name in there})
