"""Any combination of head and calibration on a finished run, without training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memoryless.calibration import CALIBRATIONS
from memoryless.errors import ConfigError, choose
from memoryless.heads import HEADS
from memoryless.methods import Method, parse_method
from memoryless.record import Record
from memoryless.runs import RunFolder
from memoryless.scoring import score_methods
from memoryless.store import read_tensors
from memoryless.strategies import STRATEGIES


def check_method(name: str) -> Method:
    """The method of this name, if all its parts exist and mean something together."""
    if name.count("+") > 2:
        raise ConfigError(f"method '{name}' is not strategy+head+calibration")
    method = parse_method(name)
    strategy = choose("strategy", method.strategy, STRATEGIES)
    choose("head", method.head, HEADS)
    choose("calibration", method.calibration, CALIBRATIONS)
    if strategy.heads and method.head not in strategy.heads:
        raise ConfigError(
            f"head {method.head} has no meaning for {method.strategy}: its heads are "
            f"{', '.join(strategy.heads)}"
        )
    return method


def results_with(run: RunFolder, names: Sequence[str]) -> list[dict[str, Any]]:
    """The run's results by state, with the methods asked for in place of its own.

    Methods of another strategy than the run's are left out.
    """
    methods = {name: check_method(name) for name in names}
    strategy = run.about["config"]["strategy"]
    wanted = {name: method for name, method in methods.items() if method.strategy == strategy}
    results = run.results()
    for t, state in enumerate(results):
        folder = run.state(t)
        record = Record.load(folder / "record.safetensors")
        layer, _ = read_tensors(folder / "layer.safetensors")
        test, _ = read_tensors(folder / "test.safetensors")
        state["methods"] = score_methods(
            test["features"], test["labels"], wanted, record, (layer["W"], layer["b"])
        )
    return results
