"""The results frame: one row for each run, state and method, from which every table is made.

Accuracies in it are in percent. Programs read shares from 0 to 1 (`in_shares`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from memoryless.errors import ConfigError
from memoryless.lab.described import Results, compared
from memoryless.lab.evaluate import score_methods
from memoryless.lab.runs import RunFolder, composable, read_test, states_of
from memoryless.names import in_words
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import Method, lacking, method_name, paper_name, parse_method
from memoryless.stats.metrics import forgetting

if TYPE_CHECKING:
    import pandas as pd

TYPOLOGY = {
    "past": "c_p", "past_to_past": "e_pp", "past_to_new": "e_pn",
    "new": "c_n", "new_to_new": "e_nn", "new_to_past": "e_np",
}  # fmt: skip
ACCURACIES = ["top1", "top5", "A_inc", "A_last", "last_top5"]
SHARES = [*ACCURACIES, *(f"{name}_std" for name in ACCURACIES), *TYPOLOGY]
SHARES += ["forgetting", "chance_top1", "chance_top5", "difference", "low", "high"]
# Settings of the stream, which a table's title names.
OF_STREAM = ("states", "order")
# Settings of the record, which change nothing for a method that reads rows alone.
KEPT = ("statistics", "level", "square_roots", "transports", "projection")


def results_frame(
    runs: Sequence[RunFolder], methods: Sequence[str] = (), leave_out: bool = False
) -> pd.DataFrame:
    """Return the results of runs, each once; `methods` are scored in place of the stored ones.

    With `leave_out`, methods that a run cannot give are left out; else they are an error.
    """
    import pandas as pd

    rows = []
    for run in without_repeats([run for run in runs if run.finished]):
        states = results_with(run, methods, leave_out) if methods else run.results()
        facts = _facts(run)
        for name in states[0].methods:
            rows += [facts | row for row in _method_rows(name, states)]
    return pd.DataFrame(rows)


def without_repeats(runs: Sequence[RunFolder]) -> list[RunFolder]:
    """Return each run once: of several folders that hold it, the first with the most states."""
    found: dict[str, RunFolder] = {}
    for run in runs:
        if run.id not in found or run.finished > found[run.id].finished:
            found[run.id] = run
    return list(found.values())


def results_with(run: RunFolder, names: Sequence[str], leave_out: bool = False) -> list[Results]:
    """Return the run's results by state, with the methods asked for in place of its own.

    Methods of another strategy than the run's are left out. A method that the run's record does not
    serve is an error, or left out with `leave_out`.
    """
    wanted: dict[str, Method] = {}
    for name in names:
        method = parse_method(name)
        if method.strategy != run.about.config.strategy:
            continue
        problem = lacked_by(run, method)
        if not problem:
            wanted[name] = method
        elif not leave_out:
            raise ConfigError(f"{run.path} lacks what {name} reads: {problem}")
    results = run.results()
    if not wanted:
        return [structs.replace(state, methods={}) for state in results]
    return [
        structs.replace(state, methods=score_methods(*read_test(run, t), wanted, end))
        for t, (state, end) in enumerate(zip(results, states_of(run), strict=True))
    ]


def lacked_by(run: RunFolder, method: Method) -> str | None:
    """Return which setting the run lacked for this method, if any."""
    config = run.about.config
    if not HEADS[method.head].fitted:
        config = dataclasses.replace(config, transports=composable(config))
    return lacking(method, config)


def named_methods(runs: Sequence[RunFolder], names: Sequence[str]) -> list[str]:
    """Return methods by their own names; one of a strategy that no run has is an error."""
    there = dict.fromkeys(run.about.config.strategy for run in runs)
    for name in names:
        strategy = parse_method(name).strategy
        if runs and strategy not in there:
            raise ConfigError(
                f"the method {name} needs a run of the strategy {strategy}, and these runs used "
                f"{' and '.join(there)}: name methods of {' or '.join(there)}, or runs of "
                f"{strategy}"
            )
    return list(dict.fromkeys(method_name(parse_method(name)) for name in names))


def _facts(run: RunFolder) -> dict[str, Any]:
    """Return the facts of a run, in columns."""
    about, config = run.about, run.about.config
    images = "validation" if config.validation else "test"
    settings = compared(config) | {"backbone": about.backbone_class}
    data_id = _digest([about.dataset, images, sorted({*about.classes})])
    stream = _digest([data_id, about.classes, about.sizes, run.finished])
    network = f"{about.backbone_class}, width {config.width}"
    epochs = f"epochs {config.epochs}"
    if run.finished > 1:
        epochs += f" (later {config.epochs_later})"
    augmentation = " ".join(about.preparation.augment)
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
        "network": network,
        "epochs": config.epochs,
        "epochs_later": config.epochs_later,
        "augmentation": augmentation,
        "protocol": f"{network}, {epochs}, augmentation {augmentation or 'none'}, "
        f"order {config.order}",
        "statistics": config.statistics,
        "data_id": data_id,
        "stream": stream,
        "training": _digest([stream, settings]),
        "settings": json.dumps(settings),
    }


def _digest(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]


def _method_rows(name: str, states: Sequence[Results]) -> Iterator[dict[str, Any]]:
    """Yield the rows of one method of a run, state by state."""
    method = parse_method(name)
    names = {"method": method_name(method), "paper_name": paper_name(method)}
    by_state = [state.methods[name].by_state for state in states]
    for t, state in enumerate(states):
        scored = state.methods[name]
        yield (
            names
            | dataclasses.asdict(method)
            | {
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
        )


def averages(results: pd.DataFrame) -> pd.DataFrame:
    """Average each method of each training over states, then over runs, with deviations.

    A training is the runs that differ only by seed. `top1` and `top5` leave the first state out, as
    the paper does, unless it is the only one; `A_inc` counts it. Runs of a training are averaged
    over the methods that all of them scored.
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
    ).drop(columns=["state", "classes_seen", *TYPOLOGY])
    means = ["top1", "top5", "A_inc", "chance_top1", "chance_top5"]
    rest = columns.columns.difference(["training", "method", "run"], sort=False)
    how = dict.fromkeys(rest, "last") | dict.fromkeys(means, "mean") | {"seconds": "sum"}
    by_run = columns.groupby(["training", "method", "run"], sort=False, as_index=False).agg(how)
    return with_labels(_over_runs(by_run))


