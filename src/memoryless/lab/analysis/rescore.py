"""Scores any method on a finished run, without training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memoryless.errors import ConfigError
from memoryless.lab.evaluate import score_methods
from memoryless.lab.runs import RunFolder
from memoryless.lab.states import composable, read_test, states_of
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import Method, lacking, parse_method


def results_with(
    run: RunFolder, names: Sequence[str], leave_out: bool = False
) -> list[dict[str, Any]]:
    """The run's results by state, with the methods asked for in place of its own.

    Methods of another strategy than the run's are left out, and so are those that need what it did
    not keep if `leave_out`; otherwise they are an error.
    """
    wanted: dict[str, Method] = {}
    for name in names:
        method = parse_method(name)
        if method.strategy != run.about["config"]["strategy"]:
            continue
        problem = lacked_by(run, method)
        if not problem:
            wanted[name] = method
        elif not leave_out:
            raise ConfigError(f"{run.path} lacks what {name} reads: {problem}")
    results = run.results()
    for state in results:
        state["methods"] = {}
    for t, end in enumerate(states_of(run) if wanted else ()):
        results[t]["methods"] = score_methods(*read_test(run, t), wanted, end)
    return results


def lacked_by(run: RunFolder, method: Method) -> str | None:
    """Which setting the run lacked for this method, if any."""
    config = run.about["config"]
    if not HEADS[method.head].fitted:
        config = config | {"transports": composable(config)}
    return lacking(method, config)
