"""Scores any method on a finished run, without training."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from msgspec.structs import replace

from memoryless.errors import ConfigError
from memoryless.lab.evaluate import score_methods
from memoryless.lab.run_format import Results
from memoryless.lab.runs import RunFolder
from memoryless.lab.states import composable, read_test, states_of
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import Method, lacking, parse_method


def results_with(run: RunFolder, names: Sequence[str], leave_out: bool = False) -> list[Results]:
    """The run's results by state, with the methods asked for in place of its own.

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
    """Which setting the run lacked for this method, if any."""
    config = run.about.config
    if not HEADS[method.head].fitted:
        config = dataclasses.replace(config, transports=composable(config))
    return lacking(method, config)
