"""Any method on a finished run, without training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memoryless.errors import ConfigError
from memoryless.methods import lacking, parse_method
from memoryless.runs import RunFolder
from memoryless.scoring import score_methods
from memoryless.states import kept_states, read_test


def results_with(run: RunFolder, names: Sequence[str]) -> list[dict[str, Any]]:
    """The run's results by state, with the methods asked for in place of its own.

    Methods of another strategy than the run's are left out.
    """
    config = run.about["config"]
    methods = {name: parse_method(name) for name in names}
    wanted = {name: m for name, m in methods.items() if m.strategy == config["strategy"]}
    for name, method in wanted.items():
        problem = lacking(method, config)
        if problem:
            raise ConfigError(f"{run.path} lacks what {name} reads: {problem}")
    results = run.results()
    for t, (state, kept) in enumerate(zip(results, kept_states(run), strict=True)):
        state["methods"] = score_methods(*read_test(run, t), wanted, kept)
    return results
