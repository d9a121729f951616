"""Imports point down: a module imports only from its own storey or those below it."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import memoryless

STOREYS = [
    {"errors", "names"},
    {"settings", "store", "randomness", "metrics"},
    {"data", "backbones", "network", "losses", "schedules"},
    {"features", "statistics", "transports", "scorers", "heads", "calibration", "record"},
    {"strategies", "training", "learner"},
    {"model", "model_folder", "build", "methods"},
    {"lab"},
    {"cli"},
    {"__main__"},
]
ROOT = Path(memoryless.__file__).parent
STOREY = {name: i for i, names in enumerate(STOREYS) for name in names}


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """The parts of the package that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            names = [node.module or ""]
            if node.module == "memoryless":
                names = [f"memoryless.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("memoryless.")}
    return found


def test_every_module_has_its_storey():
    assert {part_of(p) for p in ROOT.rglob("*.py")} - {"__init__"} == set(STOREY)


def test_imports_point_down():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in ROOT.rglob("*.py")
        if part_of(path) != "__init__"
        for name in imports(path)
        if STOREY[name] > STOREY[part_of(path)]
    ]
    assert not wrong


def test_within_a_storey_there_is_no_cycle():
    graph: dict[str, set[str]] = {name: set() for name in STOREY}
    for path in ROOT.rglob("*.py"):
        if part_of(path) != "__init__":
            graph[part_of(path)] |= imports(path) - {part_of(path)}
    TopologicalSorter(graph).prepare()  # raises CycleError


def test_only_training_calls_backward():
    callers = {part_of(p) for p in ROOT.rglob("*.py") if ".backward()" in _code(p)}
    assert callers == {"training"}


def _code(path: Path) -> str:
    return ast.unparse(ast.parse(path.read_text()))
