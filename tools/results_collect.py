"""Collects figures of finished runs into a small JSON file: every seed's, and what made them."""

from __future__ import annotations

import json
import math
import shlex
from collections import defaultdict
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import dropwhile
from operator import itemgetter
from pathlib import Path
from typing import Any

from memoryless.errors import ConfigError
from memoryless.heads import HEADS
from memoryless.lab.analysis.published import paper_name
from memoryless.lab.analysis.summary import results_of
from memoryless.lab.runs import RunFolder, find_runs
from memoryless.methods import parse_method
from memoryless.metrics import average_incremental_accuracy, chance_level, forgetting

# What tells streams apart, beside their data and number of states.
SETTINGS = (
    "order", "strategy", "backbone", "width", "epochs", "epochs_later", "batch_size", "lr",
    "level", "square_roots", "statistics", "projection",
)  # fmt: skip
SHARES = ("held_out", "validation")
COMMANDS = ("run", "paper", "demo")
FIGURES = ("top1", "top5", "last_top1", "last_top5", "past", "forgetting")

Json = dict[str, Any]


def collect(
    places: Sequence[Path], methods: Sequence[str] = (), without: Sequence[str] = ()
) -> str:
    """The text of the file: runs that have ended, and their stored methods or those named.

    `without` has patterns of methods that are left out, such as *+backward.
    """
    ended = [run for run in find_runs(places) if run.complete]
    runs = list({run.id: run for run in ended}.values())  # a control may stand beside each strategy
    if not runs:
        raise ConfigError(f"no run in {', '.join(map(str, places))} has ended yet")
    streams: dict[str, list[tuple[int, Json]]] = defaultdict(list)
    for run in runs:
        stream = stream_of(run)
        streams[json.dumps(stream)].append((run.about["seed"], scores_of(run, methods, without)))
    made = ",\n".join(sorted({json.dumps(provenance_of(run)) for run in runs}))
    texts = (_stream_text(key, sorted(streams[key], key=itemgetter(0))) for key in sorted(streams))
    return '{"made": [\n' + made + '\n],\n"streams": [\n' + ",\n".join(texts) + "\n]}\n"


def stream_of(run: RunFolder) -> Json:
    """Facts and settings that runs which differ by seed have in common."""
    about, config = run.about, run.about["config"]
    sizes = about["sizes"]
    return {
        "data": about["dataset"],
        "states": len(sizes),
        **{name: config[name] for name in (*SETTINGS, *SHARES)},
        "memoryless": about["memoryless"],
        "image_bytes": run.results()[-1]["bytes"]["images_not_kept"],
        "chance_top1": _rounded(chance_level(sizes, 1)),
        "chance_top5": _rounded(chance_level(sizes, 5)),
    }


def scores_of(run: RunFolder, methods: Sequence[str], without: Sequence[str]) -> Json:
    """Seconds of training as they were and at their fastest, and every method's figures."""
    states = results_of(run, [*map(paper_name, methods)], leave_out=True)
    seconds = {
        "training_seconds": round(sum(state["seconds"]["training"] for state in states), 1),
        "quiet_seconds": round(sum(quiet_seconds(state["history"]) for state in states), 1),
    }
    names = [n for n in states[0]["methods"] if not any(fnmatchcase(n, w) for w in without)]
    scores = {name: figures_of([state["methods"][name] for state in states]) for name in names}
    return {"seconds": seconds, "methods": scores}


def quiet_seconds(history: Json) -> float:
    """How long a state takes where no other work disturbs: all epochs as fast as the fastest."""
    images = history["images"]
    pace = [s / n for s, n in zip(history["seconds"], images, strict=True)]
    return sum(images) * min(pace, default=0.0)


def figures_of(states: list[Json]) -> Json:
    """One method's averages over the states after the first, its last state, and its costs."""
    averages = {k: average_incremental_accuracy([s[k] for s in states]) for k in ("top1", "top5")}
    past = average_incremental_accuracy([s["typology"]["c_p"] for s in states])
    ends = {"last_top1": states[-1]["top1"], "last_top5": states[-1]["top5"]}
    lost = forgetting([state["by_state"] for state in states])
    figures = {**averages, **ends, "past": past, "forgetting": lost}
    costs = {"bytes": states[-1]["bytes"], "cost": states[-1].get("cost")}
    return {name: _rounded(value) for name, value in figures.items()} | costs


def reads(name: str) -> str:
    """What a method reads: layer, rows, means, covariances, projection, or rows that were moved."""
    method = parse_method(name)
    kind = HEADS[method.head].reads
    return "moved rows" if kind == "rows" and method.transport != "none" else kind


def provenance_of(run: RunFolder) -> Json:
    """What made a run: its command as a person would type it, versions, commit, machine."""
    about = run.about
    words = dropwhile(lambda word: word not in COMMANDS, about["command"])  # a script may wrap it
    return {
        "command": shlex.join(["memoryless", *map(_without_place, words)]),
        "version": about["versions"]["memoryless"],
        "commit": about["commit"],
        "python": about["versions"]["python"],
        "torch": about["versions"]["torch"],
        "machine": about["machine"]["system"],
        "cores": about["machine"]["cores"],
    }


def _without_place(word: str) -> str:
    """The word, or the last part of an absolute path: where it lay is of no use elsewhere."""
    flag, equals, value = word.rpartition("=")
    return flag + equals + (Path(value).name if Path(value).is_absolute() else value)


def _stream_text(key: str, seeds: list[tuple[int, Json]]) -> str:
    """A stream on one line, and each of its methods on one."""
    stream = json.loads(key)
    numbers = [seed for seed, _ in seeds]
    if len(set(numbers)) < len(numbers):
        raise ConfigError(f"two runs of one seed are of {key}: collect them under two names")
    kinds = ("training_seconds", "quiet_seconds")
    stream |= {"seeds": numbers}
    stream |= {kind: [scores["seconds"][kind] for _, scores in seeds] for kind in kinds}
    names = dict.fromkeys(name for _, scores in seeds for name in scores["methods"])
    rows = [_method_text(name, [scores["methods"].get(name) for _, scores in seeds])
            for name in sorted(names)]  # fmt: skip
    return json.dumps(stream)[:-1] + ', "methods": [\n  ' + ",\n  ".join(rows) + "\n]}"


def _method_text(name: str, seeds: list[Json | None]) -> str:
    """A method's figures, one for each seed, and nothing where a seed has not scored it."""
    scored = next(scores for scores in seeds if scores)
    lists = {figure: [scores and scores[figure] for scores in seeds] for figure in FIGURES}
    costs = {"bytes_kept": scored["bytes"], "cost": scored["cost"]}
    return json.dumps({"method": name, "reads": reads(name), **lists, **costs})


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 3)