def _over_runs(by_run: pd.DataFrame) -> pd.DataFrame:
    """Average over the runs of each training, with deviations of what differs by seed."""
    runs = by_run.groupby("training")["run"].transform("nunique")
    own = by_run.groupby(["training", "method"])["run"].transform("nunique")
    groups = by_run[runs == own].groupby(["training", "method"], sort=False)
    found = groups.first()
    found[[*ACCURACIES, "forgetting"]] = groups[[*ACCURACIES, "forgetting"]].mean()
    for name in ACCURACIES:
        found[f"{name}_std"] = groups[name].std()
    found["seeds"] = groups["seed"].nunique()
    found["seed"] = groups["seed"].agg(lambda seeds: " ".join(map(str, sorted(set(seeds)))))
    return found.reset_index()


def with_labels(rows: pd.DataFrame) -> pd.DataFrame:
    """Add a `label` to each row, and the `name` of its training: method or strategy, and the
    settings that distinguish it from others of one data set.
    """
    settings = {row.training: json.loads(row.settings) for row in rows.itertuples()}

    def labelled(name: str, own: str, others: Sequence[str], ignored: Sequence[str]) -> str:
        differing = [
            f"{key} {in_words(value)}"
            for key, value in settings[own].items()
            if key not in (*OF_STREAM, *ignored)
            and any(settings[other].get(key, value) != value for other in others)
        ]
        return f"{name} ({', '.join(differing)})" if differing else name

    by_method = rows.groupby(["data_id", "method"])["training"].unique()
    by_strategy = rows.groupby(["data_id", "strategy"])["training"].unique()
    labels, names = [], []
    for row in rows.itertuples():
        ignored = () if reads_statistics(row.method) else KEPT
        others = by_method[row.data_id, row.method]
        labels.append(labelled(row.method, row.training, others, ignored))
        others = by_strategy[row.data_id, row.strategy]
        names.append(labelled(row.strategy, row.training, others, ()))
    return rows.assign(label=labels, name=names)


def reads_statistics(method: str) -> bool:
    """Return whether a method reads more of the past than rows."""
    parts = parse_method(method)
    head = HEADS[parts.head]
    return head.reads_statistics or head.reads == "projection" or parts.transport != "none"


def in_shares(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn percent into shares from 0 to 1, as programs read them, rounded to 12 digits."""
    there = [name for name in SHARES if name in frame]
    return frame.assign(**{name: (frame[name].astype(float) / 100).round(12) for name in there})
