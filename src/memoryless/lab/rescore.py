"""Scores any method on finished runs, without training."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from memoryless.errors import ConfigError
from memoryless.lab.described import Results
from memoryless.lab.evaluate import score, score_methods
from memoryless.lab.runs import RunFolder, composable, read_test, states_of
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import Method, grid_of, lacking, method_name, parse_method


def results_with(run: RunFolder, names: Sequence[str], leave_out: bool = False) -> list[Results]:
    """Return the run's results by state, with the methods asked for in place of its own.

    Methods of another strategy than the run's are left out, and so are those that need what it did
    not keep if `leave_out`; otherwise they are an error.
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
        return [replace(state, methods={}) for state in results]
    return [
        replace(state, methods=score_methods(*read_test(run, t), wanted, end))
        for t, (state, end) in enumerate(zip(results, states_of(run), strict=True))
    ]


def lacked_by(run: RunFolder, method: Method) -> str | None:
    """Return which setting the run lacked for this method, if any."""
    config = run.about.config
    if not HEADS[method.head].fitted:
        config = dataclasses.replace(config, transports=composable(config))
    return lacking(method, config)


def image_shares(run: RunFolder, names: Sequence[str], k: int) -> dict[str, np.ndarray]:
    """Return how much each test image adds to the average top-k accuracy of methods, in percent.

    Images stand by class, in the order of the data. States after the first are averaged.
    """
    wanted = {name: parse_method(name) for name in names}
    number = sum(run.about.test_images)
    shares = {name: np.zeros(number) for name in names}
    first = min(1, run.finished - 1)
    for t, end in enumerate(states_of(run)):
        if t < first:
            continue
        features, labels = read_test(run, t)
        by_class = np.argsort(labels, kind="stable")
        weight = 100 / len(labels) / (run.finished - first)
        for name, outcome in score(features, labels, wanted, end).items():
            shares[name][: len(labels)] += weight * (outcome.ranks[by_class] < k)
    return shares


def combinations(
    runs: Sequence[RunFolder],
    heads: Sequence[str] = (),
    calibrations: Sequence[str] = ("none",),
    transports: Sequence[str] = (),
) -> list[str]:
    """Return all combinations of these names (of all, where none are given) that mean something."""
    return [
        name
        for strategy in _strategies(runs)
        for name, method in grid_of(strategy).items()
        if (not heads or method.head in heads)
        and (not calibrations or method.calibration in calibrations)
        and (not transports or method.transport in transports)
    ]


def named_methods(runs: Sequence[RunFolder], names: Sequence[str]) -> list[str]:
    """Return methods by their own names; one of a strategy that no run has is an error."""
    there = _strategies(runs)
    for name in names:
        strategy = parse_method(name).strategy
        if runs and strategy not in there:
            raise ConfigError(
                f"the method {name} needs a run of the strategy {strategy}, and the runs there are "
                f"of {' and '.join(there)}: name methods of {' or '.join(there)}, or runs of "
                f"{strategy}"
            )
    return list(dict.fromkeys(method_name(parse_method(name)) for name in names))


def _strategies(runs: Sequence[RunFolder]) -> list[str]:
    return list(dict.fromkeys(run.about.config.strategy for run in runs))
